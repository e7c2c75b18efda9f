# Random reads and a writer, 3 writes to 7 reads by flow: the shares are exact, and the report counts every zone reset
# devices: zns
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns
cat >mix.fio <<END
[global]
filename=$zns
direct=1
zonemode=zbd
ioengine=io_uring
time_based
runtime=2s
[reader]
rw=randread
bs=4k
iodepth=32
size=32z
flow=7
[writer]
rw=write
bs=64k
offset=256z
size=8z
flow=3
END

for scheduler in none mq-deadline; do
    scheduler $zns $scheduler
    blkzone reset $zns
    fiord_json prepare --name=prepare --filename=$zns --direct=1 --zonemode=zbd --rw=write --bs=256k --size=32z
    same "$scheduler: prepared" "$(zones_in $zns fu)" 32
    check "both at once" sh -c "fiord mix.fio --output-format=normal,json --output=both.txt"
    sed -n '/^{/,/^}/p' both.txt >both.json
    writes=$(json both '.jobs[] | select(.jobname == "writer") | .write.total_ios')
    reads=$(json both '.jobs[] | select(.jobname == "reader") | .read.total_ios')
    say "$scheduler: $writes writes, $reads reads, $(grep -o '[0-9]* zone resets' both.txt)"
    within "$scheduler: 3 writes to 7 reads" "$(awk "BEGIN { print 7 * $writes / (3 * $reads) }")" 0.9 1.1
    # A zone holds 24 blocks of the writer; the first eight zones were empty when it began. A slow machine does not fill them.
    begun=$(((writes + 23) / 24))
    left=$((begun < 8 ? 8 - begun : 0))
    same "$scheduler: zone resets" "$(sed -n 's/.*; \([0-9]*\) zone resets.*/\1/p' both.txt)" "$((begun - 8 + left))"
    same "$scheduler: the pointer of the zone that is not full" \
        "$(zone_pointers $zns 256 8 | awk '$1 < 3072 { n += $1 } END { print n + 0 }')" "$((writes % 24 * 128))"
    same "$scheduler: zones that were never written" "$(zones_in $zns em)" "$((472 + left))"
done
