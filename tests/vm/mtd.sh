# ioengine=mtd on NAND and on flash in memory: erases, bad blocks, refused sizes, verification, a mounted flash
# devices: mtdram nandsim
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

NAND=/dev/fiord/nandsim
RAM=/dev/fiord/mtdram
mtd() { name=$1; shift; fiord_json "$name" --name="$name" --ioengine=mtd "$@"; }
flash() { json "$1" ".jobs[0].fiord.flash.$2"; }
# Blocks 0 to 2 and 4 to 8 of the NAND are good, 3 and 9 are bad.
GOOD="--filename=$NAND --offset=64k --size=80k"

# Trims erase. The kernel sees one MEMERASE64 for each, and the flash reads as ones.
check "erases" strace -f -e trace=ioctl,pwrite64 -o trace fiord --name=erase --ioengine=mtd $GOOD --rw=trim --bs=16k --output-format=json --output=erase.json
same "MEMERASE64" "$(grep -c MEMERASE64 trace)" 5
same "trims" "$(json erase '.jobs[0].trim.total_ios')" 5
same "erases" "$(flash erase erases)" 5
same "bytes that are not FFh" "$(dd if=$NAND bs=16k skip=4 count=5 2>/dev/null | tr -d '\377' | wc -c)" 0

# Writes of pages, and reads.
mtd write $GOOD --rw=write --bs=512 --buffer_pattern=0x5a
same "pages written" "$(json write '.jobs[0].write.total_ios')" 160
same "no overwrites are known" "$(flash write overwrites)" 0
same "bytes that are not 5Ah" "$(dd if=$NAND bs=16k skip=4 count=5 2>/dev/null | tr -d '\132' | wc -c)" 0
mtd parts $GOOD --rw=randread --bs=1000
same "reads of any size" "$(json parts '.jobs[0].read.total_ios')" 81

# Erase before write: trimwrite erases each block first. Each of the 5 blocks is erased in each of 4 loops.
mtd wear $GOOD --rw=trimwrite --bs=512,512,16k --loops=4
same "erases of the loops" "$(flash wear erases)/$(flash wear erased_blocks)/$(flash wear most_erases)" 20/5/4
same "nothing was overwritten" "$(flash wear overwrites)" 0
# A job without verification may write twice, as in fio. The report says that the flash contains a mixture.
mtd twice $GOOD --rw=write --bs=4k --loops=2
same "overwrites of the second loop" "$(flash twice overwrites)" 20
has "a warning says so" twice.json "20 writes went to flash that was not erased"
refused "verified writes over old data" "the flash is not erased there: a write would store a mixture" --name=x --ioengine=mtd $GOOD --rw=write --bs=512 --verify=crc32c

# Verification, on NAND with erases, and in memory without.
mtd verify $GOOD --rw=trimwrite --bs=16k --verify=crc32c --loops=2
same "verified" "$(json verify '.jobs[0].error')/$(json verify '.jobs[0].read.total_ios')" 0/10
mtd again $GOOD --rw=read --bs=16k --verify=crc32c --verify_only
same "read again" "$(json again '.jobs[0].error')/$(json again '.jobs[0].read.total_ios')" 0/5
check "erased" fiord --name=erase --ioengine=mtd $GOOD --rw=trim --bs=16k
mtd blank $GOOD --rw=randwrite --bs=512 --verify=fiord
same "verified after an erase of all" "$(json blank '.jobs[0].error')/$(json blank '.jobs[0].read.total_ios')" 0/160
mtd memory --filename=$RAM --rw=randwrite --bs=4k --size=1m --verify=crc32c --loops=2
same "memory needs no erase" "$(json memory '.jobs[0].error')/$(flash memory overwrites)" 0/0
mtd odd --filename=$RAM --rw=write --bs=1001 --size=1001
same "nor whole pages" "$(json odd '.jobs[0].write.io_bytes')" 1001
mtd ones --filename=$RAM --rw=trim --bs=64k --size=1m
same "erases in memory" "$(flash ones erases)" 16

# Bad blocks: the kernel refuses to erase them. With skip_bad no I/O goes to them: they fail with EIO, as in fio.
refused "an erase of a bad block" "EIO" --name=x --ioengine=mtd --filename=$NAND --rw=trim --bs=16k
check "skipped" strace -f -e trace=ioctl,pwrite64 -o trace fiord --name=skip --ioengine=mtd --filename=$NAND --rw=trim --bs=16k --skip_bad=1 --ignore_error=EIO,EIO,EIO --output-format=json --output=skip.json
same "MEMERASE64 of good blocks" "$(grep -c 'MEMERASE64.* = 0' trace)/$(grep -c MEMERASE64 trace)" 62/62
same "bad blocks" "$(flash skip bad_blocks)/$(flash skip skipped)/$(flash skip erases)" 2/2/62
refused "and says which" "the erase block at 49152 is bad, and skip_bad=1 skips it" --name=x --ioengine=mtd --filename=$NAND --rw=read --bs=16k --skip_bad=1
mtd around --filename=$NAND --rw=trimwrite --bs=16k --skip_bad=1 --ignore_error=EIO,EIO,EIO --verify=crc32c
same "bad blocks do not count as corrupt" "$(json around '.jobs[0].total_err')/$(json around '.jobs[0].first_error')/$(json around '.jobs[0].read.total_ios')" 4/5/62
same "no block became bad" "$(cat /sys/class/mtd/*/bad_blocks | sort -n | tail -n 1)" 2

# fio's example, on both devices.
cat >example.fio <<'JOB'
[global]
gtod_reduce=1
filename=${FLASH}
ioengine=mtd
ignore_error=,EIO
blocksize=512,512,16384
skip_bad=1
offset=64k
size=80k
[trim]
stonewall
rw=trim
[write]
stonewall
rw=write
[trimwrite]
stonewall
block_error_percentiles=1
rw=trimwrite
loops=4
JOB
export FLASH=$NAND
fiord_json example example.fio
same "I/Os of the example" "$(json example '[.jobs[] | .trim.total_ios, .write.total_ios] | join(" ")')" "5 0 0 160 20 20"

# What does not work is refused before any I/O.
refused "a write of parts of a page" "is written in units of 256 bytes, and 1000 is not a multiple" --name=x --ioengine=mtd --filename=$NAND --rw=write --bs=1000
refused "an erase of parts of a block" "is erased in blocks of 16384 bytes, and 4096 is not a multiple" --name=x --ioengine=mtd --filename=$NAND --rw=trim --bs=4k
refused "a block device of flash" "is a block device, and .ioengine=mtd. works on raw flash" --name=x --ioengine=mtd --filename=/dev/mtdblock0 --rw=read
refused "another character device" "is not raw flash" --name=x --ioengine=mtd --filename=/dev/zero --rw=read --size=1m
head -c 65536 /dev/zero >plain
refused "a file" "is a regular file" --name=x --ioengine=mtd --filename=plain --rw=read
refused "a missing device" "there is no device" --name=x --ioengine=mtd --filename=/dev/mtd77 --rw=write
same "it was not created" "$(ls /dev/mtd77 2>/dev/null)" ""
refused "the node for reading" "read-only" --name=x --ioengine=mtd --filename="$(readlink $NAND)ro" --rw=write
mtd ro --filename="$(readlink $NAND)ro" --rw=read --bs=16k --size=48k
refused "threads" "makes its calls on one thread" --name=x --ioengine=mtd --filename=$NAND --rw=read --io_submit_mode=offload --iodepth=4
refused "a read-only run" "readonly" --readonly --name=x --ioengine=mtd --filename=$NAND --rw=trim --bs=16k

# A mounted flash is protected, also through the raw device.
check "erased for JFFS2" fiord --name=erase --ioengine=mtd --filename=$RAM --rw=trim --bs=64k
mkdir -p /mnt/flash
check "mounted" mount -t jffs2 "$(basename "$(readlink $RAM)")" /mnt/flash
echo precious >/mnt/flash/file
for what in write trim; do
    refused "a mounted flash: $what" "mounted" --name=x --ioengine=mtd --filename=$RAM --rw=$what --bs=64k --size=1m
done
mtd reading --filename=$RAM --rw=read --bs=64k --size=1m
same "its file" "$(cat /mnt/flash/file)" precious
check "unmounted" umount /mnt/flash
