# Disk counters of a device-mapper device over two namespaces: its own, those of its members, and their sum
# devices: nvme nvme-fdp dmzero
# limit: 30s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

one=$(readlink -f /dev/fiord/nvme)
two=$(readlink -f /dev/fiord/nvme-fdp)
dmsetup create both --noudevsync --noudevrules <<END
0 65536 linear $one 0
65536 65536 linear $two 0
END
members=$(printf '%s\n' "${one#/dev/}" "${two#/dev/}" | sort)
disk=/dev/dm-$(dmsetup info -c --noheadings -o minor both | tr -d ' ')
run() { fiord --name=x --filename="$disk" --size=64M --rw=randrw --bs=64k --direct=1 --time_based --runtime=1s "$@"; }

check "JSON" run --output-format=json --output=x.json
same "disks, in order" "$(json x '[.disk_util[].name] | join(" ")')" "$(echo ${disk#/dev/} $members)"
# gojq sorts the keys of an object.
keys() { awk -v wanted="$1" '/"disk_util"/ { on = 1; next } on && /\{/ { at++ } on && at == wanted && /" :/ { split($0, part, "\""); printf "%s%s", space, part[2]; space = " " } on && /\]/ { exit }' x.json; }
same "keys of the one on top" "$(keys 1)" \
    "name read_ios write_ios read_sectors write_sectors read_merges write_merges read_ticks write_ticks in_queue util \
aggr_read_ios aggr_write_ios aggr_read_sectors aggr_write_sectors aggr_read_merges aggr_write_merge aggr_read_ticks \
aggr_write_ticks aggr_in_queue aggr_util"
same "keys of a member" "$(keys 2)" \
    "name read_ios write_ios read_sectors write_sectors read_merges write_merges read_ticks write_ticks in_queue util"
same "the members' average" "$(json x '.disk_util[0].aggr_read_ios')" \
    "$(json x '(.disk_util[1].read_ios + .disk_util[2].read_ios) / 2 | floor')"
same "the members' highest" "$(json x '.disk_util[0].aggr_util')" \
    "$(json x '[.disk_util[1].util, .disk_util[2].util] | max')"

check "for people" run --output=x.txt
has "the one on top" x.txt "^    ${disk#/dev/}: ios=[0-9/]+, sectors=.*, aggrios=[0-9/]+, aggsectors=.*aggrutil="
has "a member" x.txt "^  ${one#/dev/}: ios="
check "terse" run --output-format=terse --output=x.terse
has "the members together" x.terse ";${disk#/dev/};([0-9]+;){7}[0-9.]+%;slaves;([0-9]+;){7}[0-9.]+%;nvme"

fiord_json zero --name=x --filename=/dev/fiord/dmzero --rw=randread --bs=4k --direct=1
same "one that has no members has no sum of them" "$(json zero '.disk_util[0] | has("aggr_util")')" false
check "take it down" dmsetup remove --noudevsync both
