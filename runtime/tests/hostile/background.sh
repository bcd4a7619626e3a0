# Ends at once; what it started keeps both streams open.
sleep "$1" &
echo started
