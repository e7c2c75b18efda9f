# ioengine=net over vsock, to groups of several receivers (IPv4 and IPv6), and with a peer that does not answer
# devices: vsock
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

moved() { json "$1" "[.jobs[] | select(.jobname | test(\"$2\")) | .read.io_bytes + .write.io_bytes] | add"; }

# Both ends in one run; 1 is the address of this machine itself.
pair="--ioengine=net --protocol=vsock --port=8888 --bs=4k --size=1m"
for options in "" --pingpong; do
    fiord_json vsock$options --name=receiver $pair --rw=read --listen $options --name=sender $pair --rw=write --hostname=1 $options
    same "vsock $options: bytes received" "$(moved vsock$options receiver)" 1048576
    same "vsock $options: bytes sent" "$(moved vsock$options sender)" 1048576
done
same "the connection is on this machine" "$(json vsock '.jobs[0].fiord.network.list[0].loopback')" 1
fiord_json many --name=receiver $pair --rw=read --listen --numjobs=3 --name=sender $pair --rw=write --hostname=1 --numjobs=3
same "three connections" "$(moved many receiver)" 3145728

# A verb that the kernel refuses, a port that is in use, and a peer that does not exist.
refused "nothing listens" "ECONNRESET|ECONNREFUSED" --name=x $pair --rw=write --hostname=1 --port=77
refused "no such machine" "ENODEV.*To fix:" --name=x $pair --rw=write --hostname=99
timeout 60 fiord --name=waits $pair --rw=read --listen --port=78 >waits.out 2>&1 &
waiting=$!
usleep 3000000
refused "the port is in use" "EADDRINUSE.*To fix:" --name=x $pair --rw=read --listen --port=78
kill -INT $waiting
wait $waiting

# Groups: all members receive all blocks. The one that answers paces the sender.
group() {
    name=$1
    shift
    common="--ioengine=net --bs=1k --size=64k --ttl=1 $*"
    fiord_json "$name" --name=answers $common --rw=read --pingpong --name=listens $common --rw=read \
        --name=sender $common --rw=write --pingpong --startdelay=1
    same "$name: bytes of both receivers" "$(moved "$name" 'answers|listens')" 131072
    same "$name: bytes of the sender" "$(moved "$name" sender)" 65536
}
group v4 --protocol=udp --hostname=239.255.70.1 --port=9000 --interface=10.9.1.1
group v6 --protocol=udpv6 --hostname=ff15::f10d --port=9001 --interface=fd0a::1
group v6-link --protocol=udpv6 --hostname=ff12::f10d --port=9002 --interface=fd0a::1
refused "a group that is local to a network" "To fix: write .interface=ADDRESS" --name=x --ioengine=net --protocol=udpv6 \
    --hostname=ff12::f10d --port=9003 --rw=read --bs=1k --size=64k
