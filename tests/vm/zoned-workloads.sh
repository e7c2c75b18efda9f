# Workloads for zoned devices, with and without mq-deadline: counts are exact to the block, no deadlock
# devices: zns
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns

# run NAME OPTIONS…: runs a job on the namespace, which has 512 zones of 1.5 MiB. Ends a job that waits
# forever.
run() {
    name=$1
    shift
    if timeout -s KILL 40 fiord --output-format=json --output="$name.json" --name="$name" --filename=$zns --direct=1 \
        --zonemode=zbd --group_reporting "$@" >"$name.out" 2>"$name.err"; then passed; else
        failed "$name ended with $?"
        shown "$name.err"
    fi
    same "$name: error" "$(json "$name" '.jobs[0].error')" 0
}
empty() { blkzone reset $zns; }

for scheduler in none mq-deadline; do
    scheduler $zns $scheduler
    say "scheduler $scheduler"
    empty

    # 14 writers, each on four zones, with one open zone each: 56 zones of 12 blocks.
    run writers --rw=write --bs=128k --size=4z --offset_increment=4z --numjobs=14 --job_max_open_zones=1 --ioengine=psync
    same "$scheduler: blocks of the writers" "$(json writers '.jobs[0].write.total_ios')" 672
    same "$scheduler: full" "$(zones_in $zns fu)" 56
    same "$scheduler: no other was touched" "$(zones_in $zns em)" 456
    empty

    # Writes for the readers, then 32 readers, then one reader with a queue depth.
    run prepare --rw=write --bs=256k --size=64z --ioengine=io_uring --iodepth=4
    same "$scheduler: blocks of the preparation" "$(json prepare '.jobs[0].write.total_ios')" 384
    same "$scheduler: prepared" "$(zones_in $zns fu)" 64
    read=$(sectors $zns read)
    run readers --rw=randread --bs=4k --size=64z --ioengine=psync --numjobs=32 --time_based --runtime=1s
    # Before the job, fiord samples the data that it will read: up to one MiB more.
    reads=$(json readers '.jobs[0].read.total_ios * 8')
    within "$scheduler: each read was one of the device" "$(($(sectors $zns read) - read))" "$reads" "$((reads + 2048))"
    read=$(sectors $zns read)
    run deep --rw=randread --bs=4k --size=64z --ioengine=io_uring --iodepth=32 --time_based --runtime=1s
    reads=$(json deep '.jobs[0].read.total_ios * 8')
    within "$scheduler: at depth 32 too" "$(($(sectors $zns read) - read))" "$reads" "$((reads + 2048))"
    same "$scheduler: reads change no zone" "$(zones_in $zns fu)" 64
    empty

    # 64 writers with 14 open zones: all of them end, and every block is written.
    run crowd --rw=write --bs=64k --size=1z --offset_increment=1z --numjobs=64 --ioengine=psync
    same "$scheduler: blocks of the crowd" "$(json crowd '.jobs[0].write.total_ios')" 1536
    same "$scheduler: their zones" "$(zones_in $zns fu)" 64
    empty
    run shared --rw=randwrite --bs=16k --size=100z --numjobs=64 --number_ios=50 --max_open_zones=14 --ioengine=psync
    same "$scheduler: blocks at random in shared zones" "$(json shared '.jobs[0].write.total_ios')" 3200
    empty
done
