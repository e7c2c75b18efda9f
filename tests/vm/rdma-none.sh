# ioengine=rdma without a device, a kernel module, a driver, a library or a function: what is missing, and the package
# devices: rxe
# limit: 150s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

. /vm/devices.sh

R="--name=x --ioengine=rdma --bs=4k --size=128k"
CONNECTS="$R --rw=write --hostname=10.9.0.1 --port=7200"
WAITS="$R --rw=read --bindname=10.9.0.1 --port=7200"

# Without a library. The job beside continues.
A=/lib/x86_64-linux-gnu B=/usr/lib/x86_64-linux-gnu
for library in libibverbs1/libibverbs librdmacm1/librdmacm; do
    package=${library%/*} file=${library#*/}.so.1
    # Other programs in the machine may have a copy.
    for folder in $A $B; do [ ! -e $folder/$file ] || mv $folder/$file $folder/away; done
    refused "without $file" "the library $file cannot be loaded.*" $CONNECTS
    has "the package of $file" /tmp/refused.err "To fix: install the package .$package."
    fiord --output-format=json --output=beside.json $CONNECTS --name=good --ioengine=null --rw=read --size=1m --bs=4k >beside.err 2>&1
    has "$file: the job that fails" beside.err "$file cannot be loaded"
    same "$file: the job beside it" "$(json beside '.jobs[1] | [.error, .read.total_ios] | join(" ")')" "0 256"
    for folder in $A $B; do [ ! -e $folder/away ] || mv $folder/away $folder/$file; done
done

# With a library that lacks the functions.
[ ! -e $A/librdmacm.so.1 ] || mv $A/librdmacm.so.1 $A/away
mv $B/librdmacm.so.1 $B/away
ln -s $A/libc.so.6 $B/librdmacm.so.1
refused "without the functions" "the library librdmacm.so.1 has no function rdma_.*To fix: install a newer package .librdmacm1." $CONNECTS
rm $B/librdmacm.so.1
for folder in $A $B; do [ ! -e $folder/away ] || mv $folder/away $folder/librdmacm.so.1; done

# Without the device.
rdma link delete rxe0
refused "no device to connect from" "no RDMA device can be used.*To fix: load the driver of the adapter.*rdma link" $CONNECTS
refused "no device to wait at" "no RDMA device can be used.*To fix: load the driver of the adapter.*rdma link" $WAITS

# Without the kernel module of connections.
modprobe -r rdma_ucm
refused "no rdma_ucm" "no RDMA device can be used.*To fix: load the driver of the adapter and the module rdma_ucm" $CONNECTS
modprobe rdma_ucm
wait_for test -e /dev/infiniband/rdma_cm
rdma link add rxe0 type rxe netdev rdma0

# Without the driver of libibverbs for the device.
mv /etc/libibverbs.d /etc/away
refused "no driver" "To fix:" $CONNECTS
mv /etc/away /etc/libibverbs.d
same "programs that still run" "$(pidof fiord)" ""
