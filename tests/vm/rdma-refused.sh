# ioengine=rdma with wrong inputs: nothing listens, wrong ports, addresses, verbs and block sizes; other jobs continue
# devices: rxe
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices/rxe.sh

# All cases run at the same time, each at a port of its own.
# The blocks of the end that gets data, or lends its memory, are too small. In each pair, both ends say so.
waits_at write-waits 7001 --bs=4k
waits_at read-waits 7002 --bs=4k
waits_at send-waits 7003 --bs=4k
waits_at recv-waits 7004 --bs=64k
# The end that gets data may have larger blocks than the other end.
waits_at larger-waits 7005 --bs=64k
# The end that waits has no verb, and a job beside it continues.
waits_at verb-waits 7006 --verb=recv
waits_at nobody 7007
until_listens 7
connects_to write-connects 7001 --bs=64k --verb=write
connects_to read-connects 7002 --bs=64k --verb=read
connects_to send-connects 7003 --bs=64k --verb=send
connects_to recv-connects 7004 --bs=4k --verb=recv
connects_to larger-connects 7005 --bs=4k --verb=send
connects_to verb-connects 7006 --verb=send
# Two ends that wait at one port.
waits_at second 7007
# Two ends that connect.
connects_to no-listener 7077
connects_to no-listener-too 7077 --verb=recv
# Addresses.
one_end no-name --rw=write --hostname=no-such-host.invalid --port=7007
one_end loopback --rw=write --hostname=127.0.0.1 --port=7007
one_end no-route --rw=write --hostname=192.0.2.1 --port=7007
one_end no-answer --rw=write --hostname=10.9.0.77 --port=7007
one_end no-own-address --rw=write --hostname=10.9.0.1 --bindname=10.9.0.88 --port=7007
one_end bind-elsewhere --rw=read --bindname=10.9.0.99 --port=7008
# The job beside one that fails.
one_end beside --rw=write --hostname=10.9.0.1 --port=7077 --name=good --ioengine=null --rw=read --size=1m --bs=4k

for end in write read send recv; do
    fails $end-waits "a block of .* .65536 bytes. does not fit into a buffer of .* .4096 bytes.*To fix: use one .bs. on both ends"
    fails $end-connects "a block of .* .65536 bytes. does not fit into a buffer of .* .4096 bytes.*To fix: use one .bs. on both ends"
done
until_ended larger-waits larger-connects verb-waits verb-connects
same "smaller blocks of the sender" "$(cat larger-waits.status larger-connects.status | tr '\n' ' ')" "0 0 "
same "their bytes" "$(bytes larger-waits)/$(bytes larger-connects)" 131072/131072
same "the verb of the end that connects" "$(cat verb-waits.status verb-connects.status | tr '\n' ' ')" "0 0 "
same "its bytes" "$(bytes verb-waits)/$(bytes verb-connects)" 131072/131072
has "the other verb is reported" verb-waits.json "verb.*has no effect"
fails second "listening on 10.9.0.1:7007.*EADDR.*To fix: use another .port."
fails no-listener "connecting to 10.9.0.1:7077.*ECONNREFUSED.*To fix: start the job that waits"
fails no-listener-too "connecting to 10.9.0.1:7077.*ECONNREFUSED.*To fix: start the job that waits"
fails no-name "no-such-host.invalid.*To fix:"
fails loopback "connecting to 127.0.0.1:7007.*To fix: use an address that an RDMA device"
fails no-route "connecting to 192.0.2.1:7007.*To fix:"
fails no-answer "connecting to 10.9.0.77:7007.*To fix:"
fails no-own-address "connecting to 10.9.0.1:7007.*To fix:"
fails bind-elsewhere "listening on 10.9.0.99:7008.*To fix:.*bindname.*RDMA device"
fails beside "ECONNREFUSED"
same "the job beside one that fails" "$(json beside '.jobs[1] | [.error, .read.total_ios] | join(" ")')" "0 256"
same "the one that fails" "$(json beside '.jobs[0] | [.error, .write.total_ios] | join(" ")')" "111 0"

# An end without a peer waits until Ctrl-C.
same "it still waits" "$(cat nobody.status 2>/dev/null)" ""
kill -INT "$(pid_of nobody)"
until_ended nobody
same "bytes of an end without a peer" "$(bytes nobody)" 0
all_ended

# Errors in the options, before anything starts; the tests of the planner have more of them.
R="--name=x --ioengine=rdma --bs=4k --size=128k"
refused "a verb that does not exist" "verb.*write.*read.*send.*recv" $R --rw=write --hostname=10.9.0.1 --port=7007 --verb=atomic
refused "no host" "To fix: write .hostname=ADDRESS.; a job that reads waits" $R --rw=write --port=7007
refused "a port that does not exist" "port.*65535" $R --rw=write --hostname=10.9.0.1 --port=70000
all_ended
