# ioengine=libzbc on a host-managed SCSI disk and its generic device: zones, resets, limits, threads, refusals
# devices: sdzoned brd
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

SG=/dev/fiord/sdzoned-sg
SD=/dev/fiord/sdzoned
# The disk has 64 zones of 1 MiB, of which the first 4 are conventional.
zbc() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=libzbc --zonemode=zbd "$@"; same "$name: errors" "$(json "$name" '.jobs[0].error')" 0; }

# Both devices report the same zones.
fiord zones $SD --format=json >block.json
fiord zones $SG --format=json >generic.json
same "zones" "$(gojq -c .zones generic.json)" "$(gojq -c .zones block.json)"
same "limits" "$(gojq -c .limits.max_open_zones generic.json)" 8

# Sequential writes fill the zones of the range, by commands of 16 bytes.
zbc fill --filename=$SG --rw=write --bs=64k --offset=4z --size=8z --buffer_pattern=0x5a
same "blocks written" "$(json fill '.jobs[0].write.total_ios')" 128
same "full zones" "$(zones_in $SD fu)" 8
same "bytes on the disk that are not 5Ah" "$(dd if=$SD bs=1M skip=4 count=8 iflag=direct 2>/dev/null | tr -d '\132' | wc -c)" 0
check "the calls" strace -f -e trace=ioctl -e verbose=none -o trace fiord --name=trace --ioengine=libzbc --zonemode=zbd --filename=$SG --rw=read --bs=64k --offset=4z --size=2z
within "SG_IO calls" "$(grep -c 'SG_IO' trace)" 32 60

# Writing again resets each zone first; random writes stay at the write pointers and within the limit of open zones.
zbc again --filename=$SG --rw=write --bs=64k --offset=4z --size=8z
same "zones that were reset" "$(json again '.jobs[0].zone_resets')" 8
zbc random --filename=$SG --rw=randwrite --bs=16k --offset=12z --size=40z --io_size=8m --randseed=5
within "open zones" "$(($(zones_in $SD oi) + $(zones_in $SD oe)))" 1 8
# Open zones outside the range of a job use up the limit.
check "the generic device closes zones" fiord zones $SG --close
same "open zones after that" "$(($(zones_in $SD oi) + $(zones_in $SD oe)))" 0
zbc flush --filename=$SG --rw=write --bs=64k --offset=52z --size=2z --fsync=8
same "flushes" "$(json flush '.jobs[0].sync.total_ios >= 3')" true
zbc reread --filename=$SG --rw=randread --bs=4k --offset=4z --size=8z --io_size=1m
same "blocks read" "$(json reread '.jobs[0].read.total_ios')" 256
zbc checked --filename=$SG --rw=write --bs=64k --offset=54z --size=4z --verify=crc32c
same "blocks verified" "$(json checked '.jobs[0].read.total_ios')" 64

# Trims reset zones.
zbc trim --filename=$SG --rw=trim --bs=1m --offset=4z --size=8z
same "resets by trims" "$(json trim '.jobs[0].trim.total_ios')" 8
same "empty again" "$(zone_pointers $SD 4 8 | sort -u)" 0

# The block device: the kernel's write pointers follow resets, and the kernel can write what a job has reset.
zbc disk --filename=$SD --rw=write --bs=64k --offset=4z --size=4z --direct=1
same "full zones, by the block device" "$(zone_pointers $SD 4 4 | sort -u)" 2048
check "a partly written zone" dd if=/dev/zero of=$SD bs=64k count=3 seek=$((16 * 9)) oflag=direct conv=notrunc
zbc beside --filename=$SG --rw=trim --bs=1m --offset=9z --size=1z
check "the kernel writes it again from its start" dd if=/dev/zero of=$SD bs=64k count=3 seek=$((16 * 9)) oflag=direct conv=notrunc

# Threads give iodepth its meaning for reads.
zbc threads --zonemode=none --filename=$SG --rw=randread --bs=4k --offset=54m --size=4m --io_size=1m --iodepth=4 --io_submit_mode=offload
same "blocks of the threads" "$(json threads '.jobs[0].read.total_ios')" 256
# ioengine=sg uses the zones as well.
fiord_json sg --name=sg --ioengine=sg --zonemode=zbd --filename=$SG --rw=randwrite --bs=16k --offset=12z --size=40z --io_size=4m --iodepth=4
same "blocks of sg" "$(json sg '.jobs[0].write.total_ios')" 256

R="--name=x --ioengine=libzbc --bs=64k --size=4z"
refused "a plain write beyond the write pointer" "illegal request" $R --filename=$SG --rw=write --size=64k --offset=$((9 * 1048576 + 524288))
refused "trims without zones" "resets a zone, which needs" $R --filename=$SG --rw=trim --bs=1m --size=4m
refused "a disk without zones" "it is not a SCSI disk" $R --filename=/dev/fiord/brd --rw=write --zonemode=zbd --size=1m
head -c 1048576 /dev/zero >plain
refused "a file" "sends SCSI commands to a disk" $R --filename=plain --rw=read --zonemode=zbd --size=64k
refused "too many open zones" "more than the 8 zones" $R --filename=$SG --rw=randwrite --zonemode=zbd --max_open_zones=9
refused "zones of another size" "does not match disk zone size" $R --filename=$SG --rw=write --zonemode=zbd --zonesize=2m
refused "changes with --readonly" "readonly" $R --readonly --filename=$SG --rw=write --zonemode=zbd
