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

# example NAME CHANGE…: runs an example job file of fio in both programs, with changes (commands of sed) that make it fit the
# machine. Both have to succeed. Their reports are fio-NAME.json and fiord-NAME.json.
example() {
    name=$1
    shift
    changes=
    for change in "$@"; do changes="$changes;$change"; done
    sed "${changes#;}" "/usr/share/doc/fio/examples/$name.fio" >"$name.fio"
    for program in fio fiord; do
        timeout -s KILL 60 $program --output-format=json --output="$program-$name.json" "$name.fio" >"$program-$name.err" 2>&1
        same "$name: exit status of $program" $? 0
        [ ! -s "$program-$name.err" ] || shown "$program-$name.err"
    done
}

# One line for each job: its name, the first error, and the numbers of reads, writes and trims. `timed`: only whether there were any.
totals() { json "$1" '.jobs[] | [.jobname, .error, .read.total_ios, .write.total_ios, .trim.total_ios] | join(" ")'; }
timed() { json "$1" '.jobs[] | [.jobname, .error, (.read, .write, .trim | .total_ios > 0)] | join(" ")'; }

# alike NAME [FUNCTION]: the reports of both programs say the same.
alike() {
    what=${2:-totals}
    say "$1: fio: $(totals "fio-$1" | tr '\n' ';') fiord: $(totals "fiord-$1" | tr '\n' ';')"
    same "$1: fiord's report, next to fio's" "$($what "fiord-$1")" "$($what "fio-$1")"
}
