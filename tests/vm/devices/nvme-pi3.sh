# An NVMe namespace with 64 bytes of metadata a block, in a buffer of their own, and protection of type 3 in the first
# gives: nvme-pi3-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme,id=nvme-pi3,serial=nvme-pi3,max_ioqpairs=16
# qemu: -device nvme-ns,bus=nvme-pi3,drive=DRIVE,logical_block_size=512,physical_block_size=512,ms=64,mset=0,pi=3,pil=1

up() { nvme_links nvme-pi3 nvme-pi3; }

down() { unlink_all nvme-pi3 nvme-pi3-ng; }
