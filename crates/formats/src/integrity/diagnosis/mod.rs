//! Why data that was read back is wrong: one class with details for each bad extent. Pure functions of the bytes
//! that were read and of what was expected.
//!
//! | question | module |
//! |---|---|
//! | which classes are there, and what do they say | here |
//! | what is wrong with sectors of `verify=fiord` | `sectors` |
//! | what is wrong with a write in one of fio's formats | `fio` |
//! | which bits differ | `bits` |
//! | which text describes a diagnosis | `text` |
//!
//! Adjacent sectors or intervals of one class become one [`BadExtent`].

mod bits;
mod fio;
mod sectors;
mod text;

use fiord_types::{Bytes, Errno};
use serde::{Deserialize, Serialize};

use super::sector::{RunId, SectorWriter, TargetId};

pub use bits::{BitFlips, FlippedBits};
pub use fio::{ExpectedIntervals, IsNewest};
pub use sectors::{ExpectedSectors, SectorState};

/// The classes of bad extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultClass {
    /// The target reported an error instead of data.
    ReadError,
    /// All bytes are zero, or all bits are one.
    Blank,
    /// Data that an earlier run wrote.
    EarlierRun,
    /// Data that belongs to another target.
    OtherTarget,
    /// Data of this run that belongs at another address; or the place where data is missing that was found
    /// elsewhere.
    Misdirected,
    /// Data that an earlier write of this run wrote to this address.
    Stale,
    /// Part of a write is there, and older data in the place of the rest.
    Torn,
    /// Single bits differ.
    BitFlips,
    /// The data is there, but displaced by some bytes.
    Shifted,
    /// Two blocks are exchanged.
    Swapped,
    /// Another job of this run wrote here: the jobs overlap, which is an error of the test.
    OtherJob,
    /// The block is intact, but was written with another method of `verify` than the job has.
    OtherMethod,
    /// None of the other classes.
    Unrecognized,
}

impl FaultClass {
    /// The word of the class in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FaultClass::ReadError => "read-error",
            FaultClass::Blank => "blank",
            FaultClass::EarlierRun => "earlier-run",
            FaultClass::OtherTarget => "other-target",
            FaultClass::Misdirected => "misdirected",
            FaultClass::Stale => "stale",
            FaultClass::Torn => "torn",
            FaultClass::BitFlips => "bit-flips",
            FaultClass::Shifted => "shifted",
            FaultClass::Swapped => "swapped",
            FaultClass::OtherJob => "other-job",
            FaultClass::OtherMethod => "other-method",
            FaultClass::Unrecognized => "unrecognized",
        }
    }
}

/// Bytes of a target that are wrong in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadExtent {
    /// Where the extent begins in its target.
    #[serde(rename = "offset")]
    pub start: Bytes,
    pub length: Bytes,
    /// What is wrong.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
}

impl BadExtent {
    /// The first byte after the extent.
    #[must_use]
    pub fn end(&self) -> Bytes {
        self.start.saturating_add(self.length)
    }

    /// Merges the extent that follows this one if both are wrong in the same way. Returns whether they merged.
    /// The details that differ are those of the first extent.
    pub fn merge(&mut self, next: &BadExtent) -> bool {
        let merges = self.end() == next.start && self.continues_in(next);
        if merges {
            if let (Diagnosis::BitFlips(mine), Diagnosis::BitFlips(theirs)) =
                (&mut self.diagnosis, &next.diagnosis)
            {
                mine.append(theirs, self.length);
            }
            self.length = self.length.saturating_add(next.length);
        }
        merges
    }

    /// States what the target had promised about a write that is missing.
    pub fn promise(&mut self, promise: Promise) {
        if let Diagnosis::Stale(stale) = &mut self.diagnosis {
            stale.promise = promise;
        }
    }

    fn continues_in(&self, next: &BadExtent) -> bool {
        use Diagnosis::*;
        let same_distance = |mine: &Bytes, theirs: &Bytes| {
            mine.0.wrapping_sub(self.start.0) == theirs.0.wrapping_sub(next.start.0)
        };
        match (&self.diagnosis, &next.diagnosis) {
            (EarlierRun { run, belongs }, EarlierRun { run: other, belongs: others }) => {
                run == other
                    && match (belongs, others) {
                        (Some(mine), Some(theirs)) => same_distance(mine, theirs),
                        (mine, theirs) => mine == theirs,
                    }
            }
            (OtherTarget { target, belongs }, OtherTarget { target: other, belongs: others }) => {
                target == other && same_distance(belongs, others)
            }
            (Misdirected(mine), Misdirected(theirs)) => {
                mine.foreign == theirs.foreign && same_distance(&mine.other, &theirs.other)
            }
            (Stale(mine), Stale(theirs)) => {
                mine.generations == theirs.generations && mine.promise == theirs.promise
            }
            (Torn(mine), Torn(theirs)) => mine.write == theirs.write,
            (Swapped { with }, Swapped { with: other }) => same_distance(with, other),
            (OtherJob { found }, OtherJob { found: other }) => found.job == other.job,
            (BitFlips(_), BitFlips(_)) | (Unrecognized(_), Unrecognized(_)) => true,
            (mine, theirs) => mine == theirs,
        }
    }
}

/// What is wrong with an extent: its class and details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case")]
pub enum Diagnosis {
    /// [`FaultClass::ReadError`].
    ReadError {
        /// The error of the read.
        errno: Errno,
    },
    /// [`FaultClass::Blank`].
    Blank {
        /// Whether the bits are ones instead of zeros.
        ones: bool,
    },
    /// [`FaultClass::EarlierRun`].
    EarlierRun {
        /// The run that wrote the data; `None` for fio's formats, which do not state it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// Where the data belongs, if that is elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        belongs: Option<Bytes>,
    },
    /// [`FaultClass::OtherTarget`].
    OtherTarget {
        /// The target to which the data belongs.
        target: TargetId,
        /// Where the data belongs there.
        belongs: Bytes,
    },
    /// [`FaultClass::Misdirected`].
    Misdirected(Misdirection),
    /// [`FaultClass::Stale`].
    Stale(Staleness),
    /// [`FaultClass::Torn`].
    Torn(Tear),
    /// [`FaultClass::BitFlips`].
    BitFlips(BitFlips),
    /// [`FaultClass::Shifted`].
    Shifted {
        /// The data is this many bytes after its place; negative: before it.
        by: i64,
    },
    /// [`FaultClass::Swapped`].
    Swapped {
        /// Where the other block begins, which contains the data of this extent.
        with: Bytes,
    },
    /// [`FaultClass::OtherJob`].
    OtherJob {
        /// The write that was found.
        found: SectorWriter,
    },
    /// [`FaultClass::OtherMethod`].
    OtherMethod {
        /// The value of `verify` with which the block was written.
        written: String,
        /// The value of `verify` of the job.
        job: String,
    },
    /// [`FaultClass::Unrecognized`].
    Unrecognized(Unrecognized),
}

/// Details of [`Diagnosis::Misdirected`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misdirection {
    /// Where the other end is: where the data found in the extent belongs, or where the data of the extent is.
    pub other: Bytes,
    /// The extent contains data of `other`. Otherwise its own data was found at `other`.
    pub foreign: bool,
}

impl Misdirection {
    /// Distance in bytes from the place where the data belongs to the place where it is, for an extent at `start`.
    #[must_use]
    pub fn distance(&self, start: Bytes) -> i64 {
        let ahead = start.0.wrapping_sub(self.other.0) as i64;
        if self.foreign { ahead } else { ahead.wrapping_neg() }
    }
}

/// Details of [`Diagnosis::Stale`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staleness {
    /// How many generations of the block are missing; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generations: Option<u32>,
    /// The write that was found.
    pub found: SectorWriter,
    /// The write that is missing, if the job knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<SectorWriter>,
    /// What the target had promised about the missing write.
    pub promise: Promise,
}

/// What a target had promised about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The job does not know.
    #[default]
    Unknown,
    /// The target had not acknowledged the write.
    Issued,
    /// The target had acknowledged the write.
    Acknowledged,
    /// The target had acknowledged the write and, after that, a flush.
    Flushed,
}

/// Details of [`Diagnosis::Torn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tear {
    /// Address of the write that is incomplete.
    pub write: Bytes,
    /// Where it is torn: bytes from its start to the first boundary between new and old data.
    pub at: Bytes,
    /// Which part is new.
    pub order: TearOrder,
    /// The largest unit that the boundary is a multiple of.
    pub unit: TearUnit,
    /// Number of boundaries between new and old data.
    pub boundaries: u32,
}

/// Which part of a torn write is on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TearOrder {
    /// The head is new, the tail is old.
    HeadNew,
    /// The head is old, the tail is new.
    TailNew,
}

/// Units at whose boundaries a write can be torn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TearUnit {
    /// An interval of fio's formats.
    Interval,
    /// 4096 bytes, the size of a page and of many physical sectors.
    Page,
    /// A logical sector.
    Sector,
    /// Smaller than a sector.
    Byte,
}

/// Details of [`Diagnosis::Unrecognized`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrecognized {
    /// First bytes of the data that was found.
    #[serde(with = "crate::hex")]
    pub first_bytes: [u8; 16],
    /// Position in the extent of the first byte that differs from what was expected; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Bytes>,
}

impl Diagnosis {
    /// Data about which nothing else is known. `first_difference`: the position of the first wrong byte in it, if that is
    /// known.
    #[must_use]
    pub fn unrecognized(found: &[u8], first_difference: Option<usize>) -> Self {
        let mut first_bytes = [0; 16];
        first_bytes.iter_mut().zip(found).for_each(|(to, from)| *to = *from);
        let first_difference = first_difference.map(|at| Bytes(at as u64));
        Diagnosis::Unrecognized(Unrecognized { first_bytes, first_difference })
    }

    #[must_use]
    pub fn class(&self) -> FaultClass {
        match self {
            Diagnosis::ReadError { .. } => FaultClass::ReadError,
            Diagnosis::Blank { .. } => FaultClass::Blank,
            Diagnosis::EarlierRun { .. } => FaultClass::EarlierRun,
            Diagnosis::OtherTarget { .. } => FaultClass::OtherTarget,
            Diagnosis::Misdirected(_) => FaultClass::Misdirected,
            Diagnosis::Stale(_) => FaultClass::Stale,
            Diagnosis::Torn(_) => FaultClass::Torn,
            Diagnosis::BitFlips(_) => FaultClass::BitFlips,
            Diagnosis::Shifted { .. } => FaultClass::Shifted,
            Diagnosis::Swapped { .. } => FaultClass::Swapped,
            Diagnosis::OtherJob { .. } => FaultClass::OtherJob,
            Diagnosis::OtherMethod { .. } => FaultClass::OtherMethod,
            Diagnosis::Unrecognized(_) => FaultClass::Unrecognized,
        }
    }
}
