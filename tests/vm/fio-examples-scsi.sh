# fio's examples for SCSI disks (sg) in both programs, with their reports and exit statuses compared, also of those that fail
# devices: sd fio
# limit: 120s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"
. /vm/devices/fio.sh

for name in sg_verify sg_verify-fail sg_write_same_ndob; do
    both $name "s|^filename=.*|filename=$(node sd-sg)|"
    alike $name
done
