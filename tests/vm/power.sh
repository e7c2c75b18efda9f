# A power cut loses what a drive with a volatile write cache had not flushed, and on a drive that lies also flushed data
# devices: nvme-volatile nvme-lying journal
# boots: 2
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# blocks FILE BYTE: how many of the first 2048 blocks of 512 bytes contain the byte.
blocks() { head -c 1048576 "$1" | od -An -v -w512 -t x1 | grep -c "^ $2"; }

case $FIORD_BOOT in
1)
    for drive in volatile lying; do
        disk=/dev/fiord/nvme-$drive
        same "$drive: write cache" "$(cat "/sys/class/block/$(basename "$(readlink -f $disk)")/queue/write_cache")" "write back"
        # 512 KiB that are flushed, and as much that is not.
        check "$drive: flushed" fiord --name=a --filename=$disk --rw=write --bs=64k --size=512k --direct=1 \
            --buffer_pattern=0x11 --end_fsync=1
        check "$drive: not flushed" fiord --name=b --filename=$disk --rw=write --bs=64k --offset=512k --size=512k \
            --direct=1 --buffer_pattern=0x22
        same "$drive: it returns what is in its cache" "$(blocks $disk 22)" 1024
    done
    echo kept >/journal/file
    sync
    cut_power 0
    ;;
2)
    same "the journal's disk keeps its files" "$(cat /journal/file)" kept
    volatile=$(blocks /dev/fiord/nvme-volatile 11)
    same "flushed data survives" "$volatile" 1024
    within "of other data, a random part survives" "$(blocks /dev/fiord/nvme-volatile 22)" 300 724
    say "volatile: lost $lost_nvme_volatile_drive blocks, $flushes_nvme_volatile_drive flushes"
    within "the drive was flushed" "$flushes_nvme_volatile_drive" 1 1000
    within "and lost blocks" "$lost_nvme_volatile_drive" 300 724
    within "the drive that lies was flushed" "$flushes_nvme_lying_drive" 1 1000
    within "and lost flushed blocks" "$(blocks /dev/fiord/nvme-lying 11)" 300 724
    ;;
esac
