# Ignores every polite request, and so does all it starts. $1 marks its processes.
trap '' TERM INT HUP
echo ready
while :; do sleep "$1"; done
