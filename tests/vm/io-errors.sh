# A part of a disk fails: the first error ends the job and has a location; continue_on_error counts all errors
# devices: dmerror
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# One MiB at offset 32 MiB fails: 256 blocks of 4 KiB.
for engine in psync libaio io_uring; do
    status=0
    fiord --name=x --filename=/dev/fiord/dmerror --ioengine=$engine --direct=1 --bs=4k --rw=read \
        --output-format=json --output=x.json >x.out 2>x.err || status=$?
    same "$engine: one job failed" "$status" 1
    same "$engine: EIO" "$(json x '.jobs[0].error')" 5
    same "$engine: blocks before it" "$(json x '.jobs[0].read.io_bytes / 4096')" 8192
    has "$engine: says where" x.err "33554432"
    fiord_json all --name=x --filename=/dev/fiord/dmerror --ioengine=$engine --direct=1 --bs=4k --rw=read \
        --continue_on_error=io --iodepth=8
    same "$engine: errors" "$(json all '.jobs[0].total_err')" 256
    same "$engine: the first" "$(json all '.jobs[0].first_error')" 5
    same "$engine: all blocks but those" "$(json all '.jobs[0].read.io_bytes / 4096')" 16128
done
