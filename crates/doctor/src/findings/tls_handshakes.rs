//! `tls-handshakes`: TLS handshakes in the latencies of a job.

use fiord_job::option::table::object::HTTPS;
use fiord_stat::engine::{RequestCount, RequestSummary};
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::requests::{each_with_requests, with_fate};

/// The least requests, and the least handshakes, for a verdict.
const ENOUGH: u64 = 100;
const SEVERAL: u64 = 3;

/// One handshake in this many requests is enough to be the 99th percentile.
const SHARE: u64 = 100;

pub(crate) const CHECK: Check = Check {
    id: "tls-handshakes",
    severity: Severity::Note,
    title: "TLS handshakes in the latencies",
    about: "An object server, or a proxy before it, may close a connection after some number of requests (nginx: \
            `keepalive_requests`, 1000 by default) or some time. With `https`, the next request then waits for a new \
            connection and a TLS handshake. If this happens to one request in a hundred, the 99th percentile and \
            those above it are times of handshakes, not of the storage.",
    detection: "At least 1 % of the requests of a job (of at least 100), but less than half, waited for a TLS handshake \
                during the run. fiord counts the handshakes and measures their time. Handshakes before the run do not \
                count. From half of the requests on, `connection-per-request` reports it.",
    effect: "A handshake adds one or two round trips, and the arithmetic on both ends. The example of \
             `connection-per-request` had 4 ms for each read without handshakes and 71 ms with one for each.",
    remedy: "let the server and the proxies keep connections for longer (nginx: a large `keepalive_requests` and \
             `keepalive_timeout`), or read the high percentiles as those of handshakes.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    each_with_requests(known, findings, finding);
}

fn finding(entry: &Entry<'_>, requests: &RequestSummary) -> Option<FindingBuilder> {
    let sent = requests.get(RequestCount::Sent);
    let made = requests.get(RequestCount::Handshakes);
    let many = made >= SEVERAL && made >= sent.div_ceil(SHARE);
    if sent < ENOUGH || !many || requests.get(RequestCount::Reconnects) >= sent.div_ceil(2) {
        return None;
    }
    let mean = requests.get(RequestCount::HandshakeNanos) as f64 / made as f64;
    let what = |job: &str| format!("latencies of job {job} contain TLS handshakes");
    let fate = |said: &mut SaidNumbers| {
        let mean = said.time("mean_handshake", mean);
        format!("waited for a TLS handshake, which took {mean} on average")
    };
    let finding = with_fate(&CHECK, entry, requests, RequestCount::Handshakes, what, fate)?;
    let remedy = "let the server keep connections for longer (nginx: `keepalive_requests`, \
                  `keepalive_timeout`)";
    Some(finding.remedy(remedy).option(HTTPS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn reports_handshakes_that_percentiles_show() {
        let found = |sent: u64, handshakes: u64, made: u64| {
            let job = "--name=a --ioengine=http --https=insecure --filename=/x --rw=read --size=1m";
            fixture::after(&CHECK, job, &|job| {
                let mut requests = RequestSummary::default();
                requests.set(RequestCount::Sent, sent);
                requests.set(RequestCount::Reconnects, made);
                requests.set(RequestCount::Handshakes, handshakes);
                requests.set(RequestCount::HandshakeNanos, handshakes * 25_000_000);
                job.engine.requests = Some(requests);
            })
        };
        let evidence =
            "10 of 1.0k requests waited for a TLS handshake, which took 25 ms on average";
        assert_eq!(found(1000, 10, 10)[0].evidence, evidence);
        assert!(found(1000, 9, 9).is_empty() && found(100, 2, 2).is_empty());
        assert!(found(50, 10, 10).is_empty() && found(1000, 990, 990).is_empty());
    }
}
