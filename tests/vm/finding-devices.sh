# fiord devices queries NVMe drives; not-preconditioned and misaligned, each with a clean run
# devices: nvme nvme-ext
# limit: 180s

: "${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}"

disk=/dev/fiord/nvme

check "devices as JSON" sh -c "fiord devices --format=json $disk /dev/fiord/nvme-ext >devices.json"
same "model" "$(gojq -r '.devices[0].model' devices.json)" "QEMU NVMe Ctrl"
same "the firmware is listed" "$(gojq '.devices[0].firmware | length > 0' devices.json)" true
same "format" "$(gojq -r '.devices[0].format | split(" ")[0]' devices.json)" "$(blockdev --getss $disk)"
same "format with metadata" "$(gojq -r '.devices[1].format | split(" ")[0]' devices.json)" "512+8"
same "SMART: media errors" "$(gojq '.devices[0].smart.media_errors' devices.json)" 0
same "generic node" "$(gojq -r '.devices[0].generic | startswith("/dev/ng")' devices.json)" true
same "PCI address" "$(gojq '.devices[0].pcie | length > 0' devices.json)" true
check "a tree" sh -c "fiord devices --tree | grep -q 'QEMU NVMe'"

job="--name=x --filename=$disk --rw=randread --bs=4k --size=4M --direct=1 --ioengine=psync"
fiord_json fresh $job
same "not written in full" "$(found fresh not-preconditioned)" 1
check "written twice" fiord precondition --yes --passes=2 --state=state.json $disk
fiord_json used $job
same "written in full" "$(found used not-preconditioned)" 0
refused "without an answer" "is not a terminal. To fix: pass --yes" precondition --state=state.json $disk

mkswap $disk >/dev/null
check "swap" swapon $disk
refused "swap" "No option overrides this check" precondition --yes --state=state.json $disk
check "no swap" swapoff $disk
fiord_json marked --name=x --filename=$disk --rw=write --bs=4k --size=4M --offset=1M --direct=1 --ioengine=psync
same "a mark" "$(json marked '.fiord.findings[] | select(.id == "target-in-use") | .evidence')" "it carries swap"
