# zero-data: reports the two of four devices that were never written, one by one; silent after they are written
# devices: nvme nvme-fdp sd brd
# limit: 90s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

fresh="/dev/fiord/nvme /dev/fiord/sd"
written="/dev/fiord/nvme-fdp /dev/fiord/brd"
zeros() { json "$1" '[.fiord.findings[]? | select(.id == "zero-data") | .what] | join("; ")'; }
evidence() { json "$1" '[.fiord.findings[]? | select(.id == "zero-data") | .evidence] | join("; ")'; }
# read NAME DEVICE…: one job per device.
read_all() {
    name=$1
    shift
    jobs=
    for device in "$@"; do
        jobs="$jobs --name=${device##*/} --filename=$device"
    done
    fiord_json "$name" --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --size=16M --time_based --runtime=500ms $jobs
    say "$name: $(zeros "$name"): $(evidence "$name")"
}
# fill DEVICE…: writes the devices once.
fill() {
    for device in "$@"; do
        check "fill $device" fiord --name=fill --filename="$device" --rw=write --bs=1M --size=16M --direct=1 --ioengine=psync --output=fill.out
    done
}

fill $written
read_all half $fresh $written
same "the two that were never written" "$(zeros half | tr ';' '\n' | sed 's/^ //' | sort | tr '\n' ';')" \
    "all sampled blocks of /dev/fiord/nvme hold only zeros;all sampled blocks of /dev/fiord/sd hold only zeros;"
# One job with all four devices has the same findings.
fiord_json one --name=x --filename=/dev/fiord/nvme:/dev/fiord/nvme-fdp:/dev/fiord/sd:/dev/fiord/brd --rw=randread --bs=4k --direct=1 \
    --ioengine=libaio --iodepth=4 --size=64M --time_based --runtime=500ms
same "in one job too" "$(zeros one | tr ';' '\n' | sed 's/^ //' | sort | tr '\n' ';')" \
    "all sampled blocks of /dev/fiord/nvme hold only zeros;all sampled blocks of /dev/fiord/sd hold only zeros;"

fill $fresh
read_all full $fresh $written
same "all written" "$(zeros full)" ""

# A thin disk discards trimmed blocks, an NVMe namespace deallocates them.
check "trimmed" blkdiscard -f /dev/fiord/sd
check "deallocated" blkdiscard -f /dev/fiord/nvme
read_all trimmed $fresh $written
same "trimmed" "$(zeros trimmed | tr ';' '\n' | sed 's/^ //' | sort | tr '\n' ';')" \
    "all sampled blocks of /dev/fiord/nvme hold only zeros;all sampled blocks of /dev/fiord/sd hold only zeros;"
