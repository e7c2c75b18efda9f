//! `io_uring_cmd` with NVMe commands: identifies the namespaces of a job's files, and refuses
//! before the first I/O what they do not support.
//!
//! | question | module |
//! |---|---|
//! | options, namespaces | here |
//! | block sizes, transfer limits, optional commands | `limits.rs` |
//! | metadata and protection information | `protection.rs` |

mod limits;
mod protection;

use std::path::Path;
use std::sync::Arc;

use fiord_job::option::table::{FILENAME, SYNC_FILE_RANGE, nvme, pvsync2};
use fiord_sys::nvme::{CommandSet, NvmeDevice};
use fiord_types::Bytes;

use crate::engine::ring;
use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::machine::facts::{Found, FoundKind, Passthrough};
use crate::machine::survey::Survey;
use crate::model::{
    Commands, EngineAccess, EnginePlan, FileKind, FilePlan, JobPlan, Load, NvmePlan, NvmeTarget,
    PassthroughPlan,
};
use crate::options::reading::Reading;

/// Reads the options of `io_uring_cmd`.
pub(super) fn passthrough(job: Reading) -> PassthroughPlan {
    PassthroughPlan { ring: ring::ring(job), commands: Commands::Nvme(options(job)) }
}

/// Reads the options of NVMe commands.
pub(super) fn options(job: Reading) -> NvmePlan {
    NvmePlan {
        read_fua: job.get(nvme::READFUA),
        write_fua: job.get(nvme::WRITEFUA),
        deallocate: job.get(nvme::DEAC),
        compares: job.get(nvme::VERIFY_MODE) == nvme::VerifyMode::Compare,
        targets: Vec::new(),
    }
}

/// Refuses options of commands if the engine sends none, and options of plain I/O if the engine sends
/// commands.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let Some(plan) = engine.passthrough() else {
        // SCSI commands have `readfua` and `writefua` as well.
        let scsi = engine.def().access == EngineAccess::ScsiCommands;
        let used = [
            (nvme::WRITE_MODE.def(), job.get(nvme::WRITE_MODE) != "write"),
            (nvme::READFUA.def(), job.get(nvme::READFUA) && !scsi),
            (nvme::WRITEFUA.def(), job.get(nvme::WRITEFUA) && !scsi),
            (nvme::DEAC.def(), job.get(nvme::DEAC)),
            (nvme::VERIFY_MODE.def(), job.get(nvme::VERIFY_MODE) == nvme::VerifyMode::Compare),
            (nvme::NVME_SPLIT.def(), job.get(nvme::NVME_SPLIT)),
        ];
        for (option, _) in used.into_iter().filter(|(_, used)| *used) {
            let name = option.name;
            job.report(
                job.error(option, format!("`{name}` works only with pass-through commands"))
                    .help(format!("To fix: use `ioengine=io_uring_cmd`, or leave out `{name}`")),
            );
        }
        protection::of_commands_only(job);
        return;
    };
    protection::values(job);
    if plan.ring.nowait {
        job.report(
            job.error(pvsync2::NOWAIT, "NVMe commands have no flag to fail instead of waiting")
                .help("To fix: leave out `nowait`"),
        );
    }
    if load.sync_file_range.is_some() {
        job.report(
            job.error(
                SYNC_FILE_RANGE,
                "NVMe commands have no page cache that `sync_file_range` could write back",
            )
            .help("To fix: use `fsync=N`, which sends a Flush command"),
        );
    }
}

/// The kind and the extent of the namespace at a path. `None`: the job cannot use it, and a message says why.
pub(super) fn target(
    candidate: Candidate,
    found: Found,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, .. } = candidate;
    takes_commands(candidate, found, survey)?;
    let device = device(job, path, survey)?;
    Some((FileKind::Char, Extent::Fixed(bytes(job, &device))))
}

/// Checks that a file is the generic character device of a namespace. `None`: it is not, and a message says so.
fn takes_commands(candidate: Candidate, found: Found, survey: &Survey) -> Option<()> {
    let Candidate { job, path, .. } = candidate;
    let shown = path.display();
    if found.kind == FoundKind::Char && survey.facts.passthrough(path) == Some(Passthrough::Nvme) {
        return Some(());
    }
    let sibling = survey.facts.generic_sibling(path);
    let engine = job.spec.engine().name;
    let hint = sibling.map_or("To fix: name such a device (`ls /dev/ng*`)".into(), |generic| {
        format!("To fix: use `filename={}`", generic.display())
    });
    job.report(
        job.error(
            FILENAME,
            format!(
                "`{shown}` is {}, and `ioengine={engine}` sends NVMe commands to the \
                 generic character device of a namespace (/dev/ngXnY)",
                found.kind.in_words()
            ),
        )
        .help(format!("{hint}, or use another engine, such as `ioengine=io_uring`")),
    );
    None
}

/// The properties of the namespace at a path and of its controller. `None`: the job cannot use it,
/// and a message says why.
fn device(job: Reading, path: &Path, survey: &mut Survey) -> Option<Arc<NvmeDevice>> {
    let shown = path.display();
    let device = match survey.namespace(path) {
        Ok(device) => device,
        Err(why) => {
            job.report(
                job.error(FILENAME, format!("`{shown}` cannot be identified: {why}"))
                    .help("To fix: run as root (CAP_SYS_ADMIN), and check that the controller is alive (`dmesg`)"),
            );
            return None;
        }
    };
    if matches!(device.command_set, CommandSet::KeyValue | CommandSet::Other(_)) {
        job.report(
            job.error(
                FILENAME,
                format!(
                    "`{shown}` is a namespace of the {:?} command set: it has no blocks",
                    device.command_set
                ),
            )
            .help("To fix: name a namespace of the NVM or the Zoned Namespace command set"),
        );
        return None;
    }
    if device.namespace.format.data == Bytes::ZERO {
        let index = device.namespace.format_index;
        job.report(
            job.error(
                FILENAME,
                format!("`{shown}` reports LBA format {index}, which has no block size"),
            )
            .help("To fix: format it (`nvme format`), and check it with `nvme id-ns`"),
        );
        return None;
    }
    Some(device)
}

/// The size of a namespace in bytes as the job's offsets count them, including metadata in the data
/// buffer.
fn bytes(job: Reading, device: &NvmeDevice) -> u64 {
    device.namespace.size.saturating_mul(u64::from(block(job, device)))
}

/// Bytes that a block takes in the job's data buffers.
fn block(job: Reading, device: &NvmeDevice) -> u32 {
    protection::metadata(job, device).map_or(device.namespace.format.data.0 as u32, |m| m.stride())
}

/// Identifies the namespace of each file, and checks that it supports what the job does.
pub(super) fn targets(job: Reading, plan: &mut JobPlan, files: &[FilePlan], survey: &mut Survey) {
    let (load, memory) = (&plan.load, &plan.process.memory);
    let EnginePlan::IoUringCmd(plan) = &mut plan.engine else { return };
    let Commands::Nvme(nvme) = &mut plan.commands;
    nvme.targets.clear();
    for file in files {
        let Some(device) = device(job, &file.path, survey) else { continue };
        let mut target = NvmeTarget {
            metadata: protection::metadata(job, &device),
            block: block(job, &device),
            device,
            split: None,
        };
        let page = survey.facts.page_size();
        let limits =
            limits::LimitedJob { job, load, file, memory, page, deallocate: nvme.deallocate };
        limits.check(&target, plan.ring.hipri);
        protection::buffer(job, load, &target);
        protection::unchecked_tag(job, &target);
        if job.get(nvme::NVME_SPLIT) {
            target.split = limits.split(&target);
        }
        nvme.targets.push(target);
    }
}
