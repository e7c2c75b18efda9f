# Raw flash in memory (mtdram), which needs no erase before a write: 4 MiB in erase blocks of 64 KiB
# gives: mtdram
# modules: mtdram mtdblock jffs2

up() {
    modprobe mtdblock
    modprobe jffs2
    modprobe mtdram total_size=4096 erase_size=64
    flash_link "mtdram test device" mtdram
}

down() {
    unlink_all mtdram
    wait_for rmmod mtdram
}
