# fiord powercut, and power cuts of the machine: a drive with a volatile write cache passes, one that lies about flushes loses data
# devices: nvme-volatile nvme-lying journal
# boots: 3
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# The kernel may give the drives other names in the next boot, and fiord identifies a target by its resolved path.
for drive in volatile lying; do
    number=$(cat "/sys/class/block/$(basename "$(readlink -f /dev/fiord/nvme-$drive)")/dev")
    mknod /dev/$drive b "${number%:*}" "${number#*:}"
done

# writes DRIVE ROUND: waits until the round has announced 64 KiB of writes and flushes.
writes() {
    tries=0
    until [ "$(stat -c %s "/journal/$1/round-000$2.journal" 2>/dev/null || echo 0)" -gt 65536 ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || { failed "$1 does not write in round $2"; shown "/journal/$1.err" "/journal/$1"/*.writer; return; }
        usleep 50000
    done
    passed
}

case $FIORD_BOOT in
1)
    for drive in volatile lying; do
        # A deep queue with few flushes: there is always something in the cache.
        fiord powercut /dev/$drive --cut=manual --rounds=2 --seed=3 --dir=/journal/$drive --yes -- --name=a \
            --rw=randwrite --norandommap --bsrange=4k-64k --ioengine=libaio --iodepth=16 --direct=1 --fsync=32 \
            >/journal/$drive.out 2>/journal/$drive.err &
    done
    for drive in volatile lying; do writes $drive 1; done
    cut_power 500
    ;;
2)
    for drive in volatile lying; do
        fiord powercut --resume=/journal/$drive/powercut.json --yes >/journal/$drive.out 2>/journal/$drive.err &
    done
    for drive in volatile lying; do writes $drive 2; done
    cut_power 300
    ;;
3)
    # A flush can end just before the cut, so that this cache had nothing to lose. `power.sh` shows that it loses the rest.
    within "the volatile cache was flushed" "$flushes_nvme_volatile_drive" 1 1000000
    within "the cache of the drive that lies lost blocks" "$lost_nvme_lying_drive" 1 1000000
    status=0
    fiord powercut --resume=/journal/volatile/powercut.json >volatile.txt 2>volatile.err || status=$?
    shown volatile.txt volatile.err
    same "the drive with the volatile cache passes" "$status" 0
    has "both rounds" volatile.txt "^2 of 2 rounds: 2 passed; seed 3"
    has "the machine was switched off" volatile.txt "^ +2 +machine .* passed$"
    status=0
    fiord powercut --resume=/journal/lying/powercut.json --format=json >lying.json 2>lying.err || status=$?
    shown lying.err
    same "the drive that lies has lost data" "$status" 250
    same "in both rounds" "$(json lying '.verdicts.lost')" 2
    within "blocks" "$(json lying '.rounds[1].blocks_lost')" 1 1000000
    same "nothing is corrupt" "$(json lying '[.rounds[].blocks_corrupt] | add')" 0
    within "newer writes than the lost ones are there" "$(json lying '[.rounds[].blocks_out_of_order] | add')" 1 1000000
    ;;
esac
