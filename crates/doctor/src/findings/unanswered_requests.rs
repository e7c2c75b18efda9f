//! `unanswered-requests`: requests that a server did not answer.

use fiord_job::option::table::remote::ENDPOINT_TIMEOUT;
use fiord_stat::engine::{RequestCount, RequestSummary};
use fiord_stat::finding::Severity;
use fiord_types::Nanos;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::requests::{each_with_requests, with_fate};

pub(crate) const CHECK: Check = Check {
    id: "unanswered-requests",
    severity: Severity::Suspect,
    title: "requests that a server did not answer",
    about: "A server that stops answering leaves as many requests open as the job has in flight. They are few \
            compared with the answered requests, so percentiles hardly show them, and their true latency is unknown. \
            fiord waits \
            for `endpoint_timeout`, also after the run time has ended, and gives the request up then with `ETIMEDOUT`. If \
            the user ends the run, it waits for one second.",
    detection: "At least one request was given up because it had no answer. The time that it waited is in the \
                latencies as a lower bound; IOPS and bandwidth do not count it.",
    effect: "A server that answered 3000 reads and then nothing (on the test's own server, `iodepth=8`): 8 reads waited \
             for `endpoint_timeout`. The 99.9th percentile of the answered reads was 5 ms.",
    remedy: "look for the cause in the log of the server and in the network. If the server may be silent for longer, set \
             a longer `endpoint_timeout`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    each_with_requests(known, findings, finding);
}

fn finding(entry: &Entry<'_>, requests: &RequestSummary) -> Option<FindingBuilder> {
    let what = |job: &str| format!("the server did not answer requests of job {job}");
    let longest = entry.report.dirs.iter().map(|row| row.clat.max.max(row.lat.max)).max();
    let fate = |said: &mut SaidNumbers| {
        let longest = longest.filter(|longest| *longest > Nanos::ZERO);
        let waited = longest.map_or_else(String::new, |longest| {
            format!("; the longest wait was {}", said.time("longest_wait", longest.as_f64()))
        });
        format!("had no answer when fiord gave them up{waited}")
    };
    let finding = with_fate(&CHECK, entry, requests, RequestCount::Unanswered, what, fate)?;
    let remedy =
        "check the log of the server and the network; a longer endpoint_timeout waits longer";
    Some(finding.remedy(remedy).option(ENDPOINT_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn reports_requests_without_an_answer() {
        let found = |unanswered: u64| {
            let job = "--name=a --ioengine=http --filename=/x --rw=read --size=1m";
            fixture::after(&CHECK, job, &|job| {
                let mut requests = RequestSummary::default();
                requests.set(RequestCount::Sent, 3008);
                requests.set(RequestCount::Unanswered, unanswered);
                job.engine.requests = Some(requests);
            })
        };
        assert!(found(8)[0].evidence.starts_with("8 of 3.0k requests"), "{:?}", found(8));
        assert!(found(0).is_empty());
    }
}
