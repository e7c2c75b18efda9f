# A program reads the device as blkid does: its pages are dropped before the first I/O or told of, and each job opens once
# devices: dmzero
# clock: instructions
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

disk=/dev/fiord/dmzero
workload="--name=x --filename=$disk --thread --numjobs=2 --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=1024 \
    --iodepth_batch_submit=16 --iodepth_batch_complete=16 --norandommap --gtod_reduce=1 --offset_increment=32M \
    --size=30M --group_reporting --time_based --runtime=600ms"

# Without read-ahead it is known how many pages a read leaves.
check "no read-ahead" blockdev --setra 0 $disk

# The 25 pages that blkid leaves, the first and the last of the device; the last nobody writes to.
blkid() {
    dd if=$disk of=/dev/null bs=4k count=16 2>/dev/null
    dd if=$disk of=/dev/null bs=4k count=9 skip=16375 2>/dev/null
}
iops() { json "$1" '.jobs[0].write.iops'; }
evidence() { json "$1" '[.fiord.findings[]? | select(.id == "cache-under-direct") | .evidence] | join("; ")'; }
# What is not within 5 % of a number.
off() { awk -v got="$1" -v wanted="$2" 'BEGIN { exit !(got < wanted * 0.95 || got > wanted * 1.05) }'; }

# The first runs are slower while the emulator translates what they execute.
for run in 1 2 3; do fiord_json warm $workload --runtime=300ms; done

# Each thread opens the device once for I/O; whatever else fiord opens is read only, which udev is not told of.
check "under strace" strace -f -e trace=open,openat -o opened fiord $workload --output=x.out
same "opened to be written" "$(grep "\"$disk\", .*O_RDWR" opened | wc -l)" 2
same "by two threads" "$(grep "\"$disk\", .*O_RDWR" opened | cut -d' ' -f1 | sort -u | wc -l)" 2
same "opened to be written otherwise" "$(grep "\"$disk\"" opened | grep -cv -e O_RDONLY -e O_RDWR)" 0

# Ten runs with the pages there before each, as another program holds the device open: all dropped, one cluster.
exec 7<$disk
rm -f results
for run in 1 2 3 4 5 6 7 8 9 10; do
    blkid
    fiord_json dropped $workload
    same "run $run: dropped" "$(evidence dropped)" ""
    iops dropped >>results
done
sort -n results -o results
median=$(sed -n 5p results)
say "pages dropped: $(tr '\n' ' ' <results)"
within "slowest of ten against the median" "$(awk -v m="$median" 'NR == 1 { print $1 / m }' results)" 0.95 1
within "fastest of ten against the median" "$(awk -v m="$median" 'END { print $1 / m }' results)" 1 1.05

# To be left where they are: told before the run and after it. Those that are written to go.
blkid
fiord check --format=json $workload --invalidate=0 >checked.json 2>&1
has "told before the run" checked.json "25 cached pages, and invalidate=0 keeps them; open in sh "
fiord_json kept $workload --invalidate=0
has "told after it" kept.json "25 pages before the first I/O, (9|1[0-9]) at the end: invalidate=0 kept"
exec 7<&-

# The program reads at a moment of each run's start. Where it came after the first I/O, the reason is named.
told=0
for wait in 0 50000 100000 150000 200000 400000; do
    (
        usleep $wait
        blkid
    ) &
    fiord_json raced $workload
    wait
    if [ -n "$(evidence raced)" ]; then
        told=$((told + 1))
        has "how many, and who" raced.json " (9|1[0-9]|2[0-5]) at the end: another program has read it"
    elif off "$(iops raced)" "$median"; then
        failed "read after $wait µs: $(iops raced) IOPS against $median, and no reason is named"
    else passed; fi
    say "read after $wait µs: $(iops raced) IOPS; $(evidence raced)"
done
within "runs with a reason" $told 1 5

# How much the pages take that are read at the start and that nobody writes to.
fiord_json alone $workload --runtime=1s
(
    usleep 200000
    dd if=$disk of=/dev/null bs=4k count=25 skip=16359 2>/dev/null
) &
fiord_json beside $workload --runtime=1s
wait
say "alone $(iops alone) IOPS, with 25 pages $(iops beside) IOPS: $(evidence beside)"
same "nothing to tell" "$(evidence alone)" ""
same "told" "$(evidence beside)" "0 pages before the first I/O, 25 at the end: another program has read it since they were dropped"
within "slower with them" "$(iops beside)" 1 "$(awk -v alone="$(iops alone)" 'BEGIN { print alone * 0.98 }')"
