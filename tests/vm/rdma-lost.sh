# ioengine=rdma with a peer that is killed, stopped or interrupted in the middle: the other end names it and ends
# devices: rxe
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices/rxe.sh

long="--time_based --runtime=60 --iodepth=4"
# For each verb, the end that waits is killed, or the end that connects. All pairs run at the same time.
port=7100
for verb in write read send recv; do
    port=$((port + 2))
    waits_at $verb-killed-waits $port $long
    waits_at $verb-left-waits $((port + 1)) $long
done
waits_at stopped-waits 7090 $long
waits_at interrupted-waits 7091 $long
until_listens 10
port=7100
for verb in write read send recv; do
    port=$((port + 2))
    connects_to $verb-left-connects $port --verb=$verb $long
    connects_to $verb-killed-connects $((port + 1)) --verb=$verb $long
done
# A receiver that is stopped takes no message: the sender's run time ends it.
connects_to stopped-connects 7090 --verb=send --time_based --runtime=10 --iodepth=4
connects_to interrupted-connects 7091 --verb=send $long
until_connected 20
usleep 1000000
for end in write-killed-waits read-killed-waits send-killed-waits recv-killed-waits; do kill -KILL "$(pid_of $end)"; done
for end in write-killed-connects read-killed-connects send-killed-connects recv-killed-connects; do kill -KILL "$(pid_of $end)"; done
kill -STOP "$(pid_of stopped-waits)"
kill -INT "$(pid_of interrupted-waits)"
for verb in write read send recv; do
    for end in connects waits; do
        fails $verb-left-$end "(closed the connection without announcing its end|no longer grants access to this memory|could not carry out the request).*To fix: check whether its program failed or was killed"
        within "$verb-left-$end: I/Os before that are in the report" "$(bytes $verb-left-$end)" 0 1e12
    done
done
until_ended stopped-connects interrupted-waits interrupted-connects
same "a sender whose receiver is stopped" "$(cat stopped-connects.status)" 0
within "ms until it ends" "$(json stopped-connects '.jobs[0].job_runtime')" 9000 20000
kill -KILL "$(pid_of stopped-waits)"
same "an end that was interrupted" "$(cat interrupted-waits.status)" 128
same "its peer ends without an error" "$(cat interrupted-connects.status)" 0
all_ended
