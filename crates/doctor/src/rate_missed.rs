//! `rate-missed`: a rate that was asked for and not reached.

use fiord_plan::{JobPlan, Rate, RateProcess};
use fiord_stat::finding::Severity;
use fiord_stat::report::DirReport;

use crate::amount::{count, percent};
use crate::check::Entry;
use crate::direction::{dir, words};
use crate::{After, Check, FindingBuilder, Findings};

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
};

fn after(known: &After<'_>, findings: &mut Findings) {
    for entry in known.entries() {
        if !entry.report.failed && entry.jobs.iter().all(|job| only_rate(job)) {
            entry.report.dirs.iter().for_each(|row| findings.report_if(finding(&entry, row)));
        }
    }
}

/// Returns whether nothing but the rate slows the job.
fn only_rate(job: &JobPlan) -> bool {
    let pace = &job.pace;
    pace.think.is_none() && pace.flow.is_none() && pace.goal.is_none()
}

/// Returns the finding if a direction of a printed job did not reach its rate.
pub(crate) fn finding(entry: &Entry<'_>, row: &DirReport) -> Option<FindingBuilder> {
    let dir = dir(row.kind)? as usize;
    let rates: Option<Vec<Rate>> = entry.jobs.iter().map(|job| job.pace.rate[dir]).collect();
    let rates = rates?;
    let ios = matches!(rates[0], Rate::Ios(_));
    let target = rates.iter().try_fold(0u64, |sum, rate| match (rate, ios) {
        (Rate::Ios(n), true) | (Rate::Bytes(n), false) => Some(sum + n),
        _ => None,
    })?;
    let achieved = if ios { row.iops } else { row.bw_bytes as f64 };
    let block = row.io_bytes as f64 / row.total_ios.max(1) as f64;
    let per_io = if ios { 1.0 } else { block.max(1.0) };
    let seconds = row.runtime_ms as f64 / 1000.0;
    let wanted = target as f64 * seconds / per_io;
    let missing = wanted - row.total_ios as f64;
    let poisson = entry.jobs.iter().any(|job| job.pace.process == RateProcess::Poisson);
    let chance = if poisson { 3.0 * wanted.sqrt() } else { 0.0 };
    let ends = 2.0 * entry.jobs.len() as f64;
    if achieved >= target as f64 * 0.99 || missing <= ends + chance {
        return None;
    }
    let (job, name) = (entry.jobs[0], &entry.report.name);
    let word = words(row.kind);
    let unit = if ios { "IOPS" } else { "bytes/s" };
    let finding = CHECK
        .for_job(
            job,
            format!(
                "job {name} reached {} of its rate of {word}",
                percent(achieved / target as f64)
            ),
        )
        .evidence(format!("{} of {} {unit} asked for", count(achieved), count(target as f64)))
        .remedy(format!(
            "set a rate below {}, or allow more I/Os in flight (iodepth, numjobs)",
            count(achieved)
        ))
        .option(if ios { "rate_iops" } else { "rate" });
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::DirKind;

    use super::*;
    use crate::fixture::{after, row};

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
