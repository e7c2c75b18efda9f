# ioengine=sg on a generic and on a block device: reads, writes, trims, flushes, every sg_write_mode, refusals
# devices: sd dmzero
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

SG=/dev/fiord/sd-sg
SD=/dev/fiord/sd
sg() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=sg "$@"; }

# Many commands in flight through the character device; the data is written.
sg fill --filename=$SG --rw=write --bs=64k --size=16m --iodepth=16 --buffer_pattern=0x5a
same "blocks written" "$(json fill '.jobs[0].write.total_ios')" 256
same "bytes written" "$(json fill '.jobs[0].write.io_bytes')" 16777216
same "depth 16 was reached" "$(json fill '.jobs[0].iodepth_level["16"] > 90')" true
same "bytes on the disk that are not 5Ah" "$(head -c 16777216 $SD | tr -d '\132' | wc -c)" 0
sg read --filename=$SG --rw=randread --bs=4k --iodepth=16 --size=16m
same "blocks read" "$(json read '.jobs[0].read.total_ios')" 4096
sg block --filename=$SD --rw=randrw --bs=4k --size=8m --fsync=64
same "blocks of the block device" "$(json block '.jobs[0] | .read.total_ios + .write.total_ios')" 2048
same "flushes" "$(json block '.jobs[0].sync.total_ios > 10')" true
sg fua --filename=$SG --rw=randrw --bs=4k --size=4m --iodepth=4 --readfua=1 --writefua=1
same "with force unit access" "$(json fua '.jobs[0] | .read.total_ios + .write.total_ios')" 1024

# One command at a time, each job with its own file: four jobs on one device.
sg jobs --filename=$SG --rw=randread --bs=4k --size=4m --iodepth=16 --numjobs=4 --group_reporting
same "blocks of four jobs" "$(json jobs '.jobs[0].read.total_ios')" 4096

# A batch of trims is one UNMAP: 64 trims in batches of 8. A command is a write(2) of its header.
check "trims in batches" strace -f -e trace=write -o trace fiord --name=trim --ioengine=sg --filename=$SG --rw=randtrim --bs=256k --size=16m --iodepth=16 --iodepth_batch=8 --output-format=json --output=trim.json
same "UNMAPs" "$(grep -c ', 88) *= 88' trace)" 8
same "trims" "$(json trim '.jobs[0].trim.total_ios')" 64
same "all of them at depth 16 but for the first batch" "$(json trim '.jobs[0].iodepth_level["16"] > 87')" true
same "submissions of 8" "$(json trim '.jobs[0].iodepth_submit["8"]')" 100
same "bytes that were not trimmed" "$(head -c 16777216 $SD | tr -d '\000' | wc -c)" 0
sg one --filename=$SG --rw=trim --bs=1m --iodepth=4
same "trims one by one" "$(json one '.jobs[0].trim.total_ios')" 64

# Commands of writes, each observed by the device.
for mode in write_same write_same_ndob verify_bytchk_00; do
    sg $mode --filename=$SG --rw=write --bs=64k --size=8m --iodepth=8 --sg_write_mode=$mode
    same "$mode" "$(json $mode '.jobs[0].write.total_ios')" 128
done
sg pattern --filename=$SG --rw=write --bs=64k --size=8m --sg_write_mode=write_same --buffer_pattern=0x33
same "bytes that write_same left" "$(head -c 8388608 $SD | tr -d '\063' | wc -c)" 0
sg compare --filename=$SG --rw=write --bs=64k --size=8m --sg_write_mode=verify_bytchk_01 --buffer_pattern=0x33
same "equal data compare" "$(json compare '.jobs[0].error')" 0
refused "data that differ are named" "miscompare" --name=x --ioengine=sg --filename=$SG --rw=write --bs=64k --size=8m --sg_write_mode=verify_bytchk_01 --buffer_pattern=0x34
for mode in write_and_verify "write_stream --stream_id=1"; do
    refused "$mode, which the device lacks, is named" "invalid command operation code" --name=x --ioengine=sg --filename=$SG --rw=write --bs=4k --size=64k --sg_write_mode=$mode
done

refused "a block that is not a multiple" "whole blocks" --name=x --ioengine=sg --filename=$SG --rw=read --bs=1000 --size=1m
refused "hipri without it in the driver" "no polled completions" --name=x --ioengine=sg --filename=$SG --rw=read --bs=4k --size=1m --hipri
refused "another engine on the character device" "takes commands" --name=x --ioengine=psync --filename=$SG --rw=read --bs=4k --size=1m
head -c 1048576 /dev/zero >plain
refused "a file" "sends SCSI commands to a disk" --name=x --ioengine=sg --filename=plain --rw=read --bs=4k --size=1m
refused "read-only runs" "readonly" --readonly --name=x --ioengine=sg --filename=$SG --rw=trim --bs=4k --size=1m
check "a swap space" mkswap $SD
check "in use" swapon $SD
refused "a disk in use, by its generic device" "swap space" --name=x --ioengine=sg --filename=$SG --rw=write --bs=4k --size=1m
refused "a disk in use, by itself" "swap space" --name=x --ioengine=sg --filename=$SD --rw=trim --bs=4k --size=1m
sg reading --filename=$SG --rw=read --bs=4k --size=64k
check "no longer in use" swapoff $SD

# The device mapper passes commands of root to the disk unchanged: block 0 of the volume would be block 0 of
# the disk.
dd if=/dev/urandom of=$SD bs=1M count=8 oflag=direct 2>/dev/null
before=$(dd if=$SD bs=1M count=8 iflag=direct 2>/dev/null | md5sum)
echo "0 8192 linear $SD 4096" | dmsetup create --noudevsync fiord-lv
volume=/dev/dm-$(dmsetup info -c --noheadings -o minor fiord-lv | tr -d ' ')
for what in write trim read; do
    refused "a mapped volume: $what" "built on .*whole disk beneath" --name=x --ioengine=sg --filename=$volume --rw=$what --bs=4k --size=1m
done
check "the volume is removed" dmsetup remove --noudevsync fiord-lv
same "the disk beneath" "$(dd if=$SD bs=1M count=8 iflag=direct 2>/dev/null | md5sum)" "$before"
