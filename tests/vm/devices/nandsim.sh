# A simulated NAND flash: 1 MiB in 64 erase blocks of 16 KiB with pages of 512 bytes; blocks 3 and 9 are bad
# gives: nandsim
# modules: nandsim

up() {
    modprobe nandsim first_id_byte=0x20 second_id_byte=0x33 parts=64 badblocks=3,9
    flash_link "NAND simulator partition 0" nandsim
}

down() {
    unlink_all nandsim
    wait_for rmmod nandsim
}
