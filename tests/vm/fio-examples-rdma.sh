# fio's examples for RDMA in both programs, in all four combinations of the ends, with their reports compared
# devices: rxe fio
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"
. /vm/devices/rxe.sh
. /vm/devices/fio.sh

port=7400
for ends in "fio fio" "fio fiord" "fiord fio" "fiord fiord"; do
    port=$((port + 1))
    set -- $ends
    what="s/\[port\]/$port/;s/\[hostname\]/10.9.0.1/;s/^verb=.*/verb=write/;s/^size=.*/size=8m/"
    changed rdmaio-server "$what"
    changed rdmaio-client "$what"
    timeout -s KILL 60 $1 --output-format=json --output=server.json rdmaio-server.fio >server.err 2>&1 &
    waiting=$!
    # The kernel lists no address of an end that waits at all of them: the other end tries again until it is accepted.
    for _ in $(seq 20); do
        usleep 500000
        timeout -s KILL 60 $2 --output-format=json --output=client.json rdmaio-client.fio >client.err 2>&1
        status=$?
        grep -q "REJECTED\|ECONNREFUSED" client.err || break
    done
    wait $waiting
    same "$1 waits, $2 connects: exit statuses" "$?/$status" 0/0
    same "$1 waits, $2 connects: the sender" "$(totals client)" "sender 0 0 8 0"
    same "$1 waits, $2 connects: bytes of the receiver" "$(json server '.jobs[0] | [.error, .read.io_bytes] | join(" ")')" "0 0"
done
