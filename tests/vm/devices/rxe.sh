# RDMA over Ethernet in software (RoCE) on a dummy network interface with the addresses 10.9.0.1 and fd09::1
# gives: rxe
# packages: iproute2 libibverbs1 librdmacm1 ibverbs-providers
# files: /usr/bin/rdma /etc/libibverbs.d/rxe.driver /usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so
# files: /usr/lib/x86_64-linux-gnu/libibverbs.so.1 /usr/lib/x86_64-linux-gnu/librdmacm.so.1
# fiord: dynamic
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
