# An NVMe namespace of 64 MiB that acknowledges flushes and does not do them: a power cut loses flushed data
# gives: nvme-lying nvme-lying-ng
# modules: nvme
# drive: 64M
# cache: lying
# qemu: -device nvme,id=nvme-lying,serial=nvme-lying
# qemu: -device nvme-ns,bus=nvme-lying,drive=DRIVE,logical_block_size=512,physical_block_size=512

up() { nvme_links nvme-lying nvme-lying; }

down() { unlink_all nvme-lying nvme-lying-ng; }
