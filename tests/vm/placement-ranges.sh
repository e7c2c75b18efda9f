# num_range: a trim of several ranges is one command and one I/O, and its blocks are deallocated
# devices: nvme
# limit: 40s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

NG=/dev/fiord/nvme-ng
SD=/dev/fiord/nvme
fill() { fiord_json fill --name=fill --filename=$SD --rw=write --bs=256k --size=16m --ioengine=psync --direct=1 --buffer_pattern=0x77 --end_fsync=1; }
trim() { name=$1; shift; fiord_json "$name" --name="$name" --filename=$NG --ioengine=io_uring_cmd --bs=4k --size=16m "$@"; }
left() { head -c 16777216 $SD | tr -d '\000' | wc -c; }

fill
same "bytes before" "$(left)" 16777216
trim random --rw=randtrim --num_range=8 --iodepth=4
same "commands" "$(json random '.jobs[0].trim.total_ios')" 512
same "bytes" "$(json random '.jobs[0].trim.io_bytes')" 16777216
echo 1 >/proc/sys/vm/drop_caches
same "bytes left after trims at random" "$(left)" 0
fill
trim lines --rw=trim --num_range=3 --number_ios=100
same "commands asked for" "$(json lines '.jobs[0].trim.total_ios')" 100
same "bytes of those" "$(json lines '.jobs[0].trim.io_bytes')" 1228800
echo 1 >/proc/sys/vm/drop_caches
same "bytes left" "$(left)" 15548416
refused "ranges of writes" "only trims have ranges" --name=x --filename=$NG --ioengine=io_uring_cmd --rw=randwrite --bs=4k --size=1m --num_range=8
