# A SCSI disk of 64 MiB (scsi_debug) with logical blocks of 512 bytes in physical ones of 4096, which answers after 1 ms
# gives: sd4k sd4k-sg sd4k-bsg
# modules: scsi_debug sd_mod sg
# not-with: sd sdzoned

up() {
    modprobe sd_mod
    modprobe sg
    modprobe scsi_debug dev_size_mb=64 sector_size=512 physblk_exp=3 max_queue=31 ndelay=1000000
    scsi_links sd4k
}

down() {
    unlink_all sd4k sd4k-sg sd4k-bsg
    wait_for rmmod scsi_debug
}
