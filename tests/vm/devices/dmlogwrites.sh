# dm-log-writes over a RAM disk of 64 MiB: it logs every write and flush on another RAM disk. And a RAM disk to replay on
# gives: dmlogwrites dmlogwrites-log dmlogwrites-replay
# modules: brd dm_mod dm_log_writes

up() {
    ram_disk 7
    ram_disk 8
    ram_disk 9
    modprobe dm_log_writes
    link /dev/ram8 dmlogwrites-log
    link /dev/ram9 dmlogwrites-replay
    echo 0 131072 log-writes /dev/ram7 /dev/ram8 | dm_target logwrites dmlogwrites
}

down() {
    unlink_all dmlogwrites dmlogwrites-log dmlogwrites-replay
    ! dmsetup info logwrites >/dev/null 2>&1 || dmsetup remove --noudevsync logwrites
}
