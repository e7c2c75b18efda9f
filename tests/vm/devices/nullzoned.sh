# A zoned null_blk device in memory: 8 conventional zones and 56 sequential ones of 2 MiB, 14 open and active
# gives: nullzoned
# modules: null_blk configfs

up() {
    configfs
    modprobe null_blk nr_devices=0
    cd /sys/kernel/config/nullb
    mkdir nullb-zoned
    cd nullb-zoned
    echo 128 >size
    echo 1 >memory_backed
    echo 4096 >blocksize
    echo 1 >zoned
    echo 2 >zone_size
    echo 8 >zone_nr_conv
    echo 14 >zone_max_open
    echo 14 >zone_max_active
    echo 1 >power
    link /dev/nullb-zoned nullzoned
}

down() {
    unlink_all nullzoned
    echo 0 >/sys/kernel/config/nullb/nullb-zoned/power
    rmdir /sys/kernel/config/nullb/nullb-zoned
}
