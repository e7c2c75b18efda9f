//! `too-short`: too few I/Os, or too few windows, to say what the numbers are.

use fiord_plan::Dir;
use fiord_stat::finding::Severity;
use fiord_stat::report::{DirReport, RateSummary};

use crate::amount::{count, percent};
use crate::check::Entry;
use crate::direction::words;
use crate::timing::seconds;
use crate::{After, Check, FindingBuilder, Findings};

/// Samples that have to lie behind a percentile.
const BEHIND: f64 = 10.0;
/// Half the width of the interval of the mean that is no finding, as a share of the mean.
const WIDE: f64 = 0.1;
/// A job that ran for this share of its `runtime` was ended by it.
const BY_TIME: f64 = 0.95;
/// Windows from which an interval can be had at all.
const FEWEST: u64 = 4;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "too-short",
    severity: Severity::Note,
    title: "too few I/Os behind a percentile, or a mean that is known only roughly",
    about: "A percentile with fewer than ten I/Os behind it is the latency of those few I/Os, and \
            the next run has others. A mean over few windows of time is only known to lie within an \
            interval.",
    detection: "Fewer than ten I/Os of a direction lie behind its 99th percentile (or the highest of a \
           `percentile_list` of one's own); or the interval in which the mean of the IOPS lies with 95 % confidence, \
           by the windows of `iopsavgtime`, reaches further than 10 % to each side. Higher \
           percentiles of the default list need up to 100,000 I/Os and are only as good as that.",
    effect: "Ten runs of 256 random reads of 4 KiB with `direct=1` on an ext4 file of a virtual \
             machine gave 99th percentiles between 171 us and 4.0 ms: two or three I/Os decided.",
    remedy: "A `runtime` of as many seconds as the I/Os that are needed take at the IOPS that were \
           reached (it is named), with `time_based`; or a greater `size`; or a greater \
           `number_ios`, where that ends the job.",
    lint: None,
    before: None,
    after: Some(after),
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for entry in known.entries().iter().filter(|entry| !entry.report.failed) {
        let rows = entry.report.dirs.iter().filter(|row| row.total_ios > 0);
        let few = rows.clone().filter_map(|row| few(entry, row)).collect::<Vec<_>>();
        if few.is_empty() {
            let busiest = rows.max_by_key(|row| row.total_ios);
            findings.report_if(busiest.and_then(|row| rough(entry, row)));
        }
        few.into_iter().for_each(|finding| findings.report(finding));
    }
}

/// Fewer than ten I/Os behind the percentile that matters.
fn few(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let list = &entry.report.percentile_list;
    let own = entry.jobs[0].identity.options.iter().any(|(name, _)| name == "percentile_list");
    let highest = list.iter().copied().filter(|p| own || *p <= 99.0).fold(0.0, f64::max);
    let latency = if row.clat.n > 0 { &row.clat } else { &row.lat };
    let behind = latency.n as f64 * (100.0 - highest) / 100.0;
    if latency.percentiles.is_empty() || highest == 0.0 || behind >= BEHIND {
        return None;
    }
    let needed = BEHIND * 100.0 / (100.0 - highest).max(0.001);
    let name = &entry.report.name;
    let word = words(row.kind);
    let finding = CHECK
        .for_job(entry.jobs[0], format!("job {name} made too few {word} for their percentiles"))
        .evidence(format!(
            "{} {word}: {behind:.1} lie behind p{highest}, and {} are needed for ten",
            latency.n,
            count(needed)
        ))
        .remedy(longer(entry, needed / latency.n.max(1) as f64, needed / row.iops));
    Some(finding)
}

/// What ends the job later: so many times the I/Os, which take so many seconds.
fn longer(entry: &Entry<'_>, times: f64, needed: f64) -> String {
    let job = entry.jobs[0];
    let made: u64 = entry.report.dirs.iter().map(|row| row.total_ios).sum();
    let each = made / u64::from(entry.report.members.max(1));
    let wanted = (each as f64 * times).ceil();
    if job.end.ios.is_some_and(|ios| each >= ios) {
        // It ends a job that is `time_based` too; any other ends before it when the size is less.
        let dirs = Dir::ALL.into_iter().filter(|dir| job.load.mix.has(*dir));
        let block = dirs.map(|dir| job.load.blocks[dir as usize].min()).max().unwrap_or(1);
        let blocks = job.end.bytes / u64::from(block.max(1)) * job.end.loops;
        let holds = job.end.time_based || blocks as f64 >= wanted;
        let more = if holds { "" } else { " with time_based" };
        return format!("number_ios={wanted:.0}{more}");
    }
    let time = needed.ceil().max(1.0);
    if !time.is_finite() || time >= 86_400.0 {
        return "a longer runtime or a greater size".into();
    }
    let ended_by_time =
        job.end.runtime.is_some_and(|ns| seconds(entry) >= ns as f64 / 1e9 * BY_TIME);
    let capped = job.end.ios.is_some_and(|ios| (ios as f64) < wanted);
    let ios = if capped { format!(" and number_ios={wanted:.0}") } else { String::new() };
    match (job.end.time_based, ended_by_time) {
        (true, _) => format!("runtime={time:.0}{ios}"),
        (false, true) => {
            format!("runtime={time:.0}{ios}, with time_based if the size ends it first")
        }
        (false, false) => format!("runtime={time:.0} with time_based{ios}, or a greater size"),
    }
}

/// A mean that is known only roughly.
fn rough(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let RateSummary { mean, dev, samples, .. } = row.iops_samples;
    // Several jobs' windows are added up, and the spread of their sum is not known.
    if entry.report.members > 1 || samples < FEWEST || mean <= 0.0 {
        return None;
    }
    let half = student(samples - 1) * dev / (samples as f64).sqrt() / mean;
    if half < WIDE {
        return None;
    }
    let name = &entry.report.name;
    let finding = CHECK
        .for_job(
            entry.jobs[0],
            format!("the IOPS of job {name} are known to {} only", percent(half)),
        )
        .evidence(format!(
            "{samples} windows around {} with a deviation of {}",
            count(mean),
            count(dev)
        ))
        .remedy("a longer runtime, or steadystate=iops:5% to run until it settles");
    Some(finding)
}

/// The 97.5th percentile of Student's t distribution.
fn student(freedom: u64) -> f64 {
    const T: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    match freedom {
        0 => f64::INFINITY,
        n if n <= 10 => T[n as usize - 1],
        n if n <= 20 => 2.13,
        n if n <= 40 => 2.04,
        _ => 1.98,
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{DirKind, LatencySummary};

    use super::*;
    use crate::fixture::{after, row};

    fn told(ios: u64, dev: f64) -> Vec<String> {
        let job = "--name=a --ioengine=sim --rw=randread --size=1m";
        let found = after(&CHECK, job, &|report| {
            let mut row = row(DirKind::Read, ios as f64 / 10.0, 10);
            let percentiles = vec![(99.0, 1), (99.99, 2)];
            row.clat = LatencySummary { n: ios, percentiles, ..LatencySummary::default() };
            row.iops_samples =
                RateSummary { mean: 100.0, dev, samples: 20, ..RateSummary::default() };
            report.dirs = vec![row];
            report.members = 1;
            report.percentile_list = vec![99.0, 99.99];
        });
        found.into_iter().map(|finding| finding.evidence).collect()
    }

    #[test]
    fn every_direction_with_percentiles_is_looked_at() {
        let job = "--name=a --ioengine=sim --rw=randrw --rwmixread=99 --size=1m";
        let found = after(&CHECK, job, &|report| {
            let one = |kind, iops| {
                let mut row = row(kind, iops, 10);
                let (n, percentiles) = (row.total_ios, vec![(99.0, 1)]);
                row.clat = LatencySummary { n, percentiles, ..LatencySummary::default() };
                row
            };
            report.dirs = vec![one(DirKind::Read, 5000.0), one(DirKind::Write, 50.0)];
            report.percentile_list = vec![99.0];
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "job a made too few writes for their percentiles");
        assert_eq!(found[0].remedy, "runtime=20 with time_based, or a greater size");
    }

    #[test]
    fn what_ended_the_job_is_what_mends_it() {
        let remedy = |more: &str, ms| {
            let job = format!("--name=a --ioengine=sim --rw=randread --size=2m {more}");
            let found = after(&CHECK, &job, &|report| {
                let mut row = row(DirKind::Read, 50.0, 10);
                let percentiles = vec![(99.0, 1)];
                row.clat = LatencySummary { n: 500, percentiles, ..LatencySummary::default() };
                (report.dirs, report.runtime_ms) = (vec![row], ms);
                report.percentile_list = vec![99.0];
            });
            found[0].remedy.clone()
        };
        assert_eq!(remedy("", 10_000), "runtime=20 with time_based, or a greater size");
        assert_eq!(remedy("--runtime=10 --time_based", 10_000), "runtime=20");
        let either = "runtime=20, with time_based if the size ends it first";
        assert_eq!(remedy("--runtime=10", 10_000), either);
        assert_eq!(remedy("--number_ios=500 --size=8m", 10_000), "number_ios=1000");
        assert_eq!(remedy("--number_ios=500", 10_000), "number_ios=1000 with time_based");
        let capped = "runtime=20 and number_ios=1000";
        assert_eq!(remedy("--number_ios=600 --runtime=10 --time_based", 10_000), capped);
    }

    #[test]
    fn reports_few_ios_and_of_wide_intervals() {
        assert_eq!(told(500, 1.0), ["500 reads: 5.0 lie behind p99, and 1.0k are needed for ten"]);
        assert!(told(2000, 1.0).is_empty());
        assert_eq!(told(2000, 60.0), ["20 windows around 100 with a deviation of 60"]);
    }
}
