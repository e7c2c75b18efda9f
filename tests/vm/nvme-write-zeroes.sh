# Write Zeroes costs the CPU the same with all buffer contents, and no depth makes it slower
# devices: nvme
# clock: instructions
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# Runs once and prints the I/Os per second and the CPU time of an I/O, in ns. Filling 16 MiB takes at least a
# million instructions, so the CPU time shows a filled buffer even if other programs of the host disturb the rate.
run() {
    fiord --name=x --filename=/dev/fiord/nvme-ng --ioengine=io_uring_cmd --cmd_type=nvme --write_mode=zeroes --bs=16M \
        --rw=write --deac=1 --time_based --runtime=500ms --ramp_time=100ms --output-format=json "$@" 2>/dev/null |
        gojq -r '.jobs[0] | "\(.write.iops) \((.usr_cpu + .sys_cpu) / 100 * 1e9 / .write.iops)"'
}
# median COLUMN FILE: of five lines.
median() { sort -n -k "$1,$1" "$2" | awk -v c="$1" 'NR == 3 { print $c }'; }

below=0
for depth in 1 4 64; do
    rm -f default zero
    for round in 1 2 3 4 5; do
        run --iodepth=$depth >>default
        run --iodepth=$depth --zero_buffers >>zero
    done
    say "depth $depth, I/Os per second and ns of CPU: default $(sort -n default | tr '\n' ';'); zero_buffers $(sort -n zero | tr '\n' ';')"
    within "depth $depth: CPU time of default against zero_buffers" \
        "$(awk -v a="$(median 2 default)" -v b="$(median 2 zero)" 'BEGIN { print a / b }')" 0.33 3
    within "depth $depth is not slower than less" "$(median 1 default)" $below 1e9
    below=$(median 1 default)
done
