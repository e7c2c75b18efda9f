//! `slow-name-lookup`: a name server that is slow or does not answer.

use fiord_job::option::table::object::HTTP_HOST;
use fiord_stat::engine::RequestSummary;
use fiord_stat::finding::Severity;
use fiord_types::Nanos;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::requests::each_with_requests;

/// The shortest look-up that is reported.
const SLOW: Nanos = Nanos(1_000_000_000);

pub(crate) const CHECK: Check = Check {
    id: "slow-name-lookup",
    severity: Severity::Note,
    title: "a slow look-up of the server's name",
    about: "fiord looks up the names of the servers of a job once, before its first request, so the latencies of a job \
            contain no look-up. Applications that look up the name for each connection wait for the name server each \
            time. The usual cause of a wait of whole seconds is a name server in `/etc/resolv.conf` that does not \
            answer, so that the next one is asked after a timeout.",
    detection: "The look-up of a server's name for `ioengine=http` took at least one second.",
    effect: "The job begins later. With a first name server that does not answer and a second one that does, each \
             look-up of a name took 5.0 s (glibc's default timeout).",
    remedy: "repair or remove the name server that does not answer, or write the address of the server as `http_host`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    each_with_requests(known, findings, finding);
}

fn finding(entry: &Entry<'_>, requests: &RequestSummary) -> Option<FindingBuilder> {
    let job = entry.jobs.first().filter(|_| requests.lookup >= SLOW)?;
    let name = &job.identity.name;
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_job(job, format!("job {name} waited long for the look-up of a server's name"))
        .evidence(format!(
            "it took {} before the run; no latency contains it",
            said.time("lookup", requests.lookup.as_f64())
        ))
        .numbers(said)
        .remedy("check the name servers in `/etc/resolv.conf`, or write the address as http_host")
        .option(HTTP_HOST);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::engine::RequestCounts;

    use super::*;
    use crate::tests::fixture;

    #[test]
    fn reports_look_ups_of_whole_seconds() {
        let found = |millis: u64| {
            let job = "--name=a --ioengine=http --filename=/x --rw=read --size=1m";
            fixture::after(&CHECK, job, &|job| {
                let mut counts = RequestCounts::default();
                counts.looked_up(Nanos(millis * 1_000_000));
                job.engine.requests = Some(RequestSummary::of(&counts));
            })
        };
        assert!(found(5004)[0].evidence.starts_with("it took 5.0 s before the run"));
        assert!(found(999).is_empty());
    }
}
