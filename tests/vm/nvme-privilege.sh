# A user without the privilege to send NVMe commands gets an error that says so; nothing is written
# devices: nvme
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
dd if=/dev/urandom of=image bs=1M count=1 2>/dev/null
dd if=image of=/dev/fiord/nvme bs=1M oflag=direct 2>/dev/null
cp /with/fiord /tmp/fiord
chmod 755 /tmp/fiord
for mode in 600 666; do
    chmod $mode "$(readlink -f $ng)"
    for what in --rw=write --rw=trim "--rw=write --write_mode=zeroes"; do
        status=0
        # shellcheck disable=SC2086
        setpriv --reuid=1000 --clear-groups --inh-caps=-all --bounding-set=-all /tmp/fiord --name=x --filename=$ng \
            --ioengine=io_uring_cmd --size=1M --bs=4k $what >out 2>&1 || status=$?
        same "mode $mode, $what: failed" "$status" 1
        has "mode $mode, $what: says why" out "ermission|root|privilege|CAP_SYS_ADMIN"
    done
done
chmod 600 "$(readlink -f $ng)"
check "nothing was written" sh -c "dd if=/dev/fiord/nvme bs=1M count=1 iflag=direct 2>/dev/null | cmp -s - image"
rm /tmp/fiord
