#!/bin/sh
# Runs programs that read fio's logs, unmodified, on the logs of another program: tests/log-readers.sh PROGRAM [TOOLS]
# PROGRAM is fio or fiord; TOOLS is the directory `tools` of fio's sources. A program that is missing is skipped:
# `pip install fio-plot pandas six` and gnuplot provide what they need. The status is the number of failures.
set -u
program=$(command -v "$1") || exit 1
program=$(realpath "$program")
tools=${2:-/usr/share/fio}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/bin" "$place/logs" "$place/bench"
ln -s "$program" "$place/bin/fio"
PATH=$place/bin:$PATH
MPLBACKEND=Agg
export PATH MPLBACKEND
failed=0

# Runs a command and reports whether it succeeded.
try() {
    if ! command -v "$1" >/dev/null; then
        echo "skipped: $1 is missing"
    elif "$@" >"$place/out" 2>&1; then
        echo "ok: $*"
    else
        echo "FAILED: $*"
        tail -5 "$place/out"
        failed=$((failed + 1))
    fi
}

cd "$place/logs" || exit 1
try fio --name=j --ioengine=psync --filename="$place/data" --size=16m --rw=randrw --rate_iops=500 --numjobs=2 \
    --time_based --runtime=4 --write_bw_log=j --write_lat_log=j --write_iops_log=j --write_hist_log=j \
    --log_avg_msec=500 --log_hist_msec=1000
try fio --name=s --ioengine=psync --filename="$place/data" --size=16m --rw=randread --rate_iops=100 \
    --time_based --runtime=3 --write_bw_log=s --write_lat_log=s --write_iops_log=s
for reader in fiologparser.py hist/fiologparser_hist.py hist/fio-histo-log-pctiles.py; do
    test -f "$tools/$reader" || { echo "skipped: $tools/$reader is missing"; continue; }
    case $reader in
    fiologparser.py)
        try python3 "$tools/$reader" -a -i 1000 s_clat.1.log
        try python3 "$tools/$reader" -s -i 1000 j_bw.1.log j_bw.2.log
        ;;
    *_hist.py) try python3 "$tools/$reader" -i 1000 --directions rwm j_clat_hist.1.log j_clat_hist.2.log ;;
    *) try python3 "$tools/$reader" --percentiles 50 99 100 -- j_clat_hist.1.log j_clat_hist.2.log ;;
    esac
done
try fio2gnuplot -b -g
try fio2gnuplot -i -g
try fio_generate_plots title

cd "$place/bench" || exit 1
head -c 16M /dev/zero >../drive
try bench-fio -d "$place/drive" -t file -s 16m -o "$place/bench" -m randread randrw --rwmixread 75 \
    --iodepth 1 4 --numjobs 1 2 --runtime 2 --time-based -e libaio --direct 0 --loginterval 500 --quiet --destructive
try fio-plot -i drive/4k -T title -L -t iops -r randread
try fio-plot -i drive/4k -T title -L -t lat -r randread
try fio-plot -i drive/4k -T title -l -d 1 4 -n 1 -r randread --show-data --show-cpu
try fio-plot -i drive/4k -T title -N -d 1 -n 1 2 -r randread
try fio-plot -i drive/4k -T title -H -d 4 -n 1 -r randread
try fio-plot -i drive/4k -T title -g -t iops bw lat -d 1 4 -n 1 2 -r randread
try fio-plot -i drive/randrw75/4k -T title -g -t bw iops -d 4 -n 2 -r randrw -f read write
try fio-plot -i drive/4k drive/4k -T title -C -d 4 -n 1 -r randread --xlabel-parent 0
# Jobs that end when they are steady.
try bench-fio -d "$place/drive" -t file -s 16m -o "$place/steady" -m randread --iodepth 1 4 --numjobs 1 --runtime 20 \
    --time-based -e libaio --direct 0 --ss iops:90% --ss-dur 2 --ss-ramp 1 --quiet --destructive
try fio-plot -i "$place/steady/drive/4k" -T title -l -d 1 4 -n 1 -r randread --show-ss
try fio-plot -i "$place/steady/drive/4k" -T title -N -d 1 -n 1 -r randread --show-ss
exit $failed
