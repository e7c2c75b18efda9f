# An NVMe namespace of 64 MiB with a volatile write cache: a power cut loses what was not flushed
# gives: nvme-volatile nvme-volatile-ng
# modules: nvme
# drive: 64M
# cache: volatile
# qemu: -device nvme,id=nvme-volatile,serial=nvme-volatile
# qemu: -device nvme-ns,bus=nvme-volatile,drive=DRIVE,logical_block_size=512,physical_block_size=512

up() { nvme_links nvme-volatile nvme-volatile; }

down() { unlink_all nvme-volatile nvme-volatile-ng; }
