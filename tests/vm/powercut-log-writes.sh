# Every state between two flushes that dm-log-writes has logged is consistent, and one without a flushed write is not
# devices: dmlogwrites
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# Target and journal are parts of one logged device, so that each state has the journal of its time.
half=65536
parts() {
    echo "0 $half linear $1 0" | dm_target "$2-target" "$2-target"
    echo "0 $half linear $1 $half" | dm_target "$2-journal" "$2-journal"
}
. /vm/devices.sh
parts /dev/fiord/dmlogwrites log
parts /dev/fiord/dmlogwrites-replay replay

check "the run" fiord --name=a --filename=/dev/fiord/log-target --rw=randwrite --norandommap --bsrange=4k-16k --size=1m \
    --io_size=512k --direct=1 --ioengine=libaio --iodepth=4 --fsync=7 --end_fsync=1 --randseed=11 --verify=fiord \
    --do_verify=0 --verify_journal=/dev/fiord/log-journal --allow_mounted_write=1
check "the mark" dmsetup message logwrites 0 mark end
for part in log-target log-journal; do check "take down $part" dmsetup remove --noudevsync $part; done
check "close the log" dmsetup remove --noudevsync logwrites

# The log: a sector with its magic, version, number of entries and sector size, then for each entry a sector with the
# first sector, the number of sectors, flags (1 flush, 2 FUA, 4 discard, 8 mark) and the data.
od -An -v -w512 -t u8 /dev/fiord/dmlogwrites-log | awk '
    NR == 1 { left = $3; next }
    left == 0 { exit }
    NR - 1 >= next_entry {
        print $1, $2, $3, NR
        next_entry = NR + (int($3 / 4) % 2 ? 0 : $2)
        left--
    }' >entries
say "$(wc -l <entries) entries, $(awk '$3 % 2' entries | wc -l) flushes"
within "flushes" "$(awk '$3 % 2' entries | wc -l)" 10 1000

# The last write to the target before the last flush: no later one replaces it.
last=$(awk -v half=$half '$2 > 0 && $1 < half { at = NR } END { print at }' entries)

# replay LEAVE: applies the log and verifies at each fifth flush and at the end, leaving one entry out.
replay() {
    for part in replay-target replay-journal; do blkdiscard -f /dev/fiord/$part; done
    n=0 flushes=0
    while read -r sector count flags at; do
        n=$((n + 1))
        if [ "$count" -gt 0 ] && [ $((flags & 4)) = 0 ] && [ "$n" != "$1" ]; then
            dd if=/dev/fiord/dmlogwrites-log of=/dev/fiord/dmlogwrites-replay bs=512 skip="$at" seek="$sector" \
                count="$count" conv=notrunc,fsync 2>/dev/null
        fi
        [ $((flags & 1)) = 0 ] || flushes=$((flushes + 1))
        if [ $((flags & 8)) != 0 ] || { [ $((flags & 1)) = 1 ] && [ $((flushes % 5)) = 0 ]; }; then
            status=0
            fiord verify --journal=/dev/fiord/replay-journal --same-target --format=json /dev/fiord/replay-target \
                >state.json 2>state.err || status=$?
            echo "$n $status $(json state .verdict) $(json state .writes_flushed)"
        fi
    done <entries
}

replay 0 >states
shown states
within "verified states" "$(wc -l <states)" 3 1000
same "states that are not consistent" "$(grep -v ' 0 ok ' states)" ""
within "flushed writes in the last state" "$(awk 'END { print $4 }' states)" 20 1000
replay "$last" >states
shown states
has "a flushed write is left out" states "^[0-9]+ 250 lost "
same "in the last state" "$(awk 'END { print $2 }' states)" 250
for part in replay-target replay-journal; do check "take down $part" dmsetup remove --noudevsync $part; done
