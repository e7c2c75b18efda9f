# A program reads the device as blkid does: fiord drops its pages before the first I/O or reports them, and each job opens the device once
# devices: dmzero
# clock: instructions
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

disk=/dev/fiord/dmzero
workload="--name=x --filename=$disk --thread --numjobs=2 --rw=randwrite --bs=4k --direct=1 --ioengine=libaio --iodepth=1024 \
    --iodepth_batch_submit=16 --iodepth_batch_complete=16 --norandommap --gtod_reduce=1 --offset_increment=32M \
    --size=30M --group_reporting --time_based --runtime=600ms"

# Without read-ahead, the number of pages that a read caches is known.
check "no read-ahead" blockdev --setra 0 $disk

# The 25 pages that blkid caches: the first and the last ones of the device. The run does not write to the
# last ones.
blkid() {
    dd if=$disk of=/dev/null bs=4k count=16 2>/dev/null
    dd if=$disk of=/dev/null bs=4k count=9 skip=16375 2>/dev/null
}
iops() { json "$1" '.jobs[0].write.iops'; }
evidence() { json "$1" '[.fiord.findings[]? | select(.id == "cache-under-direct") | .evidence] | join("; ")'; }
# Whether a number is not within 5 % of another.
off() { awk -v got="$1" -v wanted="$2" 'BEGIN { exit !(got < wanted * 0.95 || got > wanted * 1.05) }'; }

# The first runs are slower, because the emulator translates the code that they execute.
for run in 1 2 3; do fiord_json warm $workload --runtime=300ms; done

# Each thread opens the device once for I/O. All other opens are read-only, which udev does not notice.
check "under strace" strace -f -e trace=open,openat -o opened fiord $workload --output=x.out
same "opened to be written" "$(grep "\"$disk\", .*O_RDWR" opened | wc -l)" 2
same "by two threads" "$(grep "\"$disk\", .*O_RDWR" opened | cut -d' ' -f1 | sort -u | wc -l)" 2
same "opened to be written otherwise" "$(grep "\"$disk\"" opened | grep -cv -e O_RDONLY -e O_RDWR)" 0

# Ten runs, each with cached pages at its start, because another program holds the device open: fiord drops
# all of them; the results form one cluster.
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

# With invalidate=0, the pages stay cached: the report mentions them before and after the run. Written pages
# are dropped.
blkid
fiord check --format=json $workload --invalidate=0 >checked.json 2>&1
has "reported before the run" checked.json "25 cached pages, and invalidate=0 keeps them; open in sh "
fiord_json kept $workload --invalidate=0
has "reported after the run" kept.json "25 pages before the first I/O, (9|1[0-9]) at the end: invalidate=0 kept"
exec 7<&-

# The program reads at a random moment during the start of each run. If it reads after the first I/O, the
# report names the reason.
reported=0
for wait in 0 50000 100000 150000 200000 400000; do
    (
        usleep $wait
        blkid
    ) &
    fiord_json raced $workload
    wait
    if [ -n "$(evidence raced)" ]; then
        reported=$((reported + 1))
        has "how many, and who" raced.json " (9|1[0-9]|2[0-5]) at the end: another program has read it"
    elif off "$(iops raced)" "$median"; then
        failed "read after $wait µs: $(iops raced) IOPS against $median, and no reason is named"
    else passed; fi
    say "read after $wait µs: $(iops raced) IOPS; $(evidence raced)"
done
within "runs with a reason" $reported 1 5

# The cost of cached pages that are read at the start and that the run does not write.
fiord_json alone $workload --runtime=1s
(
    usleep 200000
    dd if=$disk of=/dev/null bs=4k count=25 skip=16359 2>/dev/null
) &
fiord_json beside $workload --runtime=1s
wait
say "alone $(iops alone) IOPS, with 25 pages $(iops beside) IOPS: $(evidence beside)"
same "no finding without them" "$(evidence alone)" ""
same "reported" "$(evidence beside)" "0 pages before the first I/O, 25 at the end: another program has read it since they were dropped"
within "slower with them" "$(iops beside)" 1 "$(awk -v alone="$(iops alone)" 'BEGIN { print alone * 0.98 }')"
