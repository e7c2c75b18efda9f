# RDMA over Ethernet in software: write, read, send and recv with their bytes and depth, and which end is done first
# devices: rxe
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices/rxe.sh

port=7000
# waits NAME OPTION…: starts the end that waits, until it listens. Its report will be in NAME.json.
waits() {
    port=$((port + 1))
    listening=$(listens)
    name=$1
    shift
    timeout -s KILL 60 fiord --name=r --ioengine=rdma --rw=read --bindname=10.9.0.1 --port=$port --bs=4k --size=128k \
        --output-format=json --output="$name.json" "$@" >"$name.err" 2>&1 &
    waiting=$!
    until_listens $((listening + 1))
}

# connects NAME OPTION…: the end that connects.
connects() {
    name=$1
    shift
    timeout -s KILL 60 fiord --name=c --ioengine=rdma --rw=write --hostname=10.9.0.1 --port=$port --bs=4k --size=128k \
        --output-format=json --output="$name.json" "$@" >"$name.err" 2>&1
}

# ends NAME STATUS: the end that waits ends with this status.
ends() {
    wait "$waiting"
    same "$1" $? "$2"
}
counter() { cat "/sys/class/infiniband/rxe0/ports/1/hw_counters/$1"; }

for verb in write read send recv; do
    packets=$(counter sent_pkts)
    waits $verb-r --iodepth=8
    check "$verb: the end that connects" connects $verb-c --verb=$verb --iodepth=8
    ends "$verb: the end that waits" 0
    same "$verb: bytes of the end that connects" "$(bytes $verb-c)" 131072
    case $verb in
    # Only the end that accesses the memory of the other one sees the I/Os.
    write | read) same "$verb: bytes of the end that waits" "$(bytes $verb-r)" 0 ;;
    *) same "$verb: bytes of the end that waits" "$(bytes $verb-r)" 131072 ;;
    esac
    within "$verb: per cent of the I/Os at a depth of 8" "$(json $verb-c '.jobs[0].iodepth_level["8"]')" 50 100
    # A block has four packets of 1 KiB.
    within "$verb: packets" $(($(counter sent_pkts) - packets)) 128 4000
done

# A receiver with one buffer holds up a sender with eight messages, and no message is lost.
waits short-r --iodepth=1
check "a receiver with few buffers" connects short-c --verb=send --iodepth=8
ends "a receiver with few buffers" 0
same "bytes of a receiver with few buffers" "$(bytes short-r)" 131072

# The end that is done first ends the other one without an error.
for verb in write send; do
    waits first-r --size=64k --runtime=3 --time_based
    check "$verb: the peer is done first" connects first-c --verb=$verb --iodepth=4 --time_based --runtime=40
    ends "$verb: it is done first" 0
    within "$verb: ms until the other end is done" "$(json first-c '.jobs[0].job_runtime')" 0 20000
done
refused "a connection to a port without a job" "ECONNREFUSED.*start the job that waits" --name=x --ioengine=rdma \
    --rw=write --size=4k --hostname=10.9.0.1 --port=1
