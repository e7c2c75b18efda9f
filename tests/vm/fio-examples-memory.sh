# fio's examples for persistent memory and raw flash (libpmem, dev-dax, mtd) in both programs, with their reports compared
# devices: pmem devdax nandsim fio
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"
. /vm/devices/fio.sh

pmem='s|^directory=.*|directory=/tmp/pmem|'
dax="s|^filename=.*|filename=$(node devdax)|"
jobs='s/^numjobs=.*/numjobs=2/'
# By their run time, as they are.
both libpmem "$pmem" 's/^size=.*/size=8m/' 's/^runtime=.*/runtime=1/'
alike libpmem moved
both dev-dax "$dax" "$jobs" 's/^runtime=.*/runtime=1/'
alike dev-dax moved
# By their size: equal numbers of blocks.
both libpmem "$pmem" 's/^size=.*/size=2m/' '/^time_based/d'
alike libpmem
both dev-dax "$dax" "$jobs" 's/^runtime=.*/size=16m/' '/^time_based/d'
alike dev-dax

# Blocks 4 to 8 of the flash are good. fio 3.33 crashes after it has measured `block_error_percentiles`.
flash="s|^filename=.*|filename=$(node nandsim)\noffset=64k\nsize=80k|"
both mtd "$flash" '/^block_error_percentiles/d'
for job in trim write; do
    same "mtd: fiord's $job next to fio's" "$(totals fiord-mtd | grep "^$job ")" "$(totals fio-mtd | grep "^$job ")"
done
# After each erase, fiord fills the block with one write. fio continues with writes of 512 bytes.
same "mtd: erases of trimwrite" "$(totals fiord-mtd | grep "^trimwrite " | cut -d ' ' -f 2,5)" "$(totals fio-mtd | grep "^trimwrite " | cut -d ' ' -f 2,5)"
changed mtd "$flash"
check "mtd with block_error_percentiles" fiord mtd.fio
