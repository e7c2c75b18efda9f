# The layers between a job and a device: generator-bound, depth-not-reached, scheduler, misaligned, split-or-merged, volatile-cache
# devices: nullb sd4k
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

fast=/dev/fiord/nullb
slow=/dev/fiord/nullb-slow
disk=/dev/fiord/sd4k
queue() { echo "/sys/block/$(basename "$(readlink -f "$1")")/$2"; }
timed="--direct=1 --ioengine=libaio --time_based --runtime=1s"

# A device that completes I/Os at once has no queue: the run measures the CPU.
fiord_json fast --name=x --filename=$fast --rw=randread --bs=4k --iodepth=8 $timed
reports fast generator-bound "limited by its CPUs.*busy for (9[0-9]|100) % of the time, and the device had 0.[0-9] of 8 I/Os"
fiord_json slow --name=x --filename=$slow --rw=randread --bs=4k --iodepth=8 $timed
silent slow generator-bound
silent slow depth-not-reached
within "2 ms each" "$(json slow '.jobs[0].read.clat_ns.mean / 1e6')" 2 8

# More I/Os than the kernel's queue, or the disk, takes at a time.
fiord_json deep --name=x --filename=$slow --rw=randread --bs=4k --iodepth=128 $timed
reports deep depth-not-reached "asks for 128 I/Os at a time, but nullb-slow had [0-9.]+: its queue \\(nr_requests\\) holds 31 requests"
echo 4 >"$(queue $disk device/queue_depth)"
fiord_json few --name=x --filename=$disk --rw=randread --bs=4k --iodepth=32 $timed
reports few depth-not-reached "asks for 32 I/Os at a time, but sd[a-z] accepts 4: device/queue_depth is 4"
echo 31 >"$(queue $disk device/queue_depth)"
fiord_json enough --name=x --filename=$disk --rw=randread --bs=4k --iodepth=16 $timed
silent enough depth-not-reached
say "depth 32 on a disk that takes 4: $(json few '.jobs[0].read.iops') IOPS; 16 on one that takes 31: $(json enough '.jobs[0].read.iops')"

# Schedulers, by name; silent for none, and for a job that sets the scheduler.
for name in mq-deadline bfq none; do
    check "scheduler $name" scheduler $fast $name
    fiord_json "$name" --name=x --filename=$fast --rw=randread --bs=4k --iodepth=8 $timed
    say "scheduler $name: $(json "$name" '.jobs[0].read.iops') IOPS"
done
reports mq-deadline scheduler "go through the scheduler mq-deadline"
reports bfq scheduler "go through the scheduler bfq"
same "bfq is suspect" "$(json bfq '.fiord.findings[] | select(.id == "scheduler") | .severity')" suspect
same "mq-deadline is a note" "$(json mq-deadline '.fiord.findings[] | select(.id == "scheduler") | .severity')" note
silent none scheduler

# Parts of physical blocks: because of the block size, and because of the start of the partition (an MBR with
# one partition, at sector 63).
check "scheduler none" scheduler $disk none
writes="--name=x --filename=$disk --rw=randwrite --iodepth=4 --ignore_findings=target-in-use $timed"
fiord_json odd $writes --bs=512
reports odd misaligned "not whole physical blocks of sd[a-z]: the smallest block is 512, the physical block 4096 bytes"
fiord_json even $writes --bs=4k
silent even misaligned
{
    printf '\0\0\0\0\203\0\0\0\77\0\0\0\0\100\0\0'
    dd if=/dev/zero bs=48 count=1 2>/dev/null
    printf '\125\252'
} | dd of=$disk bs=1 seek=446 2>/dev/null
check "the table is read again" blockdev --rereadpt $disk
part=$(readlink -f $disk)1
wait=0
until [ -b "$part" ] || [ $wait = 50 ]; do
    usleep 20000
    wait=$((wait + 1))
done
fiord_json part --name=x --filename="$part" --rw=randwrite --bs=4k --iodepth=4 $timed
reports part misaligned "partition sd[a-z]1 is not aligned to physical blocks: it starts at byte 32256, 3584 bytes after the start of a physical block of 4096 bytes"
dd if=/dev/zero of=$disk bs=512 count=1 2>/dev/null
check "no table" blockdev --rereadpt $disk

# 1 MiB writes through a queue that takes 356 KiB: three requests each.
echo 356 >"$(queue $disk queue/max_sectors_kb)"
large="--name=x --filename=$disk --rw=write --size=64M --iodepth=4 --direct=1 --ioengine=libaio"
fiord_json pieces $large --bs=1M
reports pieces split-or-merged "64 of 1024.0 KiB were issued, 192 of 341.3 KiB arrived; max_sectors_kb is 356"
fiord_json whole $large --bs=256k --rw=randwrite
silent whole split-or-merged
# A flush is not a part of a write, although the kernel counts it as one.
fiord_json synced --name=x --filename=$disk --rw=randwrite --bs=4k --size=1M --fsync=1 --direct=1 --ioengine=psync --number_ios=100
silent synced split-or-merged

# A volatile cache has absorbed all writes; with a flush within the measured time it has not.
few="--name=x --filename=$disk --rw=write --bs=64k --size=8M --iodepth=4 --direct=1 --ioengine=libaio"
fiord_json cached $few
reports cached volatile-cache "8.0 MiB in .* and no flush; queue/write_cache of sd[a-z] is write back"
fiord_json flushed $few --end_fsync=1
silent flushed volatile-cache
