# Zeroes that a file system writes to reserve space, and space that is reserved already: zeroes-written, space-reserved
# devices: fat journal
# limit: 60s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

for place in fat journal; do
    [ $place = fat ] && where=/tmp/fat || where=/journal
    fiord_json $place --name=a --ioengine=falloc --rw=write --bs=4k --size=4m --fallocate=none --filename=$where/f
    say "$place: $(json $place '.jobs[0].write.iops') calls per second"
done
reports fat zeroes-written "the file system of job a writes zeroes"
reports fat zeroes-written "4.* MiB written to reserve 4.0 MiB"
silent journal zeroes-written
silent journal space-reserved
fiord_json again --name=a --ioengine=falloc --rw=write --bs=4k --size=4m --filename=/tmp/fat/f
reports again space-reserved "100 % of 4.0 MiB were reserved"
silent again zeroes-written
fiord_json written --name=a --ioengine=psync --rw=write --bs=4k --size=4m --filename=/tmp/fat/f --end_fsync=1
silent written zeroes-written
