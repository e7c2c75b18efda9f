# Sockets between virtual machines (vsock) that loop back, and a dummy network interface with the addresses 10.9.1.1 and fd0a::1
# gives: vsock
# packages: iproute2
# modules: dummy vsock vsock_loopback

up() {
    modprobe dummy numdummies=0
    modprobe vsock_loopback
    ip link add group0 type dummy
    ip address add 10.9.1.1/24 dev group0
    echo 0 >/proc/sys/net/ipv6/conf/group0/accept_dad
    ip address add fd0a::1/64 dev group0
    ip link set group0 multicast on up
    wait_for test -e /dev/vsock
    link /dev/vsock vsock
}

down() {
    unlink_all vsock
    ip link del group0
}
