# An NVMe namespace of 1 GiB with blocks of 512 bytes, optional commands included
# gives: nvme nvme-ng
# modules: nvme
# drive: 1G
# qemu: -device nvme,id=nvme,serial=nvme,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme,drive=DRIVE,logical_block_size=512,physical_block_size=512

up() {
    nvme_links nvme nvme
    blkdiscard -f /dev/fiord/nvme
}

down() { unlink_all nvme nvme-ng; }
