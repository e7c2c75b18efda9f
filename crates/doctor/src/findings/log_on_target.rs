//! `log-on-target`: a log is on the disk that the job measures.

use fiord_job::option::table::WRITE_LAT_LOG;
use fiord_stat::finding::Severity;

use crate::check::{Before, Check, CollectedFindings};

pub(crate) const CHECK: Check = Check {
    id: "log-on-target",
    severity: Severity::Suspect,
    title: "a log is on the disk that the job measures",
    about: "The rows of a log are written during the run. If they go to the disk that the job \
            measures, the disk does the I/O of the job and that of the log, and the result contains \
            both.",
    detection: "A log of the job is on a file system on the disk of one of its files, or on the disk \
                that the job uses. Files on a tmpfs and targets without storage are left out. If the \
                log has a row for each window and not for each I/O (`log_avg_msec`), the finding is \
                a note.",
    effect: "A row has about 20 bytes. At 100,000 IOPS, the three logs of `write_lat_log` write 6 MB/s \
             to the disk.",
    remedy: "write the log to another disk or to a tmpfs: `write_lat_log=/dev/shm/run1`, or log \
             windows (`log_avg_msec=1000`).",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for place in &known.machine.logs {
        let Some(job) = known.plan.jobs.get(place.job.get()) else { continue };
        if job.identity.instance > 0 {
            continue;
        }
        let single = job.log.as_ref().is_some_and(|log| log.has_single_ios());
        let name = &job.identity.name;
        let what = format!("job {name} writes its log to the disk that it measures");
        let evidence = format!(
            "{} and {} are on {}",
            place.log.display(),
            place.target.display(),
            place.disk.display()
        );
        findings.report(
            CHECK
                .for_job(job, what)
                .evidence(evidence)
                .remedy("write the log to another disk, or to a tmpfs such as /dev/shm")
                .at_most(if single { Severity::Suspect } else { Severity::Note })
                .option(WRITE_LAT_LOG),
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Finding;
    use fiord_types::JobIndex;

    use super::*;
    use crate::machine::{LogOnTarget, Machine};
    use crate::tests::fixture::plan;

    fn reported(options: &str, logs: Vec<LogOnTarget>) -> Vec<Finding> {
        let (plan, _) =
            plan(&format!("--name=a --ioengine=null --size=1m --write_lat_log=x {options}"));
        let machine = Machine { logs, ..Machine::default() };
        let mut findings = CollectedFindings::default();
        before(&Before { plan: &plan, machine: &machine }, &mut findings);
        findings.findings().cloned().collect()
    }

    #[test]
    fn reports_each_job_once() {
        let place = LogOnTarget {
            job: JobIndex(0),
            log: "x_lat.1.log".into(),
            target: "data".into(),
            disk: "/sys/block/sda".into(),
        };
        assert_eq!(reported("", vec![]), []);
        let found = reported("", vec![place.clone()]);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Suspect));
        assert!(found[0].evidence.contains("x_lat.1.log and data"), "{found:?}");
        let windows = reported("--log_avg_msec=100", vec![place]);
        assert_eq!(windows[0].severity, Severity::Note);
    }
}
