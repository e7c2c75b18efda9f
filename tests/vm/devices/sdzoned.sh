# A host-managed zoned SCSI disk (scsi_debug): 64 zones of 1 MiB, the first 4 conventional, at most 8 open
# gives: sdzoned sdzoned-sg sdzoned-bsg
# modules: scsi_debug sd_mod sg
# not-with: sd sd4k

up() {
    modprobe sd_mod
    modprobe sg
    modprobe scsi_debug dev_size_mb=64 sector_size=512 zbc=managed zone_size_mb=1 zone_nr_conv=4 \
        zone_max_open=8 max_queue=64 delay=0
    scsi_links sdzoned
}

down() {
    unlink_all sdzoned sdzoned-sg sdzoned-bsg
    wait_for rmmod scsi_debug
}
