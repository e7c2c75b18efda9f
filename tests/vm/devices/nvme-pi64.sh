# An NVMe namespace with 16 bytes of metadata a block, in a buffer of their own, and protection with a 64-bit guard
# gives: nvme-pi64-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme,id=nvme-pi64,serial=nvme-pi64,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-pi64,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,ms=16,mset=0,pi=1,pif=2

up() { nvme_links nvme-pi64 nvme-pi64; }

down() { unlink_all nvme-pi64 nvme-pi64-ng; }
