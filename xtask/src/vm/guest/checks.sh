# What scenarios call besides programs. Runs the scenario whose path is the first argument: it passes
# when every check held and it came to its end.

# Scenarios write to devices and to the system: only the machine that was started for them runs any.
[ "$(cat /proc/sys/kernel/hostname)" = vm ] && [ -e /vm/order ] || { echo "this is not the machine of cargo xtask vm" >&2; exit 1; }
export FIORD_MACHINE=vm

# What drives with a write cache lost in the last power cut: lost_NAME_drive and flushes_NAME_drive.
. /vm/order

checks=0
failures=0
export FIORD_DEVICES=/dev/fiord

say() { echo "   $*"; }

passed() { checks=$((checks + 1)); }

failed() {
    checks=$((checks + 1))
    failures=$((failures + 1))
    echo "FAILED: $*"
}

# A file in a message: no more than its last 30 lines, and not all of a long one.
shown() { cat "$@" | tail -n 30 | cut -c 1-400 | sed 's/^/   /'; }

# check TEXT COMMAND…: the command succeeds.
check() {
    what=$1
    shift
    if "$@" >/tmp/check.out 2>&1; then passed; else
        failed "$what: '$*' ended with $?"
        shown /tmp/check.out
    fi
}

# same TEXT GOT WANTED: two texts or numbers are equal.
same() { if [ "$2" = "$3" ]; then passed; else failed "$1: got '$2', wanted '$3'"; fi; }

# within TEXT GOT LOW HIGH: a number lies between two others, both included.
within() {
    if awk -v got="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(got != "" && got + 0 >= low + 0 && got + 0 <= high + 0) }'; then
        passed
    else
        failed "$1: got '$2', wanted $3 to $4"
    fi
}

# has TEXT FILE PATTERN: a line of the file matches the extended regular expression.
has() {
    if grep -Eq -e "$3" "$2"; then passed; else
        failed "$1: nothing matches '$3' in:"
        shown "$2"
    fi
}

has_not() {
    if grep -Eq -e "$3" "$2"; then
        failed "$1: '$3' is in:"
        shown "$2"
    else passed; fi
}

# fiord_json NAME ARGUMENTS…: runs fiord with JSON output into NAME.json and its errors into NAME.err;
# the run has to succeed.
fiord_json() {
    name=$1
    shift
    if fiord --output-format=json --output="$name.json" "$@" >"$name.out" 2>"$name.err"; then passed; else
        failed "fiord $*: ended with $?"
        shown "$name.err" "$name.out"
    fi
}

# json NAME FILTER: prints what gojq selects from NAME.json.
json() { gojq -r "$2" "$1.json" 2>&1; }

# found NAME ID: how often a run's report has this finding.
found() { json "$1" "[.fiord.findings[]? | select(.id == \"$2\")] | length"; }

# evidence NAME ID: what a run's report says of it.
evidence() { json "$1" "[.fiord.findings[]? | select(.id == \"$2\") | .severity + \": \" + .what + \": \" + .evidence] | join(\"; \")"; }

# reports NAME ID REGEX: a run's report has the finding once, with this in it.
reports() {
    say "$2: $(evidence "$1" "$2")"
    same "$2 is reported once" "$(found "$1" "$2")" 1
    evidence "$1" "$2" >reported.txt
    has "$2" reported.txt "$3"
}

# silent NAME ID: it does not have the finding.
silent() { same "$2 is silent" "$(evidence "$1" "$2")" ""; }

# refused TEXT PATTERN ARGUMENTS…: fiord ends with an error that matches the pattern, one that a person can
# read: no panic.
refused() {
    what=$1
    pattern=$2
    shift 2
    if fiord "$@" >/tmp/refused.out 2>/tmp/refused.err; then
        failed "$what: fiord $* was let through"
    elif grep -q "panicked" /tmp/refused.err; then
        failed "$what: fiord $* panicked"
        shown /tmp/refused.err
    else
        has "$what" /tmp/refused.err "$pattern"
    fi
}

# sectors DEVICE read|written: the sectors of 512 bytes that the kernel counts for a block device.
sectors() {
    node=$(basename "$(readlink -f "$1")")
    case $2 in
    read) awk '{ print $3 }' "/sys/class/block/$node/stat" ;;
    written) awk '{ print $7 }' "/sys/class/block/$node/stat" ;;
    discarded) awk '{ print $14 }' "/sys/class/block/$node/stat" ;;
    esac
}

# scheduler DEVICE NAME: sets the I/O scheduler.
scheduler() { echo "$2" >"/sys/class/block/$(basename "$(readlink -f "$1")")/queue/scheduler"; }

# zone_pointers DEVICE [FIRST [COUNT]]: the write pointers of zones relative to their starts, in sectors of
# 512 bytes, one a line, as the kernel tells them.
zone_pointers() {
    node=$(basename "$(readlink -f "$1")")
    size=$(cat "/sys/class/block/$node/queue/chunk_sectors")
    blkzone report -o "$((${2:-0} * size))" ${3:+-c "$3"} "$1" |
        sed 's/.*wptr \(0x[0-9a-f]*\).*/\1/' | while read -r pointer; do echo $((pointer)); done
}

# zones_in DEVICE STATE: how many zones are in a state as blkzone names it (em, oi, oe, cl, fu, nw).
zones_in() { blkzone report "$1" | grep -c "($2)"; }

# cut_power MS: the host cuts the power of the machine in MS milliseconds and boots it again. Only if every check held
# until now, because the boots after it do not see this one's failures.
cut_power() {
    [ "$failures" = 0 ] || exit 1
    echo "cut $1" >&9
    sleep 1000
}

# A scenario that leaves early has failed, whatever its status.
came_to_its_end=
finish() {
    [ -n "$came_to_its_end" ] || failed "the scenario left before its end"
    [ "$checks" -gt 0 ] || failed "a scenario without a check"
    echo "$checks checks, $failures failed"
    [ "$failures" = 0 ] || exit 1
    exit 0
}

scenario=$1
trap finish EXIT
. "$scenario"
came_to_its_end=yes
