# An NVMe namespace with flexible data placement: four reclaim unit handles, placement identifiers 0 to 3
# gives: nvme-fdp nvme-fdp-ng
# modules: nvme
# drive: 256M
# qemu: -device nvme-subsys,id=reclaim,nqn=nvme-fdp,fdp=on,fdp.nruh=4,fdp.nrg=1,fdp.runs=16M
# qemu: -device nvme,id=nvme-fdp,serial=nvme-fdp,max_ioqpairs=16,subsys=reclaim
# qemu: -device nvme-ns,bus=nvme-fdp,drive=DRIVE,logical_block_size=4096,physical_block_size=4096,fdp.ruhs=0-3

up() {
    nvme_links nvme-fdp nvme-fdp
    blkdiscard -f /dev/fiord/nvme-fdp
}

down() { unlink_all nvme-fdp nvme-fdp-ng; }
