# Zone appends fill zones to their capacity, at any depth; an append larger than one command is refused, not split
# devices: zns
# limit: 40s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/zns-ng
zones=/dev/fiord/zns

append() {
    name=$1
    shift
    fiord_json "$name" --name="$name" --filename=$ng --ioengine=io_uring_cmd --zonemode=zbd --write_mode=zone_append \
        --bs=64k --buffer_pattern=0x55 "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
}

for depth in 1 16; do
    blkzone reset $zones
    append seq$depth --rw=write --size=16M --iodepth=$depth
    same "depth $depth: 8 zones of 1.5 MiB" "$(json seq$depth '.jobs[0].write.total_ios')" 192
    same "depth $depth: they are full" "$(zones_in $zones fu)" 8
    same "depth $depth: what was appended is there" \
        "$(dd if=$zones bs=1536k count=1 iflag=direct 2>/dev/null | tr -d 'U' | wc -c)" 0
done

blkzone reset $zones
append random --rw=randwrite --size=64M --io_size=16M --iodepth=8 --max_open_zones=4
same "as many blocks as writes" "$(json random '.jobs[0].write.total_ios')" 256

refused "more than a command may be" "\(MDTS\)|\(ZASL\)" --name=x --filename=$ng --ioengine=io_uring_cmd --zonemode=zbd \
    --write_mode=zone_append --bs=1m --rw=write --size=16M --nvme_split=1
refused "without zonemode" "requires zonemode=zbd" --name=x --filename=$ng --ioengine=io_uring_cmd \
    --write_mode=zone_append --bs=64k --rw=write --size=16M
