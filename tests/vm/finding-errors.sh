# device-errors: a SCSI disk that counts errors, a target that fails for a second, an NVMe error log; silent on sound devices
# devices: sd dmflakey nvmeerror nvmeloop
# limit: 90s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

sd=/dev/fiord/sd
evidence() { json "$1" '[.fiord.findings[]? | select(.id == "device-errors") | .severity + ": " + .what + ": " + .evidence] | join("; ")'; }
# evidence_has NAME REGEX
evidence_has() {
    say "$(evidence "$1")"
    evidence "$1" >reported.txt
    has "$1" reported.txt "$2"
}
# The errors that scsi_debug injects at intervals: 8 ends a command with "recovered error", 2 makes a sector
# unreadable.
errors() {
    echo "$2" >/sys/bus/pseudo/drivers/scsi_debug/every_nth
    echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts
}
counted() { echo $(($(cat "/sys/block/$(basename "$(readlink -f $sd)")/device/ioerr_cnt"))); }
scsi="--name=x --filename=$sd --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --size=16M"

fiord_json sound $scsi --rw=randread
same "a sound disk" "$(evidence sound)" ""
errors 8 100
fiord_json recovered $scsi --rw=randread
errors 0 0
same "no I/O failed" "$(json recovered '.jobs[0].error')" 0
evidence_has recovered "suspect: commands of sd[a-z] ended with errors during the run: ioerr_cnt went from 0 to 4[0-9]"
within "the kernel's count" "$(counted)" 40 49
fiord_json again $scsi --rw=randread
same "old errors are not this run's" "$(evidence again)" ""

# Unreadable sectors, in a job that continues.
errors 2 0
fiord --output-format=json --output=medium.json $scsi --rw=read --continue_on_error=io >medium.out 2>&1
errors 0 0
evidence_has medium "suspect: commands of sd[a-z] ended with errors during the run: ioerr_cnt went from "

# A target that works for two seconds and fails for one.
flaky="--name=x --filename=/dev/fiord/dmflakey --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --rate_iops=200"
fiord_json failing $flaky --continue_on_error=io --time_based --runtime=3s
evidence_has failing "suspect: I/Os of job x failed: [0-9]+ failed and [0-9]+ succeeded; the first failed with EIO"
within "failed for a second of three" "$(json failing '.jobs[0].total_err')" 150 300
fiord_json beside --name=x --filename=/dev/fiord/nvmeloop --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=4 --rate_iops=200 \
    --continue_on_error=io --time_based --runtime=1s
same "a sound one beside it" "$(evidence beside)" ""

# An NVMe controller records errors in its error log: the range of one MiB takes 16 reads of 64 KiB.
fiord_json log --name=x --filename=/dev/fiord/nvmeerror --rw=read --bs=64k --direct=1 --ioengine=libaio --iodepth=1 --continue_on_error=io
same "reads that failed" "$(json log '.jobs[0].total_err')" 16
evidence_has log "suspect: I/Os of job x failed: 16 failed and 1008 succeeded"
evidence_has log "note: nvme[0-9]+n1 counted errors during the run: 0 media errors, [1-9][0-9]* new entries in its error log"
