# Hides a process in its own session, streams open, then hangs.
setsid sleep "$1" &
echo started
exec sleep "$1"
