# Two null_blk devices of 64 MiB: one that answers at once, one after 2 ms with a queue of 31 requests
# gives: nullb nullb-slow
# modules: null_blk configfs bfq

up() {
    configfs
    modprobe bfq
    modprobe null_blk nr_devices=0
    cd /sys/kernel/config/nullb
    mkdir nullb-fast nullb-slow
    for device in nullb-fast nullb-slow; do
        echo 64 >$device/size
        echo 1 >$device/memory_backed
        echo 4096 >$device/blocksize
    done
    echo 2 >nullb-slow/irqmode
    echo 2000000 >nullb-slow/completion_nsec
    echo 31 >nullb-slow/hw_queue_depth
    echo 1 >nullb-fast/power
    echo 1 >nullb-slow/power
    link /dev/nullb-fast nullb
    link /dev/nullb-slow nullb-slow
}

down() {
    unlink_all nullb nullb-slow
    for device in nullb-fast nullb-slow; do
        echo 0 >/sys/kernel/config/nullb/$device/power
        rmdir /sys/kernel/config/nullb/$device
    done
}
