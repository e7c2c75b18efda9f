# A zoned null_blk device in memory: 4 conventional zones and 28 sequential ones of 1 MiB, 14 open and active
# gives: nullzoned-small
# modules: null_blk configfs

up() {
    configfs
    modprobe null_blk nr_devices=0
    cd /sys/kernel/config/nullb
    mkdir nullb-small
    cd nullb-small
    echo 32 >size
    echo 1 >memory_backed
    echo 4096 >blocksize
    echo 1 >zoned
    echo 1 >zone_size
    echo 4 >zone_nr_conv
    echo 14 >zone_max_open
    echo 14 >zone_max_active
    echo 1 >power
    link /dev/nullb-small nullzoned-small
}

down() {
    unlink_all nullzoned-small
    echo 0 >/sys/kernel/config/nullb/nullb-small/power
    rmdir /sys/kernel/config/nullb/nullb-small
}
