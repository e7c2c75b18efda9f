# Write Zeroes costs the same with all buffer contents, and no depth makes it slower
# devices: nvme
# clock: instructions
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# Runs once and prints the I/Os per second.
run() {
    fiord --name=x --filename=/dev/fiord/nvme-ng --ioengine=io_uring_cmd --cmd_type=nvme --write_mode=zeroes --bs=16M \
        --rw=write --deac=1 --time_based --runtime=500ms --ramp_time=100ms --output-format=json "$@" 2>/dev/null |
        jq '.jobs[0].write.iops'
}
median() { sort -n "$1" | sed -n 3p; }
differs() { awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a / b : b / a; exit !(d >= 1.05) }'; }

# Five alternating rounds; up to two times five more if other programs of the host disturbed them.
below=0
for depth in 1 4 64; do
    for attempt in 1 2 3; do
        rm -f default zero
        for round in 1 2 3 4 5; do
            run --iodepth=$depth >>default
            run --iodepth=$depth --zero_buffers >>zero
        done
        say "depth $depth, attempt $attempt: default $(sort -n default | tr '\n' ' '); zero_buffers $(sort -n zero | tr '\n' ' ')"
        differs "$(median default)" "$(median zero)" || break
    done
    within "depth $depth: default against zero_buffers" \
        "$(awk -v a="$(median default)" -v b="$(median zero)" 'BEGIN { print a / b }')" 0.9524 1.05
    within "depth $depth is no slower than less" "$(median default)" $below 1e9
    below=$(median default)
done
