# Zoned devices with conventional zones, null_blk and SCSI: writes to sequential zones are at their write pointers, and no other zone is reset
# devices: nullzoned sdzoned
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# DEVICE, number of conventional zones, number of all zones, blocks of 64 KiB per zone.
both() {
    device=/dev/fiord/$1
    check "$1: empty" blkzone reset -o "$(($2 * $4 * 128))" "$device"
    fiord_json $1-seq --name=x --filename="$device" --direct=1 --zonemode=zbd --rw=write --bs=64k --offset="$2z" --size=4z
    same "$1: blocks" "$(json $1-seq '.jobs[0].write.total_ios')" "$((4 * $4))"
    same "$1: full" "$(zones_in "$device" fu)" 4
    fiord_json $1-all --name=x --filename="$device" --direct=1 --zonemode=zbd --rw=write --bs=64k --size="$(($2 + 6))z"
    same "$1: over both kinds" "$(json $1-all '.jobs[0].write.total_ios')" "$((($2 + 6) * $4))"
    same "$1: then full" "$(zones_in "$device" fu)" 6
    same "$1: conventional zones stay so" "$(zones_in "$device" nw)" "$2"
    same "$1: the rest is empty" "$(zones_in "$device" em)" "$(($3 - $2 - 6))"
    fiord_json $1-read --name=x --filename="$device" --direct=1 --zonemode=zbd --rw=randread --bs=4k --offset="$2z" \
        --size=6z --ioengine=libaio --iodepth=8
    same "$1: reads" "$(json $1-read '.jobs[0].read.total_ios')" "$((6 * $4 * 16))"
}

both nullzoned 8 64 32
both sdzoned 4 64 16
