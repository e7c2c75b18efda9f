# Prepares a mount namespace: sandbox.sh PLACE [SCRATCH…]. Only PLACE and the SCRATCH directories, which
# are new and empty, can be written; /dev holds no device with data. Says "ready" and stays until its
# standard input ends.
set -eu
place=$1
shift

mount -n --bind "$place" "$place"

# Devices that stand for no storage.
mkdir "$place/.dev"
mount -n -t tmpfs -o mode=755,size=1m dev "$place/.dev"
for name in null zero full random urandom tty; do
    : >"$place/.dev/$name"
    mount -n --bind "/dev/$name" "$place/.dev/$name"
done
ln -s /proc/self/fd "$place/.dev/fd"
mkdir "$place/.dev/.scratch"
mount -n --move "$place/.dev" /dev
rmdir "$place/.dev"

# Deeper mounts first would make no difference: each is its own.
while read -r _ _ _ _ point _; do
    point=$(printf '%b' "$(printf '%s' "$point" | sed 's/\\/\\0/g')")
    case $point in
    "$place" | /dev/*) ;;
    *) [ ! -e "$point" ] || mount -n -o remount,bind,ro "$point" ;;
    esac
done </proc/self/mountinfo

for directory; do
    mount -n -t tmpfs -o mode=755,size=16m scratch /dev/.scratch
    case $place in
    "$directory"/*)
        # PLACE and the program under test lie in this directory: their part of it stays visible.
        rest=${place#"$directory"/}
        kept=${rest%%/*}
        mkdir "/dev/.scratch/$kept"
        mount -n --rbind "$directory/$kept" "/dev/.scratch/$kept"
        ;;
    esac
    mount -n --move /dev/.scratch "$directory"
done
echo ready
exec cat
