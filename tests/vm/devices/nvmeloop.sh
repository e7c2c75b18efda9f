# An NVMe loop target over a RAM disk of 64 MiB, connected
# gives: nvmeloop nvmeloop-ng
# modules: brd configfs nvmet nvme_loop

up() {
    configfs
    ram_disk 5
    modprobe nvme_loop
    nvmet_subsystem nvmeloop /dev/ram5
    port=/sys/kernel/config/nvmet/ports/2
    mkdir -p "$port"
    echo loop >"$port/addr_trtype"
    ln -s /sys/kernel/config/nvmet/subsystems/nvmeloop "$port/subsystems/nvmeloop"
    nvme_connect transport=loop,nqn=nvmeloop
    nvme_links nvmeloop nvmeloop
}

down() {
    unlink_all nvmeloop nvmeloop-ng
    nvme_disconnect nvmeloop
    nvmet_remove nvmeloop 2
}
