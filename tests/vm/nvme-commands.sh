# Commands to an NVMe namespace's character device: reads, writes, trims and flushes with every io_uring setting
# devices: nvme
# limit: 90s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
disk=/dev/fiord/nvme

# run NAME OPTIONS…: reads or writes every block of 8 MiB once, in random order.
run() {
    name=$1
    shift
    fiord_json "$name" --name="$name" --filename=$ng --ioengine=io_uring_cmd --size=8M --bs=16k --rw=randrw \
        --randseed=4 "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
    same "$name: blocks" "$(json "$name" '.jobs[0].write.total_ios + .jobs[0].read.total_ios')" 512
}

run plain
run deep --iodepth=32
run fixed --iodepth=32 --fixedbufs --registerfiles
run vectored --iodepth=32 --nonvectored=0
run sqthread --iodepth=32 --sqthread_poll
run async --iodepth=32 --force_async=3
run hipri --iodepth=32 --hipri
run fua --iodepth=8 --readfua=1 --writefua=1
run batched --iodepth=32 --iodepth_batch=8 --iodepth_batch_complete_min=4
run rated --iodepth=8 --rate_iops=4000

# The data is where it should be, and no other block has changed.
fiord_json fives --name=fives --filename=$ng --ioengine=io_uring_cmd --offset=1M --size=1M --bs=64k --rw=randwrite \
    --iodepth=4 --buffer_pattern=0x55
same "the pattern is there" "$(dd if=$disk bs=1M skip=1 count=1 iflag=direct 2>/dev/null | tr -d 'U' | wc -c)" 0
same "one MiB of it" "$(dd if=$disk bs=1M skip=1 count=1 iflag=direct 2>/dev/null | wc -c)" 1048576

# A trim deallocates blocks, which QEMU's namespace then reads as zeros.
fiord_json trim --name=trim --filename=$ng --ioengine=io_uring_cmd --offset=1M --size=1M --bs=64k --rw=trim --iodepth=4
same "trims" "$(json trim '.jobs[0].trim.total_ios')" 16
same "nothing is left" "$(dd if=$disk bs=1M skip=1 count=1 iflag=direct 2>/dev/null | tr -d '\0' | wc -c)" 0

# A Flush after every fourth write, and one at the end.
fiord_json flush --name=flush --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=64k --rw=write --fsync=4 --end_fsync=1
within "flushes" "$(json flush '.jobs[0].sync.total_ios')" 3 4
same "no error" "$(json flush '.jobs[0].error')" 0

# Larger than one command: fiord splits such I/Os if the job asks for it, exactly to the byte.
limit=$(($(cat /sys/class/block/"$(basename "$(readlink -f $disk)")"/queue/max_hw_sectors_kb) * 1024))
refused "twice the limit" "takes at most $limit bytes in one command \(MDTS\)" --name=large --filename=$ng \
    --ioengine=io_uring_cmd --size=8M --bs=$((limit * 2)) --rw=write
for depth in 1 8; do
    fiord_json split$depth --name=split --filename=$ng --ioengine=io_uring_cmd --size=16M --bs=1536k --rw=write \
        --iodepth=$depth --nvme_split=1 --buffer_pattern=0xaa
    same "split at $depth: I/Os" "$(json split$depth '.jobs[0].write.total_ios')" 11
    same "split at $depth: bytes" "$(json split$depth '.jobs[0].write.io_bytes')" 17301504
    same "split at $depth: they are there" \
        "$(dd if=$disk bs=1M count=15 iflag=direct 2>/dev/null | tr -d '\252' | wc -c)" 0
done

# Two files, each a namespace: here both are the same one.
fiord_json two --name=two --filename=$ng:$ng --ioengine=io_uring_cmd --size=4M --bs=64k --rw=read --iodepth=4
same "both are read" "$(json two '.jobs[0].read.total_ios')" 64
