# Writes made of other commands: write zeroes, verify, and mixes with exact shares
# devices: nvme
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
disk=/dev/fiord/nvme

# Bytes of the first MiB that are not zero.
left() { dd if=$disk bs=1M count=1 iflag=direct 2>/dev/null | tr -d '\0' | wc -c; }

run() {
    name=$1
    shift
    fiord_json "$name" --name="$name" --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=4k --rw=write --iodepth=8 "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
    same "$name: I/Os" "$(json "$name" '.jobs[0].write.total_ios')" 256
}

run ones --buffer_pattern=0xff
same "all of it was written" "$(left)" 1048576
run verify --write_mode=verify
same "a verify writes nothing" "$(left)" 1048576
run zeroes --write_mode=zeroes
same "zeroes are zeroes" "$(left)" 0

# Of 250 writes, exactly 60 % are writes and 40 % write zeroes: the contents show which.
fiord_json mixed --name=mixed --filename=$ng --ioengine=io_uring_cmd --size=1M --bs=4k --rw=write --iodepth=8 \
    --number_ios=250 --write_mode=write/60:zeroes/40 --buffer_pattern=0xff
same "150 of 250 blocks carry data" "$(left)" $((150 * 4096))

# Far larger than MDTS, which does not limit commands without data.
fiord_json large --name=large --filename=$ng --ioengine=io_uring_cmd --size=256M --bs=16M --rw=write --iodepth=4 \
    --write_mode=zeroes --deac=1
same "16 of 16 MiB each" "$(json large '.jobs[0].write.total_ios')" 16

# fiord allocates no buffers: 256 buffers of 16 MiB would be twice the memory of this machine.
fiord_json deep --name=deep --filename=$ng --ioengine=io_uring_cmd --size=1G --bs=16M --rw=write --iodepth=256 \
    --write_mode=zeroes --time_based --runtime=1s
same "no memory for data" "$(json deep '.jobs[0].error')" 0
within "all of that depth" "$(json deep '.jobs[0].iodepth_level.">=64"')" 50 100
