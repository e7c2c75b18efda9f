# An NVMe namespace with 64 bytes of metadata behind each block of data, and protection of type 2 with a 64-bit guard
# gives: nvme-ext64-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme,id=nvme-ext64,serial=nvme-ext64,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-ext64,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,ms=64,mset=1,pi=2,pif=2

up() { nvme_links nvme-ext64 nvme-ext64; }

down() { unlink_all nvme-ext64 nvme-ext64-ng; }
