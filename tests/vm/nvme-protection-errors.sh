# Wrong protection information is an error of its read, detected by the controller or by fiord; it ends the job or is counted
# devices: nvme-pi
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

D=/dev/fiord/nvme-pi-ng
pi="--ioengine=io_uring_cmd --filename=$D --bs=16k --iodepth=1 --pi_act=0 --pi_chk=GUARD,REFTAG,APPTAG"
fiord_json fill --name=fill $pi --rw=write --size=128k --buffer_pattern=0x11

# The device returns correct data. The test changes it in the job's buffer, which is a shared file, while
# strace holds back the call that waited for it: only a check after the call can detect the change. The test
# waits until fiord has created that file, because fiord refuses a file that holds data.
echo 'while :; do [ ! -s buffers ] || printf X | dd of=buffers bs=1 seek=5000 conv=notrunc 2>/dev/null; sleep 0.05; done' >spoil.sh
# spoilt NAME ARGUMENTS…: reads whose data is changed in this way; leaves the exit status in $status.
spoilt() {
    name=$1
    shift
    rm -f buffers
    sh spoil.sh &
    spoiler=$!
    status=0
    strace -f -qq -o strace.txt --inject=io_uring_enter:delay_exit=400000 \
        fiord --output-format=json --output="$name.json" --name="$name" $pi --rw=read --size=64k \
        --mem=mmapshared:buffers "$@" >"$name.out" 2>"$name.err" || status=$?
    kill $spoiler
    wait $spoiler 2>/dev/null || :
}

for word in read io all; do
    spoilt "$word" --continue_on_error=$word
    same "$word: status" "$status" 0
    same "$word: the error of the job is the first one" "$(json "$word" '.jobs[0].error')" 84
    same "$word: every read is one" "$(json "$word" '.jobs[0].total_err')" 4
    same "$word: the first" "$(json "$word" '.jobs[0].first_error')" 84
    same "$word: reads that brought what was written" "$(json "$word" '.jobs[0].read.io_bytes')" 0
done
for word in none verify; do
    spoilt "$word" --continue_on_error=$word
    same "$word: status" "$status" 1
    same "$word: the job's error" "$(json "$word" '.jobs[0].error')" 84
    has "$word: the block, and what is wrong with it" "$word.err" \
        'read failed on .*nvme-pi-ng at offset 0: .*EILSEQ.*LBA 1: guard expected 0x[0-9a-f]+, found 0x'
done

# The controller finds four blocks with another application tag; the reads of other blocks continue.
fiord_json other --name=other $pi --rw=write --bs=4k --offset=40k --size=16k --apptag=0x9999
for act in 0 1; do
    fiord_json "act$act" --name="act$act" $pi --rw=read --bs=4k --size=128k --iodepth=4 --pi_act=$act \
        --continue_on_error=read
    same "pi_act=$act: errors" "$(json "act$act" '.jobs[0].total_err')" 4
    same "pi_act=$act: End-to-end Application Tag Check Error" "$(json "act$act" '.jobs[0].first_error')" $((0x283))
    same "pi_act=$act: all other blocks" "$(json "act$act" '.jobs[0].read.io_bytes / 4096')" 28
done
