//! A job of few options, and its text.

use std::fmt::{Display, Write as _};
use std::num::NonZeroU32;

use fiord_formats::trace::TraceKind;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use crate::trace::profile::sizes::SizeCounts;
use crate::trace::profile::{BLOCK, TraceProfile};

/// Maximum number of sizes in a `bssplit`.
const SIZES: usize = 32;
/// Queue depth if the trace has no completions.
const UNKNOWN_DEPTH: u32 = 32;
/// Largest queue depth of a job.
const DEEPEST: u64 = 1024;

/// How random offsets are distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OffsetLaw {
    /// All blocks are equal.
    Uniform,
    /// Zipf's law with this exponent.
    Zipf(f64),
}

/// The options of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobModel {
    pub name: String,
    /// Path of its file or device.
    pub filename: String,
    /// Directions, in per cent of the I/Os.
    pub mix: PerDir<u8>,
    /// Random I/Os in each direction, in per cent.
    pub random: PerDir<u8>,
    /// Sizes and how often they occur, in per cent.
    pub sizes: PerDir<Vec<(Bytes, u8)>>,
    /// Distribution of random offsets.
    pub law: OffsetLaw,
    /// Where the data begins.
    pub offset: Bytes,
    /// Size of the data.
    pub size: Bytes,
    /// I/Os per second in each direction; `None` if the trace has no times.
    pub rate: Option<PerDir<u64>>,
    /// Whether arrivals are independent instead of evenly spaced.
    pub poisson: bool,
    /// I/Os in flight; `None` if the trace has no completions.
    pub depth: Option<NonZeroU32>,
    /// Length of the trace.
    pub length: Nanos,
    /// Bytes that the trace transfers.
    pub bytes: Bytes,
    /// Writes for each flush (`fsync`) and for each flush of data only (`fdatasync`).
    pub flushes: (Option<u64>, Option<u64>),
    /// Whether all I/Os consist of whole sectors, so that they can bypass the page cache.
    pub direct: bool,
}

impl JobModel {
    /// A job for the reads and writes of a trace. `size` and `law` are those of the whole range.
    pub(super) fn transfers(trace: &TraceProfile, name: &str, filename: &str) -> Self {
        let ios = |dir| trace.dir(dir).ios();
        let read = percent(ios(Dir::Read), ios(Dir::Read) + ios(Dir::Write));
        let mix = PerDir::new(read, 100 - read, 0);
        let mut job = JobModel::of(trace, name, filename, mix);
        let writes = ios(Dir::Write);
        let every = |kind| {
            let flushes = trace.kind(kind).ios();
            (flushes > 0 && writes > 0).then(|| (writes / flushes).max(1))
        };
        job.flushes = (every(TraceKind::Sync), every(TraceKind::DataSync));
        job
    }

    /// A job for the trims of a trace.
    pub(super) fn trims(trace: &TraceProfile, name: &str, filename: &str) -> Self {
        JobModel::of(trace, name, filename, PerDir::new(0, 0, 100))
    }

    fn of(trace: &TraceProfile, name: &str, filename: &str, mix: PerDir<u8>) -> Self {
        let sizes = PerDir::from_fn(|dir| rounded(trace.sizes(dir)));
        let random = PerDir::from_fn(|dir| 100 - (trace.sequential(dir).0 * 100.0).round() as u8);
        let seconds = trace.length().as_secs_f64();
        // The length has one gap less than I/Os.
        let all = trace.transfers().ios().max(1) as f64;
        let gaps = (all - 1.0) / all / seconds;
        let rate = PerDir::from_fn(|dir| (trace.dir(dir).ios() as f64 * gaps).round() as u64);
        let dirs = || mix.iter().filter(|(_, share)| **share > 0).map(|(dir, _)| dir);
        let (low, high) = trace.range().unwrap_or_default();
        let grain = trace.alignment().max(Bytes(1));
        let offset = Bytes(low.0 / grain.0 * grain.0);
        let poisson = trace.rates().gap_error(true) <= trace.rates().gap_error(false);
        JobModel {
            name: name.into(),
            filename: filename.into(),
            mix,
            random,
            sizes,
            law: OffsetLaw::Uniform,
            offset,
            size: high - offset,
            rate: (seconds > 0.0).then_some(rate),
            poisson,
            depth: trace.depth().most().and_then(|most| NonZeroU32::new(most.min(DEEPEST) as u32)),
            length: trace.length(),
            bytes: dirs()
                .map(|dir| trace.dir(dir).bytes())
                .fold(Bytes::ZERO, Bytes::saturating_add),
            flushes: (None, None),
            direct: grain >= Bytes(512),
        }
    }

    /// Whether some of its I/Os are random.
    pub(super) fn is_random(&self) -> bool {
        self.mix.iter().any(|(dir, share)| *share > 0 && self.random[dir] > 0)
    }

    /// The options that decide which I/Os the job makes, as `name=value`.
    #[must_use]
    pub fn pattern(&self) -> Vec<String> {
        let random = if self.is_random() { "rand" } else { "" };
        let direction = match (self.mix[Dir::Read], self.mix[Dir::Write], self.mix[Dir::Trim]) {
            (_, _, 1..) => "trim",
            (100, ..) => "read",
            (0, ..) => "write",
            _ => "rw",
        };
        let mut options = vec![format!("rw={random}{direction}")];
        if direction == "rw" {
            options.push(format!("rwmixread={}", self.mix[Dir::Read]));
        }
        let sequential = |dir: Dir| self.mix[dir] > 0 && self.random[dir] < 100;
        if self.is_random() {
            if Dir::ALL.into_iter().any(sequential) {
                options.push(format!("percentage_random={}", self.list(|dir| self.random[dir])));
            }
            options.push("norandommap=1".into());
            if let OffsetLaw::Zipf(theta) = self.law {
                options.push(format!("random_distribution=zipf:{theta:.2}"));
            }
        }
        options.push(self.block_sizes());
        if self.offset > Bytes::ZERO {
            options.push(format!("offset={}", self.offset));
        }
        options.push(format!("size={}", self.size));
        options
    }

    fn block_sizes(&self) -> String {
        let used = |dir: &Dir| self.mix[*dir] > 0;
        if Dir::ALL.iter().filter(|dir| used(dir)).all(|dir| self.sizes[*dir].len() == 1) {
            let size = |dir| self.sizes[dir].first().map_or(BLOCK, |(size, _)| *size);
            return format!("bs={}", self.list(size));
        }
        let split = |list: &Vec<(Bytes, u8)>| {
            let parts: Vec<_> =
                list.iter().map(|(size, share)| format!("{size}/{share}")).collect();
            parts.join(":")
        };
        format!("bssplit={}", self.list(|dir| split(&self.sizes[dir])))
    }

    /// Values for reads and writes, or for trims. Only one if all directions of the job have the same.
    fn list<T: Display + PartialEq>(&self, value: impl Fn(Dir) -> T) -> String {
        let used = || Dir::ALL.into_iter().filter(|dir| self.mix[*dir] > 0);
        let mut values = used().map(&value);
        let first = values.next();
        match first {
            Some(first) if values.all(|value| value == first) => first.to_string(),
            _ => format!("{},{}", value(Dir::Read), value(Dir::Write)),
        }
    }

    /// The section of the job file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("[{}]\nfilename={}\n", self.name, self.filename);
        for option in self.pattern() {
            let _ = writeln!(out, "{option}");
        }
        match self.rate {
            Some(rate) => {
                // A list, because one value would apply to each direction of a mix.
                let rate = rate.map(|rate| rate.max(1));
                let rates = match self.mix[Dir::Trim] {
                    0 => format!("{},{}", rate[Dir::Read], rate[Dir::Write]),
                    _ => rate[Dir::Trim].to_string(),
                };
                let _ = writeln!(out, "rate_iops={rates}");
                if self.poisson {
                    out.push_str("rate_process=poisson\n");
                }
                let seconds = self.length.as_secs_f64().ceil().max(1.0);
                let _ = writeln!(out, "time_based=1\nruntime={seconds}");
            }
            None => {
                let _ = writeln!(out, "io_size={}", self.bytes.0.min(u64::MAX >> 1));
            }
        }
        let depth = self.depth.map_or(UNKNOWN_DEPTH, NonZeroU32::get);
        let _ = writeln!(out, "iodepth={depth}\ndirect={}", u8::from(self.direct));
        for (option, every) in [("fsync", self.flushes.0), ("fdatasync", self.flushes.1)] {
            if let Some(every) = every {
                let _ = writeln!(out, "{option}={every}");
            }
        }
        out
    }
}

/// A share in whole per cent. Not 0 or 100 unless it is exactly that.
fn percent(part: u64, whole: u64) -> u8 {
    let exact = part as f64 * 100.0 / whole.max(1) as f64;
    match part {
        0 => 0,
        _ if part == whole => 100,
        _ => (exact.round() as u8).clamp(1, 99),
    }
}

/// The most frequent sizes in whole per cent with the sum 100. The nearest of them takes the share of others.
fn rounded(sizes: &SizeCounts) -> Vec<(Bytes, u8)> {
    let all = sizes.by_count();
    let total = sizes.total();
    let kept = all.iter().filter(|(_, count)| count * 200 >= total).take(SIZES).count().max(1);
    let mut shares: Vec<(Bytes, f64)> = all
        .iter()
        .take(kept)
        .map(|(size, count)| (*size, *count as f64 * 100.0 / total.max(1) as f64))
        .collect();
    for (size, count) in all.iter().skip(kept) {
        let nearest = shares.iter_mut().min_by_key(|(kept, _)| kept.0.abs_diff(size.0));
        if let Some((_, share)) = nearest {
            *share += *count as f64 * 100.0 / total as f64;
        }
    }
    // Largest remainders: whole per cent whose sum is 100.
    let mut whole: Vec<(Bytes, u8)> =
        shares.iter().map(|(size, share)| (*size, *share as u8)).collect();
    let mut order: Vec<usize> = (0..whole.len()).collect();
    order.sort_by(|a, b| shares[*b].1.fract().total_cmp(&shares[*a].1.fract()));
    let missing = 100u8.saturating_sub(whole.iter().map(|(_, share)| share).sum());
    for place in order.into_iter().cycle().take(if whole.is_empty() { 0 } else { missing.into() }) {
        whole[place].1 += 1;
    }
    whole.retain(|(size, share)| *share > 0 && *size > Bytes::ZERO);
    whole.sort();
    whole
}
