//! `server-throttling`: a server that asks the client to slow down.

use fiord_job::option::table::IODEPTH;
use fiord_stat::engine::{RequestCount, RequestSummary};
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::requests::{each_with_requests, with_fate};

pub(crate) const CHECK: Check = Check {
    id: "server-throttling",
    severity: Severity::Suspect,
    title: "a server that asks for fewer requests",
    about: "An object server answers 429 (too many requests) or 503 (slow down) if a client sends more requests than \
            it permits or can serve. Services limit the requests of a bucket, a prefix or an account. The result of such \
            a job describes the limit, not what the storage behind it can do, and the refusals are quick, so that they \
            make mean latencies look better.",
    detection: "At least one request of the job was answered with 429 or 503, or with a code of S3 that means the same. \
                Without `continue_on_error` and `http_retries`, the first such answer ends the job.",
    effect: "The job gets what the server permits. With a server that answers every second request with 503, half of \
             the I/Os of a job with `continue_on_error=io` fail (counted on the test's own server).",
    remedy: "send fewer requests (`iodepth`, `numjobs`, `rate_iops`), or raise the limit of the server.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    each_with_requests(known, findings, finding);
}

fn finding(entry: &Entry<'_>, requests: &RequestSummary) -> Option<FindingBuilder> {
    let what = |job: &str| format!("the server asked job {job} to slow down");
    let fate = |_: &mut SaidNumbers| "were answered with 429 or 503".to_owned();
    let finding = with_fate(&CHECK, entry, requests, RequestCount::Throttled, what, fate)?;
    let remedy = "set a smaller iodepth, numjobs or rate_iops, or raise the limit of the server";
    Some(finding.remedy(remedy).option(IODEPTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn reports_refusals_for_too_many_requests() {
        let found = |refused: u64| {
            let job = "--name=a --ioengine=http --filename=/x --rw=read --size=1m";
            fixture::after(&CHECK, job, &|job| {
                let mut requests = RequestSummary::default();
                requests.set(RequestCount::Sent, 100);
                requests.set(RequestCount::Throttled, refused);
                job.engine.requests = Some(requests);
            })
        };
        assert!(found(7)[0].evidence.starts_with("7 of 100 requests"));
        assert!(found(0).is_empty());
    }
}
