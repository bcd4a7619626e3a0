# A daemon: own session, no streams, parent gone, deaf to TERM.
( setsid bash -c 'trap "" TERM HUP; while :; do sleep "$0"; done' "$1" </dev/null >/dev/null 2>&1 & )
echo started
if [ "${2-}" = hang ]; then exec sleep "$1"; fi
