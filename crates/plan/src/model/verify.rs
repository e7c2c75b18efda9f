//! Verification of written data (`verify` and its options).

use std::path::PathBuf;

use fiord_formats::verify::method::Method;
use fiord_formats::verify::state::VerifyState;
use fiord_job::option::table::VerifyPolicy;
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir};

use super::{BlockSize, FileKind, JobPlan};

/// What a job verifies, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyPlan {
    /// `verify`: what each interval contains.
    pub method: VerifyMethod,
    /// `verify_interval`, resolved: the distance between two headers. `None`: each write is one interval
    /// (`bs_unaligned`).
    pub interval: Option<Bytes>,
    /// `verify_offset`: position of the header in its interval; 0: at its start.
    pub header_offset: Bytes,
    /// `verify_pattern` and `verify_pattern_interval`.
    pub pattern: Option<VerifyPattern>,
    /// `verify_header_seed`, resolved: the seed in the header must be that of the write.
    pub checks_seed: bool,
    /// `verify_write_sequence`, resolved: the number in the header must be that of the write.
    pub checks_number: bool,
    /// Which I/Os of the job are verified.
    pub pass: VerifyPass,
    /// How the job knows which write each block contains.
    pub tracking: Tracking,
    /// Other jobs write to the files while this job checks what an earlier run wrote: bytes of the target for each byte of the
    /// map that says what they overwrite.
    pub overwritten: Option<Bytes>,
    /// `verify_backlog`: verify after this many writes. `None`: only at the end of a loop.
    pub backlog: Option<Backlog>,
    /// Some writes of the job are commands that store zeros (`write_mode=zeroes`): their blocks must read as zeros.
    pub zeroes: bool,
    /// `trim_percentage` and `trim_backlog`, if both are set.
    pub trims: Option<VerifyTrims>,
    /// `verify_async`: number of threads that check what was read. 0: the worker checks it.
    pub threads: u32,
    /// `verify_async_cpus`: the CPUs on which they may run. Empty: all.
    pub cpus: Vec<u32>,
    /// Writes are durable when the target acknowledges them (`sync`, `writefua`).
    pub durable_writes: bool,
    /// `verify_fatal`: the job ends at the first bad block.
    pub fatal: bool,
    /// `verify_dump`: bad blocks are saved to files.
    pub dump: bool,
    /// `verify_policy`: which writes of a saved state must be on the target.
    pub policy: VerifyPolicy,
    /// `verify_state_save`: the job saves its state when it ends.
    pub saves_state: bool,
    /// `verify_state_load`: the saved state that says which writes are checked. `None`: all of them.
    pub state: Option<VerifyState>,
    /// `verify_mode=compare`: the device compares, with commands of its own.
    pub compares_on_device: bool,
}

impl VerifyPlan {
    /// Whether the job checks what it reads.
    #[must_use]
    pub fn checks(&self) -> bool {
        self.fills() && self.pass != VerifyPass::WritesOnly
    }

    /// Whether verification generates the contents of the writes, instead of the buffer options of the job.
    #[must_use]
    pub fn fills(&self) -> bool {
        self.method != VerifyMethod::Fio(Method::Null)
    }
}

/// The format of a job's blocks. Jobs with equal formats can verify the blocks of each other.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockFormat {
    records: bool,
    method: VerifyMethod,
    interval: Option<Bytes>,
    header_offset: Bytes,
    pattern: Option<VerifyPattern>,
}

impl BlockFormat {
    /// Whether each block counts its writes, so that stale blocks are known by their generation.
    #[must_use]
    pub fn counts_generations(&self) -> bool {
        self.method == VerifyMethod::Fiord && !self.records
    }

    /// Whether each write has a record ([`Tracking::Records`]).
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.records
    }
}

/// Maximum number of writes of a file of which records are kept ([`Tracking::Records`]). They need about 40 bytes each.
pub const MAX_RECORDS: u64 = 1 << 22;

/// Bytes of the target for each byte of the map that says which parts change, with [`Tracking::Records`].
const RECORDS_GRANULE: Bytes = Bytes(4096);

/// What a job writes into each interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyMethod {
    /// A method of fio, in fio's format.
    Fio(Method),
    /// `verify=fiord`: each sector identifies its target, address, run, job and generation.
    Fiord,
}

impl VerifyMethod {
    /// Returns whether the method compares blocks with a pattern, so that a job without one is refused.
    #[must_use]
    pub fn needs_pattern(self) -> bool {
        matches!(self, VerifyMethod::Fio(Method::Pattern | Method::PatternHdr))
    }
}

/// `verify_pattern` and the distance after which it begins again.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifyPattern {
    pub parts: Vec<PatternPart>,
    /// `verify_pattern_interval`: the pattern begins again after this many bytes. `None`: once per write.
    pub interval: Option<Bytes>,
}

/// Which I/Os of a job are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyPass {
    /// The job writes, then reads its writes back and checks them.
    AfterWrites,
    /// `do_verify=0`: the job writes headers and checks nothing.
    WritesOnly,
    /// `verify_only`, or a job that only reads and loads a state: the job issues no I/Os of its own and checks what an
    /// earlier run of the job wrote.
    Only,
    /// The job only reads, and checks each block that it reads.
    Reads,
}

impl VerifyPass {
    /// Whether the job writes, so that it has a state to save.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, VerifyPass::AfterWrites | VerifyPass::WritesOnly)
    }

    /// Whether the job reads its writes back.
    #[must_use]
    pub fn reads_back(self) -> bool {
        matches!(self, VerifyPass::AfterWrites | VerifyPass::Only)
    }
}

/// `verify_journal`: a record of the writes of a job, for a check after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPlan {
    /// The file or block device of the journal.
    pub file: PathBuf,
    /// The targets of all jobs with this journal.
    pub targets: Vec<JournalTarget>,
    /// By file of the job: the index of its target.
    pub target_of_file: Vec<u16>,
    /// A divisor of all offsets and lengths of the writes of all jobs with this journal; a multiple of `sector`.
    pub block: Bytes,
    /// Length of a sector of `verify=fiord`.
    pub sector: Bytes,
    /// Writes are durable when the target acknowledges them (`sync`, `writefua`).
    pub durable_writes: bool,
    /// A crash of the job can leave a part of a sector, because the CPU writes the target (`ioengine=mmap`).
    pub sectors_may_tear: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalTarget {
    /// The file or device.
    pub path: PathBuf,
    pub kind: FileKind,
    /// The address in the journal of its first byte: a multiple of the block.
    pub base: Bytes,
}

impl JobPlan {
    /// Whether the job checks what an earlier run wrote, and writes nothing itself (`verify_only`).
    #[must_use]
    pub fn only_verifies(&self) -> bool {
        self.verify.as_ref().is_some_and(|verify| verify.pass == VerifyPass::Only)
    }

    /// Whether the job reads its writes back after its `runtime` has ended, if that is before the end of its work. With fio's
    /// methods it does not, as in fio.
    #[must_use]
    pub fn reads_back_after_runtime(&self) -> bool {
        let own = |verify: &VerifyPlan| {
            verify.method == VerifyMethod::Fiord && verify.pass == VerifyPass::AfterWrites
        };
        self.end.runtime.is_some() && self.verify.as_ref().is_some_and(own)
    }

    /// The format and granule of the maps in which the job records its writes. `None`: it has no maps.
    #[must_use]
    pub fn mapped_format(&self) -> Option<(BlockFormat, Bytes)> {
        let verify = self.verify.as_ref()?;
        let (granule, records) = match (verify.pass, verify.tracking) {
            (VerifyPass::Only, _) => (verify.overwritten?, false),
            (_, Tracking::Replay) => return None,
            (_, Tracking::Map { granule }) => (granule, false),
            (_, Tracking::Records) => (RECORDS_GRANULE, true),
        };
        let &VerifyPlan { method, interval, header_offset, .. } = verify;
        let pattern = verify.pattern.clone();
        Some((BlockFormat { records, method, interval, header_offset, pattern }, granule))
    }

    /// Slots of the job's engine: `iodepth`, and with `verify_async` others for reads that wait to be checked.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.depth.depth.max(1).saturating_add(self.spare_slots())
    }

    /// Bytes of the largest block of the job.
    #[must_use]
    pub fn largest_block(&self) -> u32 {
        self.load.blocks.values().map(BlockSize::max).max().unwrap_or(0)
    }

    /// Slots for reads that wait to be checked by other threads (`verify_async`).
    #[must_use]
    pub fn spare_slots(&self) -> u32 {
        /// Bytes that wait for each thread: it must not run out of work while the job gathers more.
        const WAITING: u32 = 384 << 10;
        let Some(verify) = self.verify.as_ref().filter(|verify| verify.checks()) else { return 0 };
        let largest = self.largest_block();
        // With `io_submit_mode=offload`, each slot has a thread.
        let most = if self.pace.offload { 2 } else { 96 };
        let each = (WAITING / largest.max(1)).clamp(2, most);
        verify.threads.saturating_mul(each).min(1 << 14)
    }

    /// Whether a pass of the job can know the number of the write in each header. A job that only reads does not;
    /// with several block sizes or `time_based`, fio does not either.
    #[must_use]
    pub fn knows_write_numbers(&self, pass: VerifyPass) -> bool {
        let first = &self.load.blocks[Dir::Read];
        let fixed = matches!(first, BlockSize::Fixed(_));
        let equal = self.load.blocks.values().all(|blocks| blocks == first);
        fixed && equal && !self.end.time_based && pass != VerifyPass::Reads
    }
}

/// How a job knows which of its writes a block contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracking {
    /// Each block is written at most once per loop, so the source repeats its I/Os for the verify pass.
    Replay,
    /// One byte for each granule of the target says which write it contains. Jobs with the same target share
    /// the bytes.
    Map {
        /// Bytes of the target for each byte of the map: a divisor of all offsets and block sizes.
        granule: Bytes,
    },
    /// One record for each write: blocks of any length at any offset (`bs_unaligned`), blocks that may be overwritten in
    /// parts that have no header, and patterns of which parts may be overwritten.
    Records,
}

/// `verify_backlog` and `verify_backlog_batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The job verifies after this many writes.
    pub writes: u64,
    /// The job verifies this many of those writes at a time.
    pub batch: u32,
}

/// The trims of a job that verifies (`trim_percentage`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyTrims {
    /// Share of written blocks that are trimmed, in per cent.
    pub percent: u8,
    /// `trim_backlog`: the job trims after this many writes.
    pub backlog: u64,
    /// `trim_backlog_batch`: it trims this many blocks each time.
    pub batch: u32,
    /// `trim_verify_zero`: trimmed blocks must read as zeros.
    pub must_read_zero: bool,
}
