# Starting and stopping devices. Every device is a file in /vm/devices with the functions up and down;
# what they share is here.

# A shell of its own ends at the first command that fails, which a function in a condition does not.
device_up() { sh -e -c '. /vm/devices.sh; . "/vm/devices/$1.sh"; up' up "$1"; }
device_down() { sh -e -c '. /vm/devices.sh; . "/vm/devices/$1.sh"; down' down "$1"; }

# Waits until the command given succeeds, ten seconds at most.
wait_for() {
    tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || { echo "waited in vain: $*" >&2; return 1; }
        usleep 50000
    done
}

# /dev/fiord/NAME for a device node.
link() {
    wait_for test -e "$1"
    ln -sfn "$1" "/dev/fiord/$2"
}

unlink_all() { for name in "$@"; do rm -f "/dev/fiord/$name"; done; }

# The directory in sysfs of the NVMe controller with the serial number $1.
nvme_controller() {
    for controller in /sys/class/nvme/nvme*; do
        [ "$(sed 's/ *$//' "$controller/serial" 2>/dev/null)" = "$1" ] && { echo "$controller"; return; }
    done
    return 1
}

nvme_has_namespace() {
    controller=$(nvme_controller "$1") && ls -d "$controller/${controller##*/}n"* >/dev/null
}

# Links to the block device and to the generic character device of the namespace behind the
# controller with the serial number $1: /dev/fiord/$2 and /dev/fiord/$2-ng.
nvme_links() {
    case $1 in nvmetcp | nvmeloop | nvmeerror) ;; *) modprobe nvme poll_queues=2 ;; esac
    wait_for nvme_has_namespace "$1"
    controller=$(nvme_controller "$1")
    for namespace in "$controller/${controller##*/}n"*; do
        block=${namespace##*/}
        link "/dev/$block" "$2"
        link "/dev/ng${block#nvme}" "$2-ng"
    done
}

# The device of one target of the device mapper: dm_target NAME LINK, its table on standard input.
dm_target() {
    dmsetup create "$1" --noudevsync --noudevrules
    link "/dev/dm-$(dmsetup info -c --noheadings -o minor "$1" | tr -d ' ')" "$2"
}

# ram_disk NUMBER: an empty RAM disk of 64 MiB, /dev/ramNUMBER; each device that needs one has its own number.
ram_disk() {
    modprobe brd rd_nr=10 rd_size=65536
    wait_for test -b "/dev/ram$1"
    blkdiscard -f "/dev/ram$1"
}

# An NVMe target over the block device $2 with the subsystem name $1: nvmet_subsystem NAME DEVICE.
nvmet_subsystem() {
    subsystem=/sys/kernel/config/nvmet/subsystems/$1
    mkdir -p "$subsystem"
    echo 1 >"$subsystem/attr_allow_any_host"
    echo "$1" >"$subsystem/attr_serial"
    mkdir -p "$subsystem/namespaces/1"
    printf %s "$2" >"$subsystem/namespaces/1/device_path"
    echo 1 >"$subsystem/namespaces/1/enable"
}

# A loop target, connected: nvmet_loop NAME DEVICE PORT, with a port of its own; loop ports are distinguished by
# their address.
nvmet_loop() {
    nvmet_subsystem "$1" "$2"
    port=/sys/kernel/config/nvmet/ports/$3
    mkdir -p "$port"
    echo loop >"$port/addr_trtype"
    echo "$1" >"$port/addr_traddr"
    ln -s "/sys/kernel/config/nvmet/subsystems/$1" "$port/subsystems/$1"
    nvme_connect "transport=loop,traddr=$1,nqn=$1"
    nvme_links "$1" "$1"
}

nvmet_remove() {
    subsystem=/sys/kernel/config/nvmet/subsystems/$1
    rm -f "/sys/kernel/config/nvmet/ports/$2/subsystems/$1"
    rmdir "/sys/kernel/config/nvmet/ports/$2"
    echo 0 >"$subsystem/namespaces/1/enable"
    rmdir "$subsystem/namespaces/1" "$subsystem"
}

configfs() {
    modprobe configfs
    grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs config /sys/kernel/config
}

# zoned_null_blk NAME MIB ZONE_MIB CONVENTIONAL: a zoned null_blk device in memory, /dev/fiord/NAME.
zoned_null_blk() {
    configfs
    modprobe null_blk nr_devices=0
    mkdir "/sys/kernel/config/nullb/$1" && cd "/sys/kernel/config/nullb/$1"
    echo "$2" >size
    echo 1 >memory_backed
    echo 4096 >blocksize
    echo 1 >zoned
    echo "$3" >zone_size
    echo "$4" >zone_nr_conv
    echo 14 >zone_max_open
    echo 14 >zone_max_active
    echo 1 >power
    link "/dev/$1" "$1"
}

remove_null_blk() {
    unlink_all "$1"
    echo 0 >"/sys/kernel/config/nullb/$1/power"
    rmdir "/sys/kernel/config/nullb/$1"
}

# The SCSI directory in sysfs of the one device of scsi_debug.
scsi_debug_device() { ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*:*:*:* | head -n 1; }

scsi_debug_has_disk() { device=$(scsi_debug_device) && ls -d "$device"/block/* "$device"/scsi_generic/* >/dev/null; }

# The links NAME, NAME-sg and NAME-bsg for the device of scsi_debug.
scsi_links() {
    wait_for scsi_debug_has_disk
    device=$(scsi_debug_device)
    link "/dev/$(ls "$device/block")" "$1"
    link "/dev/$(ls "$device/scsi_generic")" "$1-sg"
    link "/dev/bsg/${device##*/}" "$1-bsg"
}

# The raw flash with the name $1: flash_link NAME LINK.
flash_link() {
    for flash in /sys/class/mtd/mtd*; do
        [ "$(cat "$flash/name" 2>/dev/null)" = "$1" ] && { link "/dev/${flash##*/}" "$2"; return; }
    done
    echo "there is no flash with the name $1" >&2
    return 1
}

# Connects to a subsystem of NVMe over Fabrics: the options as nvme-cli would write them.
nvme_connect() {
    hostid=8d6a2e52-7f2c-4d2b-9a3e-5d1f0c2b7a10
    wait_for test -e /dev/nvme-fabrics
    printf %s "$1,hostnqn=nqn.2014-08.org.nvmexpress:uuid:$hostid,hostid=$hostid" >/dev/nvme-fabrics
}

nvme_disconnect() {
    controller=$(nvme_controller "$1")
    echo 1 >"$controller/delete_controller"
}

# nvdimm MIB KIND: sets `region` to the number of the region of the NVDIMM of this size, and turns it into a block device
# for file systems with DAX (KIND pfn: /dev/pmemREGION) or into a device-DAX character device (dax: /dev/daxREGION.0).
nvdimm() {
    modprobe nfit
    modprobe nd_pmem
    modprobe device_dax
    modprobe dax_pmem
    wait_for nvdimm_region "$1"
    nd=/sys/bus/nd
    [ -z "$(cat "$nd/devices/$2$region.0/namespace")" ] || return 0
    # The driver of block devices has taken the namespace, which is a block device without DAX until now.
    wait_for test -b "/dev/pmem$region"
    echo "namespace$region.0" >$nd/drivers/nd_pmem/unbind
    case $2 in pfn) driver=nd_pmem ;; dax) driver=dax_pmem ;; esac
    cat /proc/sys/kernel/random/uuid >"$nd/devices/$2$region.0/uuid"
    echo 2097152 >"$nd/devices/$2$region.0/align"
    echo ram >"$nd/devices/$2$region.0/mode"
    echo "namespace$region.0" >"$nd/devices/$2$region.0/namespace"
    echo "$2$region.0" >"$nd/drivers/$driver/bind"
}

nvdimm_region() {
    for namespace in /sys/bus/nd/devices/namespace*.0; do
        region=${namespace##*/namespace}
        region=${region%.0}
        [ "$(cat "/sys/bus/nd/devices/region$region/size")" = $(($1 << 20)) ] && return
    done
    return 1
}
