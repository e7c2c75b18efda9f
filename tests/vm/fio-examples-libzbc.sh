# fio's examples for ioengine=libzbc, which fio's package in Debian lacks: fiord runs them on both devices of a zoned disk
# devices: sdzoned fio
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"
. /vm/devices/fio.sh

# The disk has 64 zones of 1 MiB, of which 8 can be open.
for device in sdzoned-sg sdzoned; do
    disk="s|^filename=.*|filename=$(node $device)|;s/^zonesize=.*/zonesize=1m/;s/^bs=.*/bs=64k/"
    changed libzbc-rand-write "$disk" 's/^max_open_zones=.*/max_open_zones=8/' 's/^numjobs=.*/numjobs=2/' 's/^runtime=.*/runtime=1/'
    fiord_json $device-write libzbc-rand-write.fio
    same "$device: libzbc-rand-write" "$(moved $device-write)" "dev1 0 false true false"
    fiord_json fill --name=fill --ioengine=libzbc --filename="$(node $device)" --zonemode=zbd --rw=write --bs=64k --offset=8z --size=8z
    changed libzbc-seq-read "$disk" 's/^offset=.*/offset=8z/' 's/^size=.*/size=8z/'
    fiord_json $device-read libzbc-seq-read.fio
    same "$device: libzbc-seq-read" "$(totals $device-read)" "dev1 0 128 0 0"
done
if fio --output=fio.out libzbc-seq-read.fio >fio.err 2>&1; then
    failed "fio has the engine: compare with it"
fi
say "fio: $(head -n 1 fio.err)"
