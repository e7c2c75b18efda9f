# ioengine=rdma between the hosts of one run (peer): each verb in a ring and to one host, bytes of both ends, a missing peer
# devices: rxe
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices/rxe.sh

# Takes the place of ssh: each host is a directory of this machine.
cat >ssh <<'SSH'
#!/bin/sh
host=$1
shift
mkdir -p "$host" && cd "$host" || exit 1
exec "$@"
SSH
chmod +x ssh
# Both hosts are this machine.
echo "10.9.0.1 b c" >/etc/hosts
hosts() {
    name=$1 list=$2
    shift 2
    fiord_json "$name" --hosts="$list" --ssh="$PWD/ssh" --remote-fiord=/with/fiord --name=a --ioengine=rdma \
        --bs=4k --size=256k --iodepth=4 "$@"
    same "$name: nothing on standard error" "$(cat "$name.err")" ""
}
# ends NAME: each job as host, name, errors, bytes written and bytes read.
ends() { json "$1" '.client_stats[] | [.hostname, .jobname, .error, .write.io_bytes, .read.io_bytes] | join(" ")' >ends; }

# Messages: each end counts each byte, and the total has it twice.
hosts send b,c --rw=write --verb=send --peer=first
ends send
same "send: both ends" "$(head -n 2 ends | tr '\n' ';')" "b a_from_c 0 0 262144;c a_to_b 0 262144 0;"
same "send: all clients" "$(json send '.client_stats[2] | [.jobname, .write.io_bytes, .read.io_bytes] | join(" ")')" "All clients 262144 262144"
# Two hosts in a ring: four ends at two ports.
hosts ring b,c --rw=write --verb=recv --peer=next
ends ring
same "a ring: number of ends" "$(grep -c " a_" ends)" 4
same "a ring: bytes of the ends that connect" "$(grep "a_to" ends | cut -d' ' -f3-4 | sort -u)" "0 262144"
same "a ring: bytes of the ends that wait" "$(grep "a_from" ends | cut -d' ' -f3,5 | sort -u)" "0 262144"
# The memory of a peer: only the end that accesses it sees the I/Os.
for verb in write read; do
    hosts $verb b,c --rw=write --verb=$verb --peer=pair --numjobs=2
    ends $verb
    same "$verb: bytes of the ends that access" "$(grep " a_to" ends | cut -d' ' -f1,3- | sort -u | tr '\n' ';')" "b 0 262144 0;"
    same "$verb: bytes of the ends that lend" "$(grep " a_from" ends | cut -d' ' -f1,3- | sort -u | tr '\n' ';')" "c 0 0 0;"
done
# The job reads: the host that it is written for waits, and its peer connects and writes.
hosts reads b,c --rw=read --verb=send --peer=c
ends reads
same "reads: both ends" "$(head -n 2 ends | tr '\n' ';')" "b a_from_c 0 0 262144;c a_to_b 0 262144 0;"
# Both ends of a run on many hosts have to use one block size: `$rank` differs.
if fiord --output-format=json --output=wrong.json --hosts=b,c --ssh="$PWD/ssh" --remote-fiord=/with/fiord --name=a \
    --ioengine=rdma --bs='(4k*($rank+1))' --size=256k --rw=write --verb=send --peer=first >wrong.err 2>&1; then
    failed "different block sizes are let through"
fi
has "different block sizes" wrong.err "does not fit into a buffer of .*To fix: use one .bs. on both ends"
all_ended
