# A RAM disk of 64 MiB that works for two seconds and fails every I/O for one, in turn (dm-flakey)
# gives: dmflakey
# modules: brd dm_mod dm_flakey

up() {
    ram_disk 3
    modprobe dm_flakey
    echo 0 131072 flakey /dev/ram3 0 2 1 | dm_target flakey dmflakey
}

down() {
    unlink_all dmflakey
    dmsetup remove --noudevsync flakey
}
