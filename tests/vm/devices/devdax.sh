# Persistent memory of 64 MiB (an NVDIMM of QEMU) as a device-DAX character device, which keeps its contents
# gives: devdax
# modules: nfit nd_pmem device_dax dax_pmem
# qemu: -machine nvdimm=on -m slots=4,maxmem=16G
# qemu: -object memory-backend-ram,id=devdax-memory,size=64M
# qemu: -device nvdimm,id=devdax,memdev=devdax-memory

up() {
    nvdimm 64 dax
    link "/dev/dax$region.0" devdax
}

down() { unlink_all devdax; }
