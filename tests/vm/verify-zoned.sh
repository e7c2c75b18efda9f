# Verification on zoned devices: zones are emptied before the writes, and read back before they are reset
# devices: zns nullzoned
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# run NAME DEVICE OPTIONS…: a job on the first four zones that verifies. It must not report anything.
run() {
    name=$1 device=$2
    shift 2
    fiord_json "$name" --name="$name" --filename=$device --direct=1 --zonemode=zbd --group_reporting "$@"
    same "$name: error" "$(json "$name" '.jobs[0].error')" 0
}
covered() {
    same "$1: everything was verified" "$(json "$1" '.jobs[0].fiord.verify.verified_bytes')" \
        "$(json "$1" '.jobs[0].fiord.verify.written_bytes')"
}

# The first zones of null_blk have no write pointer.
for first in zns:0z nullzoned:8z; do
    name=${first%:*} first=${first#*:}
    device=/dev/fiord/$name
    # Older data in each zone, so that the writes would not fit behind it.
    run $name-older $device --rw=write --bs=128k --offset=$first --size=4z --io_size=2z --ioengine=psync
    run $name-write $device --rw=write --bs=128k --offset=$first --size=4z --verify=crc32c --ioengine=libaio --iodepth=8
    covered $name-write
    same "$name: it wrote all zones" "$(json $name-write '.jobs[0].write.total_ios')" \
        "$(json $name-write '.jobs[0].read.total_ios')"
    run $name-again $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=12z --verify=crc32c --ioengine=psync
    covered $name-again
    same "$name: each write was read back" "$(json $name-again '.jobs[0].write.total_ios')" \
        "$(json $name-again '.jobs[0].read.total_ios')"
    run $name-only $device --rw=randwrite --bs=64k --offset=$first --size=4z --verify=crc32c --verify_only --ioengine=psync
    covered $name-only
    within "$name: blocks that were checked" "$(json $name-only '.jobs[0].read.total_ios')" 48 10000
    run $name-read $device --rw=read --bs=64k --offset=$first --size=4z --verify=crc32c --ioengine=psync
    same "$name: blocks that were read" "$(json $name-read '.jobs[0].read.total_ios')" \
        "$(json $name-only '.jobs[0].read.total_ios')"
    run $name-jobs $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=8z --verify=fiord --ioengine=io_uring \
        --iodepth=4 --numjobs=3 --max_open_zones=4
    run $name-others $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=8z --verify=md5 --ioengine=psync \
        --name=plain --filename=$device --direct=1 --zonemode=zbd --rw=randwrite --bs=128k --offset=$first --size=4z --io_size=8z
done

# Over both kinds of zones.
for blocks in --bs=64k --bsrange=4k-128k; do
    run both /dev/fiord/nullzoned --rw=randwrite $blocks --offset=6z --size=4z --io_size=8z --verify=crc32c --ioengine=libaio \
        --iodepth=4
    within "both kinds: bytes that were verified" "$(json both '.jobs[0].fiord.verify.verified_bytes')" 4000000 17000000
done
