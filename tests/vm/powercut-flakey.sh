# fiord powercut on dm-flakey: writes that fail after the cut lose nothing, writes that are dropped silently are lost
# devices: dmflakey
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# As in docs/verification.md, apart from --noudevsync: no udev runs here.
cat >flakey <<'END'
#!/bin/sh
dmsetup suspend --noudevsync flakey
dmsetup load flakey --table "0 131072 flakey /dev/ram3 0 $*"
dmsetup resume --noudevsync flakey
END
chmod +x flakey

# powercut NAME TABLE: a round whose cut changes the table.
powercut() {
    name=$1
    cut=$2
    check "the device works" ./flakey 1 0
    status=0
    fiord powercut /dev/fiord/dmflakey --cut="./flakey $cut" --restore="./flakey 1 0" --after=1..2 --linger=1s \
        --rounds=1 --seed=1 --dir="$name" --yes --format=json >"$name.json" 2>"$name.err" || status=$?
    shown "$name.err"
}

powercut right "0 1 1 error_writes"
same "writes that fail: status" "$status" 0
same "writes that fail: rounds" "$(json right '.verdicts.passed')" 1
within "writes that fail: flushed writes" "$(json right '.rounds[0].writes_flushed')" 1 1000000

powercut lost "0 1 1 drop_writes"
same "dropped writes: status" "$status" 250
same "dropped writes: verdict" "$(json lost '.rounds[0].verdict')" lost
within "dropped writes: blocks" "$(json lost '.rounds[0].blocks_lost')" 1 1000000
same "dropped writes: corrupt" "$(json lost '.rounds[0].blocks_corrupt')" 0

# The user's own load, and a cut that fails: the power is restored.
status=0
fiord powercut /dev/fiord/dmflakey --cut="./flakey 0 1 1 error_writes; exit 9" --restore="./flakey 1 0" --after=200ms \
    --dir=fails --yes -- --name=own --rw=write --bs=4k --size=1m --direct=1 --fsync=1 >fails.out 2>fails.err || status=$?
same "a command that fails: status" "$status" 1
has "a command that fails: message" fails.err "the command of --cut failed: exit status 9"
check "the device works again" fiord --name=x --filename=/dev/fiord/dmflakey --rw=write --size=1m --direct=1
