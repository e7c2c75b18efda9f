# zonemode=zbd: readers and a writer with flow, trims, remainders, thresholds, conventional zones, the generic device
# devices: zns nullzoned
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns
Z="--filename=$zns --direct=1 --zonemode=zbd --bs=64k"

# Preparation by writes, then random reads at depth 32 over 32 zones, and a writer 256 zones further: 3 writes
# to 7 reads.
cat >flow.fio <<END
[global]
filename=$zns
direct=1
zonemode=zbd
[prepare]
rw=write
bs=512k
size=32z
ioengine=psync
[readers]
stonewall
rw=randread
bs=4k
size=32z
ioengine=io_uring
iodepth=32
flow=7
time_based
runtime=1
[writer]
rw=randwrite
bs=64k
offset=256z
size=8z
ioengine=psync
flow=3
time_based
runtime=1
END
for elevator in none mq-deadline; do
    scheduler $zns $elevator
    blkzone reset $zns
    fiord_json flow flow.fio
    same "$elevator: prepared" "$(json flow '.jobs[0].write.total_ios')" 96
    reads=$(json flow '.jobs[1].read.total_ios')
    writes=$(json flow '.jobs[2].write.total_ios')
    resets=$(json flow '.jobs[2].zone_resets')
    check "$elevator: both did something" test $((reads * writes)) -gt 0
    within "$elevator: 7 reads to 3 writes" $((reads * 30 / writes)) 60 80
    # A write to a full zone resets the zone: the resets are all fills except those of zones that are still
    # full.
    within "$elevator: zones reset" "$resets" $((writes / 24 - 8)) $((writes / 24))
    same "$elevator: readers report no zone resets" "$(json flow '.jobs[1].zone_resets')" null
done

# Trims reset zones; trims of empty zones do not count.
blkzone reset $zns
fiord_json fill $Z --name=w --rw=write --ioengine=psync --size=4z
fiord_json trim $Z --name=t --rw=randtrim --bs=2m --ioengine=psync --size=8z --number_ios=4
same "four trims" "$(json trim '.jobs[0].trim.total_ios')" 4
same "of four zones" "$(json trim '.jobs[0].zone_resets')" 4
same "all is empty" "$(zones_in $zns em)" 512

# The remainder of a zone that is too small for a block: finished, or written.
fiord_json finish $Z --name=w --rw=write --bs=100k --ioengine=psync --size=4z
same "15 blocks a zone" "$(json finish '.jobs[0].write.total_ios')" 60
same "zones with remainders are finished" "$(zones_in $zns fu)" 4
blkzone reset $zns
fiord_json rest $Z --name=w --rw=write --bs=100k --ioengine=psync --size=4z --write_zone_remainder=1
same "remainders are written" "$(json rest '.jobs[0].write.io_bytes')" $((4 * 1536 * 1024))

# Conventional zones are written anywhere, the other zones at their write pointers.
null=/dev/fiord/nullzoned
fiord_json both --filename=$null --direct=1 --zonemode=zbd --bs=64k --name=w --rw=randwrite --ioengine=io_uring --iodepth=8 --size=16z
same "all blocks of 16 zones" "$(json both '.jobs[0].write.total_ios')" 512
same "eight zones are full" "$(zones_in $null fu)" 8
fiord_json read --filename=$null --direct=1 --zonemode=zbd --bs=64k --name=r --rw=read --ioengine=io_uring --iodepth=8 --size=32z
same "they and the conventional ones are read" "$(json read '.jobs[0].read.total_ios')" 512

# The generic device of the namespace: commands, appends, resets.
blkzone reset $zns
G="--filename=/dev/fiord/zns-ng --ioengine=io_uring_cmd --zonemode=zbd --bs=64k --group_reporting"
fiord_json commands $G --name=w --rw=write --size=4z --offset_increment=4z --numjobs=4
same "commands write 16 zones" "$(json commands '.jobs[0].write.total_ios')" 384
same "they are full" "$(zones_in $zns fu)" 16
fiord_json append $G --name=w --rw=write --iodepth=8 --size=8z --write_mode=zone_append
same "appends write 8 zones" "$(json append '.jobs[0].write.total_ios')" 192
same "which were full, and were reset" "$(json append '.jobs[0].zone_resets')" 8
