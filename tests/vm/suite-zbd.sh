# The suites for zoned devices: their runs, their tables, their refusals, and that they resume where they stopped
# devices: zns nullzoned-small brd
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

zns=/dev/fiord/zns mixed=/dev/fiord/nullzoned-small
short="--runtime=300ms --ramp-time=100ms"

# suite NAME ARGUMENTS…: a suite with its results in NAME.json and NAME.dir.
suite() {
    name=$1
    shift
    if fiord suite "$@" --dir="$name.dir" --format=json --yes </dev/null >"$name.json" 2>"$name.err"; then passed; else
        failed "fiord suite $*: ended with $?"
        sed 's/^/   /' "$name.err"
    fi
}

# The list, the job files, and all refusals.
fiord suite >list
for name in write seqwrite seqread randread mixed; do has "zbd/$name is listed" list "^zbd/$name\$"; done
fiord suite zbd/seqwrite $zns --dry-run --set jobs=14,16 --set bs=64k >dry
has "14 writers of 9 zones" dry '^offset_increment=9z$'
has "16 are more than may be open" dry 'left out: jobs=16'
refused "an unknown suite" 'available: zbd/write' suite zbd/none $zns
refused "an unknown axis" 'it has jobs and bs' suite zbd/seqwrite $zns --set depth=1
refused "no zones" 'has no zones' suite zbd/write /dev/fiord/brd
refused "read only" 'forbids suites' suite zbd/write $zns --readonly --yes
dd if=/dev/zero of=$zns bs=64k count=3 oflag=direct 2>/dev/null
if fiord suite zbd/seqwrite $zns --set jobs=1 --set bs=4k $short </dev/null >out 2>err; then failed "not asked"; else passed; fi
has "what would be lost" err '512 sequential zones will be lost: 192 KiB in 1 zone'
has "and what to say" err '\-\-yes'
same "nothing was done" "$(zone_pointers $zns 0 1)" 384

# Writes: one row per point, zones reset before each, no more open zones than the device permits.
suite seqwrite zbd/seqwrite $zns --set jobs=1,14 --set bs=16k,64k $short
same "rows" "$(json seqwrite '.rows | length')" 4
same "complete" "$(json seqwrite .complete)" true
same "in their order" "$(json seqwrite '.rows[1].settings | "\(.jobs) \(.bs)"')" "1 64k"
same "all measured" "$(json seqwrite '[.rows[] | select(.iops > 0 and .clat_ns.mean > 0)] | length')" 4
check "a run's own JSON is kept" test -s "seqwrite.dir/$(json seqwrite '.rows[3].file')"
same "as well as its job file" "$(ls seqwrite.dir/*.fio | wc -l)" 4
suite again zbd/seqwrite $zns --set jobs=1,14 --set bs=16k,64k $short --restart
fiord suite zbd/seqwrite $zns --set jobs=1,14 --set bs=16k,64k $short --dir=again.dir --eta=always >table 2>err
has "nothing is left to run" err '4 runs, 0 left'
has "the table" table '^jobs +bs +IOPS +BW +mean +p50 +p99 +p99.9 +CPU$'

# Passes over a device with conventional zones: every sequential zone is full afterwards.
suite write zbd/write $mixed --set pass=1,2 --set bs=128k
same "rows" "$(json write '.rows | length')" 2
same "full zones" "$(zones_in $mixed fu)" 28
same "every byte of them" "$(json write '.rows[1].file' | xargs -I{} gojq '.jobs[0].write.io_bytes' write.dir/{})" 29360128

# Reads after a preparation, which is not repeated for the remaining points.
suite randread zbd/randread $mixed --set iodepth=1,8 --set bs=4k $short
same "rows" "$(json randread '.rows | length')" 2
same "reads only" "$(json randread '.rows[1].file' | xargs -I{} gojq '.jobs[0].write.total_ios' randread.dir/{})" 0
fiord suite zbd/randread $mixed --set iodepth=1,8 --set bs=4k,16k $short --dir=randread.dir --yes --eta=always >table 2>err
has "only what is new" err '5 runs, 2 left'
suite seqread zbd/seqread $mixed --set jobs=2 --set bs=64k $short
same "rows" "$(json seqread '.rows | length')" 1

# A missed rate invalidates the latency; a reached rate, or no rate, does not.
suite mixed zbd/mixed $mixed --set rate=0,2m,900g $short
same "rows" "$(json mixed '.rows | length')" 3
same "alone" "$(json mixed '.rows[0].clat_ns.mean > 0')" true
same "a latency where the rate was reached, and only there" \
    "$(json mixed '[.rows[1:][] | .write_rate.reached == (.clat_ns != null)] | all')" true
same "beside what no device writes" "$(json mixed '.rows[2] | "\(.write_rate.reached) \(.clat_ns)"')" "false null"
