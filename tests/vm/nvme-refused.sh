# Jobs that fiord refuses before the first I/O, each with one clear line; commands that the drive refuses, with the name of the status
# devices: nvme zns nvme-ext nvme-pi
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

ng=/dev/fiord/nvme-ng
cmd="--ioengine=io_uring_cmd --size=1M"
# Contents that no job may change.
sum() { dd if=/dev/fiord/nvme bs=1M count=8 iflag=direct 2>/dev/null | md5sum; }
before=$(sum)

for engine in psync sync libaio io_uring mmap; do
    refused "$engine on a character device" "takes commands, not reads and writes" --name=x --ioengine=$engine \
        --filename=$ng --size=1M --bs=4k --rw=write
done
refused "a block device" "is a block device, and .*generic character device" --name=x $cmd \
    --filename=/dev/fiord/nvme --bs=4k --rw=write
has "names the other" /tmp/refused.err "filename=/dev/ng[0-9]+n1"
refused "a file" "is a regular file, and" --name=x $cmd --filename=/vm/order --bs=4k
refused "another character device" "is a character device, and" --name=x $cmd --filename=/dev/zero --bs=4k
refused "no device" "there is no device" --name=x $cmd --filename=/dev/ng99n1 --bs=4k
refused "odd blocks" "blocks of 512 bytes, and 1000 bytes" --name=x $cmd --filename=$ng --bs=1000 --rw=write
refused "odd extended blocks" "520 bytes, 512 of data and 8 of metadata|blocks of 512 bytes" --name=x $cmd \
    --filename=/dev/fiord/nvme-ext-ng --bs=1000 --rw=write
refused "an odd offset" "100 is not a multiple" --name=x $cmd --filename=$ng --bs=4k --offset=100 --rw=write
refused "behind the end" "at or past the end" --name=x $cmd --filename=$ng --bs=4k --offset=2g --rw=write
refused "more than MDTS" "\(MDTS\)" --name=x $cmd --filename=$ng --bs=1m --rw=write
refused "a command that is not there" "no Write Uncorrectable command" --name=x $cmd --filename=$ng --bs=4k \
    --rw=write --write_mode=uncor
refused "more than a Verify may be" "\(VSL\)" --name=x $cmd --filename=$ng --bs=1m --rw=write --write_mode=verify
refused "more blocks than a command has" "65536 blocks" --name=x $cmd --filename=$ng --size=100% --bs=64m --rw=write \
    --write_mode=zeroes
refused "an append without zones" "no zones" --name=x $cmd --filename=$ng --bs=4k --rw=write --write_mode=zone_append
refused "shares" "add up to 90 %" --name=x $cmd --filename=$ng --bs=4k --rw=write --write_mode=write/60:zeroes/30
for what in --rw=write --rw=trim "--rw=write --write_mode=zeroes" "--rw=write --write_mode=uncor"; do
    refused "--readonly $what" "readonly" --readonly --name=x $cmd --filename=$ng --bs=4k $what
done
refused "options without commands" "only with pass-through commands" --name=x --ioengine=io_uring \
    --filename=/dev/fiord/nvme --size=1M --bs=4k --rw=write --write_mode=zeroes

# Only root may open the node.
cp "$(command -v fiord)" /tmp/fiord-user
# shellcheck disable=SC2086
if /with/setpriv --reuid=1000 --clear-groups /tmp/fiord-user --name=x $cmd --filename=$ng --bs=4k --output=/dev/null \
    >user.out 2>user.err; then
    failed "a user was let at the device"
else
    has "a user" user.err "no permission to read"
fi
same "nothing was changed" "$(sum)" "$before"

# The drive refuses the command: the report has the status by name, and its number where fio has it.
status=0
fiord --name=x --ioengine=io_uring_cmd --filename=/dev/fiord/zns-ng --bs=4k --rw=write --offset=1M --size=1M \
    --output-format=json --output=status.json >status.out 2>status.err || status=$?
same "a job failed" "$status" 1
has "the name of the status" status.err \
    "write failed on /dev/fiord/zns-ng at offset 1048576: Zone Invalid Write \(NVMe command specific status BCh"
has "and in the line that scripts look for" status.err "err=16828/.*error=Zone Invalid Write"
same "the number of the status" "$(json status '.jobs[0].error')" 16828
