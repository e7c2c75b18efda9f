//! `rate-missed`: a rate that was asked for and not reached.

use fiord_job::option::table::{RATE, RATE_IOPS};
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_stat::report::DirReport;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::{count, percent};
use crate::evidence::direction::words;
use crate::evidence::rate::{MissedRate, missed};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "rate-missed",
    severity: Severity::Suspect,
    title: "the run reached less than 99 % of the rate that the job asks for",
    about: "A job with `rate` or `rate_iops` measures how the device behaves under a given load. \
            If the run does not reach that load, its latencies are those of a device that is \
            always busy: the queue in front of it grows for as long as the run lasts.",
    detection: "The rate of a direction is below 99 % of the sum of the rates of its jobs, by \
                more than the two I/Os that the start and the end of each job can cost, and with \
                `rate_process=poisson` by more than chance explains. The check is silent if \
                something else slows the job on purpose (`thinktime`, `flow`, `latency_target`).",
    effect: "On a simulated device with 10,000 IOPS at depth 1 (`sim_latency=constant:100us`), \
             `rate_iops=20000` reached 10,000. After 10 s, the 99th percentile of the latency \
             from the intended start was 4.9 s, while each I/O still took 100 us.",
    remedy: "set a rate that the device can reach, or allow more I/Os in flight (`iodepth`, \
             `numjobs`).",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries() {
        if !entry.report.failed && entry.jobs.iter().all(|job| only_rate(job)) {
            entry.report.dirs.iter().for_each(|row| findings.report_if(finding(&entry, row)));
        }
    }
}

/// Returns whether nothing but the rate slows the job.
fn only_rate(job: &JobPlan) -> bool {
    let pace = &job.pace;
    pace.think.is_none() && pace.flow.is_none() && pace.latency_target.is_none()
}

/// Returns the finding if a direction of a printed job did not reach its rate.
fn finding(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let MissedRate { achieved, target, ios } = missed(entry, row)?;
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let word = words(row.kind);
    let unit = if ios { "IOPS" } else { "bytes/s" };
    let finding = CHECK
        .for_job(
            job,
            format!("job {name} reached {} of its rate of {word}", percent(achieved / target)),
        )
        .evidence(format!("{} of {} {unit} asked for", count(achieved), count(target)))
        .remedy(format!(
            "set a rate below {}, or allow more I/Os in flight (iodepth, numjobs)",
            count(achieved)
        ))
        .option(if ios { RATE_IOPS.def() } else { RATE.def() });
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::DirKind;

    use super::*;
    use crate::tests::fixture::{after, row};

    fn reported(line: &str, iops: f64) -> usize {
        after(&CHECK, line, &|report| report.dirs = vec![row(DirKind::Read, iops, 10)]).len()
    }

    #[test]
    fn reports_rates_below_99_per_cent() {
        let job = "--name=a --ioengine=sim --rw=randread --size=1m --rate_iops=1000";
        assert_eq!(reported(job, 700.0), 1);
        assert_eq!(reported(job, 995.0), 0);
        assert_eq!(reported(&format!("{job} --thinktime=1ms"), 700.0), 0);
        assert_eq!(reported("--name=a --ioengine=sim --rw=randread --size=1m", 700.0), 0);
        // A deviation of 5 in 100 is normal for a Poisson process.
        let poisson = "--name=a --ioengine=sim --rw=randread --size=1m --rate_process=poisson";
        assert_eq!(reported(&format!("{poisson} --rate_iops=10"), 9.5), 0);
    }
}
