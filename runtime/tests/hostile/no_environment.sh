# A daemon that shed the marker.
( env -i setsid "$(command -v sleep)" "$1" </dev/null >/dev/null 2>&1 & )
echo started
