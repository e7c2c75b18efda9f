//! What `--debug=io` says about I/Os, and the numbers that describe them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// An I/O that was queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queued {
    pub direction: usize,
    pub offset: u64,
    pub length: u64,
    pub file: String,
    /// Number of the process or thread.
    pub job: u64,
}

/// Size of the parts of a file in which I/Os are counted, in bytes.
const GRANULE: u64 = 4096;

/// Reads the lines. An I/O that is queued again, because the engine was busy, counts once.
pub(super) fn queued<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Queued> {
    let mut flying: HashSet<(u64, &str)> = HashSet::new();
    let mut found = Vec::new();
    for line in lines {
        let Some((job, event, slot, rest)) = parts(line) else { continue };
        match event {
            "queue" if flying.insert((job, slot)) => found.extend(io(job, rest)),
            "complete" => {
                flying.remove(&(job, slot));
            }
            _ => {}
        }
    }
    found
}

/// Splits `io  PID EVENT: io_u SLOT: REST`.
fn parts(line: &str) -> Option<(u64, &str, &str, &str)> {
    let rest = line.strip_prefix("io ")?.trim_start();
    let (job, rest) = rest.split_once(' ')?;
    let (event, rest) = rest.split_once(": io_u ")?;
    let (slot, rest) = rest.split_once(": ")?;
    // A short number is followed by more blanks.
    Some((job.parse().ok()?, event.trim_start(), slot, rest))
}

fn io(job: u64, rest: &str) -> Option<Queued> {
    let mut fields = rest.splitn(4, ',');
    let mut field = |name: &str| fields.next()?.strip_prefix(name);
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let (offset, length) = (hex(field("off=")?)?, hex(field("len=")?)?);
    let direction = field("ddir=")?.parse().ok()?;
    let file = field("file=")?.to_owned();
    (direction < 3 && length > 0).then_some(Queued { direction, offset, length, file, job })
}

/// What the I/Os of one direction have in common.
#[derive(Debug)]
pub(super) struct Profile {
    /// Bytes that at least one I/O touched.
    pub covered: u64,
    /// Lowest and highest touched byte of all files.
    pub begin: u64,
    pub end: u64,
    pub files: usize,
    /// Lengths of at least 5 % of the I/Os.
    pub sizes: BTreeSet<u64>,
    pub smallest: u64,
    pub largest: u64,
    /// Largest power of two, at most 4096, that divides all offsets.
    pub alignment: u64,
    /// Share of I/Os that begin where the one before of their job and file ended.
    pub sequential: f64,
    /// Share of I/Os on another file than the one before of their job.
    pub switches: f64,
    /// Share of I/Os on the tenth of the touched granules that have the most.
    pub hot: f64,
    /// Deciles of offsets, as shares of `end`.
    pub deciles: [f64; 9],
    pub ios: usize,
}

impl Profile {
    /// Describes the I/Os of a direction. `None` if there are none.
    pub(super) fn new(all: &[Queued], direction: usize) -> Option<Self> {
        let ios: Vec<&Queued> = all.iter().filter(|io| io.direction == direction).collect();
        let begin = ios.iter().map(|io| io.offset).min()?;
        let end = ios.iter().map(|io| io.offset + io.length).max()?;
        let files: BTreeSet<&str> = ios.iter().map(|io| io.file.as_str()).collect();
        let (sequential, switches) = order(&ios);
        let offsets = ios.iter().fold(0, |bits, io| bits | io.offset);
        Some(Profile {
            covered: covered(&ios),
            begin,
            end,
            files: files.len(),
            sizes: common_sizes(&ios),
            smallest: ios.iter().map(|io| io.length).min()?,
            largest: ios.iter().map(|io| io.length).max()?,
            alignment: 1 << offsets.trailing_zeros().min(12),
            sequential,
            switches,
            hot: hot(&ios),
            deciles: deciles(&ios, end),
            ios: ios.len(),
        })
    }
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn covered(ios: &[&Queued]) -> u64 {
    let mut ranges: Vec<(&str, u64, u64)> =
        ios.iter().map(|io| (io.file.as_str(), io.offset, io.offset + io.length)).collect();
    ranges.sort_unstable();
    let mut covered = 0;
    let mut last = ("", 0);
    for (file, begin, end) in ranges {
        let from = if file == last.0 { begin.max(last.1) } else { begin };
        covered += end.saturating_sub(from);
        last = if file == last.0 { (file, end.max(last.1)) } else { (file, end) };
    }
    covered
}

fn common_sizes(ios: &[&Queued]) -> BTreeSet<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    ios.iter().for_each(|io| *counts.entry(io.length).or_default() += 1);
    counts.into_iter().filter(|(_, count)| count * 20 >= ios.len()).map(|(size, _)| size).collect()
}

/// Shares of I/Os that continue, and that change the file.
fn order(ios: &[&Queued]) -> (f64, f64) {
    let mut ends: HashMap<(u64, &str), u64> = HashMap::new();
    let mut files: HashMap<u64, &str> = HashMap::new();
    let (mut continued, mut switched) = (0, 0);
    for io in ios {
        let end = ends.insert((io.job, &io.file), io.offset + io.length);
        continued += usize::from(end == Some(io.offset));
        let file = files.insert(io.job, &io.file);
        switched += usize::from(file.is_some_and(|file| file != io.file));
    }
    (share(continued, ios.len()), share(switched, ios.len()))
}

fn hot(ios: &[&Queued]) -> f64 {
    let mut counts: HashMap<(&str, u64), usize> = HashMap::new();
    ios.iter().for_each(|io| *counts.entry((&io.file, io.offset / GRANULE)).or_default() += 1);
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let tenth = counts.len().div_ceil(10);
    share(counts[..tenth].iter().sum(), ios.len())
}

fn deciles(ios: &[&Queued], end: u64) -> [f64; 9] {
    let mut offsets: Vec<u64> = ios.iter().map(|io| io.offset).collect();
    offsets.sort_unstable();
    std::array::from_fn(|i| offsets[offsets.len() * (i + 1) / 10] as f64 / end as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
fio: set debug option io
io       7 fill: io_u 0x1: off=0x0,len=0x1000,ddir=0,file=a.0.0
io       7 queue: io_u 0x1: off=0x0,len=0x1000,ddir=0,file=a.0.0
io       7 queue: io_u 0x1: off=0x0,len=0x1000,ddir=0,file=a.0.0
io       7 complete: io_u 0x1: off=0x0,len=0x1000,ddir=0,file=a.0.0
io       7   queue: io_u 0x1: off=0x1000,len=0x2000,ddir=0,file=a.0.0
io       7 queue: io_u 0x2: off=0x0,len=0x0,ddir=3,file=a.0.0
io       7 calling ->commit(), depth 1
io       7 queue: io_u 0x3: off=0x2000,len=0x1000,ddir=0,file=a,b
";

    #[test]
    fn an_io_that_is_queued_again_counts_once() {
        let ios = queued(LINES.lines());
        assert_eq!(ios.len(), 3);
        assert_eq!((ios[2].file.as_str(), ios[2].offset), ("a,b", 0x2000));
    }

    #[test]
    fn a_profile_describes_one_direction() {
        let ios = queued(LINES.lines());
        let profile = Profile::new(&ios, 0).unwrap();
        assert_eq!((profile.covered, profile.begin, profile.end), (0x4000, 0, 0x3000));
        assert_eq!((profile.alignment, profile.files), (4096, 2));
        assert_eq!(profile.sizes.iter().copied().collect::<Vec<_>>(), [0x1000, 0x2000]);
        assert!((profile.sequential - 1.0 / 3.0).abs() < 1e-9);
        assert!((profile.switches - 1.0 / 3.0).abs() < 1e-9);
        assert!(Profile::new(&ios, 1).is_none());
    }
}
