# zonemode=zbd: writers, the zone states that they leave, resets, readers; counts are exact to the block, with and without a scheduler
# devices: zns
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns
Z="--filename=$zns --direct=1 --zonemode=zbd --bs=64k --group_reporting"
# Zones of 2 MiB have a capacity of 1536 KiB: 24 blocks.

for elevator in none mq-deadline; do
    scheduler $zns $elevator
    blkzone reset $zns

    # 14 writers, each on eight zones.
    fiord_json writers $Z --name=w --rw=write --ioengine=psync --size=8z --offset_increment=8z --numjobs=14 --job_max_open_zones=1
    same "$elevator: blocks of 14 writers" "$(json writers '.jobs[0].write.total_ios')" 2688
    same "$elevator: none of their zones was reset" "$(json writers '.jobs[0].zone_resets')" 0
    same "$elevator: their zones are full" "$(zones_in $zns fu)" 112
    same "$elevator: the others are empty" "$(zones_in $zns em)" 400

    # 32 readers, and one reader at depth 32.
    fiord_json readers $Z --name=r --rw=randread --ioengine=psync --size=112z --numjobs=32 --time_based --runtime=1
    same "$elevator: readers have no errors" "$(json readers '.jobs[0].error')" 0
    check "$elevator: they read" test "$(json readers '.jobs[0].read.total_ios')" -gt 100
    fiord_json deep $Z --name=r --rw=randread --ioengine=io_uring --iodepth=32 --size=112z
    same "$elevator: random reads at depth 32" "$(json deep '.jobs[0].read.total_ios')" 3584
    fiord_json whole $Z --name=r --rw=read --ioengine=psync --size=128z
    same "$elevator: what was written is what is read" "$(json whole '.jobs[0].read.total_ios')" 2688

    # Written again: each zone is reset once.
    fiord_json again $Z --name=w --rw=write --ioengine=libaio --iodepth=8 --size=8z --io_size=18m
    same "$elevator: blocks of 12 zones" "$(json again '.jobs[0].write.total_ios')" 288
    same "$elevator: 12 zones reset" "$(json again '.jobs[0].zone_resets')" 12
done

# 64 jobs with 14 open zones: each on separate zones, then all on the same zones.
blkzone reset $zns
fiord_json many $Z --name=w --rw=write --ioengine=io_uring --iodepth=4 --size=2z --offset_increment=2z --numjobs=64
same "64 jobs have all written" "$(json many '.jobs[0].write.total_ios')" 3072
same "128 zones are full" "$(zones_in $zns fu)" 128
blkzone reset $zns
fiord_json shared $Z --name=w --rw=randwrite --ioengine=io_uring --iodepth=4 --size=32z --io_size=3m --numjobs=64
same "64 jobs on the same zones" "$(json shared '.jobs[0].write.total_ios')" 3072
same "without an error" "$(json shared '.jobs[0].error')" 0

# Zones that an earlier run left half written do not disturb the job.
blkzone reset $zns
for zone in 3 11 19 27 35 43 51 59 67 75 83 91 99 107; do
    dd if=/dev/zero of=$zns bs=64k seek=$((zone * 32)) count=4 oflag=direct 2>/dev/null
done
fiord_json left $Z --name=w --rw=write --ioengine=psync --size=8z --offset_increment=8z --numjobs=14 --job_max_open_zones=1
same "nothing of the ranges is left out" "$(json left '.jobs[0].error')" 0
same "all their zones are full" "$(zones_in $zns fu)" 112
