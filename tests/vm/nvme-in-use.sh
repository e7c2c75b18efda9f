# fiord does not write to a namespace through its character device if it is mounted, used for swap or held
# devices: nvme nvme-mounted dmzero
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
disk=/dev/fiord/nvme

# every TEXT PATTERN NODE: every job that changes the device is refused; reads are permitted.
every() {
    job="--name=x --ioengine=io_uring_cmd --filename=$3 --size=1M --bs=4k"
    for what in --rw=write --rw=randtrim "--rw=write --write_mode=zeroes" --rw=randrw; do
        refused "$1: $what" "$2" $job $what
    done
    fiord_json reads $job --rw=read
    same "$1: reads" "$(json reads '.jobs[0].error')" 0
}

every mounted "appears mounted.*/tmp/mounted" /dev/fiord/nvme-mounted-ng

mkswap $disk >/dev/null
check "swap" swapon $disk
every swap "swap" $ng
check "no swap" swapoff $disk

sectors=$(cat /sys/class/block/"$(basename "$(readlink -f $disk)")"/size)
echo "0 $sectors linear $disk 0" | dmsetup create --noudevsync held
every "held by device mapper" "held by dm-" $ng
check "let go" dmsetup remove --noudevsync held

blkdiscard -f $disk
fiord_json after --name=x --ioengine=io_uring_cmd --filename=$ng --size=1M --bs=4k --rw=write
same "in use no more" "$(json after '.jobs[0].error')" 0
