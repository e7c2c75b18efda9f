//! Profiles a sequence of I/Os in bounded memory: a trace, or the I/Os of a job.
//!
//! | question | module |
//! |---|---|
//! | how many different blocks are accessed | [`cardinality`] |
//! | how often, and after how many others, is a block accessed again | [`sample`] |
//! | which blocks get the most I/Os | [`hot`] |
//! | which share of the I/Os goes to which share of the data | [`skew`] |
//! | which I/Os continue earlier ones | [`streams`] |
//! | which sizes do I/Os have | [`sizes`] |
//! | how does the rate change over time | [`rates`] |
//! | how many I/Os are in flight | [`depth`] |
//!
//! A profile needs less than 4 MiB, whatever the length of the trace.

pub mod cardinality;
pub mod depth;
pub mod hot;
pub mod rates;
pub mod sample;
pub mod sizes;
pub mod skew;
pub mod streams;

use fiord_formats::trace::{TraceEvent, TraceFlags, TraceIo, TraceKind, TraceTarget};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use cardinality::{Cardinality, spread};
use depth::TraceDepth;
use hot::HotBlocks;
use rates::Rates;
use sample::BlockSample;
use sizes::SizeCounts;
use skew::SkewCurve;
use streams::Streams;

/// The unit in which accessed data is counted.
pub const BLOCK: Bytes = Bytes(4096);
/// A longer range counts as its first GiB in the working set.
const MAX_RANGE: u64 = 1 << 30;
/// Targets whose streams are followed separately.
const TARGETS: usize = 1024;

/// I/Os and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCount {
    ios: u64,
    bytes: u128,
}

impl IoCount {
    /// Number of I/Os.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.ios
    }
    /// Sum of their lengths; at most [`Bytes::MAX`].
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::try_from(self.bytes).unwrap_or(u64::MAX))
    }
    /// Counts an I/O.
    pub fn add(&mut self, len: Bytes) {
        self.ios += 1;
        self.bytes += u128::from(len.0);
    }
}

/// Properties of a sequence of I/Os.
#[derive(Debug, Clone, Default)]
pub struct TraceProfile {
    kinds: [IoCount; TraceKind::ALL.len()],
    flags: [u64; FLAGS.len()],
    sizes: PerDir<SizeCounts>,
    streams: Vec<Streams>,
    rates: Rates,
    depth: TraceDepth,
    touched: Cardinality,
    touched_by: PerDir<Cardinality>,
    starts: Cardinality,
    sample: BlockSample,
    hot: HotBlocks,
    /// How many offsets and lengths are multiples of each power of two.
    aligned: [u64; 32],
    /// The lowest offset and the highest end of reads, writes and trims.
    range: Option<(Bytes, Bytes)>,
    times: Option<(Nanos, Nanos)>,
}

/// Properties of I/Os that a profile counts, with their names.
pub const FLAGS: [(TraceFlags, &str); 5] = [
    (TraceFlags::FUA, "fua"),
    (TraceFlags::PREFLUSH, "preflush"),
    (TraceFlags::SYNC, "synchronous"),
    (TraceFlags::META, "metadata"),
    (TraceFlags::AHEAD, "readahead"),
];

impl TraceProfile {
    /// Adds an event of a trace.
    pub fn event(&mut self, event: &TraceEvent) {
        match event {
            TraceEvent::Io(io) => self.io(io),
            TraceEvent::Merged(_) => self.depth.merged(),
            TraceEvent::Completed(done) => self.depth.completed(done),
            TraceEvent::Target(..) | TraceEvent::Open(_) | TraceEvent::Close(_) => {}
        }
    }

    /// Adds an I/O. Times do not decrease.
    pub fn io(&mut self, io: &TraceIo) {
        self.kinds[io.kind as usize].add(io.len);
        for (sum, (flag, _)) in self.flags.iter_mut().zip(FLAGS) {
            *sum += u64::from(io.flags.contains(flag));
        }
        let first = self.times.map_or(io.time, |(first, _)| first);
        self.times = Some((first, io.time));
        self.depth.io(io);
        let Some(dir) = io.kind.dir() else { return };
        self.sizes[dir].add(io.len);
        self.rates.add(io.time.saturating_sub(first), dir, io.len.0);
        let stream = io.target.index().min(TARGETS - 1);
        if self.streams.len() <= stream {
            self.streams.resize_with(stream + 1, Streams::default);
        }
        self.streams[stream].add(dir, io.offset, io.len);
        self.aligned[(io.offset.0 | io.len.0 | 1 << 31).trailing_zeros() as usize] += 1;
        let end = io.offset.saturating_add(io.len);
        let (low, high) = self.range.unwrap_or((io.offset, end));
        self.range = Some((low.min(io.offset), high.max(end)));
        if dir != Dir::Trim {
            self.touch(io.target, io.offset, io.len, dir);
        }
    }

    fn touch(&mut self, target: TraceTarget, offset: Bytes, len: Bytes, dir: Dir) {
        let first = offset.0 / BLOCK.0;
        let last = (offset.0 + len.0.clamp(1, MAX_RANGE) - 1) / BLOCK.0;
        let volume = spread(target.index() as u64);
        for block in first..=last {
            let (hash, starts) = (spread(block ^ volume), block == first);
            self.touched.add(hash);
            self.touched_by[dir].add(hash);
            self.sample.add(hash, starts);
            if starts {
                self.starts.add(hash);
                self.hot.add(hash);
            }
        }
    }

    /// I/Os of a kind.
    #[must_use]
    pub fn kind(&self, kind: TraceKind) -> IoCount {
        self.kinds[kind as usize]
    }
    /// I/Os in a direction.
    #[must_use]
    pub fn dir(&self, dir: Dir) -> IoCount {
        let kind = TraceKind::ALL.into_iter().find(|kind| kind.dir() == Some(dir));
        kind.map_or(IoCount::default(), |kind| self.kind(kind))
    }
    /// Reads, writes and trims.
    #[must_use]
    pub fn transfers(&self) -> IoCount {
        let mut sum = IoCount::default();
        for dir in Dir::ALL {
            sum.ios += self.dir(dir).ios;
            sum.bytes += self.dir(dir).bytes;
        }
        sum
    }
    /// I/Os of all kinds.
    #[must_use]
    pub fn all_ios(&self) -> u64 {
        self.kinds.iter().map(|count| count.ios).sum()
    }
    /// I/Os with each of [`FLAGS`].
    #[must_use]
    pub fn flags(&self) -> [u64; FLAGS.len()] {
        self.flags
    }
    /// Sizes of I/Os.
    #[must_use]
    pub fn sizes(&self, dir: Dir) -> &SizeCounts {
        &self.sizes[dir]
    }
    /// The share of I/Os in a direction that begin where the one before them in the direction and on the target ended,
    /// and the share of those that begin where one of the 16 before them ended.
    #[must_use]
    pub fn sequential(&self, dir: Dir) -> (f64, f64) {
        let ios = self.dir(dir).ios.max(1) as f64;
        let sum = |pick: fn((u64, u64)) -> u64| {
            self.streams.iter().map(|streams| pick(streams.sequential(dir))).sum::<u64>() as f64
        };
        (sum(|counts| counts.0) / ios, sum(|counts| counts.1) / ios)
    }
    /// The rate over time.
    #[must_use]
    pub fn rates(&self) -> &Rates {
        &self.rates
    }
    /// I/Os in flight.
    #[must_use]
    pub fn depth(&self) -> &TraceDepth {
        &self.depth
    }
    /// Time from the first I/O to the last one.
    #[must_use]
    pub fn length(&self) -> Nanos {
        self.times.map_or(Nanos::ZERO, |(first, last)| last - first)
    }
    /// Data that reads and writes access, in whole blocks.
    #[must_use]
    pub fn working_set(&self) -> Bytes {
        if self.sample.rate() < 1.0 {
            return data(&self.touched);
        }
        // The sample contains all blocks.
        BLOCK * self.sample.blocks() as u64
    }
    /// Twice the standard error of [`working_set`](Self::working_set), in per cent.
    #[must_use]
    pub fn working_set_error(&self) -> f64 {
        if self.sample.rate() < 1.0 { Cardinality::ERROR_PERCENT } else { 0.0 }
    }
    /// Data that reads or writes access, in whole blocks.
    #[must_use]
    pub fn working_set_of(&self, dir: Dir) -> Bytes {
        data(&self.touched_by[dir])
    }
    /// Accesses of blocks of which a sample is followed.
    #[must_use]
    pub fn sample(&self) -> &BlockSample {
        &self.sample
    }
    /// Which share of the reads and writes goes to which share of the blocks in which they begin.
    #[must_use]
    pub fn skew(&self) -> SkewCurve {
        let ios = self.dir(Dir::Read).ios + self.dir(Dir::Write).ios;
        let exact = self.sample.starts().filter(|(_, starts)| *starts > 0).count() as f64;
        let distinct = if self.sample.rate() < 1.0 { self.starts.estimate() } else { exact };
        SkewCurve::new(&self.sample, &self.hot, ios, distinct)
    }
    /// The lowest offset and the highest end of reads, writes and trims.
    #[must_use]
    pub fn range(&self) -> Option<(Bytes, Bytes)> {
        self.range
    }
    /// The largest power of two that divides offset and length of 99 of 100 reads, writes and trims.
    #[must_use]
    pub fn alignment(&self) -> Bytes {
        let all: u64 = self.aligned.iter().sum();
        let mut below = 0;
        let found = self.aligned.iter().position(|count| {
            below += count;
            below * 100 > all
        });
        Bytes(1 << found.unwrap_or(0))
    }
}

fn data(distinct: &Cardinality) -> Bytes {
    Bytes(distinct.estimate().round() as u64 * BLOCK.0)
}
