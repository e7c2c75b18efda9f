# fio's examples for NVMe commands and zoned block devices in both programs, with their reports compared
# devices: nvme zns nullzoned fio
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"
. /vm/devices/fio.sh

both uring-cmd-ng "s|^filename=.*|filename=$(node nvme-ng)|" 's/^size=.*/size=1m/'
alike uring-cmd-ng
# The programs reset zones at different times, so the numbers of blocks differ.
both uring-cmd-zoned "s|^filename=.*|filename=$(node zns-ng)|" 's/^size=.*/size=6m/'
alike uring-cmd-zoned moved

# The zones of the device have 2 MiB, and at most 14 are open.
zoned="s|^filename=.*|filename=$(node nullzoned)|;s/^zonesize=.*/zonesize=2m/"
both zbd-rand-write "$zoned" 's/^max_open_zones=.*/max_open_zones=8/' 's/^numjobs=.*/numjobs=2/' 's/^runtime=.*/runtime=1/' 's/^bs=.*/bs=64k/'
alike zbd-rand-write moved
check "zones with data" fiord --name=fill --filename="$(node nullzoned)" --zonemode=zbd --rw=write --bs=64k --offset=8z --size=8z --direct=1
both zbd-seq-read "$zoned" 's/^offset=.*/offset=8z/' 's/^size=.*/size=8z/'
alike zbd-seq-read
same "blocks of zbd-seq-read" "$(totals fiord-zbd-seq-read)" "dev1 0 64 0 0"
