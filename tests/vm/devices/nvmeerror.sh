# An NVMe loop target over a disk of 64 MiB of which one MiB, at 32 MiB, fails every I/O
# gives: nvmeerror nvmeerror-ng
# modules: brd configfs nvmet nvme_loop dm_mod

up() {
    configfs
    ram_disk 6
    modprobe dm_mod
    modprobe nvme_loop
    dmsetup create nvmeerror --noudevsync --noudevrules <<-END
	0 65536 linear /dev/ram6 0
	65536 2048 error
	67584 63488 linear /dev/ram6 67584
	END
    nvmet_loop nvmeerror "/dev/dm-$(dmsetup info -c --noheadings -o minor nvmeerror | tr -d ' ')" 3
}

down() {
    unlink_all nvmeerror nvmeerror-ng
    nvme_disconnect nvmeerror
    nvmet_remove nvmeerror 3
    wait_for dmsetup remove --noudevsync nvmeerror
}
