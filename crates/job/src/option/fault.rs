//! Faults of the simulated device (`sim_faults`, `sim_crash`).

use std::num::NonZeroU64;

use fiord_types::{Bytes, Dir, Nanos};

/// A fault that the simulated device injects: what goes wrong, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct SimFault {
    /// What goes wrong.
    pub effect: FaultEffect,
    /// When it goes wrong.
    pub trigger: FaultTrigger,
}

/// What goes wrong with an I/O of the simulated device. Each of them reports success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultEffect {
    /// `misdirected_write`, `misdirected_read`: the data goes to, or comes from, another place.
    Misdirected {
        /// Whether a read or a write goes astray.
        dir: Dir,
        /// Distance of the wrong place in bytes; `None`: the length of the I/O.
        by: Option<i64>,
    },
    /// `stale_read`: a read returns what the place contained before its last write.
    Stale,
    /// `bit_flip`: some bits change.
    BitFlip {
        /// Whether bits change in what is written, or in what is read.
        dir: Dir,
        /// Number of bits.
        bits: u32,
    },
    /// `torn`: only the first sectors of a write are stored.
    Torn {
        /// Number of sectors that are stored; `None`: random.
        sectors: Option<u64>,
        /// Length of a sector.
        unit: Bytes,
    },
    /// `shifted`: the bytes move within the I/O. Those that move beyond an end appear at the other.
    Shifted {
        /// Whether the bytes of a write or of a read move.
        dir: Dir,
        /// Distance in bytes.
        by: i64,
    },
    /// `zeroed`, `ones`: all bytes have this value.
    Filled {
        /// Whether the bytes of a write or of a read are replaced.
        dir: Dir,
        byte: u8,
    },
    /// `lost`: a write is not stored.
    Lost,
    /// `lost_after_flush`: a write is stored, and disappears with the next flush.
    LostAfterFlush,
    /// `swapped`: a write and the next one of its length go each to the place of the other.
    Swapped,
    /// `ignored_flush`: a flush does not make writes durable.
    IgnoredFlush,
}

impl FaultEffect {
    /// The word in `sim_faults`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FaultEffect::Misdirected { dir: Dir::Read, .. } => "misdirected_read",
            FaultEffect::Misdirected { .. } => "misdirected_write",
            FaultEffect::Stale => "stale_read",
            FaultEffect::BitFlip { .. } => "bit_flip",
            FaultEffect::Torn { .. } => "torn",
            FaultEffect::Shifted { .. } => "shifted",
            FaultEffect::Filled { byte: 0, .. } => "zeroed",
            FaultEffect::Filled { .. } => "ones",
            FaultEffect::Lost => "lost",
            FaultEffect::LostAfterFlush => "lost_after_flush",
            FaultEffect::Swapped => "swapped",
            FaultEffect::IgnoredFlush => "ignored_flush",
        }
    }

    /// The direction of the I/Os that it can strike; `None`: flushes.
    #[must_use]
    pub fn dir(self) -> Option<Dir> {
        match self {
            FaultEffect::Misdirected { dir, .. }
            | FaultEffect::BitFlip { dir, .. }
            | FaultEffect::Shifted { dir, .. }
            | FaultEffect::Filled { dir, .. } => Some(dir),
            FaultEffect::Stale => Some(Dir::Read),
            FaultEffect::Torn { .. }
            | FaultEffect::Lost
            | FaultEffect::LostAfterFlush
            | FaultEffect::Swapped => Some(Dir::Write),
            FaultEffect::IgnoredFlush => None,
        }
    }
}

/// When a fault strikes. All conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FaultTrigger {
    /// `op`: at the I/O with this number. Only I/Os that the fault can strike count, from 1.
    pub op: Option<NonZeroU64>,
    /// `rate`: with this probability, in per cent.
    pub rate: Option<f64>,
    /// `bytes`: at I/Os that touch one of these bytes: the first, and the one after the last.
    pub bytes: Option<(Bytes, Bytes)>,
    /// `count`: at most so often.
    pub count: Option<NonZeroU64>,
}

/// A crash of the simulated device (`sim_crash`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimCrash {
    /// When it happens.
    pub at: CrashTime,
    /// `survive`: probability in per cent that a write survives although no flush followed it.
    pub survive: f64,
    /// `down`: the device fails all I/Os of the job from then on.
    pub down: bool,
}

/// When the simulated device crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashTime {
    /// `op`: before the job's I/O or flush with this number, from 1.
    Op(NonZeroU64),
    /// `time`: before the first I/O or flush after this time since the start of the device's clock.
    Time(Nanos),
}
