# RDMA over Ethernet in software (RoCE) on a dummy network interface with the addresses 10.9.0.1 and fd09::1
# gives: rxe
# packages: iproute2 libibverbs1 librdmacm1 ibverbs-providers
# files: /usr/bin/rdma /etc/libibverbs.d/rxe.driver /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so
# files: /usr/lib/x86_64-linux-gnu/libibverbs.so.1 /usr/lib/x86_64-linux-gnu/librdmacm.so.1
# modules: dummy crc32_generic rdma_rxe rdma_ucm ib_uverbs

up() {
    modprobe dummy numdummies=0
    modprobe crc32_generic
    modprobe rdma_rxe
    modprobe rdma_ucm
    ip link add rdma0 type dummy
    ip address add 10.9.0.1/24 dev rdma0
    echo 0 >/proc/sys/net/ipv6/conf/rdma0/accept_dad
    ip address add fd09::1/64 dev rdma0
    ip link set rdma0 up
    rdma link add rxe0 type rxe netdev rdma0
    link /dev/infiniband/uverbs0 rxe
    wait_for test -e /dev/infiniband/rdma_cm
}

down() {
    unlink_all rxe
    rdma link delete rxe0
    ip link del rdma0
}

# The functions below are for scenarios, which read this file.

# How many connections are awaited. An end that waits sets `bindname` to the address of the device, because the kernel
# lists no other.
listens() { rdma resource show cm_id | grep -c LISTEN; }
until_listens() {
    for _ in $(seq 200); do
        [ "$(listens)" -ge "$1" ] && return
        usleep 100000
    done
    failed "nothing listens"
}

# Waits until this number of ends are connected.
until_connected() {
    for _ in $(seq 300); do
        [ "$(rdma resource show qp | grep -c "type RC.*state RTS")" -ge "$1" ] && return
        usleep 100000
    done
    failed "the ends do not connect"
}

# How many bytes the first job of NAME.json has moved.
bytes() { json "$1" '.jobs[0] | .read.io_bytes + .write.io_bytes'; }

# one_end NAME OPTION…: starts one end of a connection, a job of `$program` (fiord), in the background. NAME.json is its report, NAME.err what it prints,
# NAME.pid its process, and NAME.status its exit status as soon as it has ended.
one_end() {
    name=$1
    shift
    (
        timeout -s KILL 140 ${program:-fiord} --name=r --ioengine=rdma --bs=4k --size=128k --output-format=json --output="$name.json" \
            "$@" >"$name.err" 2>&1 &
        echo $! >"$name.pid"
        wait $!
        echo $? >"$name.status"
    ) &
}
# The process of an end: the program `timeout` of busybox becomes the program that it starts.
pid_of() { cat "$1.pid"; }

waits_at() { name=$1 port=$2; shift 2; one_end "$name" --rw=read --bindname=10.9.0.1 --port="$port" "$@"; }
connects_to() { name=$1 port=$2; shift 2; one_end "$name" --rw=write --hostname=10.9.0.1 --port="$port" "$@"; }

# Waits until ends have ended.
until_ended() {
    for name in "$@"; do
        for _ in $(seq 1200); do
            [ -s "$name.status" ] && break
            usleep 100000
        done
        [ -s "$name.status" ] || failed "$name does not end"
    done
}

# fails NAME PATTERN: the end has failed with this message, and not with a panic.
fails() {
    until_ended "$1"
    within "$1: exit status" "$(cat "$1.status")" 1 127
    has "$1: message" "$1.err" "$2"
    has_not "$1: no panic" "$1.err" panicked
}

# No program and no connection is left.
all_ended() {
    same "programs that still run" "$(pidof fiord)" ""
    same "queues that are left" "$(rdma resource show qp link rxe0/1 | grep -c "type RC")" 0
    same "connections that are left" "$(rdma resource show cm_id | grep -c "link rxe0")" 0
}
