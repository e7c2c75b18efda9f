# A ZNS namespace: 512 zones of 2 MiB with 1.5 MiB of capacity, at most 14 open and active, blocks of 4 KiB
# gives: zns zns-ng
# modules: nvme
# drive: 1G
# qemu: -device nvme,id=zns,serial=zns,max_ioqpairs=16
# qemu: -device nvme-ns,bus=zns,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,zoned=true,zoned.zone_size=2M,zoned.zone_capacity=1536K,zoned.max_open=14,zoned.max_active=14

up() {
    nvme_links zns zns
    blkzone reset /dev/fiord/zns
}

down() { unlink_all zns zns-ng; }
