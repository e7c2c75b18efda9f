# A ZNS namespace with 8 bytes of metadata a block, in a buffer of their own, and protection of type 1; zones of 2 MiB
# gives: zns-pi-ng
# modules: nvme
# drive: 64M
# qemu: -device nvme,id=zns-pi,serial=zns-pi,max_ioqpairs=16
# qemu: -device nvme-ns,bus=zns-pi,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,ms=8,mset=0,pi=1,zoned=true,zoned.zone_size=2M,zoned.zone_capacity=1536K,zoned.max_open=14,zoned.max_active=14

up() {
    nvme_links zns-pi zns-pi
    fiord zones /dev/fiord/zns-pi-ng --reset --yes 2>/dev/null
}

down() { unlink_all zns-pi zns-pi-ng; }
