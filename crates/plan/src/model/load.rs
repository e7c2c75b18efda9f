//! The workload of a job: directions, offsets, block sizes and flushes.

use fiord_types::{Dir, PerDir};

use super::{
    Distribution, Generator, Placement, Priorities, Sequencer, SpRandom, Strided, WriteCommand,
    Zoned,
};

/// The workload of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The directions of the I/Os.
    pub mix: Mix,
    /// Whether offsets are random; `false`: sequential.
    pub random: bool,
    /// `percentage_random` per direction, in per cent. Used only with `random`.
    pub random_percent: PerDir<u8>,
    /// The number after the colon of `rw`.
    pub step: Step,
    /// `rw_sequencer`: how the offset continues within a step.
    pub sequencer: Sequencer,
    /// Block sizes per direction, in bytes.
    pub blocks: PerDir<BlockSize>,
    /// `bs_is_seq_rand`: the sizes from which `blocks` follows.
    pub seq_rand: Option<Box<SeqRandSizes>>,
    /// `blockalign` per direction, in bytes: offsets of random I/O are multiples of it.
    pub align: PerDir<u64>,
    /// `bs_unaligned`: a block size range yields any number of bytes, not only multiples of the
    /// minimum.
    pub unaligned: bool,
    /// `random_distribution`. Used only with `random`.
    pub distribution: Distribution,
    /// `sprandom`: the job writes every block and rewrites some, region by region.
    pub sprandom: Option<SpRandom>,
    /// `zonemode=strided`: sizes of the strides.
    pub strided: Option<Strided>,
    /// `zonemode=zbd`. If set, every file has [`zones`](super::FilePlan::zones).
    pub zoned: Option<Zoned>,
    /// Random offsets may repeat: the job keeps no map of the blocks that it has accessed. Set by
    /// `norandommap`, an uneven distribution, and offsets or sizes that fit no map.
    pub no_map: bool,
    /// `random_generator`: the pseudo-random number generator of offsets.
    pub generator: Generator,
    /// Seed of all random choices of this instance. With `randrepeat=1` every run has the same
    /// seed.
    pub seed: u64,
    /// `randrepeat`: each loop repeats the same random sequence; `false`: the sequence continues.
    pub repeat: bool,
    /// `fsync`: the job calls fsync after this many writes; 0: never.
    pub fsync: u32,
    /// `fdatasync`: the job calls fdatasync after this many writes; 0: never.
    pub fdatasync: u32,
    /// `write_barrier`: every this many writes, one write is a barrier; 0: never.
    pub write_barrier: u32,
    /// `sync_file_range`: the number of writes between two calls, and the `SYNC_FILE_RANGE_*`
    /// flags.
    pub sync_file_range: Option<(u32, u32)>,
    /// `end_fsync`: the job syncs its files when it is done.
    pub end_fsync: bool,
    /// `fsync_on_close`: the job syncs a file whenever it closes it, and counts the sync.
    pub fsync_on_close: bool,
    /// `end_syncfs`: the job calls `syncfs(2)` when it is done.
    pub end_syncfs: bool,
    /// `serialize_overlap`, and all jobs that trim before they write: an I/O waits for those in flight that overlap it.
    pub serialize_overlap: bool,
    /// `num_range`: the number of block-sized ranges in each trim; at least 1.
    pub trim_ranges: u32,
    /// `cmdprio_percentage`, `cmdprio_bssplit`: shares of I/Os with their own priority.
    pub priorities: Option<Priorities>,
    /// `dataplacement`: the placement identifiers of writes.
    pub placement: Option<Placement>,
    /// Whether the engine uses the buffers of I/Os: reads fill them, and writes have contents.
    pub uses_buffers: bool,
    /// `write_mode`: the commands that carry out writes, with their shares in per cent, which add
    /// up to 100. Empty: all writes are `WriteCommand::Data`.
    pub write_commands: Vec<(WriteCommand, u8)>,
}

impl Load {
    /// Whether any write of the job sends the bytes of its buffer.
    #[must_use]
    pub fn writes_data(&self) -> bool {
        self.uses_buffers
            && self.mix.has(Dir::Write)
            && (self.write_commands.is_empty()
                || self.write_commands.iter().any(|(form, _)| form.has_data()))
    }
}

/// One range of a trim that has several ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimRange {
    /// Offset of the first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// The directions of a job's I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// `read`, `randread`.
    Read,
    /// `write`, `randwrite`.
    Write,
    /// `trim`, `randtrim`.
    Trim,
    /// `rw`, `randrw`: reads and writes.
    ReadWrite {
        /// Share of reads in per cent, 0 to 100.
        read_percent: u8,
    },
    /// `trimwrite`, `randtrimwrite`: the job trims each block, then writes it.
    TrimWrite,
    /// `read_iolog`: the trace decides. Which directions it has.
    Trace {
        /// The trace has reads.
        reads: bool,
        /// The trace has writes.
        writes: bool,
        /// The trace has trims.
        trims: bool,
    },
}

impl Mix {
    /// Whether the job has I/Os of this direction.
    #[must_use]
    pub fn has(self, dir: Dir) -> bool {
        match self {
            Mix::Read => dir == Dir::Read,
            Mix::Write => dir == Dir::Write,
            Mix::Trim => dir == Dir::Trim,
            Mix::ReadWrite { .. } => dir != Dir::Trim,
            Mix::TrimWrite => dir != Dir::Read,
            Mix::Trace { reads, writes, trims } => match dir {
                Dir::Read => reads,
                Dir::Write => writes,
                Dir::Trim => trims,
            },
        }
    }

    /// The directions of the job's I/Os.
    pub fn dirs(self) -> impl Iterator<Item = Dir> + Clone {
        Dir::ALL.into_iter().filter(move |dir| self.has(*dir))
    }

    /// Whether the job changes data: it writes or trims.
    #[must_use]
    pub fn changes_data(self) -> bool {
        self.has(Dir::Write) || self.has(Dir::Trim)
    }
}

/// The number after the colon of `rw`, as in `rw=read:4k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `rw` has no such number.
    None,
    /// Random workloads: the job draws a new offset every this many I/Os; the I/Os in between
    /// follow [`Sequencer`].
    EveryNth(u32),
    /// Sequential workloads: bytes added to the offset after each I/O; may be negative.
    Skip(i64),
}

/// The block sizes of one direction, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockSize {
    /// Every I/O has this size.
    Fixed(u32),
    /// `bsrange`: evenly distributed sizes between the two, inclusive, in multiples of the smaller
    /// one (any number of bytes with `bs_unaligned`).
    Range {
        /// Smallest size in bytes.
        min: u32,
        /// Largest size in bytes.
        max: u32,
    },
    /// `bssplit`: sizes in bytes with their shares in per cent, which add up to 100.
    Split(Vec<(u32, u8)>),
    /// `bs_is_seq_rand`, and the direction has sequential and random I/Os.
    SeqRand(Box<SeqRandSizes>),
}

/// `bs_is_seq_rand`: the block sizes of sequential and of random I/Os.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeqRandSizes {
    /// Sizes of sequential I/Os.
    pub sequential: BlockSize,
    /// Sizes of random I/Os.
    pub random: BlockSize,
}

impl BlockSize {
    /// The sizes in bytes, without those that are multiples of others.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        match self {
            BlockSize::Fixed(bytes) => vec![*bytes],
            // Sizes in between are multiples of the minimum.
            BlockSize::Range { min, max } => vec![*min, *max],
            BlockSize::Split(list) => list.iter().map(|(bytes, _)| *bytes).collect(),
            BlockSize::SeqRand(both) => [both.sequential.sizes(), both.random.sizes()].concat(),
        }
    }
    /// The smallest size in bytes.
    #[must_use]
    pub fn min(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Split(s) => s.iter().map(|x| x.0).min().unwrap_or(0),
            BlockSize::SeqRand(both) => both.sequential.min().min(both.random.min()),
        }
    }
    /// The largest size in bytes.
    #[must_use]
    pub fn max(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { max, .. } => *max,
            BlockSize::Split(s) => s.iter().map(|x| x.0).max().unwrap_or(0),
            BlockSize::SeqRand(both) => both.sequential.max().max(both.random.max()),
        }
    }
}
