//! `reads-beyond-pointer`: reads of zones that may hold no data.

use fiord_job::option::table::READ_BEYOND_WP;
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::machine::zones::{Written, reads_beyond};

pub(crate) const CHECK: Check = Check {
    id: "reads-beyond-pointer",
    severity: Severity::Suspect,
    title: "reads that may go beyond the write pointers of zones",
    about: "The space beyond the write pointer of a zone was never written. The device answers \
            reads of it without accessing its medium, so they are faster than reads of data, and \
            the result mixes both.",
    detection: "A job that reads has `zonemode=zbd` and `read_beyond_wp=1`, and the device \
                reports that zones in the range of the job are not full (fiord asks for at most \
                4096 zones; without a report, the finding has no numbers). The check is silent \
                without `read_beyond_wp`: fiord then reads only data that was written.",
    effect: "Not measured: no zoned drive was available.",
    remedy: "leave out `read_beyond_wp`, and write the zones first.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| reads_beyond(job)) {
        let mut zones = Written::default();
        let mut all = true;
        for file in &job.target.files {
            let state = known.machine.zones.iter().find(|(path, _)| *path == file.path);
            // The state of emulated zones is not known before the run.
            match state.and_then(|(_, state)| findings.available(&CHECK, state)) {
                Some(more) => zones = zones.with(more),
                None => all = false,
            }
        }
        if !all || zones.partly > 0 {
            findings.report(builder(job, &zones));
        }
    }
}

fn builder(job: &JobPlan, zones: &Written) -> FindingBuilder {
    let Written { partly, capacity, bytes: written, .. } = *zones;
    let mut said = SaidNumbers::default();
    let amount = match zones.partly {
        0 => "".into(),
        _ => format!(
            " {} of {} zones are not full, and hold {} of {};",
            said.exact("zones_not_full", partly),
            said.exact("zones", zones.zones),
            said.bytes("written", written),
            said.bytes("capacity", capacity)
        ),
    };
    CHECK
        .for_job(job, format!("job {} may read zones that hold no data", job.identity.name))
        .evidence(format!(
            "read_beyond_wp=1:{amount} the device answers such reads without accessing its medium"
        ))
        .numbers(said)
        .remedy("write the zones first, and leave out read_beyond_wp")
        .option(READ_BEYOND_WP)
}

#[cfg(test)]
mod tests {
    use fiord_sys::zone::{State, Zone, ZoneType};

    use fiord_types::Bytes;

    use super::*;
    use crate::machine::{Machine, Unavailable};
    use crate::tests::fixture::{found_before, plan};

    fn found(line: &str, zones: Option<Written>) -> Vec<String> {
        let job = "--size=4m --filename=f --zonemode=zbd --zonesize=1m --bs=64k --name=a";
        let (plan, _) = plan(&format!("{job} {line}"));
        let mut machine = Machine::survey(&plan);
        let state = zones.ok_or(Unavailable("needs root".into()));
        machine.zones = vec![(plan.jobs[0].target.files[0].path.clone(), state)];
        let found = found_before(&CHECK, &Before { plan: &plan, machine: &machine });
        found.into_iter().map(|finding| finding.evidence).collect()
    }

    #[test]
    fn reports_jobs_that_may_read_unwritten_space() {
        let beyond = "--rw=randread --read_beyond_wp=1";
        let zone = |written: u64| Zone {
            start: Bytes(1 << 20),
            len: Bytes(1 << 20),
            capacity: Bytes(1 << 20),
            write_pointer: Bytes((1 << 20) + written),
            kind: ZoneType::SequentialRequired,
            state: State::Empty,
        };
        let zones = |written: &[u64]| {
            Some(written.iter().fold(Written::default(), |all, bytes| all.add(&zone(*bytes))))
        };
        assert_eq!(
            found(beyond, zones(&[0, 512 << 10, 1 << 20])),
            [
                "read_beyond_wp=1: 2 of 3 zones are not full, and hold 1.5 MiB of 3.0 MiB; the device \
              answers such reads without accessing its medium"
            ]
        );
        assert!(found(beyond, zones(&[1 << 20])).is_empty(), "all is written");
        assert_eq!(found(beyond, None).len(), 1, "it is not known");
        assert!(found("--rw=randread", zones(&[0])).is_empty());
        assert!(found("--rw=write --read_beyond_wp=1", zones(&[0])).is_empty());
    }
}
