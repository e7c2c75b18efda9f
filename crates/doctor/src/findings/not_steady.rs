//! `not-steady`: the result was still changing when the run ended.

use fiord_job::option::table::RUNTIME;
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_stat::samples::Samples;
use fiord_stat::steady::fit;
use fiord_types::{Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::device_queue::asked;

/// Number of rounds that the check compares.
const ROUNDS: usize = 5;
/// Limits for the range and the slope, as shares of the mean (SNIA performance test specification).
const RANGE: f64 = 0.2;
const SLOPE: f64 = 0.1;
/// Minimum length of a run. `too-short` covers shorter ones.
const MIN_RUN: Nanos = Nanos::from_secs(3);
/// Standard deviations by which the largest and the smallest of five rounds may differ by chance.
const CHANCE: f64 = 5.0;

pub(crate) const CHECK: Check = Check {
    id: "not-steady",
    severity: Severity::Suspect,
    title: "the result was still changing when the run ended",
    about: "A flash drive that is new or was idle writes into a cache, and slows down to a \
            fraction of that rate when the cache is full; caches warm up; CPUs grow hot. The mean \
            of a run that is still changing is not a property of the device: a longer run has \
            another mean.",
    detection: "fiord divides the second half of the time in which all instances of a job ran into five rounds \
                and applies the criteria of the SNIA performance test specification to their IOPS: their range \
                must not exceed 20 % of their mean, and their least-squares line must change by \
                less than 10 % of it. The I/Os are those that the workers counted at the end of each window \
                (`fiord.samples`). Differences that chance explains do not count: those of random arrivals, and \
                the I/Os in flight at the ends of a round. The check is silent for runs shorter than 3 s, with a rate \
                or a think time, for replays, for jobs that read their writes back (`verify`) or lay out their files for each pass \
                (`unlink_each_loop`), and with `steadystate`, which has its own criterion.",
    effect: "A simulated device that stops for 700 ms in the last second of 4 s \
             (`sim_latency=constant:1ms`, `sim_stall=3s:700ms`, `sim_real_time=1`): the last five \
             rounds had 685, 848, 488, 0 and 498 IOPS.",
    remedy: "set `steadystate=pts` (or `ss=iops:5%`), which runs until the result is steady; set \
             `ramp_time` to exclude the start; or write the drive in full first.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries().iter().filter(|entry| !entry.report.failed) {
        if entry.report.steady_state.is_some() || !entry.jobs.iter().all(|job| free(job)) {
            continue;
        }
        let courses = &known.report.courses;
        let of = |job: &&JobPlan| courses.get(job.identity.index.get()).filter(|c| !c.is_empty());
        let courses: Vec<&Samples> = entry.jobs.iter().filter_map(of).collect();
        if courses.len() == entry.jobs.len() {
            let depth = entry.jobs.iter().map(|job| asked(job)).sum();
            findings
                .report_if(together(&courses).and_then(|rounds| finding(entry, &rounds, depth)));
        }
    }
}

/// Returns whether only the device decides the job's rate, in one phase.
fn free(job: &JobPlan) -> bool {
    let reads_back = job.verify.as_ref().is_some_and(|verify| verify.pass.reads_back());
    // Between passes, the job lays its files out again.
    let pauses = job.target.unlink_each_loop && job.end.loops > 1;
    job.pace.is_free() && job.replay.is_none() && !reads_back && !pauses
}

/// The I/Os of concurrent jobs in equal rounds.
#[derive(Debug)]
struct Rounds {
    ios: Vec<f64>,
    length: Nanos,
}

/// Returns the I/Os of jobs in each round of the time in which all of them ran; `None` if that is too short.
fn together(courses: &[&Samples]) -> Option<Rounds> {
    let from = courses.iter().map(|course| course.measured()).max()?;
    let to = courses.iter().map(|course| course.end()).min()?;
    if to.saturating_sub(from) < MIN_RUN {
        return None;
    }
    let mut all = Samples::default();
    courses.iter().for_each(|course| all.merge(course));
    // Windows that are only partly within that time do not count.
    let whole = all
        .spans()
        .enumerate()
        .filter(|(_, (a, b))| *a >= from && *b <= to && b.saturating_sub(*a) == all.window());
    let ios = |at: usize| {
        let dirs = Dir::ALL.into_iter().filter_map(|dir| all.dir(dir).get(at));
        dirs.map(|window| window.ios()).sum::<u64>() as f64
    };
    let windows: Vec<f64> = whole.map(|(at, _)| ios(at)).collect();
    let half = &windows[windows.len() / 2..];
    let each = half.len() / ROUNDS;
    if each == 0 {
        return None;
    }
    let rounds = half[half.len() - each * ROUNDS..].chunks(each);
    let ios = rounds.map(|round| round.iter().sum()).collect();
    Some(Rounds { ios, length: all.window().saturating_mul(each as u64) })
}

/// `depth`: I/Os that the jobs have in flight.
fn finding(entry: &Entry<'_>, rounds: &Rounds, depth: f64) -> Option<FindingBuilder> {
    let Rounds { ios, length } = rounds;
    let mean = fit::mean(ios);
    if mean <= 0.0 {
        return None;
    }
    let range = fit::range(ios) / mean;
    let moved = (fit::slope(ios) * (ROUNDS - 1) as f64).abs() / mean;
    // Of the I/Os in flight at either end of a round, all or none may belong to it.
    let chance = (CHANCE * mean.sqrt() + 2.0 * depth) / mean;
    if range <= RANGE + chance && moved <= SLOPE + chance {
        return None;
    }
    let mut said = SaidNumbers::default();
    let iops = |ios: &f64| said.count("round_iops", (ios / length.as_secs_f64()).round());
    let list: Vec<String> = ios.iter().map(iops).collect();
    let what = format!(
        "{} had not settled: the IOPS ranged over {} of their mean",
        entry.subject(),
        said.percent("range", range)
    );
    let finding = CHECK
        .for_entry(entry, what)
        .evidence(format!(
            "the last five rounds: {} IOPS, with a slope of {}",
            list.join(", "),
            said.percent("slope", moved)
        ))
        .numbers(said)
        .remedy(match entry.jobs[0].end.ramp_time > Nanos::ZERO {
            true => "set steadystate=pts, a longer runtime, or a longer ramp_time",
            false => "set steadystate=pts, a longer runtime, or ramp_time to exclude the start",
        })
        .option(RUNTIME);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};
    use fiord_stat::samples::{MIN_WINDOW, SampleLatencies, WindowSample};
    use fiord_types::{Bytes, PerDir};

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan};

    /// A job with these I/Os in each eighth of a second from `begin` on.
    fn course(begin: Nanos, ios: &[u64]) -> Samples {
        let window = |ios: &u64| WindowSample::new(*ios, Bytes(*ios), SampleLatencies::default());
        let mut dirs = PerDir::<Vec<WindowSample>>::default();
        dirs[Dir::Read] = ios.iter().map(window).collect();
        let eighth = MIN_WINDOW * 4;
        Samples::new(begin, begin, begin + eighth * ios.len() as u64, eighth, dirs)
    }

    fn reported(ios: Vec<u64>, line: &str) -> usize {
        found(ios, line).len()
    }

    fn found(ios: Vec<u64>, line: &str) -> Vec<fiord_stat::finding::Finding> {
        let (plan, _) = plan(&format!("--name=a --ioengine=null --rw=read --size=1g {line}"));
        let machine = Machine::default();
        let jobs = vec![JobReport { members: 1, ..JobReport::default() }];
        let mut report = Report { jobs, ..Report::default() };
        report.courses = vec![course(Nanos::ZERO, &ios)];
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        found_after(&CHECK, &known)
    }

    #[test]
    fn a_job_with_a_ramp_time_needs_a_longer_one() {
        let falling = || (0..40).map(|i| 1000 - 10 * i).collect();
        assert!(found(falling(), "")[0].remedy.ends_with("or ramp_time to exclude the start"));
        let ramped = found(falling(), "--ramp_time=2");
        assert!(ramped[0].remedy.ends_with("or a longer ramp_time"), "{ramped:?}");
    }

    #[test]
    fn reports_range_and_slope_in_the_second_half() {
        let mut late = vec![100; 40];
        late[35..].fill(10);
        assert_eq!(reported(late, ""), 1);
        assert_eq!(reported(vec![100; 40], ""), 0);
        let mut early = vec![100; 40];
        early[..15].fill(900);
        assert_eq!(reported(early, ""), 0);
        let falling = (0..40).map(|i| 1000 - 10 * i).collect();
        assert_eq!(reported(falling, ""), 1);
        assert_eq!(reported(vec![100, 1, 100, 1, 100, 1, 9, 9, 9, 1], ""), 0, "too short");
        let mut late = vec![100; 40];
        late[35..].fill(10);
        assert_eq!(reported(late.clone(), "--rate_iops=100"), 0);
        let traced = "--verify=crc32c --rw=write";
        assert_eq!(reported(late, traced), 0, "the verify pass has another rate");
    }

    #[test]
    fn chance_is_no_change() {
        let few = |scale: u64| {
            let ios = [10, 12, 9, 11, 8, 13, 10, 7, 12, 9].map(|ios| ios * scale);
            reported(ios.iter().cycle().take(40).copied().collect(), "")
        };
        assert_eq!(few(1), 0);
        let mut stops: Vec<u64> = vec![64, 0, 0];
        stops = stops.iter().cycle().take(42).copied().collect();
        assert_eq!(reported(stops.clone(), "--iodepth=64 --ioengine=sim"), 0, "all end together");
    }

    #[test]
    fn only_the_time_in_which_all_jobs_ran_counts() {
        let rounds = |courses: &[Samples]| {
            let all: Vec<&Samples> = courses.iter().collect();
            together(&all).map(|rounds| rounds.ios)
        };
        let first = course(Nanos::ZERO, &[100; 40]);
        let second = course(Nanos::from_secs(5), &[100; 40]);
        assert_eq!(rounds(&[first.clone(), second]), None, "one after the other");
        let later = course(Nanos::from_secs(1), &[100; 40]);
        assert_eq!(rounds(&[first, later]), Some(vec![600.0; 5]));
    }
}
