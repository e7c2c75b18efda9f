# A loop device of 64 MiB on a file in memory
# gives: loop
# modules: loop

up() {
    mkdir -p /loop
    mount -t tmpfs -o size=80m none /loop
    dd if=/dev/zero of=/loop/file bs=1M count=64 2>/dev/null
    modprobe loop max_loop=2
    losetup /dev/loop0 /loop/file
    link /dev/loop0 loop
}

down() {
    unlink_all loop
    losetup -d /dev/loop0
    umount /loop
}
