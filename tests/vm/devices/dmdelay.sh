# dm-delay over a RAM disk of 64 MiB: reads take 5 ms, writes and flushes 20 ms
# gives: dmdelay
# modules: brd dm_mod dm_delay

up() {
    ram_disk 1
    modprobe dm_delay
    echo 0 131072 delay /dev/ram1 0 5 /dev/ram1 0 20 | dm_target delay dmdelay
}

down() {
    unlink_all dmdelay
    dmsetup remove --noudevsync delay
}
