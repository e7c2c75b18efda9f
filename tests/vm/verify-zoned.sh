# Verification on zoned devices: zones are emptied before the writes, and read back before they are reset; writes that fail in part
# devices: zns nullzoned
# limit: 180s

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
    kind=${first%:*} first=${first#*:}
    device=/dev/fiord/$kind
    # Older data in each zone, so that the writes would not fit behind it.
    run $kind-older $device --rw=write --bs=128k --offset=$first --size=4z --io_size=2z --ioengine=psync
    run $kind-write $device --rw=write --bs=128k --offset=$first --size=4z --verify=crc32c --ioengine=libaio --iodepth=8
    covered $kind-write
    same "$kind: it wrote all zones" "$(json $kind-write '.jobs[0].write.total_ios')" \
        "$(json $kind-write '.jobs[0].read.total_ios')"
    run $kind-again $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=12z --verify=crc32c --ioengine=psync
    covered $kind-again
    same "$kind: each write was read back" "$(json $kind-again '.jobs[0].write.total_ios')" \
        "$(json $kind-again '.jobs[0].read.total_ios')"
    run $kind-only $device --rw=randwrite --bs=64k --offset=$first --size=4z --verify=crc32c --verify_only --ioengine=psync
    covered $kind-only
    within "$kind: blocks that were checked" "$(json $kind-only '.jobs[0].read.total_ios')" 48 10000
    run $kind-read $device --rw=read --bs=64k --offset=$first --size=4z --verify=crc32c --ioengine=psync
    same "$kind: blocks that were read" "$(json $kind-read '.jobs[0].read.total_ios')" \
        "$(json $kind-only '.jobs[0].read.total_ios')"
    run $kind-jobs $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=8z --verify=fiord --ioengine=io_uring \
        --iodepth=4 --numjobs=3 --max_open_zones=4
    run $kind-others $device --rw=randwrite --bs=64k --offset=$first --size=4z --io_size=8z --verify=md5 --ioengine=psync \
        --name=plain --filename=$device --direct=1 --zonemode=zbd --rw=randwrite --bs=128k --offset=$first --size=4z --io_size=8z
done

# Over both kinds of zones.
for blocks in --bs=64k --bsrange=4k-128k; do
    run both /dev/fiord/nullzoned --rw=randwrite $blocks --offset=6z --size=4z --io_size=8z --verify=crc32c --ioengine=libaio \
        --iodepth=4
    within "both kinds: bytes that were verified" "$(json both '.jobs[0].fiord.verify.verified_bytes')" 4000000 17000000
done

# A bad block: the kernel splits a write of 64 KiB, and its second half fails. The job continues at the write pointer of the device,
# within a block, and the writes that succeeded are read back from there. The block works again after the first error.
null=/dev/fiord/nullzoned
echo 32 >/sys/block/nullzoned/queue/max_sectors_kb
bad() { echo "$1$((9 * 4096 + 200))-$((9 * 4096 + 207))" >/sys/kernel/config/nullb/nullzoned/badblocks; }
torn() {
    name=$1
    shift
    blkzone reset -o $((8 * 4096)) $null
    check "$name: a bad block" bad +
    {
        until [ "$(zone_pointers $null 9 1)" = 192 ] || [ -s $name.json ]; do usleep 10000; done
        bad -
    } &
    fiord_json $name --name=$name --filename=$null --direct=1 --zonemode=zbd --bs=64k --offset=8z --size=4z --rate_iops=100 \
        --continue_on_error=write --recover_zbd_write_error=1 "$@"
    wait
    errors=$(json $name '.jobs[0].total_err')
    check "$name: writes failed" test "$errors" -gt 0
    same "$name: each other write was read back" "$(json $name '.jobs[0].read.total_ios')" $((128 - errors))
    same "$name: bytes that were verified" "$(json $name '.jobs[0].fiord.verify.verified_bytes')" $(((128 - errors) * 65536))
    same "$name: bytes that were not" "$(json $name '.jobs[0].fiord.verify.unverified_bytes.failed')" $((errors * 65536))
    same "$name: a write that was torn" "$(json $name '.fiord.findings | map(select(.what | test("after 1 failed writes"))) | length')" 1
    same "$name: the pointer is within a block" "$(zone_pointers $null 9 1 | awk '$1 == 4096 || $1 % 128 == 64' | wc -l)" 1
}
torn torn-sequential --rw=write --ioengine=psync --verify=md5
torn torn-random --rw=randwrite --ioengine=libaio --iodepth=4 --verify=crc32c
torn torn-fiord --rw=randwrite --ioengine=psync --verify=fiord
