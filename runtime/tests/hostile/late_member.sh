# The leader dies from TERM; a member of its group does not.
( trap '' TERM; while :; do sleep "$1"; done ) &
echo started
exec sleep "$1"
