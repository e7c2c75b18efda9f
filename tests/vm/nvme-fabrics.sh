# NVMe targets over RAM disks, through loop and TCP: every command at depths 64 and 128, counted to the block
# devices: nvmeloop nvmetcp
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

for target in nvmeloop nvmetcp; do
    ng=/dev/fiord/$target-ng
    for depth in 64 128; do
        for rw in write randread randrw trim; do
            name=$target-$rw-$depth
            fiord_json "$name" --name=x --filename=$ng --ioengine=io_uring_cmd --size=8M --bs=4k --rw=$rw --iodepth=$depth
            same "$name: blocks" "$(json "$name" '.jobs[0] | .read.total_ios + .write.total_ios + .trim.total_ios')" 2048
        done
        name=$target-zeroes-$depth
        fiord_json "$name" --name=x --filename=$ng --ioengine=io_uring_cmd --size=16M --bs=64k --rw=write \
            --write_mode=zeroes --iodepth=$depth
        same "$name: blocks" "$(json "$name" '.jobs[0].write.total_ios')" 256
    done
    fiord_json "$target-block" --name=x --filename=/dev/fiord/$target --ioengine=io_uring --direct=1 --size=8M --bs=4k \
        --rw=randrw --iodepth=64
    same "$target as a block device" "$(json "$target-block" '.jobs[0] | .read.total_ios + .write.total_ios')" 2048
done
