//! Compares logs with the truth: rows of single I/Os, means of windows, histograms.

use std::collections::BTreeMap;

use crate::compared::Comparisons;
use crate::expected::{Asked, Span, bin};
use crate::record::{DoneIo, JobRecord};

/// Text of the logs of a job by their kind: `lat`, `clat`, `slat`, `bw`, `iops`.
pub(crate) type LogTexts = Vec<(&'static str, String)>;

type Row = Vec<u64>;

fn rows(text: &str) -> Vec<Row> {
    let row =
        |line: &str| line.split(", ").map(|field| field.parse().unwrap_or(u64::MAX)).collect();
    text.lines().map(row).collect()
}

/// Rows of single I/Os, in the order of their ends; I/Os that ended together may be in any order.
pub(crate) fn single(
    c: &mut Comparisons,
    logs: &LogTexts,
    record: &JobRecord,
    span: Span,
    asked: &Asked,
) {
    let ios = measured(record, span);
    for (kind, text) in logs {
        let expected = ios.iter().filter(|_| shown(kind, asked)).map(|io| {
            let (at, value) = match *kind {
                // Bandwidth in units of 1000 bytes, as in fio.
                "bw" => (io.end, io.bytes * 1_000_000 / io.clat().max(1)),
                "slat" => (io.issue, io.slat()),
                "clat" => (io.end, io.clat()),
                "lat" => (io.end, io.lat()),
                _ => (io.end, 1),
            };
            // An I/O of the ramp may have been issued before the log began.
            let ms = at.saturating_sub(span.begin) / 1_000_000;
            vec![ms, value, io.dir.unwrap_or(9) as u64, io.bytes, io.offset, 0]
        });
        let mut expected: Vec<Row> = expected.collect();
        let mut found = rows(text);
        found.sort_unstable();
        expected.sort_unstable();
        c.same(&format!("{kind} log: rows"), found.len(), expected.len());
        c.made += 6 * expected.len() as u64;
        if let Some((found, expected)) = found.iter().zip(&expected).find(|(a, b)| a != b) {
            c.wrong.push(format!("{kind} log: {found:?}, and the record says {expected:?}"));
        }
    }
}

fn shown(kind: &str, asked: &Asked) -> bool {
    match kind {
        "slat" => asked.slat,
        "clat" => asked.clat,
        "lat" => asked.lat,
        "bw" => asked.windows.is_some(),
        // As in fio, a job without measurements has no such rows.
        "iops" => asked.windows.is_some() || asked.clat || asked.lat || asked.slat,
        _ => true,
    }
}

fn measured(record: &JobRecord, span: Span) -> Vec<DoneIo> {
    let ios = record.measured(span.begin).ios;
    ios.into_iter().filter(|io| io.is_done() && io.dir.is_some()).collect()
}

/// The I/Os of each window and direction: the end of the window, ns since the begin of the log.
fn windows(ios: &[DoneIo], span: Span, length: u64) -> BTreeMap<(u64, usize), Vec<&DoneIo>> {
    let mut windows: BTreeMap<_, Vec<&DoneIo>> = BTreeMap::new();
    for io in ios {
        let number = (io.end - span.begin).saturating_sub(1) / length;
        let end = ((number + 1) * length).min(span.end - span.begin);
        windows.entry((end, io.dir.unwrap_or(9))).or_default().push(io);
    }
    windows
}

/// Rows of windows of `length`: means of latencies, rates.
pub(crate) fn windowed(
    c: &mut Comparisons,
    logs: &LogTexts,
    record: &JobRecord,
    (span, length): (Span, u64),
    asked: &Asked,
) {
    let ios = measured(record, span);
    for (kind, text) in logs {
        let is_rate = ["bw", "iops"].contains(kind);
        // `bwavgtime` and `iopsavgtime` are the lengths of the windows of their logs, if the job sets them.
        let length = match (*kind, asked.windows.filter(|_| asked.sets_windows)) {
            ("bw", Some((bandwidth, _))) => bandwidth,
            ("iops", Some((_, iops))) => iops,
            _ => length,
        };
        let windows = windows(&ios, span, length);
        let first = windows.keys().next().map(|(end, _)| *end);
        let mut expected: Vec<[u64; 3]> = Vec::new();
        for ((end, dir), ios) in &windows {
            let own = end - (end - 1) / length * length;
            // The rate of a short rest says nothing, unless there is no other. Windows of rates need no measurements.
            let short = is_rate && own < length / 2 && Some(*end) != first;
            if short || !is_rate && !shown(kind, asked) {
                continue;
            }
            let sum = |of: fn(&DoneIo) -> u64| ios.iter().map(|io| of(io)).sum::<u64>();
            let n = ios.len() as u64;
            // Means are rounded to whole numbers.
            let mean = |sum: u64| (sum + n / 2) / n;
            let rate = |amount: u64| u128::from(amount) * 1_000_000_000 / u128::from(own);
            let value = match *kind {
                "bw" => (rate(sum(|io| io.bytes)) / 1024) as u64,
                "iops" => rate(n) as u64,
                "slat" => mean(sum(DoneIo::slat)),
                "clat" => mean(sum(DoneIo::clat)),
                _ => mean(sum(DoneIo::lat)),
            };
            expected.push([end / 1_000_000, value, *dir as u64]);
        }
        let found: Vec<[u64; 3]> = rows(text).iter().map(|row| [row[0], row[1], row[2]]).collect();
        c.same(&format!("{kind} log: windows"), found.len(), expected.len());
        c.made += 3 * expected.len() as u64;
        if let Some((found, expected)) = found.iter().zip(&expected).find(|(a, b)| a != b) {
            c.wrong.push(format!("{kind} log: {found:?}, and the record says {expected:?}"));
        }
    }
}

/// Histograms of completion latencies in windows of `length`.
pub(crate) fn histograms(
    c: &mut Comparisons,
    text: &str,
    record: &JobRecord,
    (span, length): (Span, u64),
    (coarseness, clat): (u32, bool),
) {
    let ios = if clat { measured(record, span) } else { Vec::new() };
    let windows = windows(&ios, span, length);
    let found = rows(text);
    c.same("histogram log: rows", found.len(), windows.len());
    for (row, ((end, dir), ios)) in found.iter().zip(&windows) {
        let mut expected = vec![0u64; 1856 >> coarseness];
        ios.iter().for_each(|io| expected[bin(io.clat()) >> coarseness] += 1);
        c.same("histogram log: time", row[0], end / 1_000_000);
        c.same("histogram log: direction", row[1], *dir as u64);
        c.made += expected.len() as u64;
        if row[3..] != expected[..] {
            c.wrong.push(format!("histogram log: the row of {} ms has other counts", row[0]));
        }
    }
}
