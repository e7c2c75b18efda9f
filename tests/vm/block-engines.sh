# Every engine for block devices on an NVMe namespace: the report agrees with the kernel's counters
# devices: nvme
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# run NAME ENGINE OPTIONS…: reads or writes every block of 8 MiB once, in random order.
run() {
    name=$1
    engine=$2
    shift 2
    written=$(sectors /dev/fiord/nvme written)
    read=$(sectors /dev/fiord/nvme read)
    fiord_json "$name" --name="$name" --filename=/dev/fiord/nvme --ioengine="$engine" --direct=1 --size=8M --bs=16k \
        --rw=randrw --rwmixread=50 --randseed=4 "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
    same "$name: blocks" "$(json "$name" '.jobs[0].write.total_ios + .jobs[0].read.total_ios')" 512
    same "$name: sectors written" "$(($(sectors /dev/fiord/nvme written) - written))" \
        "$(json "$name" '.jobs[0].write.total_ios * 32')"
    # Before the job, fiord reads a little of a device: its signatures, and whether it was ever written.
    reads=$(json "$name" '.jobs[0].read.total_ios * 32')
    within "$name: sectors read" "$(($(sectors /dev/fiord/nvme read) - read))" "$reads" "$((reads + 2048))"
}

run sync sync
run psync psync
run vsync vsync
run pvsync2 pvsync2
run pvsync2-hipri pvsync2 --hipri
run libaio libaio --iodepth=16
run io_uring io_uring --iodepth=16
run io_uring-fixed io_uring --iodepth=16 --fixedbufs --registerfiles
run io_uring-hipri io_uring --iodepth=16 --hipri
run io_uring-sqthread io_uring --iodepth=16 --sqthread_poll
