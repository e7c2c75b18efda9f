# The device compares written data (verify_mode=compare); data that differs is read, diagnosed and counted as a bad read
# devices: nvme
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
disk=/dev/fiord/nvme
base="--filename=$ng --ioengine=io_uring_cmd --size=2M --bs=16k --verify=pattern --verify_pattern=%o --verify_mode=compare"

# run NAME OPTIONS…: writes and compares all blocks.
run() {
    name=$1
    shift
    # shellcheck disable=SC2086
    fiord_json "$name" --name="$name" $base "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
    same "$name: comparisons count as reads" "$(json "$name" '.jobs[0].read.total_ios')" 128
    same "$name: all verified" "$(json "$name" '.jobs[0].fiord.verify.verified_bytes')" 2097152
}

run plain --rw=write
run deep --rw=randwrite --iodepth=32
run fixed --rw=randwrite --iodepth=32 --fixedbufs --registerfiles
run vectored --rw=randwrite --iodepth=32 --nonvectored=0
run hipri --rw=randwrite --iodepth=16 --hipri
run sqthread --rw=randwrite --iodepth=16 --sqthread_poll
run backlog --rw=randwrite --iodepth=8 --verify_backlog=16
run threads --rw=randwrite --iodepth=8 --verify_async=1
run only --rw=write --verify_only --iodepth=4

# The driver sends Compare commands and no reads of those blocks.
trace=/sys/kernel/tracing
[ -d $trace/events ] || mount -t tracefs tracefs $trace
# traced COMMAND…: the command, and the NVMe commands that the driver sent meanwhile in trace.txt.
traced() {
    echo >$trace/trace
    echo 1 >$trace/events/nvme/nvme_setup_cmd/enable
    "$@"
    echo 0 >$trace/events/nvme/nvme_setup_cmd/enable
    cat $trace/trace >trace.txt
}
# reads, compares: how many of these commands are in trace.txt; of reads only those with the job's block size.
reads() { grep -c "nvme_cmd_read slba=[0-9]*, len=31," trace.txt || :; }
compares() { grep -c "nvme_cmd_compare " trace.txt || :; }

traced run count --rw=write --verify_only --iodepth=4
same "Compare commands" "$(compares)" 128
same "Read commands" "$(reads)" 0

# Two blocks of 512 bytes change, in different reads.
for at in 100 3000; do
    printf 'changed' | dd of=$disk bs=1 seek=$((at * 512 + 7)) conv=notrunc,fsync 2>/dev/null
done
blockdev --flushbufs $disk
for how in "" "--iodepth=32" "--iodepth=8 --fixedbufs" "--iodepth=8 --hipri" "--iodepth=8 --sqthread_poll" "--iodepth=8 --verify_async=1"; do
    status=0
    # shellcheck disable=SC2086
    fiord --name=bad $base --rw=write --verify_only --continue_on_error=verify $how --output-format=json \
        --output=bad.json >bad.out 2>bad.err || status=$?
    same "$how: errors" "$(json bad '.jobs[0].total_err')" 2
    same "$how: reads" "$(json bad '.jobs[0].read.total_ios')" 128
    has "$how: the place" bad.err 'verify=pattern failed on .*nvme-ng at offset (49152|1523712)'
done
traced fiord --name=bad $base --rw=write --verify_only --continue_on_error=verify --output=bad.txt >/dev/null 2>&1 || :
same "Compare commands with differences" "$(compares)" 128
same "each difference is read once" "$(reads)" 2
# Without continue_on_error, the job ends at the first one.
refused "the first difference ends the job" "verify=pattern failed on $ng at offset 49152" --name=bad $base --rw=write --verify_only

# Commands that store no data of the job have nothing to verify. Zeros are verified by a job that reads.
fiord_json verified-zeroes --name=x --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=16k --rw=write --write_mode=zeroes \
    --verify=crc32c
same "zeroes that are verified: blocks read back" "$(json verified-zeroes '.jobs[0].read.total_ios')" 64
fiord_json zeroes --name=zeroes --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=64k --rw=write --write_mode=zeroes
fiord_json zeros --name=zeros --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=16k --rw=read --verify=pattern \
    --verify_pattern=0x00
same "zeros: no errors" "$(json zeros '.jobs[0].error')" 0
same "zeros: all verified" "$(json zeros '.jobs[0].fiord.verify.verified_bytes')" 1048576
