# Discards of the exact blocks reach NVMe and SCSI disks; --readonly stops them
# devices: nvme sd
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

for disk in nvme sd; do
    discarded=$(sectors /dev/fiord/$disk discarded)
    fiord_json $disk --name=$disk --filename=/dev/fiord/$disk --size=16M --bs=64k --rw=trim --direct=1
    same "$disk: trims" "$(json $disk '.jobs[0].trim.total_ios')" 256
    same "$disk: bytes" "$(json $disk '.jobs[0].trim.io_bytes')" 16777216
    same "$disk: sectors that the kernel counted" "$(($(sectors /dev/fiord/$disk discarded) - discarded))" 32768
    refused "$disk: trims with --readonly" "readonly|read-only" --readonly --name=$disk --filename=/dev/fiord/$disk \
        --size=16M --bs=64k --rw=trim --direct=1
    same "$disk: nothing was discarded then" "$(($(sectors /dev/fiord/$disk discarded) - discarded))" 32768
done

fiord_json mix --name=mix --filename=/dev/fiord/nvme --size=16M --bs=64k --rw=randtrimwrite --direct=1 --norandommap=0
same "as many trims as writes" "$(json mix '.jobs[0].trim.total_ios')" "$(json mix '.jobs[0].write.total_ios')"
