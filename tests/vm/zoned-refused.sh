# zonemode=zbd: impossible jobs are refused before the first write, with one clear line
# devices: zns brd
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns
Z="--name=a --filename=$zns --direct=1 --zonemode=zbd --bs=64k --ioengine=psync"
refused "a range past the end" 'extends past the end' $Z --rw=write --offset=510z --size=4z
refused "less than a zone" 'io_size must be at least one zone' $Z --rw=write --size=1m
refused "blocks larger than a zone takes" 'I/O buflen exceeds zone size' $Z --rw=write --bs=1700k
refused "more open zones than there can be" 'more than the 14 zones' $Z --rw=write --max_open_zones=15
refused "writes through the page cache" 'Using direct I/O is mandatory for writing to ZBD drives' --name=a --filename=$zns --zonemode=zbd --rw=write --bs=64k
refused "another size of zones" 'job parameter zonesize 1048576 does not match disk zone size' $Z --rw=write --zonesize=1m
refused "trims of parts of zones" 'is not the zone size' $Z --rw=trim
refused "zones of no size" 'Specifying the zone size is mandatory' --name=a --filename=/dev/fiord/brd --zonemode=zbd --rw=write
refused "changes with --readonly" 'readonly' $Z --readonly --rw=trim --bs=2m
refused "plain writes" "first I/O failed. If $zns is a zoned block device, consider --zonemode=zbd" --name=a --filename=$zns --direct=1 --rw=randwrite --bs=64k --ioengine=psync
same "nothing was written" "$(zones_in $zns em)" 512
fiord_json empty $Z --rw=randread --size=4z
same "reads where nothing was written make no I/O" "$(json empty '.jobs[0].read.total_ios')" 0
same "and cause a finding, not a failure" "$(json empty '.fiord.findings | map(.id) | index("empty-zones") != null')" true
fiord_json beyond $Z --rw=randread --size=4z --read_beyond_wp=1
same "unless reads may go beyond the pointers" "$(json beyond '.jobs[0].read.total_ios')" 128

# Zones outside the range of the job already use all open zones.
for zone in 3 11 19 27 35 43 51 59 67 75 83 91 99 107; do
    dd if=/dev/zero of=$zns bs=64k seek=$((zone * 32)) count=1 oflag=direct 2>/dev/null
done
refused "no place is left" "outside of the job's range" $Z --rw=write --offset=200z --size=2z
same "their pointers are where they were" "$(zone_pointers $zns 3 1)" 128
