# Zone appends on a namespace with protection information of type 1: each block has the reference tag of its location
# devices: zns-pi
# limit: 90s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/zns-pi-ng
job() {
    name=$1
    shift
    fiord_json "$name" --name="$name" --filename=$ng --ioengine=io_uring_cmd --bs=16k "$@"
    same "$name: errors" "$(json "$name" '.jobs[0].error')" 0
}

for depth in 1 8; do
    check "reset" fiord zones $ng --reset --yes
    job "append$depth" --zonemode=zbd --write_mode=zone_append --rw=write --size=8M --iodepth=$depth
    same "depth $depth: 4 zones of 1.5 MiB" "$(json "append$depth" '.jobs[0].write.total_ios')" 384
    # The controller accepts every tag, and so does fiord, which knows the locations.
    job "read$depth" --zonemode=zbd --rw=read --size=8M --pi_chk=GUARD,REFTAG --pi_act=1
    same "depth $depth: as much is read" "$(json "read$depth" '.jobs[0].read.total_ios')" 384
    job "here$depth" --zonemode=zbd --rw=read --size=8M --pi_chk=GUARD,REFTAG,APPTAG --pi_act=0
    same "depth $depth: and checked here" "$(json "here$depth" '.jobs[0].read.total_ios')" 384
done

refused "tags that would be made here" 'leave out `pi_act=0`' --name=x --filename=$ng --ioengine=io_uring_cmd --bs=16k \
    --zonemode=zbd --write_mode=zone_append --rw=write --size=8M --pi_act=0
