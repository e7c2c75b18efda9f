//! `replay-late`: a replay that did not follow its trace.

use fiord_job::option::engine::QUEUEING_ENGINE;
use fiord_job::option::table::{IODEPTH, IOENGINE, READ_IOLOG};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_stat::replay::{ReplayCount, ReplaySummary};
use fiord_types::{Nanos, plural};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::{SaidNumbers, count};
use crate::evidence::setting::{listed, set};

/// The finding is reported above this lateness.
const LATE: Nanos = Nanos::from_millis(1);
/// With fewer I/Os, half of them must be late: one I/O can be late by chance.
const MANY: u64 = 100;

pub(crate) const CHECK: Check = Check {
    id: "replay-late",
    severity: Severity::Suspect,
    title: "I/Os of a trace were issued later than recorded",
    about: "A replay (`read_iolog`) issues each I/O at its recorded time. If the device is slower than the \
            recorded one, or if `iodepth` permits fewer I/Os in flight than the trace had, I/Os wait for \
            others and are issued late. The result then shows a different load from the recorded one: \
            its bursts are flatter, and latencies do not contain the time that I/Os waited before their \
            issue.",
    detection: "1 % of the I/Os were issued more than 1 ms after their recorded time; of fewer than 100 I/Os, \
                half of them. The finding names the cause that fiord sees: all slots in use, the thread that \
                reads the trace, or CPUs that were busy. It is silent with `replay_no_stall`, and for a job \
                that pauses on purpose (`thinktime`).",
    effect: "A log of 10,000 reads in bursts of 8 every millisecond, replayed on a simulated device of 200 us \
             per I/O (`--ioengine=sim --sim_latency=constant:200us`): with `iodepth=8` no I/O was late. With \
             `iodepth=1` the replay took 2.0 s instead of 1.25 s, and half of the I/Os were more than 375 ms \
             late, while each one still took 200 us.",
    remedy: "set `iodepth` to the depth of the trace, with an engine that queues I/Os (`ioengine=io_uring`), or \
             use a device that is as fast as the recorded one; to measure only how fast the I/Os can be done, \
             set `replay_no_stall=1`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        let pauses = |job: &&JobPlan| job.pace.think.is_some();
        if let Some(replay) = &entry.report.replay
            && !entry.jobs.iter().any(pauses)
        {
            findings.report_if(finding(&entry, replay));
        }
    }
}

/// Returns the finding if the I/Os of a printed job were late.
fn finding(entry: &Entry<'_>, replay: &ReplaySummary) -> Option<FindingBuilder> {
    let issued = replay.counts.get(ReplayCount::Issued);
    let share = if issued < MANY { 50.0 } else { 99.0 };
    let latest = replay.lateness.as_ref()?.max;
    let late = replay.percentile(share)?;
    if late <= LATE {
        return None;
    }
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let median = replay.percentile(50.0).unwrap_or_default();
    let mut said = SaidNumbers::default();
    let mut time = |name: &str, time: Nanos| said.time(name, time.as_f64());
    let what = format!(
        "job {name} did not follow its trace: {:.0} % of its I/Os were {} late",
        100.0 - share,
        time("late", late)
    );
    let [median, max] = [time("median_late", median), time("max_late", latest)];
    let [took, recorded] = [time("took", replay.took), time("recorded", replay.recorded)];
    let mut evidence = format!(
        "half of {} I/Os were more than {median} late, the latest one {max}; the replay took {took} instead of \
         {recorded}",
        said.count("ios", issued as f64),
    );
    let (why, remedy) = cause(job, replay, issued);
    evidence.push_str(&why);
    let finding = CHECK.for_job(job, what).evidence(evidence).remedy(remedy);
    Some(finding.numbers(said).option(match job.depth.depth {
        1 => IODEPTH.def(),
        _ => READ_IOLOG.def(),
    }))
}

/// Why the I/Os were late, and what helps.
fn cause(job: &JobPlan, replay: &ReplaySummary, issued: u64) -> (String, String) {
    let of = |which| replay.counts.get(which);
    let (depth, blocked) = (of(ReplayCount::Depth), of(ReplayCount::Blocked));
    let deepest =
        replay.trace_depth.map_or(String::new(), |depth| format!(", and {depth} in the trace"));
    if blocked * 4 > issued {
        let why = format!("; {} waited for one of {depth} slots{deepest}", count(blocked as f64));
        let wanted = replay.trace_depth.map_or(depth * 4, u64::from).max(depth * 2);
        let synchronous = job.engine.def().is_synchronous();
        let mut settings = Vec::from_iter(synchronous.then(|| set(IOENGINE, QUEUEING_ENGINE)));
        settings.push(set(IODEPTH, wanted));
        let slow = "; if that does not help, the device is slower than the recorded one";
        // The device may be slower, so the finding does not promise that these options help.
        return (why, format!("set {}{slow}", listed(&settings)));
    }
    if of(ReplayCount::Starved) * 100 > issued {
        let why = format!(
            "; {} time{} the job waited for the thread that reads the trace",
            count(of(ReplayCount::Starved) as f64),
            plural(of(ReplayCount::Starved))
        );
        return (why, "store the trace on a faster disk, or in memory".into());
    }
    let why = format!("; {depth} were in flight{deepest}, and slots were free");
    let idle = "replay on a machine whose CPUs are idle, or set replay_time_scale below 100";
    (why, idle.into())
}

#[cfg(test)]
mod tests {
    use fiord_stat::replay::{Lateness, ReplayCounts};

    use super::*;
    use crate::tests::fixture::after;

    fn reported(line: &str, late_us: u64, issued: u64) -> usize {
        after(&CHECK, line, &|report| {
            let late = Nanos(late_us * 1000);
            let mut counts = ReplayCounts::default();
            counts.add(ReplayCount::Issued, issued);
            let percentiles = vec![(50.0, Nanos::ZERO), (99.0, late)];
            report.replay = Some(ReplaySummary {
                timed: true,
                lateness: Some(Lateness { max: late, percentiles, ..Lateness::default() }),
                counts,
                ..ReplaySummary::default()
            });
        })
        .len()
    }

    #[test]
    fn reports_ios_that_are_late_by_more_than_a_millisecond() {
        let job = "--name=a --ioengine=sim --size=1m";
        assert_eq!(reported(job, 1500, 1000), 1);
        assert_eq!(reported(job, 900, 1000), 0);
        assert_eq!(reported(job, 1500, 10), 0);
        assert_eq!(reported(&format!("{job} --thinktime=1ms"), 1500, 1000), 0);
    }
}
