# A TCP window that is smaller than what a network with a delay has in flight: window-limited
# devices: netdelay
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# pair NAME RECEIVER-OPTIONS SENDER-OPTIONS: sends for two seconds. NAME.json is the report of the sender.
pair() {
    job="--ioengine=net --port=9876 --bs=16k --size=100g --time_based"
    nsenter --net=/dev/fiord/netdelay fiord --name=r $job --rw=read --listen --runtime=60s $2 >"$1.receiver" 2>&1 &
    wait_for nsenter --net=/dev/fiord/netdelay grep -q ":2694 " /proc/net/tcp
    fiord_json "$1" --name=s $job --rw=write --hostname=10.9.0.2 --runtime=2s $3
    wait $!
}
wait_for() {
    tries=0
    until "$@" 2>/dev/null || [ $tries = 200 ]; do
        tries=$((tries + 1))
        usleep 50000
    done
}

pair receive --window_size=16k ""
reports receive window-limited "a TCP window limits the rate of job s"
reports receive window-limited "the receive window of the peer \\([0-9.]+ KiB\\) was full for [0-9]+ % of the run, with a round trip time of 4[0-9.]* ms"
silent receive peer-limited
say "with window_size=16k at the receiver: $(json receive '.jobs[0].write.bw_bytes') B/s"

pair send "" --window_size=4k
reports send window-limited "window_size=4.0 KiB, and [0-9.]+ KiB were in flight, with a round trip time of"
silent send peer-limited
say "with window_size=4k at the sender: $(json send '.jobs[0].write.bw_bytes') B/s"

pair slow "" --rate=100k
silent slow window-limited
silent slow peer-limited
silent slow loopback

pair free "" ""
silent free loopback
say "without window_size: $(json free '.jobs[0].write.bw_bytes') B/s"
say "findings: $(json free '[.fiord.findings[]?.id] | join(" ")')"
