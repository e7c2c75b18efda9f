# A network namespace with the address 10.9.0.2, 20 ms away in each direction; this machine is 10.9.0.1
# gives: netdelay
# modules: veth sch_netem

# The shell prefers the programs of busybox to those on PATH, and its ip cannot make a pair of interfaces.

# Whether a process has a network namespace of its own.
apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

up() {
    modprobe veth
    modprobe sch_netem
    unshare -n sleep 100000 &
    echo $! >/tmp/netdelay.pid
    wait_for apart $!
    there="nsenter --net=/proc/$!/ns/net"
    /with/ip link add va type veth peer name vb netns $!
    /with/ip address add 10.9.0.1/24 dev va
    $there /with/ip address add 10.9.0.2/24 dev vb
    /with/ip link set va up
    $there /with/ip link set vb up
    /with/tc qdisc add dev va root netem delay 20ms limit 100000
    $there /with/tc qdisc add dev vb root netem delay 20ms limit 100000
    link "/proc/$!/ns/net" netdelay
}

down() {
    /with/ip link del va
    kill "$(cat /tmp/netdelay.pid)"
    unlink_all netdelay
}
