# Persistent memory of 96 MiB (an NVDIMM of QEMU), with ext4 that is mounted with DAX on /tmp/pmem
# gives: pmem
# modules: nfit nd_pmem device_dax dax_pmem ext4 crc32c_generic
# qemu: -machine nvdimm=on -m slots=4,maxmem=16G
# qemu: -object memory-backend-ram,id=pmem-memory,size=96M
# qemu: -device nvdimm,id=pmem,memdev=pmem-memory

up() {
    nvdimm 96 pfn
    link "/dev/pmem$region" pmem
    mkfs.ext4 -q -F -b 4096 /dev/fiord/pmem
    modprobe crc32c_generic
    modprobe ext4
    mkdir -p /tmp/pmem
    mount -t ext4 -o dax=always /dev/fiord/pmem /tmp/pmem
}

down() {
    umount /tmp/pmem
    unlink_all pmem
}
