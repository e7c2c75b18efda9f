# Effects of other programs on a run: hidden-stalls, noisy-neighbour, throttled-by-cgroup; zones: zone-limits, reads-beyond-pointer
# devices: dmdelay nvme nullzoned
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

delayed=/dev/fiord/dmdelay
disk=/dev/fiord/nvme
zoned=/dev/fiord/nullzoned

# Reads take 5 ms, but 800 ms during half a second of five: I/Os that are due during the stall start late and
# complete fast.
rate="--name=x --filename=$delayed --direct=1 --ioengine=psync --rw=randread --bs=4k --rate_iops=80 --time_based --runtime=5s"
fiord_json steady $rate
silent steady hidden-stalls
reads_take() {
    echo "0 131072 delay /dev/ram1 0 $1 /dev/ram1 0 20" | dmsetup reload delay
    dmsetup suspend --noudevsync delay
    dmsetup resume --noudevsync --noudevrules delay
}
(
    sleep 1
    reads_take 800
    usleep 500000
    reads_take 5
) &
fiord_json stalled $rate
wait
reports stalled hidden-stalls "p99: [0-9.]+ ms from the actual start, [0-9.]+ (ms|s) from the intended start"
within "p99 from the intended start, ms" "$(json stalled '.jobs[0].fiord.intended_lat_ns.read.percentile["99.000000"] / 1e6')" 200 2500

# Another program reads the device during the job.
light="--name=x --filename=$disk --direct=1 --ioengine=libaio --rw=randread --bs=4k --size=16M --rate_iops=200 --time_based --runtime=1500ms"
fiord_json alone $light
silent alone noisy-neighbour
(
    usleep 300000
    fiord --name=other --filename=$disk --rw=read --bs=256k --size=64M --direct=1 --ioengine=psync --output=other.out
) &
fiord_json beside $light
wait
reports beside noisy-neighbour "another program used nvme[0-9]+n1 during the run: its counters show reads of [0-9.]+ MB beyond the [0-9.]+ MB that the run can have moved"

# A control group (version 2) that permits 100 reads per second.
groups=/tmp/groups
mkdir -p $groups
check "control groups" mount -t cgroup2 groups $groups
echo +io >$groups/cgroup.subtree_control
mkdir $groups/slow
device=$(cat "/sys/block/$(basename "$(readlink -f $disk)")/dev")
echo "$device riops=100" >$groups/slow/io.max
plain="--name=x --filename=$disk --direct=1 --ioengine=libaio --iodepth=4 --rw=randread --bs=4k --size=16M --time_based --runtime=1s"
(
    echo 0 >$groups/slow/cgroup.procs
    fiord --output-format=json --output=limited.json $plain
)
reports limited throttled-by-cgroup "the control group /slow limits I/O to nvme[0-9]+n1: reads at most 100 I/Os a second"
within "what it came to" "$(json limited '.jobs[0].read.iops')" 90 130
fiord_json free $plain
silent free throttled-by-cgroup
say "in the group $(json limited '.jobs[0].read.iops') IOPS, outside $(json free '.jobs[0].read.iops') IOPS"
rmdir $groups/slow
echo -io >$groups/cgroup.subtree_control
umount $groups

# Sixteen writers on a device that permits 14 open zones; reads beyond the write pointers.
zbd="--name=x --filename=$zoned --zonemode=zbd --direct=1 --ioengine=psync --bs=64k --offset=8z --group_reporting"
fiord_json crowd $zbd --rw=randwrite --size=32z --numjobs=16 --number_ios=4
reports crowd zone-limits "16 jobs write to $zoned at once, and 14 zones may be open: the device permits 14: 2 jobs wait for a zone of another job"
fiord_json fits $zbd --rw=randwrite --size=32z --numjobs=14 --number_ios=4
silent fits zone-limits
# The writers left zones open, which other jobs may not use.
check "all zones empty" fiord zones $zoned --reset --yes
fiord_json fill $zbd --rw=write --size=2z
fiord_json written $zbd --rw=read --size=2z --number_ios=16
silent written reads-beyond-pointer
fiord_json beyond $zbd --rw=randread --size=32z --number_ios=16 --read_beyond_wp=1
reports beyond reads-beyond-pointer "job x may read zones that hold no data: read_beyond_wp=1"
