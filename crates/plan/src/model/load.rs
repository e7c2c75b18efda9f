//! Which I/Os a job makes.

use super::{Distribution, Placement, Priorities, SpRandom, Strided, WriteForm, Zoned};

/// A direction of data; indexes every `[T; 3]` of the plan and of the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Dir {
    /// Device to memory.
    Read = 0,
    /// Memory to device.
    Write = 1,
    /// Deallocate.
    Trim = 2,
}

impl Dir {
    /// All, in the order of their indexes.
    pub const ALL: [Dir; 3] = [Dir::Read, Dir::Write, Dir::Trim];
}

/// Which I/Os a job makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Which directions.
    pub mix: Mix,
    /// Random (true) or sequential offsets.
    pub random: bool,
    /// `percentage_random` per direction, only with `random`.
    pub random_percent: [u8; 3],
    /// The `:N` of `rw`.
    pub step: Step,
    /// `rw_sequencer`.
    pub sequencer: Sequencer,
    /// Block sizes per direction.
    pub blocks: [BlockSize; 3],
    /// `blockalign` per direction: offsets of random I/O are multiples of it.
    pub align: [u64; 3],
    /// `bs_unaligned`: any byte in a range, not only multiples of the minimum.
    pub unaligned: bool,
    /// `random_distribution`, only with `random`.
    pub distribution: Distribution,
    /// `sprandom`: every block is written, and some again, region by region.
    pub sprandom: Option<SpRandom>,
    /// `zonemode=strided`.
    pub strided: Option<Strided>,
    /// `zonemode=zbd`. Every file then has its zones.
    pub zoned: Option<Zoned>,
    /// `norandommap`, or a distribution that is not even: draw offsets without remembering.
    pub no_map: bool,
    /// `random_generator`.
    pub generator: Generator,
    /// Seeds everything random of this instance. The same for every run with `randrepeat=1`.
    pub seed: u64,
    /// `allrandrepeat`/`randrepeat`: draw the same sequence in each loop too? (false: go on drawing)
    pub repeat: bool,
    /// `fsync`: after this many writes; 0: never.
    pub fsync: u32,
    /// `fdatasync`: after this many writes; 0: never.
    pub fdatasync: u32,
    /// `write_barrier`: every this many writes; 0: never.
    pub write_barrier: u32,
    /// `sync_file_range`: after this many writes, with these `SYNC_FILE_RANGE_*` flags.
    pub sync_file_range: Option<(u32, u32)>,
    /// `end_fsync`: fsync when the job is done.
    pub end_fsync: bool,
    /// `fsync_on_close`: fsync whenever a file is closed; counted in the run.
    pub fsync_on_close: bool,
    /// `end_syncfs`.
    pub end_syncfs: bool,
    /// `serialize_overlap`.
    pub serialize_overlap: bool,
    /// `num_range`: so many ranges of a block in each trim, at least 1.
    pub trim_ranges: u32,
    /// `cmdprio_percentage`, `cmdprio_bssplit`: I/Os with a priority of their own.
    pub priorities: Option<Priorities>,
    /// `dataplacement`: where the device is to place writes.
    pub placement: Option<Placement>,
    /// `write_mode`: the commands that writes are made of, with their shares in per cent, adding up
    /// to 100. Empty: all are `WriteForm::Data`.
    pub forms: Vec<(WriteForm, u8)>,
}

impl Load {
    /// Whether some write sends bytes of its buffer.
    pub fn writes_data(&self) -> bool {
        self.mix.has(Dir::Write)
            && (self.forms.is_empty() || self.forms.iter().any(|(form, _)| form.has_data()))
    }
}

/// A range of a trim that has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimRange {
    /// Its first byte.
    pub offset: u64,
    /// Its bytes.
    pub len: u32,
}

/// Which directions a job mixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// `read`, `randread`.
    Read,
    /// `write`, `randwrite`.
    Write,
    /// `trim`, `randtrim`.
    Trim,
    /// `rw`, `randrw`: this share of reads, in per cent.
    ReadWrite {
        /// Share of reads.
        read_percent: u8,
    },
    /// `trimwrite`, `randtrimwrite`: each block is trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Whether a direction occurs.
    pub fn has(self, dir: Dir) -> bool {
        match self {
            Mix::Read => dir == Dir::Read,
            Mix::Write => dir == Dir::Write,
            Mix::Trim => dir == Dir::Trim,
            Mix::ReadWrite { .. } => dir != Dir::Trim,
            Mix::TrimWrite => dir != Dir::Read,
        }
    }

    /// Whether data are changed: written or trimmed.
    pub fn changes_data(self) -> bool {
        self.has(Dir::Write) || self.has(Dir::Trim)
    }
}

/// The `:N` of `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// None given.
    None,
    /// Random kinds: a new offset only every this many I/Os, sequential in between.
    EveryNth(u32),
    /// Sequential kinds: this is added to the offset after each I/O (may be negative).
    Skip(i64),
}

/// `rw_sequencer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequencer {
    /// The next offset after the last I/O.
    Sequential,
    /// The same offset again.
    Identical,
}

/// Block size of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockSize {
    /// Always this.
    Fixed(u32),
    /// Evenly between these, inclusive, in multiples of the smaller one (any byte with
    /// `bs_unaligned`).
    Range {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// `bssplit`: sizes with their shares in per cent, adding up to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSize {
    /// The smallest size.
    pub fn min(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Split(s) => s.iter().map(|x| x.0).min().unwrap_or(0),
        }
    }
    /// The largest size.
    pub fn max(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { max, .. } => *max,
            BlockSize::Split(s) => s.iter().map(|x| x.0).max().unwrap_or(0),
        }
    }
}

/// `random_generator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// 32 bits of period-2^88 quality; with a map.
    Tausworthe,
    /// 64 bits; with a map.
    Tausworthe64,
    /// A maximal-length sequence over the blocks: visits each once without a map.
    Lfsr,
}
