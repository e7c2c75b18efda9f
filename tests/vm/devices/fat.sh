# FAT in a file of 64 MiB, mounted
# gives: fat
# modules: loop vfat nls_cp437 nls_ascii nls_iso8859-1

up() {
    modprobe loop
    modprobe vfat
    modprobe nls_cp437
    modprobe nls_ascii
    modprobe nls_iso8859-1
    mkdir -p /tmp/fat
    truncate -s 64M /tmp/fat.image
    mkdosfs /tmp/fat.image
    mount -t vfat -o loop,iocharset=ascii /tmp/fat.image /tmp/fat
    link /tmp/fat fat
}

down() {
    umount /tmp/fat
    rm /tmp/fat.image
    unlink_all fat
}
