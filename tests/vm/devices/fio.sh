# fio and its example job files, for scenarios that run both programs
# gives: fio
# files: /usr/bin/fio
# files: /usr/share/doc/fio/examples/d*.fio /usr/share/doc/fio/examples/e*.fio /usr/share/doc/fio/examples/l*.fio
# files: /usr/share/doc/fio/examples/m*.fio /usr/share/doc/fio/examples/r*.fio /usr/share/doc/fio/examples/s*.fio
# files: /usr/share/doc/fio/examples/u*.fio /usr/share/doc/fio/examples/z*.fio
# packages: fio fio-examples

up() { link /usr/bin/fio fio; }

down() { unlink_all fio; }

# The functions below are for scenarios, which read this file.

# changed NAME CHANGE…: writes an example job file of fio to NAME.fio, with changes (commands of sed) that make it fit the machine.
changed() {
    example=$1
    shift
    changes=
    for change in "$@"; do changes="$changes;$change"; done
    sed "${changes#;}" "/usr/share/doc/fio/examples/$example.fio" >"$example.fio"
}

# both NAME CHANGE…: runs the changed example in both programs. Their reports are fio-NAME.json and fiord-NAME.json, and their exit
# statuses have to be equal.
both() {
    changed "$@"
    statuses=
    for program in fio fiord; do
        timeout -s KILL 60 $program --output-format=json --output="$program-$example.json" "$example.fio" >"$program-$example.err" 2>&1
        statuses="$statuses $?"
    done
    say "$example: exit statuses of fio and fiord:$statuses"
    same "$example: exit statuses" "${statuses##* }" "$(echo $statuses | cut -d ' ' -f 1)"
}

# One line for each job: its name, the first error, and the numbers of reads, writes and trims. `moved`: whether there were any.
totals() { json "$1" '.jobs[] | [.jobname, .error, .read.total_ios, .write.total_ios, .trim.total_ios] | join(" ")'; }
moved() { json "$1" '.jobs[] | [.jobname, .error, (.read, .write, .trim | .total_ios > 0)] | join(" ")'; }

# alike NAME [moved]: the reports of both programs say the same. For jobs that end by their run time, `moved`.
alike() {
    say "$1: fio: $(totals "fio-$1" | tr '\n' ';') fiord: $(totals "fiord-$1" | tr '\n' ';')"
    same "$1: fiord's report next to fio's" "$(${2:-totals} "fiord-$1")" "$(${2:-totals} "fio-$1")"
}

# The device behind a link.
node() { readlink -f "/dev/fiord/$1"; }
