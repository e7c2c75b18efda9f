# An NVMe namespace with 8 bytes of metadata behind each block of data, and protection of type 1
# gives: nvme-ext-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme,id=nvme-ext,serial=nvme-ext,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-ext,drive=DRIVE,logical_block_size=512,physical_block_size=512,ms=8,mset=1,pi=1

up() { nvme_links nvme-ext nvme-ext; }

down() { unlink_all nvme-ext nvme-ext-ng; }
