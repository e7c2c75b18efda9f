//! `ioengine=sg` and `ioengine=libzbc`: identifies the SCSI devices of a job's files, and checks that they support
//! the job.

use fiord_job::option::table::sg::SgWriteMode;
use fiord_job::option::table::{
    BS, FILENAME, IODEPTH, IODEPTH_BATCH, SYNC_FILE_RANGE, ZONEMODE, nvme, sg,
};
use fiord_types::Dir;

use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::machine::facts::{Found, FoundKind, ScsiDisk};
use crate::machine::survey::Survey;
use crate::model::{EnginePlan, FileKind, Load, SgPlan, SgWrite, WriteCommand};
use crate::options::reading::Reading;

/// The largest number of commands in flight per open character device.
const ROOM: u32 = 16;

pub(crate) fn options(job: Reading) -> SgPlan {
    let stream = job.get(sg::STREAM_ID);
    let write = match job.get(sg::SG_WRITE_MODE) {
        SgWriteMode::Write => SgWrite::Write,
        SgWriteMode::WriteAndVerify => SgWrite::WriteAndVerify,
        SgWriteMode::WriteSame => SgWrite::WriteSame,
        SgWriteMode::WriteSameNdob => SgWrite::WriteSameNoData,
        SgWriteMode::VerifyBytchk00 => SgWrite::Verify(0),
        SgWriteMode::VerifyBytchk01 => SgWrite::Verify(1),
        SgWriteMode::VerifyBytchk11 => SgWrite::Verify(3),
        SgWriteMode::WriteStream => SgWrite::Stream(u16::try_from(stream).unwrap_or_else(|_| {
            job.report(
                job.error(sg::STREAM_ID, format!("`stream_id={stream}` is not a stream number"))
                    .help("To fix: write a number from 1 to 65535, or 0 to open one"),
            );
            0
        })),
    };
    let write_fua = job.get(nvme::WRITEFUA);
    SgPlan {
        hipri: job.get(sg::HIPRI),
        read_fua: job.get(nvme::READFUA),
        write_fua,
        write,
        trims: batch(job),
    }
}

/// The largest number of trims that one command combines (`iodepth_batch`). 0: the job does not set
/// it.
fn batch(job: Reading) -> u32 {
    let depth = job.get(IODEPTH);
    match job.explicit(IODEPTH_BATCH) {
        None => 0,
        Some(0) => depth,
        Some(batch) => batch.min(depth),
    }
}

/// The write commands of `sg_write_mode` that send no data, so that the job fills no buffer for
/// them.
pub(crate) fn write_commands(engine: &EnginePlan) -> Option<Vec<(WriteCommand, u8)>> {
    match engine {
        EnginePlan::Sg(SgPlan { write: SgWrite::WriteSameNoData, .. }) => {
            Some(vec![(WriteCommand::Zeroes, 100)])
        }
        EnginePlan::Sg(SgPlan { write: SgWrite::Verify(0), .. }) => {
            Some(vec![(WriteCommand::Verify, 100)])
        }
        _ => None,
    }
}

/// Refuses options for files, which do not work with commands, and trims other than resets of zones.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let def = engine.def();
    if def.needs_zones && load.zoned.is_none() && load.mix.has(Dir::Trim) {
        let what = format!(
            "a trim with `ioengine={}` resets a zone, which needs `zonemode=zbd`",
            def.name
        );
        job.report(job.error(ZONEMODE, what).help("To fix: add `zonemode=zbd`"));
    }
    if load.sync_file_range.is_some() {
        job.report(
            job.error(
                SYNC_FILE_RANGE,
                "SCSI commands have no page cache that `sync_file_range` could write back",
            )
            .help("To fix: use `fsync=N`, which sends SYNCHRONIZE CACHE"),
        );
    }
}

/// The kind and the extent of the device at a path. `None`: it does not support the job, and a message says why.
pub(super) fn target(
    candidate: Candidate,
    found: Found,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, .. } = candidate;
    let shown = path.display();
    let engine = job.spec.engine();
    let kind = match found.kind {
        FoundKind::Block => FileKind::Block,
        FoundKind::Char => FileKind::Char,
        other => {
            job.report(
                job.error(
                    FILENAME,
                    format!(
                        "`{shown}` is {}, and `ioengine={}` sends SCSI commands to a disk",
                        other.in_words(),
                        engine.name
                    ),
                )
                .help(
                    "To fix: name a disk (/dev/sdX) or its generic device (/dev/sgN; `lsscsi -g`)",
                ),
            );
            return None;
        }
    };
    let disk = match survey.facts.scsi_disk(path) {
        Ok(disk) => disk,
        Err(why) => {
            job.report(
                job.error(FILENAME, format!("`{shown}` takes no SCSI commands: {why}")).help(
                    "To fix: name a disk (/dev/sdX) or its generic device (/dev/sgN; `lsscsi -g`)",
                ),
            );
            return None;
        }
    };
    fits(candidate, disk)?;
    if !engine.is_synchronous() {
        depth(job, kind, &shown.to_string());
    }
    Some((kind, Extent::Fixed(disk.blocks.saturating_mul(u64::from(disk.block)))))
}

/// Checks the job's block sizes against the block size and the largest transfer of the disk.
fn fits(candidate: Candidate, disk: ScsiDisk) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    let (mix, small, large) = (usage.mix, usage.access.block, usage.largest);
    if !small.is_multiple_of(disk.block) {
        job.report(
            job.error(
                BS,
                format!("commands move whole blocks, which have {} bytes on `{shown}`; the job uses {small}", disk.block),
            )
            .help(format!("To fix: write `bs={}`", small.next_multiple_of(disk.block))),
        );
        return None;
    }
    if let Some(limit) = disk.max_transfer.filter(|l| *l < u64::from(large))
        && (mix.has(Dir::Read) || mix.has(Dir::Write))
    {
        job.report(
            job.error(
                BS,
                format!("one command moves at most {limit} bytes on `{shown}` (max_hw_sectors_kb); the job uses {large}"),
            )
            .help(format!("To fix: write `bs={limit}` or less")),
        );
        return None;
    }
    Some(())
}

fn depth(job: Reading, kind: FileKind, shown: &str) {
    let depth = job.get(IODEPTH);
    let (what, help) = match kind {
        FileKind::Block if depth > 1 => (
            format!("`{shown}` is a block device: the kernel executes its commands one at a time"),
            "To fix: name its generic device (/dev/sgN; `lsscsi -g`) for more at once",
        ),
        FileKind::Char if depth > ROOM => (
            format!(
                "the sg driver queues at most {ROOM} commands for `{shown}`, so no more I/Os are in flight"
            ),
            "To fix: use more `numjobs`, each of which opens the device",
        ),
        _ => return,
    };
    job.report(job.adjusted(IODEPTH, what).help(help));
}
