# A RAM disk of 64 MiB of which one MiB, at 32 MiB, fails every I/O (dm-error between two dm-linear)
# gives: dmerror
# modules: brd dm_mod

up() {
    ram_disk 2
    modprobe dm_mod
    dm_target error dmerror <<-END
	0 65536 linear /dev/ram2 0
	65536 2048 error
	67584 63488 linear /dev/ram2 67584
	END
}

down() {
    unlink_all dmerror
    dmsetup remove --noudevsync error
}
