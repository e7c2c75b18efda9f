# A block trace of a loop device is replayed and recorded again: both traces agree in order, sizes, flags and times
# devices: loop
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

device=$(readlink -f /dev/fiord/loop)

# The survey for findings would read the device, too: all jobs run with --findings=off.
# record NAME COMMAND…: runs a command and records the device in NAME.blktrace.*
record() {
    trace=$1
    shift
    blktrace -d "$device" -o "$trace" -a queue -a complete >"$trace.blktrace.log" 2>&1 &
    tracer=$!
    wait=0
    until [ -e "/sys/kernel/debug/block/$(basename "$device")/trace0" ] || [ $wait = 100 ]; do
        usleep 20000
        wait=$((wait + 1))
    done
    usleep 200000
    "$@"
    usleep 200000
    kill -INT $tracer
    wait $tracer
}

# queued NAME: time (s), kind, sector and bytes of each I/O of a trace
queued() {
    blkparse -i "$1" -q -f '%T.%9t %a %d %S %N\n' 2>/dev/null | awk '$2 == "Q" { print $1, $3, $4, $5 }' >"$1.queued"
}

load="--name=load --filename=$device --ioengine=libaio --direct=1 --iodepth=4 --rw=randrw --bssplit=4k/60:16k/30:512/10
    --ba=512 --norandommap --fdatasync=20 --rate_iops=100,100 --runtime=3s --time_based --size=64m --findings=off"
record first fiord_json load $load
queued first
ios=$(grep -c . first.queued)
within "I/Os in the first trace" "$ios" 200 800
check "flushes are in the trace" grep -q ' F' first.queued

record second fiord_json replay --name=replay --read_iolog=first --replay_redirect="$device" --ioengine=libaio --direct=1 \
    --findings=off
queued second
same "as many I/Os" "$(grep -c . second.queued)" "$ios"
cut -d' ' -f2- first.queued >first.ios
cut -d' ' -f2- second.queued >second.ios
check "order, sizes and flags" cmp first.ios second.ios
same "errors" "$(json replay '.jobs[0].error')" 0
same "I/Os and flushes of the replay" "$(json replay '.jobs[0].fiord.replay.ios')" "$ios"

# Times since the first I/O, in ms: the replay is late by what it reports, and by the time that the emulated CPU takes from the
# job to the block layer.
late=$(json replay '.jobs[0].fiord.replay.lateness_ns.percentile["99.000000"] / 1e6')
paste -d' ' first.queued second.queued | awk '
    NR == 1 { a = $1; b = $5 }
    { d = (($5 - b) - ($1 - a)) * 1000; print d < 0 ? -d : d }' | sort -n >differences
most=$(sed -n "$((ios * 99 / 100))p" differences)
say "99 % of the times differ by at most $most ms; 99 % of the I/Os were at most $late ms late"
within "difference of the times, ms" "$most" 0 "$(awk "BEGIN { print $late + 5 }")"

# Twice the speed takes half of the time.
fiord_json fast --name=replay --read_iolog=first --replay_redirect="$device" --replay_time_scale=200 --ioengine=libaio --direct=1 \
    --findings=off
within "time at twice the speed" "$(json fast '.jobs[0].fiord.replay.took_ns / 1e9')" 1 2.2

# The file that blkparse makes of it, and one CPU after the other merged, have the same I/Os.
blkparse -i first -O -d merged.bin >/dev/null 2>&1
fiord_json merged --name=replay --read_iolog=merged.bin --replay_redirect="$device" --replay_no_stall=1 --ioengine=libaio --direct=1 \
    --findings=off
same "I/Os of the file of blkparse" "$(json merged '.jobs[0].fiord.replay.ios')" "$ios"
