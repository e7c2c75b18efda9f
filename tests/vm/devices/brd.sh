# A RAM disk of 64 MiB
# gives: brd
# modules: brd

up() {
    ram_disk 0
    link /dev/ram0 brd
}

down() { unlink_all brd; }
