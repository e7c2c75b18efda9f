//! `too-short`: too few I/Os for a percentile, or too few windows for a precise mean.
use fiord_job::option::table::{LOOPS, NRFILES, NUMBER_IOS, PERCENTILE_LIST, RUNTIME, TIME_BASED};
use fiord_plan::{Mix, Plan};
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::Severity;
use fiord_stat::report::{DirReport, RateSummary};
use fiord_types::Bytes;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::direction::words;
use crate::evidence::setting::{listed, set};
use crate::evidence::timing::seconds;
use crate::evidence::typed::typed;

/// Minimum number of samples above a percentile.
const BEHIND: f64 = 10.0;
/// Maximum half width of the confidence interval, as a share of the mean.
const WIDE: f64 = 0.1;
/// A job that ran for this share of its `runtime` was ended by `runtime`.
const BY_TIME: f64 = 0.95;
/// Additional time, because the first and the last I/O may be only partly in it.
const ROUNDING: f64 = 1.02;
/// Minimum number of windows for a confidence interval.
const MIN_WINDOWS: u64 = 4;

pub(crate) const CHECK: Check = Check {
    id: "too-short",
    severity: Severity::Note,
    title: "too few I/Os for a percentile, or an imprecise mean",
    about: "A percentile with fewer than ten I/Os above it is the latency of those few I/Os, and \
            the next run has other ones. A mean over few time windows is known only to lie within \
            an interval.",
    detection: "Fewer than ten I/Os of a direction lie above its 99th percentile (or above the \
                highest percentile of a `percentile_list` that the job sets); or the 95 % \
                confidence interval of the mean IOPS, from the windows of `iopsavgtime`, extends \
                more than 10 % to each side. Higher percentiles of the default list need up to \
                100,000 I/Os; the check does not cover them.",
    effect: "Ten runs of 256 random 4 KiB reads with `direct=1` of an ext4 file in a virtual \
             machine gave 99th percentiles between 171 us and 4.0 ms: two or three I/Os decided.",
    remedy: "set the `runtime` that the finding names, with `time_based`: the time that the \
             needed I/Os take at the IOPS of this run; or a larger `size`; or a larger \
             `number_ios`, if that ends the job.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries().iter().filter(|entry| !entry.report.failed) {
        let rows = entry.report.dirs.iter().filter(|row| row.total_ios > 0);
        let few = rows.clone().filter_map(|row| few(known.plan, entry, row)).collect::<Vec<_>>();
        if few.is_empty() {
            let busiest = rows.max_by_key(|row| row.total_ios);
            findings.report_if(busiest.and_then(|row| rough(entry, row)));
        }
        findings.report_all(few);
    }
}

/// Reports a direction with fewer than ten I/Os above the percentile that matters.
fn few(plan: &Plan, entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let list = &entry.report.percentile_list;
    let own = typed(plan, entry.jobs[0], PERCENTILE_LIST).is_some();
    let highest = list.iter().copied().filter(|p| own || *p <= 99.0).fold(0.0, f64::max);
    let latency = if row.clat.n > 0 { &row.clat } else { &row.lat };
    let behind = latency.n as f64 * (100.0 - highest) / 100.0;
    if latency.percentiles.is_empty() || highest == 0.0 || behind >= BEHIND {
        return None;
    }
    let needed = (BEHIND * 100.0 / (100.0 - highest).max(0.001)).round();
    let word = words(row.kind);
    let mut said = SaidNumbers::default();
    let (remedy, settings) =
        longer(entry, latency.n, (needed / latency.n.max(1) as f64, needed / row.iops));
    let finding = CHECK
        .for_entry(entry, format!("{} made too few {word} for their percentiles", entry.subject()))
        .evidence(format!(
            "{} {word}: {} lie above p{highest}, and {} {word} are needed for ten",
            said.exact("ios", latency.n),
            said.decimal("above", behind),
            said.count("needed", needed)
        ))
        .numbers(said)
        .remedy(remedy)
        .settings(settings);
    Some(finding)
}

/// Returns the options that make the job run longer: for `times` as many I/Os as the `counted` ones, which take `needed`
/// seconds.
fn longer(
    entry: &Entry<'_>,
    counted: u64,
    (times, needed): (f64, f64),
) -> (String, Vec<ClaimedSetting>) {
    let job = entry.jobs[0];
    let with = |settings: Vec<ClaimedSetting>, or: &str| {
        (format!("set {}{or}", listed(&settings)), settings)
    };
    // Chance decides the directions of a mix.
    let chance = matches!(job.load.mix, Mix::ReadWrite { .. });
    let margin = if chance { 1.1 + 2.0 / (counted.max(1) as f64).sqrt() } else { 1.0 };
    let times = times * margin;
    if !entry.is_one_section() {
        return ("set a longer runtime or a larger size in each of these jobs".into(), Vec::new());
    }
    if job.replay.is_some() {
        return ("replay a longer trace".into(), Vec::new());
    }
    if let Some(names) = job.engine.names() {
        // A second pass finds other names than the first one.
        let files = (job.target.files.len() as f64 * times).ceil();
        let own = names.tree.is_none();
        return match own {
            true => with(vec![set(NRFILES, files)], ""),
            false => ("use more names".into(), Vec::new()),
        };
    }
    let made: u64 = entry.report.dirs.iter().map(|row| row.total_ios).sum();
    let each = made / u64::from(entry.report.members.max(1));
    let timed = job.end.time_based && job.end.runtime.is_some();
    let loops = (job.end.loops as f64 * times).ceil();
    if let Some(ios) = job.end.ios.filter(|ios| each >= *ios) {
        // `number_ios` counts in each pass, and a pass also ends with the size.
        let wanted = (ios as f64 * times).ceil();
        let block = job.load.mix.dirs().map(|dir| job.load.blocks[dir].max()).max().unwrap_or(1);
        let blocks = job.end.bytes / Bytes::from(block.max(1));
        return match timed || blocks as f64 >= wanted {
            true => with(vec![set(NUMBER_IOS, wanted)], ""),
            false => with(vec![set(LOOPS, loops)], ""),
        };
    }
    let ended_by_time =
        job.end.runtime.is_some_and(|time| seconds(entry) >= time.as_secs_f64() * BY_TIME);
    if !timed && !ended_by_time {
        let mut settings = vec![set(LOOPS, loops)];
        // Verification takes time in addition, and may read the blocks of all earlier passes again.
        let passes = if job.verify.is_some() { 2.0 + times / 2.0 } else { 1.0 };
        let time = seconds(entry) * times * passes * ROUNDING;
        let cut = job.end.runtime.is_some_and(|runtime| runtime.as_secs_f64() < time);
        settings.extend(cut.then(|| set(RUNTIME, 0)));
        return with(settings, ", or a larger size");
    }
    let time = (needed * margin * ROUNDING).ceil().max(1.0);
    if !time.is_finite() || time >= 86_400.0 {
        return ("set a longer runtime or a larger size".into(), Vec::new());
    }
    let mut settings = vec![set(RUNTIME, time)];
    settings.extend((!timed).then(|| set(TIME_BASED, 1)));
    let wanted = (each as f64 * times).ceil();
    let capped = job.end.ios.is_some_and(|ios| (ios as f64) < wanted);
    settings.extend(capped.then(|| set(NUMBER_IOS, wanted)));
    with(settings, "")
}

/// Reports a mean with a wide confidence interval.
fn rough(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let RateSummary { mean, dev, samples, .. } = row.iops_samples;
    // The windows of several jobs are added up; the deviation of the sum is unknown.
    if entry.report.members > 1 || samples < MIN_WINDOWS || mean <= 0.0 {
        return None;
    }
    let half = student(samples - 1) * dev / (samples as f64).sqrt() / mean;
    if half < WIDE {
        return None;
    }
    let mut said = SaidNumbers::default();
    let half = said.percent("half_width", half);
    let name = &entry.report.name;
    let finding = CHECK
        .for_job(
            entry.jobs[0],
            format!("the mean IOPS of job {name} is known only to within {half}"),
        )
        .evidence(format!(
            "{} windows with a mean of {} and a standard deviation of {}",
            said.exact("windows", samples),
            said.count("mean", mean),
            said.count("deviation", dev)
        ))
        .numbers(said)
        .remedy("set a longer runtime, or steadystate=iops:5% to run until the result is steady");
    Some(finding)
}

/// Returns the 97.5th percentile of Student's t distribution for the degrees of freedom.
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
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::fixture::{after, row};

    fn reported(ios: u64, dev: f64) -> Vec<String> {
        let job = "--name=a --ioengine=sim --rw=randread --size=1m";
        let found = after(&CHECK, job, &|report| {
            let mut row = row(DirKind::Read, ios as f64 / 10.0, 10);
            let percentiles = vec![(99.0, Nanos(1)), (99.99, Nanos(2))];
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
    fn every_direction_with_percentiles_is_checked() {
        let job = "--name=a --ioengine=sim --rw=randrw --rwmixread=99 --size=1m";
        let found = after(&CHECK, job, &|report| {
            let one = |kind, iops| {
                let mut row = row(kind, iops, 10);
                let (n, percentiles) = (row.total_ios, vec![(99.0, Nanos(1))]);
                row.clat = LatencySummary { n, percentiles, ..LatencySummary::default() };
                row
            };
            report.dirs = vec![one(DirKind::Read, 5000.0), one(DirKind::Write, 50.0)];
            report.percentile_list = vec![99.0];
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "job a made too few writes for their percentiles");
        assert_eq!(found[0].remedy, "set loops=3, or a larger size");
    }

    #[test]
    fn the_remedy_changes_the_option_that_ended_the_job() {
        let remedy = |more: &str, ms| {
            let job = format!("--name=a --ioengine=sim --rw=randread --size=2m {more}");
            let found = after(&CHECK, &job, &|report| {
                let mut row = row(DirKind::Read, 50.0, 10);
                let percentiles = vec![(99.0, Nanos(1))];
                row.clat = LatencySummary { n: 500, percentiles, ..LatencySummary::default() };
                (report.dirs, report.runtime) = (vec![row], Nanos::from_millis(ms));
                report.percentile_list = vec![99.0];
            });
            found[0].remedy.clone()
        };
        assert_eq!(remedy("", 10_000), "set loops=2, or a larger size");
        assert_eq!(remedy("--runtime=10 --time_based", 10_000), "set runtime=21");
        let either = "set runtime=21 and time_based=1";
        assert_eq!(remedy("--runtime=10", 10_000), either);
        assert_eq!(remedy("--number_ios=500 --size=8m", 10_000), "set number_ios=1000");
        let verified = "set loops=3 and runtime=0, or a larger size";
        assert_eq!(remedy("--runtime=10 --rw=randrw --verify=crc32c", 1800), verified);
        assert_eq!(remedy("--number_ios=500", 10_000), "set loops=2");
        let capped = "set runtime=21 and number_ios=1000";
        assert_eq!(remedy("--number_ios=600 --runtime=10 --time_based", 10_000), capped);
    }

    #[test]
    fn reports_few_ios_and_of_wide_intervals() {
        assert_eq!(
            reported(500, 1.0),
            ["500 reads: 5.0 lie above p99, and 1.0k reads are needed for ten"]
        );
        assert!(reported(2000, 1.0).is_empty());
        assert_eq!(
            reported(2000, 60.0),
            ["20 windows with a mean of 100 and a standard deviation of 60"]
        );
    }
}
