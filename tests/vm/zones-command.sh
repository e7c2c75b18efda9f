# fiord zones: what it says of zones is what blkzone says; it changes them when told yes, and only then
# devices: zns nullzoned sdzoned brd
# limit: 30s

# zones NAME DEVICE: the report as JSON in NAME.json.
zones() { check "report of $2" sh -c "fiord zones /dev/fiord/$2 --format=json --each >$1.json"; }

# Half of zone 1, the whole capacity of zone 3.
dd if=/dev/zero of=/dev/fiord/zns bs=1M count=1 seek=2 oflag=direct 2>/dev/null
dd if=/dev/zero of=/dev/fiord/zns bs=512k count=3 seek=12 oflag=direct 2>/dev/null
for device in zns zns-ng; do
    zones report $device
    same "$device: zones" "$(json report .zone_count)" 512
    same "$device: capacity of a zone" "$(json report '.zones[0].capacity_bytes')" 1572864
    same "$device: size of a zone" "$(json report .zone_size_bytes)" 2097152
    same "$device: limits" "$(json report '.limits | "\(.max_open_zones) \(.max_active_zones)"')" "14 14"
    same "$device: empty" "$(json report .summary.states.empty)" 510
    same "$device: full" "$(json report .summary.states.full)" 1
    same "$device: written" "$(json report '.zones[1].written_bytes')" 1048576
    same "$device: all written" "$(json report .summary.written_bytes)" 2621440
done
same "the pointer as blkzone tells it" "$(zone_pointers /dev/fiord/zns 1 1)" 2048

# Not told yes: nothing changes.
fiord zones /dev/fiord/zns --reset </dev/null >reset.out 2>&1
same "zones with data after a reset that nobody agreed to" "$(zones_in /dev/fiord/zns em)" 510
refused "a reset with --readonly" "readonly" zones /dev/fiord/zns --reset --yes --readonly
same "zones with data after a reset with --readonly" "$(zones_in /dev/fiord/zns em)" 510

check "open two" fiord zones /dev/fiord/zns --open 10-11 --yes
same "open" "$(zones_in /dev/fiord/zns oe)" 2
check "close one" fiord zones /dev/fiord/zns-ng --close 10 --yes
check "finish it" fiord zones /dev/fiord/zns-ng --finish 11 --yes
same "full" "$(zones_in /dev/fiord/zns fu)" 2
refused "one more than may be open" "open|active|resource" zones /dev/fiord/zns --open 20-40 --yes
check "reset all" fiord zones /dev/fiord/zns --reset --yes
same "empty after all" "$(zones_in /dev/fiord/zns em)" 512

zones mixed nullzoned
same "nullzoned: conventional" "$(json mixed .summary.states.conventional)" 8
same "nullzoned: conventional zones have no pointer" "$(json mixed '.zones[7].write_pointer_bytes')" null
zones smr sdzoned
same "sdzoned: conventional" "$(json smr .summary.states.conventional)" 4
same "sdzoned: limit" "$(json smr .limits.max_open_zones)" 8
refused "a disk without zones" "no zones" zones /dev/fiord/brd
refused "a range past the end" "0 to 511" zones /dev/fiord/zns --range 600
