# Ten mebibytes on each stream, at once.
head -c 10485760 /dev/zero | tr '\0' e >&2 &
head -c 10485760 /dev/zero | tr '\0' o
wait
