//! What an engine needs to know before its first I/O.

use fiord_plan::PlacementKind;
use fiord_plan::model::{Advice, Dir, EnginePlan, JobPlan, Memory};
use fiord_sys::mapping::Pattern;

use crate::{EngineError, MachineClock};

/// Everything an engine is built from. Plain data: building the same engine twice gives the same.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// I/O units (`iodepth`), at least 1.
    pub slots: u32,
    /// Bytes of each slot's buffer: the job's largest block. May be 0 (trims only).
    pub buffer_bytes: u32,
    /// Files that can be attached at a time.
    pub files: u32,
    /// All files are attached before the first op and stay to the end: none is closed while the job
    /// runs, so an engine may let the kernel hold them.
    pub held: bool,
    /// What the buffers are made of (`iomem`).
    pub memory: Memory,
    /// Alignment of every buffer in bytes, a power of two (`iomem_align`). Less than a page counts
    /// as a page.
    pub memory_align: u64,
    /// Files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `RWF_ATOMIC` on every write.
    pub atomic: bool,
    /// How files will be accessed, where the kernel is to be told (`fadvise_hint`): only `mmap`
    /// asks, files that are read are advised when they are opened.
    pub pattern: Option<Pattern>,
    /// The priorities that [`crate::Tag::priority`] names, as the kernel takes them; the first is 0,
    /// the job's own. Empty where no I/O has one of its own.
    pub priorities: Vec<u16>,
    /// What [`crate::Tag::placement`] names, by file; empty where no write is placed.
    pub placements: Vec<Vec<u16>>,
    /// By which feature.
    pub placed_by: Option<PlacementKind>,
    /// Ranges that a trim may have (`num_range`), at least 1.
    pub trim_ranges: u32,
    /// The clock that real engines time by.
    pub clock: MachineClock,
    /// Which engine, with its options.
    pub engine: EnginePlan,
}

impl EngineConfig {
    /// For a job of the plan.
    pub fn for_job(job: &JobPlan, clock: MachineClock) -> Self {
        let bytes = [Dir::Read, Dir::Write]
            .into_iter()
            .filter(|dir| match dir {
                Dir::Write => job.load.writes_data(),
                _ => job.load.mix.has(*dir),
            })
            .map(|dir| job.load.blocks[dir as usize].max())
            .max();
        EngineConfig {
            slots: job.depth.depth.max(1),
            buffer_bytes: bytes.unwrap_or(0),
            files: u32::try_from(job.target.files.len()).unwrap_or(u32::MAX).max(1),
            held: job.target.open_files as usize >= job.target.files.len()
                && !job.target.unlink_each_loop,
            memory: job.process.memory.clone(),
            memory_align: job.process.memory_align,
            direct: job.target.open.direct,
            atomic: job.target.open.atomic,
            pattern: match job.target.open.advice {
                Advice::None | Advice::NoReuse => None,
                Advice::Auto if job.load.random => Some(Pattern::Random),
                Advice::Random => Some(Pattern::Random),
                Advice::Auto | Advice::Sequential => Some(Pattern::Sequential),
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
            clock,
            engine: job.engine.clone(),
        }
    }

    /// For tests and benchmarks: one file, ordinary memory, nothing special.
    pub fn plain(engine: EnginePlan, slots: u32, buffer_bytes: u32) -> Self {
        EngineConfig {
            slots,
            buffer_bytes,
            files: 1,
            held: true,
            memory: Memory::Malloc,
            memory_align: 4096,
            direct: false,
            atomic: false,
            pattern: None,
            priorities: Vec::new(),
            placements: Vec::new(),
            placed_by: None,
            trim_ranges: 1,
            clock: MachineClock::best(),
            engine,
        }
    }

    /// For engines whose calls take no flags: `atomic=1` is then an error.
    pub(crate) fn refuse_atomic(&self, engine: &str) -> Result<(), EngineError> {
        if !self.atomic {
            return Ok(());
        }
        Err(EngineError::plain(format!("ioengine={engine} cannot write atomically (RWF_ATOMIC)"))
            .help("drop atomic=1, or use ioengine=pvsync2, libaio or io_uring"))
    }
}
