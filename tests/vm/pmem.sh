# ioengine=libpmem and dev-dax on persistent memory: data, system calls, counts, refusals
# devices: pmem devdax
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

FILE=/tmp/pmem/file
DAX=/dev/fiord/devdax
pmem() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=libpmem --filename=$FILE --bs=4k "$@"; }
dax() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=dev-dax --filename=$DAX --bs=4k "$@"; }

# What is written can be read again, through each kind of store, also by an engine that makes system calls.
for options in "--direct=0 --sync=0" "--direct=1 --sync=0" "--direct=0 --sync=1" "--direct=1 --sync=1"; do
    pmem verify --rw=randwrite --size=2m $options --verify=crc32c --fsync=32 --iodepth=1
    same "$options: errors" "$(json verify '.jobs[0].error')" 0
    same "$options: blocks written" "$(json verify '.jobs[0].write.total_ios')" 512
    same "$options: blocks read again" "$(json verify '.jobs[0].read.total_ios')" 512
    same "$options: flushes" "$(json verify '.jobs[0].sync.total_ios')" 15
    fiord_json again --name=again --ioengine=psync --filename=$FILE --bs=4k --rw=randread --size=2m --verify=crc32c --direct=1
    same "$options: psync finds no wrong block" "$(json again '.jobs[0].error')" 0
done
pmem sizes --rw=randwrite --size=2m --bsrange=1k-64k --bs_unaligned --direct=1 --verify=crc32c
same "unaligned sizes: errors" "$(json sizes '.jobs[0].error')" 0
pmem threads --rw=randwrite --size=2m --direct=1 --verify=crc32c --io_submit_mode=offload --iodepth=4
same "on other threads: errors" "$(json threads '.jobs[0].error')" 0
for job in "--offset=0" "--offset=60m" "--offset=4k --bs=3k"; do
    dax verify --rw=randwrite --size=1m --verify=crc32c $job
    same "dev-dax $job: errors" "$(json verify '.jobs[0].error')" 0
    same "dev-dax $job: bytes" "$(json verify '.jobs[0] | .write.io_bytes == .read.io_bytes')" true
done
# The last block and nothing after it; 62 MiB are left of 64 (the kernel keeps notes in the rest).
dax whole --rw=write --bs=1m --buffer_pattern=0x5a
same "the device has its size" "$(json whole '.jobs[0].write.io_bytes')" "$(cat /sys/bus/dax/devices/dax*/size)"
dax pattern --rw=read --bs=1m --verify=pattern --verify_pattern=0x5a
same "the pattern is everywhere" "$(json pattern '.jobs[0].error')" 0

# Reads, writes and flushes make no system call: the file is mapped once, with MAP_SYNC.
check "a job under strace" strace -f -y -e trace=mmap,msync,fsync,fdatasync,read,write,pread64,pwrite64,preadv,pwritev,openat -o trace \
    fiord --name=a --ioengine=libpmem --filename=$FILE --bs=4k --rw=randrw --size=2m --fsync=8 --output=out
has "the mapping" trace "mmap\(.*MAP_SHARED_VALIDATE\|MAP_SYNC, [0-9]+<[^>]*>, 0\)"
has_not "no call on the file" trace " (read|write|pread64|pwrite64|preadv|pwritev|fsync|fdatasync)\([0-9]+<[^>]*/${FILE##*/}>"
has_not "no msync" trace "msync\("
check "a job on the device under strace" strace -f -e trace=mmap,msync,fsync,pwrite64,openat -o trace \
    fiord --name=a --ioengine=dev-dax --filename=$DAX --bs=4k --rw=randwrite --size=64k --offset=4k --fsync=8 --output=out
has "a mapping of whole huge pages" trace "mmap\(NULL, 2097152, .*MAP_SHARED, [0-9]+, 0\)"
has_not "no call on the device" trace "(msync|fsync|pwrite64)\("

# What cannot work is refused before the first I/O.
LIB="--name=x --ioengine=libpmem --bs=4k --rw=write --size=64k"
DEV="--name=x --ioengine=dev-dax --bs=4k --rw=write --size=64k"
refused "a file outside of persistent memory" "not in persistent memory.*MAP_SYNC.*To fix: use a file on ext4" $LIB --filename=/tmp/plain
refused "a file on the file system without DAX" "not in persistent memory" $LIB --filename=/tmp/scenario/plain --rw=randread
refused "a block device" "is a block device, and .ioengine=libpmem. maps files" $LIB --filename=/dev/fiord/pmem --allow_mounted_write=1
refused "the DAX device as a file" "use .ioengine=dev-dax." $LIB --filename=$DAX
refused "trims of a file" "trim" $LIB --filename=$FILE --rw=trim
refused "a regular file as a device" "is a regular file, and .ioengine=dev-dax. maps" $DEV --filename=$FILE
refused "a block device as a DAX device" "is a block device, and .ioengine=dev-dax. maps" $DEV --filename=/dev/fiord/pmem --allow_mounted_write=1
refused "another character device" "is a character device, and .ioengine=dev-dax. maps" $DEV --filename=/dev/zero
refused "a device that does not exist" "there is no device" $DEV --filename=/dev/dax9.9
refused "an offset past the end" "past the end" $DEV --filename=$DAX --offset=1g
refused "trims of the device" "trim" $DEV --filename=$DAX --rw=trim
refused "a read-only run" "readonly" --readonly $DEV --filename=$DAX
check "no file was created" [ ! -e /tmp/scenario/x.0.0 ]
# The other jobs continue.
fiord --output-format=json --output=both.json --name=bad --ioengine=libpmem --filename=/tmp/plain --bs=4k --rw=write --size=64k \
    --name=good --ioengine=libpmem --filename=$FILE --bs=4k --rw=write --size=64k >both.out 2>&1
same "the job beside a refused one" "$(json both '.jobs[1].write.total_ios')" 16
same "the refused job" "$(json both '.jobs[0] | [.error, .write.total_ios] | join(" ")')" "95 0"
pmem forced --filename=/tmp/plain --size=64k --rw=randwrite --pmem_force=1 --verify=crc32c
has "pmem_force says that nothing is durable" forced.json "not durable"
dax direct --rw=write --size=64k --direct=1
reports direct no-effect "always stores past the caches"
