# Protection information: generated and checked by fiord or by the controller, in all combinations
# devices: nvme-pi nvme-pi64 nvme-ext nvme-pi3 nvme-ext64
# limit: 90s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ALL=GUARD,REFTAG,APPTAG

# job NAME DEVICE ARGUMENTS…: a run over about the first MiB of a namespace, with four I/Os in flight.
job() {
    name=$1 device=$2
    shift 2
    fiord_json "$name" --name="$name" --ioengine=io_uring_cmd --filename="/dev/fiord/$device" --iodepth=4 "$@"
    same "$device, $*: error" "$(json "$name" '.jobs[0].error')" 0
}

# round DEVICE BLOCKS HERE-ARGUMENTS THERE-ARGUMENTS: whichever side generates the information, both sides
# accept it.
round() {
    device=$1 here="--pi_act=0 $2" there="--pi_act=1 $3"
    for writer in "$here" "$there"; do
        job write "$device" --rw=randwrite --pi_chk=$ALL $writer
        for reader in "$here" "$there"; do
            job read "$device" --rw=read --pi_chk=$ALL $reader
            same "$device: as many reads as writes" "$(json read '.jobs[0].read.total_ios')" \
                "$(json write '.jobs[0].write.total_ios')"
        done
    done
}

# 16-bit guard, type 1, 8 bytes of separate metadata per block of 4096.
round nvme-pi-ng "--bs=16k --size=1m --md_per_io_size=32" "--bs=16k --size=1m"
# A block with another application tag is refused, unless the mask covers the difference.
for act in "--pi_act=0 --md_per_io_size=32" "--pi_act=1"; do
    refused "$act: another application tag" 'Application Tag' --name=a --ioengine=io_uring_cmd --rw=read --bs=16k \
        --filename=/dev/fiord/nvme-pi-ng --size=1m --pi_chk=APPTAG --apptag=0x9934 $act
    job masked nvme-pi-ng --rw=read --bs=16k --size=1m --pi_chk=APPTAG --apptag=0x9934 --apptag_mask=0xff $act
done
# 64-bit guard, 16 bytes of separate metadata.
round nvme-pi64-ng "--bs=16k --size=1m --md_per_io_size=64" "--bs=16k --size=1m"
# 16-bit guard, type 1, 8 bytes after each block of 512: the blocks of the job include them.
round nvme-ext-ng "--bs=4160 --size=1064960" "--bs=4k --size=1m"
# 16-bit guard, type 3, in the first of 64 bytes of separate metadata per block of 512; the metadata is
# transferred in all cases.
round nvme-pi3-ng "--bs=4k --size=1m --md_per_io_size=512" "--bs=4k --size=1m --md_per_io_size=512"
# 64-bit guard, type 2, in the last of 64 bytes after each block of 4096.
round nvme-ext64-ng "--bs=16640 --size=1064960" "--bs=16640 --size=1064960"

# Split into the largest commands that the controller takes, and with registered buffers. One at a time:
# Debian's kernel 6.12 under QEMU runs out of memory, also with fio, if several commands of 500 KiB have
# metadata.
split="--bs=768k --size=6m --md_per_io_size=1536 --pi_act=0 --pi_chk=$ALL --nvme_split=1 --iodepth=1"
job split nvme-pi-ng --rw=write $split
job split nvme-pi-ng --rw=read $split
job fixed nvme-pi-ng --rw=read --bs=64k --size=8m --md_per_io_size=128 --pi_act=0 --pi_chk=$ALL --fixedbufs --registerfiles
job vectored nvme-pi-ng --rw=read --bs=64k --size=8m --md_per_io_size=128 --pi_act=0 --pi_chk=$ALL --nonvectored=0

# The controller generates the information of write zeroes; both sides accept it.
job zeroes nvme-pi-ng --rw=write --write_mode=zeroes --bs=64k --size=1m
job read nvme-pi-ng --rw=read --bs=16k --size=1m --md_per_io_size=32 --pi_act=0 --pi_chk=GUARD,REFTAG
job read nvme-pi-ng --rw=read --bs=16k --size=1m --pi_chk=GUARD,REFTAG

# fiord refuses impossible combinations before the first write.
pi="--name=a --ioengine=io_uring_cmd --filename=/dev/fiord/nvme-pi-ng --rw=write --bs=16k --size=1m"
refused "a buffer that is too small" 'write `md_per_io_size=32`' $pi --pi_act=0 --md_per_io_size=31
refused "no part of it" '`CRC` is not a part' $pi --pi_chk=CRC
refused "a tag of 17 bits" 'has 16 bits' $pi --apptag=0x10000
refused "half blocks with metadata" 'blocks of 520 bytes' --name=a --ioengine=io_uring_cmd \
    --filename=/dev/fiord/nvme-ext-ng --rw=write --bs=4k --pi_act=0
refused "another engine" 'only with pass-through commands' --name=a --ioengine=io_uring --direct=1 \
    --filename=/dev/fiord/nvme-pi --rw=read --bs=4k --pi_act=0
