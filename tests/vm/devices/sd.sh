# A SCSI disk of 64 MiB (scsi_debug) as block, sg and bsg device, with UNMAP and WRITE SAME
# gives: sd sd-sg sd-bsg
# modules: scsi_debug sd_mod sg
# not-with: sdzoned sd4k

up() {
    modprobe sd_mod
    modprobe sg
    modprobe scsi_debug dev_size_mb=64 sector_size=512 lbpu=1 lbpws=1 max_queue=64 delay=0
    scsi_links sd
}

down() {
    unlink_all sd sd-sg sd-bsg
    wait_for rmmod scsi_debug
}
