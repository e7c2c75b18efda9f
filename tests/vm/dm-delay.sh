# Latencies of a device that takes 5 ms for a read and 20 ms for a write
# devices: dmdelay
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

# The kernel counts these delays in ticks of 4 ms, and under emulation some ticks are late and bunched:
# compare means, with a margin.
for engine in psync libaio io_uring; do
    fiord_json $engine --name=x --filename=/dev/fiord/dmdelay --ioengine=$engine --direct=1 --bs=4k --rw=randrw --size=256k
    within "$engine: mean read latency, ms" "$(json $engine '.jobs[0].read.clat_ns.mean / 1e6')" 4 20
    within "$engine: mean write latency, ms" "$(json $engine '.jobs[0].write.clat_ns.mean / 1e6')" 17 60
done
# Sixteen I/Os in flight take as long as one.
fiord_json deep --name=x --filename=/dev/fiord/dmdelay --ioengine=io_uring --direct=1 --bs=4k --rw=randread --iodepth=16 \
    --time_based --runtime=2s
within "reads a second at depth 16" "$(json deep '.jobs[0].read.iops')" 800 5000
