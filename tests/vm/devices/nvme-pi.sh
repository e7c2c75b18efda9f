# An NVMe namespace with 8 bytes of metadata a block, in a buffer of their own, and protection of type 1
# gives: nvme-pi nvme-pi-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme,id=nvme-pi,serial=nvme-pi,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-pi,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,ms=8,mset=0,pi=1

up() {
    nvme_links nvme-pi nvme-pi
    blkdiscard -f /dev/fiord/nvme-pi
}

down() { unlink_all nvme-pi nvme-pi-ng; }
