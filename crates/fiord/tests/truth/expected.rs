//! What the results of a job should be, from its record alone. Nothing here uses the crates under test.

use crate::record::{DoneIo, JobRecord};

/// What the drawn job asks for, as far as its results depend on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub slat: bool,
    pub clat: bool,
    pub lat: bool,
    pub slat_percentiles: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    pub percentiles: Vec<f64>,
    /// Directions of the load.
    pub uses: [bool; 3],
    /// Windows of bandwidth and IOPS, ns; `None`: not measured.
    pub windows: Option<(u64, u64)>,
    /// The job sets `bwavgtime` and `iopsavgtime`.
    pub sets_windows: bool,
    /// `unified_rw_reporting`.
    pub unified: &'static str,
    pub survives: bool,
    pub depth: u64,
}

/// A series of latencies.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatencyTruth {
    sorted: Vec<u64>,
}

impl LatencyTruth {
    pub(crate) fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut sorted: Vec<u64> = values.collect();
        sorted.sort_unstable();
        LatencyTruth { sorted }
    }
    pub(crate) fn n(&self) -> u64 {
        self.sorted.len() as u64
    }
    pub(crate) fn min(&self) -> u64 {
        self.sorted.first().copied().unwrap_or(0)
    }
    pub(crate) fn max(&self) -> u64 {
        self.sorted.last().copied().unwrap_or(0)
    }
    pub(crate) fn mean(&self) -> f64 {
        let sum: u128 = self.sorted.iter().map(|ns| u128::from(*ns)).sum();
        if self.sorted.is_empty() { 0.0 } else { sum as f64 / self.sorted.len() as f64 }
    }
    /// The sample standard deviation.
    pub(crate) fn deviation(&self) -> f64 {
        if self.sorted.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.sorted.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
        (squares / (self.sorted.len() - 1) as f64).sqrt()
    }
    /// The exact percentile: the smallest latency that at least this share of the I/Os does not exceed.
    pub(crate) fn percentile(&self, percent: f64) -> Option<u64> {
        let n = self.sorted.len();
        let rank = (1..=n).find(|rank| *rank as f64 >= percent / 100.0 * n as f64);
        self.sorted.get(rank.unwrap_or(n).checked_sub(1)?).copied()
    }
    /// Value and count of each bin.
    pub(crate) fn bins(&self) -> Vec<(u64, u64)> {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for value in self.sorted.iter().map(|ns| middle(*ns)) {
            match bins.last_mut() {
                Some((last, count)) if *last == value => *count += 1,
                _ => bins.push((value, 1)),
            }
        }
        bins
    }
    pub(crate) fn sorted(&self) -> &[u64] {
        &self.sorted
    }
}

/// The stated rounding of percentiles and bins: the middle of a bucket, of which each power of two has 64. Latencies below
/// 128 ns are exact.
pub(crate) fn middle(ns: u64) -> u64 {
    if ns < 128 {
        return ns;
    }
    let lost = ns.ilog2() - 6;
    ((ns >> lost) << lost) + (1 << (lost - 1))
}

/// Number of a bin in a histogram log. The last one has all longer latencies.
pub(crate) fn bin(ns: u64) -> usize {
    let lost = (ns | 127).ilog2() - 6;
    (((lost as usize) << 6) + (ns >> lost) as usize).min(1855)
}

/// Rates in windows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RateTruth {
    pub samples: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    /// Sum of the squares of the differences from the mean.
    pub squares: f64,
}

impl RateTruth {
    fn of(rates: &[u64]) -> Self {
        let n = rates.len() as f64;
        let mean = if rates.is_empty() { 0.0 } else { rates.iter().sum::<u64>() as f64 / n };
        RateTruth {
            samples: rates.len() as u64,
            min: rates.iter().min().copied().unwrap_or(0),
            max: rates.iter().max().copied().unwrap_or(0),
            mean,
            squares: rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum(),
        }
    }
    /// As in fio, the rates of several jobs add up.
    pub(crate) fn plus(self, other: RateTruth) -> RateTruth {
        RateTruth {
            samples: self.samples + other.samples,
            min: self.min + other.min,
            max: self.max + other.max,
            mean: self.mean + other.mean,
            squares: self.squares + other.squares,
        }
    }
    pub(crate) fn deviation(&self) -> f64 {
        if self.samples < 2 { 0.0 } else { (self.squares / (self.samples - 1) as f64).sqrt() }
    }
}

/// One direction of an entry of the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowTruth {
    pub ios: Vec<DoneIo>,
    pub issued: u64,
    pub bytes: u64,
    pub short: u64,
    pub runtime_ms: u64,
    pub bw: RateTruth,
    pub iops: RateTruth,
}

impl RowTruth {
    pub(crate) fn latencies(&self, of: fn(&DoneIo) -> u64) -> LatencyTruth {
        LatencyTruth::of(self.ios.iter().map(of))
    }
    /// Bytes per second.
    pub(crate) fn bandwidth(&self) -> u64 {
        (u128::from(self.bytes) * 1000).checked_div(u128::from(self.runtime_ms)).unwrap_or(0) as u64
    }
    pub(crate) fn rate(&self) -> f64 {
        match self.runtime_ms {
            0 => 0.0,
            ms => self.ios.len() as f64 * 1000.0 / ms as f64,
        }
    }
    fn add(&mut self, other: &RowTruth) {
        self.ios.extend_from_slice(&other.ios);
        self.issued += other.issued;
        self.bytes += other.bytes;
        self.short += other.short;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.bw = self.bw.plus(other.bw);
        self.iops = self.iops.plus(other.iops);
    }
}

/// An entry of the report: a job, or several that were merged.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryTruth {
    pub rows: [RowTruth; 3],
    /// Latencies of syncs, and how many were issued.
    pub syncs: Vec<u64>,
    pub syncs_issued: u64,
    pub runtime_ms: u64,
    /// I/Os by the depth at which they were issued; submissions and reaps by their size.
    pub depth: [u64; 7],
    pub submit: [u64; 7],
    pub complete: [u64; 7],
    pub errors: Vec<i64>,
    /// Errors of the jobs that continue after errors.
    pub survived: Vec<i64>,
    pub members: u64,
}

/// The time in which a job was measured, ns of its record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub begin: u64,
    pub end: u64,
}

impl EntryTruth {
    /// The truth about one job.
    pub(crate) fn of(record: &JobRecord, span: Span, asked: &Asked) -> EntryTruth {
        let counted = record.measured(span.begin);
        let runtime_ms = (span.end - span.begin) / 1_000_000;
        let mut entry = EntryTruth { members: 1, ..EntryTruth::default() };
        // Those queued before the beginning were issued before it.
        let issued = |io: &&DoneIo| io.start >= span.begin;
        for (dir, row) in entry.rows.iter_mut().enumerate() {
            let own = counted.ios.iter().filter(|io| io.dir == Some(dir));
            row.ios = own.clone().filter(|io| io.is_done()).cloned().collect();
            row.issued = own.clone().filter(issued).count() as u64;
            row.bytes = row.ios.iter().map(|io| io.bytes).sum();
            // A short transfer counts when it happens: in the ramp it does not, even if its I/O ends after it.
            let counts = |at: u64| at > span.begin || span.begin == 0;
            row.short = own.filter(|io| io.short.is_some_and(counts)).count() as u64;
        }
        let syncs = counted.ios.iter().filter(|io| io.dir.is_none());
        entry.syncs_issued = syncs.clone().filter(issued).count() as u64;
        entry.syncs = syncs.filter(|io| io.is_done()).map(DoneIo::clat).collect();
        // An error that ends the job counts in its ramp, too.
        let all = if asked.survives { &counted } else { record };
        entry.errors = all.ios.iter().filter_map(|io| io.errno).collect();
        entry.survived = if asked.survives { entry.errors.clone() } else { Vec::new() };
        let did = entry.rows.iter().any(|row| !row.ios.is_empty()) || entry.syncs_issued > 0;
        entry.runtime_ms = runtime_ms.max(u64::from(did));
        for (dir, row) in entry.rows.iter_mut().enumerate() {
            row.runtime_ms = if row.ios.is_empty() { 0 } else { entry.runtime_ms };
            if let Some((bandwidth, iops)) = asked.windows {
                let uses = asked.uses[dir];
                row.bw =
                    RateTruth::of(&rates(&row.ios, span, bandwidth, uses, |io| io.bytes, 1024));
                row.iops = RateTruth::of(&rates(&row.ios, span, iops, uses, |_| 1, 1));
            }
        }
        entry.count_calls(record, &counted, span);
        entry
    }

    fn count_calls(&mut self, record: &JobRecord, counted: &JobRecord, span: Span) {
        let mut issued: Vec<&DoneIo> = record.ios.iter().collect();
        issued.sort_by_key(|io| io.submission);
        // The record lists I/Os in the order of their ends.
        let mut reaped = record.ios.iter().map(|io| io.reap).peekable();
        let (mut at, mut gone) = (0, 0);
        while at < issued.len() {
            let (submission, time) = (issued[at].submission, issued[at].issue);
            let batch = issued[at..].iter().take_while(|io| io.submission == submission);
            let (size, data) = batch
                .fold((0, 0), |(size, data), io| (size + 1, data + u64::from(io.dir.is_some())));
            while reaped.next_if(|reap| *reap < submission).is_some() {
                gone += 1;
            }
            at += size;
            if time >= span.begin {
                let depth = (at - gone) as u64;
                self.depth[(depth | 1).ilog2().min(6) as usize] += data;
                self.submit[size_class(size as u64)] += 1;
            }
        }
        for (_, _, count) in &counted.reaps {
            self.complete[size_class(*count)] += 1;
        }
    }

    /// Several jobs in one entry: sums, and the longest run time of each direction.
    pub(crate) fn merged<'a>(jobs: impl Iterator<Item = &'a EntryTruth>) -> EntryTruth {
        let mut all = EntryTruth::default();
        for job in jobs {
            all.rows.iter_mut().zip(&job.rows).for_each(|(sum, row)| sum.add(row));
            all.syncs.extend_from_slice(&job.syncs);
            all.syncs_issued += job.syncs_issued;
            all.runtime_ms += job.runtime_ms;
            for (sum, part) in [
                (&mut all.depth, job.depth),
                (&mut all.submit, job.submit),
                (&mut all.complete, job.complete),
            ] {
                sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            all.errors.extend_from_slice(&job.errors);
            all.survived.extend_from_slice(&job.survived);
            all.members += job.members;
        }
        all
    }

    /// All directions in one row.
    pub(crate) fn mixed(&self) -> RowTruth {
        let mut all = RowTruth::default();
        self.rows.iter().for_each(|row| all.add(row));
        all
    }

    pub(crate) fn ios(&self) -> u64 {
        self.rows.iter().map(|row| row.ios.len() as u64).sum()
    }
}

/// Calls with 0, 1-4, 5-8, 9-16, 17-32, 33-64 and more ops.
fn size_class(size: u64) -> usize {
    [0, 4, 8, 16, 32, 64].iter().position(|most| size <= *most).unwrap_or(6)
}

/// The rate of each whole window. A window includes its end. One without I/O counts if the load uses the direction.
fn rates(
    ios: &[DoneIo],
    span: Span,
    length: u64,
    uses: bool,
    amount: fn(&DoneIo) -> u64,
    unit: u64,
) -> Vec<u64> {
    let windows = ((span.end - span.begin) / length) as usize;
    let mut sums = vec![(0u64, 0u64); windows];
    for io in ios {
        let at = ((io.end - span.begin).saturating_sub(1) / length) as usize;
        if let Some((sum, count)) = sums.get_mut(at) {
            *sum += amount(io);
            *count += 1;
        }
    }
    let counts = sums.into_iter().filter(|(_, count)| uses || *count > 0);
    let rate = |sum: u64| u128::from(sum) * 1_000_000_000 / u128::from(length) / u128::from(unit);
    counts.map(|(sum, _)| rate(sum) as u64).collect()
}

/// Upper bounds of the coarse latency buckets, ns, exclusive.
pub(crate) const BOUNDS: [u64; 31] = [
    2,
    4,
    10,
    20,
    50,
    100,
    250,
    500,
    750,
    1_000,
    2_000,
    4_000,
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_000_000_000,
];

/// Completed I/Os by completion latency.
pub(crate) fn coarse(entry: &EntryTruth) -> [u64; 32] {
    let mut counts = [0; 32];
    for io in entry.rows.iter().flat_map(|row| &row.ios) {
        counts[BOUNDS.iter().position(|bound| io.clat() < *bound).unwrap_or(31)] += 1;
    }
    counts
}

/// A share in per cent. As in fio, one above 0 is at least `least`.
pub(crate) fn share(count: u64, of: u64, least: f64) -> f64 {
    match (count, of) {
        (0, _) | (_, 0) => 0.0,
        _ => (count as f64 * 100.0 / of as f64).max(least),
    }
}
