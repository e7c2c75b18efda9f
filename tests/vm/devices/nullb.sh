# A null_blk device of 64 MiB in memory with blocks of 4 KiB, two queues of 31 requests, and no scheduler
# gives: nullb
# modules: null_blk configfs bfq

up() {
    configfs
    modprobe null_blk nr_devices=0
    cd /sys/kernel/config/nullb
    mkdir nullb-plain
    cd nullb-plain
    echo 64 >size
    echo 1 >memory_backed
    echo 4096 >blocksize
    echo 2 >submit_queues
    echo 31 >hw_queue_depth
    echo 1 >power
    link /dev/nullb-plain nullb
}

down() {
    unlink_all nullb
    echo 0 >/sys/kernel/config/nullb/nullb-plain/power
    rmdir /sys/kernel/config/nullb/nullb-plain
}
