# Every device of the machine exists and has the kind that its name says
# devices: nvme nvme-pi nvme-fdp zns nullzoned sd brd dmzero dmdelay dmerror dmflakey nvmetcp nvmeloop
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

for name in nvme nvme-pi nvme-fdp zns nullzoned sd brd dmzero dmdelay dmerror dmflakey nvmetcp nvmeloop; do
    check "$name is a block device" test -b "/dev/fiord/$name"
done
for name in nvme-ng nvme-pi-ng nvme-fdp-ng zns-ng sd-sg sd-bsg nvmetcp-ng nvmeloop-ng; do
    check "$name is a character device" test -c "/dev/fiord/$name"
done
same "empty zones of zns" "$(zones_in /dev/fiord/zns em)" 512
same "conventional zones of nullzoned" "$(zones_in /dev/fiord/nullzoned nw)" 8
check "fiord runs" fiord --version
