//! `hidden-stalls`: stalls that the latency from the actual start of each I/O does not show.

use fiord_job::option::table::{IO_SUBMIT_MODE, IODEPTH, NICE, NUMJOBS, RATE_IOPS};
use fiord_plan::{EngineAccess, JobPlan, Rate};
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::Severity;
use fiord_stat::report::{DirReport, LatencySummary};
use fiord_types::{Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::direction::words;
use crate::evidence::rate;
use crate::evidence::setting::{listed, set};
use crate::evidence::synchronous::synchronous;

pub(crate) const CHECK: Check = Check {
    id: "hidden-stalls",
    severity: Severity::Suspect,
    title: "the latencies leave out I/Os that were due during a stall",
    about: "With a rate, each I/O is due at a certain time. While the device stalls, a job that \
            waits for it issues no I/O: the I/Os that were due start late, and measured from \
            their actual start they look as fast as ever. One slow I/O then stands for hundreds \
            for which a user would have waited (coordinated omission).",
    detection: "The 99th percentile (or the nearest reported one) of the latency from the \
                intended start is at least ten times that of the completion latency, and at least \
                1 ms longer. If the load generator itself was late, the finding says so and does \
                not blame the device: that is the case if the engine is `null`, or if a thread \
                that slept until an I/O was due woke late by at least half of the difference.",
    effect: "A stall of 1 s in 10 s at 1000 IOPS (`ioengine=sim`, `sim_stall=2s:1s`, \
             `sim_latency=constant:100us`): the 99th percentile was 100 us from the actual start \
             and 910 ms from the intended start.",
    remedy: "set `iodepth` to the rate times the longest delay (1000 for 1 s at 1000 IOPS), so \
             that every I/O can start when it is due; a synchronous engine also needs \
             `io_submit_mode=offload`, which has no effect on other engines. Instead of a depth \
             beyond 4096, the finding names a lower rate; if the run did not reach its rate, any \
             queue fills up, and the finding names nine tenths of the rate that the run reached. \
             Until then, use the latency from the intended start, which is in the report \
             (`intended_lat_ns` under `fiord` in JSON). If the generator woke late, set \
             `nice=-20`, or `cpus_allowed` to a CPU that no other program uses.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        for (kind, intended) in &entry.report.intended {
            let row = entry.report.dirs.iter().find(|row| row.kind == *kind);
            findings.report_if(row.and_then(|row| finding(&entry, row, intended)));
        }
    }
}

fn finding(
    entry: &Entry<'_>,
    row: &DirReport,
    intended: &LatencySummary,
) -> Option<FindingBuilder> {
    let actual = if row.clat.n > 0 { &row.clat } else { &row.lat };
    let (percentage, from_actual) = near_99(actual)?;
    let (same, from_intended) = near_99(intended)?;
    let more = from_intended.saturating_sub(from_actual);
    if same != percentage
        || from_intended < from_actual.saturating_mul(10)
        || more < Nanos::from_millis(1)
    {
        return None;
    }
    // If the rate is too high for the device, a queue of any depth fills up.
    let reached = !missed(entry);
    let mut said = SaidNumbers::default();
    let seen = format!(
        "p{percentage}: {} from the actual start, {} from the intended start",
        said.time(&format!("p{percentage}_actual"), from_actual.as_f64()),
        said.time(&format!("p{percentage}_intended"), from_intended.as_f64())
    );
    if reached && generator_was_late(entry, more) {
        return Some(woke_late(entry, row, actual, &seen, said));
    }
    let (subject, word) = (entry.subject(), words(row.kind));
    let what = format!("{word} of {subject} were delayed, and the latencies do not show it");
    let job = entry.jobs[0];
    let settings = match reached {
        _ if !entry.is_one_section() => Vec::new(),
        true => room(job, intended.max),
        false => slower(entry),
    };
    let remedy = match settings.as_slice() {
        [] if reached => "set a larger iodepth in each of these jobs".to_owned(),
        [] => "set a rate that the device reaches".to_owned(),
        settings => format!("set {}", listed(settings)),
    };
    let finding = CHECK.for_entry(entry, what).evidence(seen).remedy(remedy).settings(settings);
    Some(finding.numbers(said).option(IODEPTH))
}

/// Returns whether the load generator, not the device, delayed I/Os by `more` beyond their latency:
/// the engine has no device, or a thread woke late by at least half of that time.
fn generator_was_late(entry: &Entry<'_>, more: Nanos) -> bool {
    let no_device = |job: &&JobPlan| {
        let engine = job.engine.def();
        engine.access == EngineAccess::Nothing && !engine.virtual_time
    };
    let no_device = entry.jobs.iter().all(no_device);
    no_device || entry.report.delays.longest_wake >= more / 2
}

/// Builds the finding for a load generator that woke late.
fn woke_late(
    entry: &Entry<'_>,
    row: &DirReport,
    actual: &LatencySummary,
    seen: &str,
    mut said: SaidNumbers,
) -> FindingBuilder {
    let (subject, word) = (entry.subject(), words(row.kind));
    let delays = &entry.report.delays;
    let ready = delays.ready.map_or(String::new(), |ready| {
        format!(", and its threads waited {} for a CPU", said.time("ready", ready.as_f64()))
    });
    CHECK
        .for_entry(
            entry,
            format!("{word} of {subject} started late because the load generator woke late"),
        )
        .evidence(format!(
            "{seen}; the device was not the cause: its slowest I/O took {}, and a thread woke up to {} \
             late{ready}",
            said.time("slowest", actual.max.as_f64()),
            said.time("longest_wake", delays.longest_wake.as_f64()),
        ))
        .numbers(said)
        .remedy("set nice=-20 (as root), or cpus_allowed=N with a CPU that no other program uses")
        .option(NICE)
}

/// Returns whether a direction did not reach its rate.
fn missed(entry: &Entry<'_>) -> bool {
    entry.report.dirs.iter().any(|row| rate::missed(entry, row).is_some())
}

/// Returns rates that the device reaches, and a depth that holds the I/Os that are then due within the longest latency.
fn slower(entry: &Entry<'_>) -> Vec<ClaimedSetting> {
    let mut settings: Vec<ClaimedSetting> = rate::slower(entry).into_iter().collect();
    let job = entry.jobs[0];
    let rows = || entry.report.dirs.iter();
    let longest = rows().map(|row| row.clat.max.max(row.lat.max)).max().unwrap_or_default();
    let iops: f64 = rows().map(|row| row.iops).sum::<f64>() / entry.jobs.len() as f64;
    let depth = (iops * longest.as_secs_f64()).ceil() as u64;
    let deeper = depth > u64::from(job.depth.depth) && depth <= DEEPEST;
    if !settings.is_empty() && deeper && synchronous(job).is_none() {
        settings.push(set(IODEPTH, depth));
    }
    settings
}

/// Maximum depth that the remedy names: no device has a longer queue.
const DEEPEST: u64 = 4096;

/// Returns the depth that holds all I/Os that are due within the longest delay; if that is too
/// deep, also a lower rate for which the maximum depth is enough.
fn room(job: &JobPlan, longest: Nanos) -> Vec<ClaimedSetting> {
    let due = |dir: Dir| match job.pace.rate[dir] {
        Some(Rate::Ios(ios)) => ios as f64,
        Some(Rate::Bytes(bytes)) => bytes as f64 / f64::from(job.load.blocks[dir].min().max(1)),
        None => 0.0,
    };
    // All directions share the depth.
    let rate: f64 = job.load.mix.dirs().map(due).sum();
    let depth = (rate * longest.0 as f64 / 1e9).ceil() as u64;
    let has = u64::from(job.depth.depth);
    if depth <= has && synchronous(job).is_none() {
        // The depth is enough, so the thread itself was blocked: a second thread continues meanwhile.
        return vec![set(NUMJOBS, 2), set(RATE_IOPS, (rate / 2.0).ceil() as u64)];
    }
    let depth = depth.max(has);
    let mut settings = Vec::new();
    if depth > DEEPEST {
        settings.push(set(RATE_IOPS, (DEEPEST as f64 / longest.as_secs_f64()) as u64));
    }
    if synchronous(job).is_some() {
        settings.push(set(IO_SUBMIT_MODE, "offload"));
    }
    settings.push(set(IODEPTH, depth.min(DEEPEST)));
    settings
}

/// Returns the reported percentile nearest to the 99th, and its value.
fn near_99(summary: &LatencySummary) -> Option<(f64, Nanos)> {
    let away = |p: &&(f64, Nanos)| (p.0 - 99.0).abs();
    summary.percentiles.iter().min_by(|a, b| away(a).total_cmp(&away(b))).copied()
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{DirKind, JobReport};

    use super::*;
    use crate::tests::fixture::{after, row};

    fn reported(actual: u64, intended: u64) -> usize {
        found("sim", actual, intended).len()
    }

    fn found(engine: &str, actual: u64, intended: u64) -> Vec<fiord_stat::finding::Finding> {
        found_at(1000.0, engine, actual, intended)
    }

    fn found_at(
        iops: f64,
        engine: &str,
        actual: u64,
        intended: u64,
    ) -> Vec<fiord_stat::finding::Finding> {
        found_in(iops, engine, (actual, intended), &|_| {})
    }

    fn found_in(
        iops: f64,
        engine: &str,
        (actual, intended): (u64, u64),
        change: &dyn Fn(&mut JobReport),
    ) -> Vec<fiord_stat::finding::Finding> {
        let line = "--name=a --rw=randread --size=1m --filename=/dev/zero --rate_iops=1000";
        let job = &format!("{line} --ioengine={engine}");
        let summary = |p99| LatencySummary {
            n: 100,
            max: Nanos(p99 + 100_000_000),
            percentiles: vec![(99.0, Nanos(p99))],
            ..LatencySummary::default()
        };
        after(&CHECK, job, &|report| {
            let mut row = row(DirKind::Read, iops, 10);
            row.clat = summary(actual);
            report.dirs = vec![row];
            report.intended = vec![(DirKind::Read, summary(intended))];
            change(report);
        })
    }

    #[test]
    fn the_remedy_names_a_sufficient_depth() {
        let remedy = |engine| found(engine, 100_000, 900_000_000).remove(0).remedy;
        assert_eq!(remedy("sim"), "set iodepth=1000");
        assert_eq!(remedy("psync"), "set io_submit_mode=offload and iodepth=1000");
    }

    #[test]
    fn the_remedy_names_no_useless_depth() {
        let remedy = |iops, ns| found_at(iops, "sim", 100_000, ns).remove(0).remedy;
        assert_eq!(
            remedy(700.0, 900_000_000),
            "set rate_iops=630 and iodepth=71",
            "the rate is too high for the device"
        );
        assert_eq!(remedy(1000.0, 3_900_000_000), "set iodepth=4000");
        assert_eq!(remedy(1000.0, 4_900_000_000), "set rate_iops=819 and iodepth=4096");
    }

    #[test]
    fn a_generator_that_woke_late_is_not_blamed_on_the_device() {
        let what = |engine| found(engine, 100_000, 30_000_000).remove(0);
        let null = what("null");
        assert_eq!(null.what, "reads of job a started late because the load generator woke late");
        assert!(null.remedy.starts_with("set nice=-20"), "{null:?}");
        assert!(what("sim").what.contains(" were delayed, "), "{:?}", what("sim"));
        let late = |wake| {
            let found = found_in(1000.0, "sim", (100_000, 30_000_000), &|report| {
                report.delays.longest_wake = Nanos::from_millis(wake);
            });
            found[0].what.ends_with("the load generator woke late")
        };
        assert!(late(20) && !late(1));
    }

    #[test]
    fn reports_ten_times_the_latency_and_a_millisecond_more() {
        assert_eq!(reported(100_000, 900_000_000), 1);
        assert_eq!(reported(100_000, 150_000), 0);
        assert_eq!(reported(1_000, 100_000), 0);
    }
}
