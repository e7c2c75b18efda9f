//! What an engine is built from.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;

use fiord_plan::PlacementKind;
use fiord_plan::model::{Advice, EnginePlan, JobPlan, Memory, SyncMode};
use fiord_sys::mapping::AccessPattern;
use fiord_types::{Bytes, Dir, Nanos};

use crate::names::c_names;
use crate::sim::SharedDisk;
use crate::{EndSignal, MachineClock};

/// Everything that the construction of an engine depends on. Plain data: two engines with equal
/// configurations behave alike.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Number of slots, at least 1: `iodepth`, and those for reads that wait to be checked (`verify_async`).
    pub slots: u32,
    /// How many of them are for reads that wait to be checked.
    pub spare_slots: u32,
    /// Length of each slot's buffer: the largest block of the job. 0 for a job that only
    /// trims.
    pub buffer_bytes: Bytes,
    /// Number of files that can be attached at a time.
    pub files: u32,
    /// All files are attached before the first op, and none is closed while the job runs. The
    /// engine may therefore register the files with the kernel.
    pub held: bool,
    /// Memory that the buffers are allocated from (`iomem`).
    pub memory: Memory,
    /// Alignment of every buffer, a power of two (`iomem_align`). Less than a page means a
    /// page.
    pub memory_align: Bytes,
    /// Files are opened with `O_DIRECT`.
    pub direct: bool,
    /// Every write is durable when it completes (`sync`).
    pub durable: bool,
    /// Every write has the flag `RWF_ATOMIC`.
    pub atomic: bool,
    /// The job verifies what it writes.
    pub verifies: bool,
    /// Access pattern to advise the kernel of (`fadvise_hint`). Only `mmap` uses it; the other
    /// engines' files are advised when they are opened.
    pub pattern: Option<AccessPattern>,
    /// Single writes may have to be durable when they complete ([`crate::WriteCommand::Durable`]).
    pub durable_writes: bool,
    /// Values for [`crate::IoAttributes::priority`], in the kernel's encoding; index 0 holds 0, the job's
    /// own priority. Empty if no I/O has a priority of its own.
    pub priorities: Vec<u16>,
    /// Placement identifiers for [`crate::IoAttributes::placement`], per file. Empty if the job places no
    /// writes.
    pub placements: Vec<Vec<u16>>,
    /// The feature that places writes.
    pub placed_by: Option<PlacementKind>,
    /// Largest number of ranges in one trim (`num_range`), at least 1.
    pub trim_ranges: u32,
    /// The contents of the simulated files, in the order of the plan. Empty: each file begins with zeros, and no other
    /// job sees it.
    pub disks: Vec<SharedDisk>,
    /// The names of the job's files, if its engine works on names.
    pub names: Arc<[CString]>,
    /// The names are generated, so that no symbolic link may be in their place.
    pub generated: bool,
    /// The addresses of the files that are reached over a network, in the order of the plan; empty if
    /// the job has none.
    pub addresses: Vec<PathBuf>,
    /// Clock for engines that do real I/O.
    pub clock: MachineClock,
    /// How long the job runs, with its ramp. `None`: no limit.
    pub run_time: Option<Nanos>,
    /// Connects the engine with the end of its job.
    pub end: EndSignal,
    /// The engine and its options.
    pub engine: EnginePlan,
}

impl EngineConfig {
    /// Configuration for a job of the plan.
    #[must_use]
    pub fn for_job(job: &JobPlan, clock: MachineClock) -> Self {
        let bytes = [Dir::Read, Dir::Write]
            .into_iter()
            .filter(|dir| match dir {
                // Writes without data are read back, too.
                Dir::Write => job.load.writes_data() || job.verify.is_some(),
                _ => job.load.uses_buffers && job.load.mix.has(*dir),
            })
            .map(|dir| job.load.blocks[dir].max())
            .max();
        EngineConfig {
            slots: job.slots(),
            spare_slots: job.spare_slots(),
            buffer_bytes: Bytes(u64::from(bytes.unwrap_or(0))),
            files: u32::try_from(job.target.files.len()).unwrap_or(u32::MAX).max(1),
            held: job.target.open_files as usize >= job.target.files.len()
                && !job.target.unlink_each_loop,
            memory: job.process.memory.clone(),
            memory_align: job.process.memory_align,
            direct: job.target.open.direct,
            durable: job.target.open.sync != SyncMode::None,
            atomic: job.target.open.atomic,
            verifies: job.verify.is_some(),
            durable_writes: job.replay.as_ref().is_some_and(|replay| replay.durable_flag),
            pattern: match job.target.open.advice {
                Advice::None | Advice::NoReuse => None,
                Advice::Auto if job.load.random => Some(AccessPattern::Random),
                Advice::Random => Some(AccessPattern::Random),
                Advice::Auto | Advice::Sequential => Some(AccessPattern::Sequential),
            },
            priorities: match &job.load.priorities {
                None => Vec::new(),
                Some(list) => {
                    let values = list.values.iter().map(|value| value.bits());
                    std::iter::once(0).chain(values).collect()
                }
            },
            trim_ranges: job.load.trim_ranges.max(1),
            placed_by: job.load.placement.as_ref().map(|p| p.by),
            placements: job.load.placement.as_ref().map_or(Vec::new(), |p| p.ids.clone()),
            disks: Vec::new(),
            names: match job.engine.names() {
                Some(names) if names.tree.is_none() => {
                    c_names(job.target.files.iter().map(|file| file.path.as_path()))
                }
                _ => Arc::default(),
            },
            generated: job.target.open.generated,
            addresses: match job.engine.def().access.is_remote() {
                true => job.target.files.iter().map(|file| file.path.clone()).collect(),
                false => Vec::new(),
            },
            clock,
            run_time: job.end.runtime.map(|time| time.saturating_add(job.end.ramp_time)),
            end: EndSignal::default(),
            engine: job.engine.of_instance(job.identity.index),
        }
    }

    /// Configuration for tests and benchmarks: one file, ordinary memory, no options.
    #[must_use]
    pub fn plain(engine: EnginePlan, slots: u32, buffer_bytes: u32) -> Self {
        EngineConfig {
            slots,
            spare_slots: 0,
            buffer_bytes: Bytes(u64::from(buffer_bytes)),
            files: 1,
            held: true,
            memory: Memory::Malloc,
            memory_align: Bytes(4096),
            direct: false,
            durable: false,
            atomic: false,
            durable_writes: false,
            verifies: false,
            pattern: None,
            priorities: Vec::new(),
            placements: Vec::new(),
            placed_by: None,
            trim_ranges: 1,
            disks: Vec::new(),
            names: Arc::default(),
            generated: false,
            addresses: Vec::new(),
            clock: MachineClock::best(),
            run_time: None,
            end: EndSignal::default(),
            engine,
        }
    }
}
