# dm-zero, 64 MiB: reads zeroes, forgets writes
# gives: dmzero
# modules: dm_mod dm_zero

up() {
    modprobe dm_zero
    echo 0 131072 zero | dm_target zero dmzero
}

down() {
    unlink_all dmzero
    dmsetup remove --noudevsync zero
}
