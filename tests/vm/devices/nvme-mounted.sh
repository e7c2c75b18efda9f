# An NVMe namespace of 64 MiB with a file system that is mounted
# gives: nvme-mounted nvme-mounted-ng
# modules: nvme ext4 crc32c_generic
# drive: 64M
# qemu: -device nvme,id=nvme-mounted,serial=nvme-mounted,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-mounted,drive=DRIVE,logical_block_size=512,physical_block_size=512

up() {
    nvme_links nvme-mounted nvme-mounted
    mke2fs /dev/fiord/nvme-mounted
    modprobe crc32c_generic
    modprobe ext4
    mkdir -p /tmp/mounted
    mount -t ext2 /dev/fiord/nvme-mounted /tmp/mounted
}

down() {
    umount /tmp/mounted
    unlink_all nvme-mounted nvme-mounted-ng
}
