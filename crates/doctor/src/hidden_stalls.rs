//! `hidden-stalls`: stalls that the latency from the actual start of each I/O does not show.

use fiord_stat::finding::Severity;
use fiord_stat::report::LatencySummary;

use crate::amount::time;
use crate::check::Entry;
use crate::rate_missed::dir;
use crate::{After, Check, Findings, Told};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "hidden-stalls",
    severity: Severity::Suspect,
    title: "I/Os that were due during a stall are not in the latencies",
    about: "Under a rate each I/O is due at a moment. While the device stalls, a job that waits \
            for it makes no I/O at all: those that were due then start late, and measured from \
            their actual start they are as fast as ever. One slow I/O stands for the hundreds that \
            a user would have waited for.",
    seen: "The 99th percentile (or the nearest one reported) of the latency from the intended start \
           is at least ten times that of the completion latency, and at least 1 ms more.",
    effect: "A stall of 1 s in 10 s at 1000 IOPS (`ioengine=sim`, `sim_stall=2s:1s`, \
             `sim_latency=constant:100us`): the 99th percentile was 100 us from the actual start \
             and 910 ms from the intended one.",
    mend: "Judge by the latency from the intended start, which is in the report \
           (`intended_lat_ns` under `fiord` in JSON); `io_submit_mode=offload` or a greater \
           `iodepth` makes I/Os when they are due.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for entry in known.entries() {
        for (kind, intended) in &entry.report.intended {
            let row = entry.report.dirs.iter().find(|row| row.kind == *kind);
            let actual = row.map(|row| if row.clat.n > 0 { &row.clat } else { &row.lat });
            let word = dir(*kind).map_or("I/Os", |dir| ["reads", "writes", "trims"][dir as usize]);
            findings.tell_if(actual.and_then(|actual| finding(&entry, word, actual, intended)));
        }
    }
}

fn finding(
    entry: &Entry<'_>,
    word: &str,
    actual: &LatencySummary,
    intended: &LatencySummary,
) -> Option<Told> {
    let (percentage, from_actual) = near_99(actual)?;
    let (same, from_intended) = near_99(intended)?;
    let more = from_intended.saturating_sub(from_actual);
    if same != percentage || from_intended < from_actual.saturating_mul(10) || more < 1_000_000 {
        return None;
    }
    let name = &entry.report.name;
    let told = CHECK
        .of_job(
            entry.jobs[0],
            format!("{word} of job {name} waited, and its latencies do not show it"),
        )
        .evidence(format!(
            "p{percentage}: {} from the actual start, {} from when each was due",
            time(from_actual as f64),
            time(from_intended as f64)
        ))
        .mend("the latency from the intended start, or io_submit_mode=offload, or more iodepth");
    Some(told)
}

/// The percentile nearest to the 99th.
fn near_99(summary: &LatencySummary) -> Option<(f64, u64)> {
    let away = |p: &&(f64, u64)| (p.0 - 99.0).abs();
    summary.percentiles.iter().min_by(|a, b| away(a).total_cmp(&away(b))).copied()
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::DirKind;

    use super::*;
    use crate::fixture::{after, row};

    fn told(actual: u64, intended: u64) -> usize {
        let job = "--name=a --ioengine=sim --rw=randread --size=1m --rate_iops=1000";
        let summary = |p99| LatencySummary {
            n: 100,
            percentiles: vec![(99.0, p99)],
            ..LatencySummary::default()
        };
        let found = after(&CHECK, job, &|report| {
            let mut row = row(DirKind::Read, 1000.0, 10);
            row.clat = summary(actual);
            report.dirs = vec![row];
            report.intended = vec![(DirKind::Read, summary(intended))];
        });
        found.len()
    }

    #[test]
    fn told_of_ten_times_and_a_millisecond() {
        assert_eq!(told(100_000, 900_000_000), 1);
        assert_eq!(told(100_000, 150_000), 0);
        assert_eq!(told(1_000, 100_000), 0);
    }
}
