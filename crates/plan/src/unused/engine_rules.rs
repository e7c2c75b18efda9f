//! The table of reasons why an option that only some engines have has no effect on a job.

use fiord_job::option::table::sg::SgWriteMode;
use fiord_job::option::table::{BUFFERED, DIRECT, VERIFY, io_uring, nvme, priority, pvsync2, sg};
use fiord_types::Dir;

use super::conditions::{access, checks_meaningless_tags, namespaces, prioritizes, protection};
use super::rules::{Reports, Rule};
use crate::files::open;
use crate::model::{EngineAccess, PmemTarget, WriteCommand};

pub(crate) const ENGINE_OPTION_RULES: &[Rule] = &[
    Rule {
        options: &[pvsync2::UNCACHED.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| access(plan).sends_commands(),
        what: "`{option}` has no effect with an engine that sends commands, which bypass the \
               page cache",
        help: "To fix: leave it out",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --uncached=1",
    },
    Rule {
        options: &[DIRECT.def(), BUFFERED.def()],
        reports: Reports::FirstSet,
        unused: |job, plan| {
            access(plan) == EngineAccess::PersistentMemory(PmemTarget::Device) && open::direct(job)
        },
        what: "`ioengine={engine}` always stores past the caches of the CPU: `{option}` has no effect",
        help: "To fix: leave it out",
        example: "--ioengine=dev-dax --filename=/dev/dax0.0 --rw=write --direct=1",
    },
    Rule {
        options: &[pvsync2::HIPRI_PERCENTAGE.def()],
        reports: Reports::EachSet,
        unused: |job, _| !job.get(pvsync2::HIPRI),
        what: "`{option}` has no effect without `hipri`",
        help: "To fix: add `hipri`",
        example: "--ioengine=pvsync2 --filename=f --hipri_percentage=50",
    },
    Rule {
        options: &[io_uring::SQTHREAD_POLL_CPU.def()],
        reports: Reports::EachSet,
        unused: |job, _| !job.get(io_uring::SQTHREAD_POLL),
        what: "`{option}` has no effect without `sqthread_poll`",
        help: "To fix: add `sqthread_poll`",
        example: "--ioengine=io_uring --filename=f --sqthread_poll_cpu=1",
    },
    Rule {
        options: &[
            priority::CMDPRIO_CLASS.def(),
            priority::CMDPRIO.def(),
            priority::CMDPRIO_HINT.def(),
        ],
        reports: Reports::EachSet,
        unused: |job, _| !prioritizes(job),
        what: "`{option}` has no effect without `cmdprio_percentage` or `cmdprio_bssplit`",
        help: "To fix: add `cmdprio_percentage=N` or `cmdprio_bssplit=SIZE/N`",
        example: "--ioengine=io_uring --filename=f --cmdprio=1",
    },
    Rule {
        options: &[nvme::WRITE_MODE.def(), sg::SG_WRITE_MODE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.has(Dir::Write),
        what: "`{option}` has no effect on a job that writes nothing",
        help: "To fix: use `rw=write` or `rw=randwrite`",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=read --sg_write_mode=write_same",
    },
    Rule {
        options: &[nvme::WRITEFUA.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !plan.load.mix.has(Dir::Write),
        what: "`{option}` has no effect on a job that writes nothing",
        help: "To fix: leave it out, or use `rw=write`",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=read --writefua=1",
    },
    Rule {
        options: &[nvme::WRITEFUA.def()],
        reports: Reports::EachChanged,
        unused: |job, _| {
            !matches!(job.get(sg::SG_WRITE_MODE), SgWriteMode::Write | SgWriteMode::WriteStream)
        },
        what: "`{option}` has no effect on the commands of `sg_write_mode`",
        help: "To fix: use `write` or `write_stream`, which have that flag",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=write --writefua=1 --sg_write_mode=write_same",
    },
    Rule {
        options: &[nvme::READFUA.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| !plan.load.mix.has(Dir::Read) && !job.is_set(VERIFY),
        what: "`{option}` has no effect on a job that reads nothing",
        help: "To fix: leave it out; `writefua` is for writes",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=write --readfua=1",
    },
    Rule {
        options: &[sg::STREAM_ID.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(sg::SG_WRITE_MODE) != SgWriteMode::WriteStream,
        what: "`{option}` has no effect without `write_stream`",
        help: "To fix: add `sg_write_mode=write_stream`",
        example: "--ioengine=sg --filename=/dev/sg0 --rw=write --stream_id=3",
    },
    Rule {
        options: &[nvme::DEAC.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| {
            !plan.load.write_commands.iter().any(|(command, _)| *command == WriteCommand::Zeroes)
        },
        what: "`{option}` has no effect without Write Zeroes commands",
        help: "To fix: add `write_mode=zeroes`, or use `rw=trim` to deallocate",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --rw=write --deac=1",
    },
    Rule {
        options: &[nvme::MD_PER_IO_SIZE.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| namespaces(plan).any(|metadata| metadata.is_some_and(|m| m.extended)),
        what: "`{option}` has no effect: the namespace transfers its metadata after the data \
               of each block",
        help: "",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng1n1 --bs=520 --md_per_io_size=64",
    },
    Rule {
        options: &[nvme::MD_PER_IO_SIZE.def()],
        reports: Reports::EachSet,
        unused: |_, plan| namespaces(plan).any(|metadata| metadata.is_none()),
        what: "`{option}` has no effect: the namespace has no metadata",
        help: "",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --md_per_io_size=64",
    },
    Rule {
        options: &[
            nvme::PI_ACT.def(),
            nvme::PI_CHK.def(),
            nvme::APPTAG.def(),
            nvme::APPTAG_MASK.def(),
        ],
        reports: Reports::EachSet,
        unused: |_, plan| namespaces(plan).any(|metadata| protection(metadata).is_none()),
        what: "`{option}` has no effect: the namespace has no protection information",
        help: "",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng0n1 --pi_chk=GUARD",
    },
    Rule {
        options: &[nvme::PI_CHK.def()],
        reports: Reports::EachSet,
        unused: |_, plan| namespaces(plan).filter_map(protection).any(checks_meaningless_tags),
        what: "reference tags are not checked: with protection type 3 they have no meaning",
        help: "",
        example: "--ioengine=io_uring_cmd --filename=/dev/ng2n1 --pi_chk=REFTAG",
    },
];
