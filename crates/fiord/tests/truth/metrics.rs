//! Compares the metrics at the end of a run with the truth.

use crate::compared::{Comparisons, Rounding::Share};
use crate::expected::{Asked, EntryTruth, middle};
use crate::record::{DIRECTIONS, DoneIo};

/// The value of a sample whose line has all of these texts.
fn value(text: &str, name: &str, labels: &[String]) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(name));
    let line = lines.find(|line| labels.iter().all(|label| line.contains(label.as_str())))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// `own`: the labels of the job.
pub(crate) fn job(
    c: &mut Comparisons,
    text: &str,
    own: &[String],
    truth: &EntryTruth,
    asked: &Asked,
) {
    let errors = value(text, "fiord_io_errors", own);
    let survived = if asked.survives { truth.errors.len() } else { 0 };
    c.same("metrics: errors", errors.unwrap_or(-1.0) as i64, survived as i64);
    for (dir, row) in DIRECTIONS.into_iter().zip(&truth.rows) {
        let labels = [own.to_vec(), vec![format!("direction=\"{dir}\"")]].concat();
        let used = !row.ios.is_empty();
        for (name, expected) in
            [("fiord_ios_total", row.ios.len() as u64), ("fiord_io_bytes_total", row.bytes)]
        {
            let found = value(text, name, &labels).unwrap_or(0.0);
            c.same(&format!("metrics: {name} of {dir}"), found as u64, expected);
        }
        let of: fn(&DoneIo) -> u64 = match (asked.clat, asked.lat) {
            (true, _) => DoneIo::clat,
            (false, true) => DoneIo::lat,
            _ => continue,
        };
        if !used {
            continue;
        }
        let sum: u64 = row.ios.iter().map(of).sum();
        let found = value(text, "fiord_latency_seconds_sum", &labels).unwrap_or(-1.0);
        c.close(&format!("metrics: sum of {dir} latencies"), found, sum as f64 / 1e9, Share(1e-6));
        let count = value(text, "fiord_latency_seconds_count", &labels).unwrap_or(-1.0);
        c.same(&format!("metrics: number of {dir} latencies"), count as i64, row.ios.len() as i64);
        for bound in
            ["1e-06", "2e-05", "0.0001", "0.0005", "0.001", "0.01", "0.1", "1", "10", "+Inf"]
        {
            // A latency counts as the middle of its bucket, which is at most 0.8 % away.
            let most =
                bound.parse::<f64>().map_or(u64::MAX, |seconds| (seconds * 1e9).round() as u64);
            let expected = row.ios.iter().filter(|io| middle(of(io)) <= most).count();
            let labels = [labels.clone(), vec![format!("le=\"{bound}\"")]].concat();
            let found = value(text, "fiord_latency_seconds_bucket", &labels).unwrap_or(-1.0);
            c.same(&format!("metrics: {dir} up to {bound} s"), found as i64, expected as i64);
        }
    }
}
