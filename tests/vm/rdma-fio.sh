# ioengine=rdma next to fio: both ends fio, both ends fiord, and one of each; totals, block counts and statuses
# devices: rxe fio
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices/rxe.sh

# What a report says of the job: the first error, then bytes and blocks written, bytes and blocks read.
of() { json "$1" '.jobs[0] | [.error, .write.io_bytes, .write.total_ios, .read.io_bytes, .read.total_ios] | join(" ")'; }

# pair VERB WAITS CONNECTS: the ends are jobs of these programs. Their reports are in w.json and c.json.
port=7300
pair() {
    port=$((port + 1))
    rm -f w.* c.*
    program=$2
    # fio 3.33 accepts no `bindname` for the end that waits, and the kernel lists no address without a device: the other end
    # tries again until it is accepted.
    one_end w --rw=read --port=$port --iodepth=16
    program=$3
    for _ in $(seq 20); do
        usleep 500000
        rm -f c.status
        connects_to c $port --verb="$1" --iodepth=4
        until_ended c
        grep -q "REJECTED\|ECONNREFUSED" c.err || break
    done
    until_ended w
    what="$1, $2 waits, $3 connects"
    same "$what: exit statuses" "$(cat w.status)/$(cat c.status)" 0/0
    same "$what: the end that connects" "$(of c)" "0 131072 32 0 0"
    case $1-$2 in
    send-*) same "$what: the end that waits" "$(of w)" "0 0 0 131072 32" ;;
    # It sees no I/Os in its memory. fio counts one, and fiord its depth.
    *-fio) same "$what: the end that waits" "$(of w)" "0 0 0 0 1" ;;
    *) same "$what: the end that waits" "$(of w)" "0 0 0 0 16" ;;
    esac
}
for verb in write read; do
    for ends in "fio fio" "fiord fio" "fio fiord" "fiord fiord"; do pair $verb $ends; done
done
# fio 3.33 does not wait for buffers of its peer: two ends of it do not end here, and with `recv` it crashes, which can stop this
# machine.
pair send fiord fiord
