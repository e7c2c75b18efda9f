# An NVMe/TCP target on the loopback interface over a RAM disk of 64 MiB, connected
# gives: nvmetcp nvmetcp-ng
# modules: brd configfs nvmet nvmet_tcp nvme_tcp

up() {
    configfs
    ram_disk 4
    modprobe nvmet_tcp
    modprobe nvme_tcp
    nvmet_subsystem nvmetcp /dev/ram4
    port=/sys/kernel/config/nvmet/ports/1
    mkdir -p "$port"
    echo tcp >"$port/addr_trtype"
    echo ipv4 >"$port/addr_adrfam"
    echo 127.0.0.1 >"$port/addr_traddr"
    echo 4420 >"$port/addr_trsvcid"
    ln -s /sys/kernel/config/nvmet/subsystems/nvmetcp "$port/subsystems/nvmetcp"
    nvme_connect transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=nvmetcp
    nvme_links nvmetcp nvmetcp
}

down() {
    unlink_all nvmetcp nvmetcp-ng
    nvme_disconnect nvmetcp
    nvmet_remove nvmetcp 1
}
