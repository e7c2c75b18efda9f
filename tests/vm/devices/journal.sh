# An NVMe namespace of 64 MiB with ext4, mounted at /journal; it keeps its contents when the power is cut
# gives: journal journal-ng
# modules: nvme ext4 crc32c_generic
# drive: 64M
# qemu: -device nvme,id=journal,serial=journal
# qemu: -device nvme-ns,bus=journal,drive=DRIVE,logical_block_size=512,physical_block_size=512

up() {
    nvme_links journal journal
    modprobe crc32c_generic
    modprobe ext4
    [ "$FIORD_BOOT" != 1 ] || mkfs.ext4 -q -F /dev/fiord/journal
    mkdir -p /journal
    mount -t ext4 /dev/fiord/journal /journal
}

down() {
    umount /journal
    unlink_all journal journal-ng
}
