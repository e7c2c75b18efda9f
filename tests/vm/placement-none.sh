# A job with data placement on a namespace without it fails with a clear message
# devices: nvme
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

refused "no placement handles" "placement handles" --name=x --filename=/dev/fiord/nvme-ng --ioengine=io_uring_cmd --rw=write --bs=64k --size=1m --fdp=1
