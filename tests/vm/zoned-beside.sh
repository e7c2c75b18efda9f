# After a job on the generic device resets zones, the block device can write to them again
# devices: zns
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

block=/dev/fiord/zns
job() {
    name=$1
    shift
    fiord_json "$name" --name="$name" --filename=/dev/fiord/zns-ng --ioengine=io_uring_cmd --zonemode=zbd "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
}
# written ZONE: writes 192 KiB at the start of a zone of 2 MiB, through the block layer.
written() { dd if=/dev/zero of=$block bs=64k count=3 seek=$((32 * $1)) oflag=direct conv=notrunc; }

check "the block layer writes to zone 2" written 2
job trim --rw=trim --bs=2M --offset=4M --size=1z
same "the zone was reset" "$(zone_pointers $block 2 1)" 0
check "and the block layer knows of it" written 2

check "the block layer writes to zone 4" written 4
job write --rw=write --bs=64k --offset=8M --size=1z
same "it is full" "$(zone_pointers $block 4 1)" 4096
job again --rw=write --bs=64k --offset=8M --size=1z
same "it was reset on the way" "$(json again '.jobs[0].zone_resets')" 1
check "reset" blkzone reset $block
check "and written again" written 4
