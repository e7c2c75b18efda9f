# ioengine=libblkio on an NVMe namespace: io_uring on its block device, nvme-io_uring on its generic device, refusals
# devices: nvme
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# fiord needs the cargo feature `libblkio`, with which `cargo xtask vm` builds it.

NVME=/dev/fiord/nvme
NG=/dev/fiord/nvme-ng
blkio() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=libblkio "$@"; same "$name: errors" "$(json "$name" '.jobs[0].error')" 0; }

# The driver io_uring: the kernel counts the sectors, and the data is on the drive.
written=$(sectors $NVME written)
blkio fill --libblkio_driver=io_uring --libblkio_path=$NVME --direct=1 --rw=write --bs=64k --size=8m --iodepth=16 --buffer_pattern=0x5a
same "blocks written" "$(json fill '.jobs[0].write.total_ios')" 128
same "sectors written" "$(($(sectors $NVME written) - written))" 16384
same "bytes that are not 5Ah" "$(dd if=$NVME bs=1M count=8 iflag=direct 2>/dev/null | tr -d '\132' | wc -c)" 0
within "per cent of the I/Os at a depth of 16" "$(json fill '.jobs[0].iodepth_level["16"]')" 50 100
blkio random --libblkio_driver=io_uring --libblkio_path=$NVME --direct=1 --rw=randrw --bs=4k --size=4m --iodepth=8 --fsync=32
same "random blocks" "$(json random '.jobs[0] | .read.total_ios + .write.total_ios')" 1024
blkio trim --libblkio_driver=io_uring --libblkio_path=$NVME --direct=1 --rw=trim --bs=1m --size=8m --libblkio_write_zeroes_on_trim=1
same "bytes that trims left" "$(dd if=$NVME bs=1M count=8 iflag=direct 2>/dev/null | tr -d '\000' | wc -c)" 0

# The driver nvme-io_uring sends commands, which the block layer does not count.
written=$(sectors $NVME written)
blkio commands --libblkio_driver=nvme-io_uring --libblkio_path=$NG --rw=write --bs=64k --size=8m --iodepth=16 --buffer_pattern=0x33
same "blocks written by commands" "$(json commands '.jobs[0].write.total_ios')" 128
same "sectors that the block layer counted" "$(($(sectors $NVME written) - written))" 0
same "bytes that are not 33h" "$(dd if=$NVME bs=1M count=8 iflag=direct 2>/dev/null | tr -d '\063' | wc -c)" 0
blkio verify --libblkio_driver=nvme-io_uring --libblkio_path=$NG --rw=randwrite --bs=4k --size=2m --iodepth=8 --verify=crc32c
same "blocks verified" "$(json verify '.jobs[0].read.total_ios')" 512

L="--name=x --ioengine=libblkio --rw=write --bs=4k --size=64k"
refused "a block device for commands" "sends NVMe commands" $L --libblkio_driver=nvme-io_uring --libblkio_path=$NVME
refused "a generic device for reads and writes" "takes commands" $L --libblkio_driver=io_uring --libblkio_path=$NG
refused "no device" "To fix:" $L --libblkio_driver=io_uring --libblkio_path=/dev/fiord/none
refused "blocks that the drive lacks" "To fix:" $L --libblkio_driver=nvme-io_uring --libblkio_path=$NG --bs=1000
