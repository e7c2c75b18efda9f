//! `reads-beyond-pointer`: reads of zones that may hold no data.

use fiord_plan::{Dir, JobPlan};
use fiord_stat::finding::Severity;

use crate::{Check, Findings, Lint};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "reads-beyond-pointer",
    severity: Severity::Suspect,
    title: "reads that may go beyond the write pointers of zones",
    about: "What lies behind the write pointer of a zone was never written. The device answers reads \
            of it without a look at its medium, so that they are faster than any read of data, and \
            the number is one of both.",
    seen: "A job that reads has `zonemode=zbd` and `read_beyond_wp=1`. It is silent without the \
           latter: then fiord reads what was written, and refuses to where nothing was.",
    effect: "Not measured here: no drive with zones was at hand.",
    mend: "Leave out `read_beyond_wp` and write the zones first.",
    lint: Some(lint),
    before: None,
    after: None,
};

fn lint(known: &Lint<'_>, findings: &mut Findings) {
    let first_of_section = known.plan.jobs.iter().filter(|job| job.identity.instance == 0);
    let beyond = |job: &&JobPlan| {
        job.load.mix.has(Dir::Read) && job.load.zoned.is_some_and(|zoned| zoned.read_beyond)
    };
    for job in first_of_section.filter(beyond) {
        let name = &job.identity.name;
        findings.tell(
            CHECK
                .of_job(job, format!("job {name} may read zones that hold no data"))
                .evidence("read_beyond_wp=1: the device answers such reads without its medium")
                .mend("zones that are written first, without read_beyond_wp"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::told_once;

    #[test]
    fn told_of_jobs_that_may_read_what_was_not_written() {
        let zones = "--size=4m --filename=f --zonemode=zbd --zonesize=1m --bs=64k";
        let found = told_once(
            &CHECK,
            &format!("{zones} --rw=randread --read_beyond_wp=1 --name=a"),
            &[
                &format!("{zones} --rw=randread --name=a"),
                &format!("{zones} --rw=write --read_beyond_wp=1 --name=a"),
            ],
        );
        assert!(found.what.contains("hold no data"), "{found:?}");
    }
}
