#!/bin/busybox sh
# The first process of the machine: mounts what there is to mount, reads what is asked of it from
# /vm/order and does it. What it has to say goes through named serial ports, so the console holds
# nothing but the kernel's own words.

/bin/busybox mkdir -p /proc /sys /dev /tmp /out /run
/bin/busybox --install -s /bin
export PATH=/with:/bin:/sbin:/usr/bin:/usr/sbin HOME=/tmp TERM="${TERM:-linux}"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/fiord
mount -t tmpfs tmp /tmp
mount -t tmpfs tmp /dev/shm
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
ln -s /proc/self/fd /dev/fd
ip link set lo up
hostname vm
cd /tmp || exit 1

# Serial ports by name: they appear a moment after the bus is found.
port() {
    n=0
    while [ "$n" -lt 100 ]; do
        for p in /sys/class/virtio-ports/*; do
            [ "$(cat "$p/name" 2>/dev/null)" = "$1" ] && { echo "/dev/${p##*/}"; return; }
        done
        usleep 50000
        n=$((n + 1))
    done
    echo "init: no serial port is called $1" >/dev/console
    poweroff -f
}

# The program that started the machine has ended when this port ends.
(
    cat "$(port alive)" >/dev/null
    poweroff -f
) &

. /vm/devices.sh
. /vm/order
# The number of the boot, for scenarios that cut the power.
export FIORD_BOOT="$boot"

results=$(port results)
exec 9>"$results"

# Starts the devices $1 (names with spaces between); what they say goes to $2.
start_devices() {
    started=
    for device in $1; do
        device_up "$device" >>"$2" 2>&1 || { echo "the device $device does not start" >>"$2"; return 1; }
        started="$device $started"
    done
}

# Stops what was started, the last first.
stop_devices() {
    for device in $started; do
        device_down "$device" >>"$1" 2>&1 || { echo "the device $device does not stop" >>"$1"; return 1; }
    done
}

# One scenario: NAME, its limit in seconds, its devices. Its output goes to the port line by line.
scenario() {
    echo "begin $1" >&9
    : >/tmp/devices.log
    began=$(cut -d' ' -f1 /proc/uptime)
    if start_devices "$3" /tmp/devices.log; then
        mkdir -p "/tmp/scenario" && cd /tmp/scenario || exit 1
        (
            timeout -s KILL "$2" sh /vm/checks.sh "/vm/scenarios/$1.sh" 2>&1
            echo $? >/tmp/status
        ) </dev/null | while IFS= read -r line || [ -n "$line" ]; do printf '| %s\n' "$line"; done >&9
        status=$(cat /tmp/status)
        cd /tmp && rm -rf /tmp/scenario
    else
        status=125
    fi
    stop_devices /tmp/devices.log || status="$status dirty"
    sed 's/^/| /' /tmp/devices.log >&9
    ended=$(cut -d' ' -f1 /proc/uptime)
    echo "end $1 $(awk "BEGIN { printf \"%.1f\", $ended - $began }") $status" >&9
    case $status in *dirty) return 1 ;; esac
}

case $mode in
scenarios)
    while read -r name limit devices; do
        scenario "$name" "$limit" "$devices" || break
    done </vm/plan
    ;;
run)
    : >/tmp/devices.log
    if start_devices "$devices" /tmp/devices.log; then
        echo "begin run" >&9
        timeout -s KILL "$limit" sh /vm/command >"$(port stdout)" 2>"$(port stderr)" </dev/null
        echo "end run 0 $?" >&9
    else
        cat /tmp/devices.log >"$(port stderr)"
        echo "end run 0 125" >&9
    fi
    ;;
shell)
    start_devices "$devices" /dev/console
    echo
    echo "Devices: $(cd /dev/fiord && echo *) in /dev/fiord. Leave with 'exit' or Ctrl-A X."
    export PS1='vm:\w# '
    setsid cttyhack sh
    ;;
esac
tar -c -f "$(port files)" -C /out . 2>/dev/null
sync
exec 9>&-
poweroff -f
