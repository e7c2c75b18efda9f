# fiord zones: shows what the device reports; asks before changes, refuses some, and makes the others
# devices: zns nullzoned brd dmzero
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns

# states FILE: how many zones of each state a document has.
states() { gojq -c '[.zones[].state] | group_by(.) | map({(.[0]): length}) | add' "$1"; }

# The report in three formats.
dd if=/dev/zero of=$zns bs=64k count=3 oflag=direct 2>/dev/null
fiord zones $zns >table 2>err
check "the table is shown" test -s table
has "the limits" table 'open 1 of 14, active 1 of 14; blocks of 4 KiB'
has "a written zone has a line" table '^ +0 +seq +implicit-open +0 +196608 +192 KiB +1536 KiB +2 MiB$'
has "its neighbours share one" table '^1-511 +seq +empty +2097152 +- +0 B +1536 KiB +2 MiB$'
has_not "no colours in a file" table "$(printf '\033')"
same "a line a zone" "$(fiord zones $zns --each | grep -c ' seq ')" 512
same "a range" "$(fiord zones $zns --each --range 8+4 | grep -c ' seq ')" 4
fiord zones $zns --format=json >block.json
fiord zones /dev/fiord/zns-ng --format=json >generic.json
same "both devices tell the same zones" "$(gojq -c .zones block.json)" "$(gojq -c .zones generic.json)"
same "and the same limits" "$(gojq -c '[.limits.max_open_zones, .limits.max_active_zones]' generic.json)" '[14,14]'
same "appends through the generic device too" "$(gojq '.limits.zone_append_max_bytes > 0' generic.json)" true
same "as blkzone" "$(states block.json)" '{"empty":511,"implicit-open":1}'
same "written" "$(gojq .summary.written_bytes block.json)" 196608
same "conventional zones" "$(fiord zones /dev/fiord/nullzoned --format=json | gojq '.summary.states.conventional')" 8
same "which have no pointer" "$(fiord zones /dev/fiord/nullzoned --format=json | gojq '.zones[0].write_pointer_bytes')" null

# Changes.
if fiord zones $zns --reset </dev/null 2>err; then failed "a reset without a terminal"; else passed; fi
has "what would be lost" err '1 zone will be reset; 192 KiB of data will be lost'
has "and what to say" err '\-\-yes'
same "nothing was reset" "$(zones_in $zns em)" 511
check "zones are opened" fiord zones $zns --open 4-5
same "explicitly" "$(zones_in $zns oe)" 2
check "a zone is finished" fiord zones $zns --finish 7 --yes
same "it is full" "$(zones_in $zns fu)" 1
check "all are closed" fiord zones $zns --close
same "closed" "$(zones_in $zns cl)" 3
check "a range in bytes is reset" fiord zones $zns --reset 0-2m --yes
same "only it" "$(zones_in $zns fu)" 1
dd if=/dev/zero of=$zns bs=64k count=3 oflag=direct 2>/dev/null
check "all are reset, by the generic device" fiord zones /dev/fiord/zns-ng --reset --yes
same "all empty" "$(zones_in $zns em)" 512
fiord zones $zns --reset >out
has "nothing to lose" out 'all these zones were already empty'
check "conventional zones are left alone" fiord zones /dev/fiord/nullzoned --reset --yes

# Refusals.
check "the block layer knows of it" dd if=/dev/zero of=$zns bs=64k count=3 oflag=direct
refused "read only" 'readonly forbids changes' zones $zns --reset --yes --readonly
refused "behind the end" 'has zones 0 to 511' zones $zns --reset 500+20 --yes
refused "between zones" 'no zone starts or ends at byte 1048576' zones $zns --reset 1m-4m --yes
refused "conventional only" 'no zone in this range has a write pointer' zones /dev/fiord/nullzoned --reset 0-7 --yes
refused "no zones" 'has no zones' zones /dev/fiord/brd
refused "no device" 'is not a device' zones table
refused "one open zone too many" 'zone open of zones 20 to 39 failed' zones $zns --open 20+20
fiord zones $zns --close 2>err
refused "the same by commands, in the words of the specification" 'Too Many (Open|Active) Zones \(NVMe command specific' zones /dev/fiord/zns-ng --open 20+20
fiord zones $zns --close 2>err
echo "0 $(cat /sys/class/block/"$(basename "$(readlink -f $zns)")"/size) linear $zns 0" >map
check "a device on top of it" dmsetup create held --noudevsync --noudevrules map
refused "held by the device mapper" 'is in use' zones $zns --reset --yes
refused "its generic device as well" 'is in use' zones /dev/fiord/zns-ng --reset --yes
dmsetup remove --noudevsync held
same "what was refused left the zone as it was" "$(zone_pointers $zns 0 1)" 384
