# Placement handles of a namespace with flexible data placement: each gets the writes that plids, plid_select and dp_scheme assign to it
# devices: nvme-fdp
# limit: 40s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

NG=/dev/fiord/nvme-fdp-ng
fdp() { name=$1; shift; fiord_json "$name" --name="$name" --filename=$NG --ioengine=io_uring_cmd --bs=64k --size=16m "$@"; }

fdp all --rw=write --fdp=1 --iodepth=4
same "writes over all handles" "$(json all '.jobs[0].write.total_ios')" 256
fdp some --rw=randwrite --dataplacement=fdp --plids=0,2-3 --plid_select=random
same "writes over some handles" "$(json some '.jobs[0].write.total_ios')" 256
printf '0, 4m, 1\n4m, 16m, 3\n' >scheme
fdp scheme --rw=write --fdp=1 --plid_select=scheme --dp_scheme=scheme
same "writes by a scheme" "$(json scheme '.jobs[0].write.total_ios')" 256

refused "an index that the namespace has not" "no placement handle of index 4" --name=x --filename=$NG --ioengine=io_uring_cmd --rw=write --bs=64k --size=1m --fdp=1 --plids=4
refused "an engine without placement" "does not support placement handles" --name=x --filename=/dev/fiord/nvme-fdp --ioengine=io_uring --rw=write --bs=64k --size=1m --fdp=1 --direct=1
refused "write streams that this kernel has not" "does not support write streams|has no write streams" --name=x --filename=/dev/fiord/nvme-fdp --ioengine=io_uring --rw=write --bs=64k --size=1m --direct=1 --dataplacement=streams --plids=1
