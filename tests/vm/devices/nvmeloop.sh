# An NVMe loop target over a RAM disk of 64 MiB, connected
# gives: nvmeloop nvmeloop-ng
# modules: brd configfs nvmet nvme_loop

up() {
    configfs
    ram_disk 5
    modprobe nvme_loop
    nvmet_loop nvmeloop /dev/ram5 2
}

down() {
    unlink_all nvmeloop nvmeloop-ng
    nvme_disconnect nvmeloop
    nvmet_remove nvmeloop 2
}
