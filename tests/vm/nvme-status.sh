# The report shows the status of a device by its NVMe name and code type, with the location; errors can be counted instead
# devices: nvmeerror zns
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# One MiB at offset 32 MiB fails: 256 blocks of 4 KiB.
ng=/dev/fiord/nvmeerror-ng
status=0
fiord --name=x --filename=$ng --ioengine=io_uring_cmd --bs=4k --rw=read --offset=30M --output-format=json --output=x.json \
    >x.out 2>x.err || status=$?
same "one job failed" "$status" 1
has "the status by name" x.err "read failed on $ng at offset 33554432: Internal Error \(NVMe generic command status 06h"
same "reads before it" "$(json x '.jobs[0].read.io_bytes / 4096')" 512
for how in "" --hipri --fixedbufs; do
    # shellcheck disable=SC2086
    fiord_json all --name=x --filename=$ng --ioengine=io_uring_cmd --bs=4k --rw=write --offset=30M --size=8M --iodepth=8 --continue_on_error=io $how
    same "errors$how" "$(json all '.jobs[0].total_err')" 256
    same "all writes but those$how" "$(json all '.jobs[0].write.io_bytes / 4096')" 1792
done
refused "write zeroes" "write zeroes failed on $ng at offset 33554432: Internal Error" --name=x --filename=$ng \
    --ioengine=io_uring_cmd --bs=4k --rw=write --offset=32M --size=4k --write_mode=zeroes
refused "a write behind a write pointer" "Zone Invalid Write \(NVMe command specific status BCh" --name=x \
    --filename=/dev/fiord/zns-ng --ioengine=io_uring_cmd --bs=4k --rw=write --offset=4k --size=64k
refused "the kernel's block device in between says EIO" "Input/output error" --name=x --filename=/dev/fiord/nvmeerror \
    --ioengine=io_uring --direct=1 --bs=4k --rw=read
