//! `connection-per-request`: a server that closes the connection after each answer.

use fiord_job::option::table::object::HTTP_HOST;
use fiord_plan::HttpTls;
use fiord_stat::engine::{RequestCount, RequestSummary};
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::requests::each_with_requests;

/// The least requests for a verdict.
const ENOUGH: u64 = 20;

pub(crate) const CHECK: Check = Check {
    id: "connection-per-request",
    severity: Severity::Suspect,
    title: "a new connection for each request",
    about: "A client of an object server keeps its connections and sends one request after the other on them. If the \
            server, or a proxy before it, closes the connection after each answer, the next request waits for a new \
            one, and with `https` for a new TLS handshake. The latencies then contain the set-up of connections, \
            which an application that keeps connections does not pay.",
    detection: "At least half of the requests of a job (of at least 20) went over a connection that was made for them \
                during the run. Connections that were made before the run do not count.",
    effect: "One round trip without TLS, two or three with it, and the arithmetic of the handshake on both ends. 4 KiB \
             reads from nginx on loopback, one at a time on two busy cores: 359 requests per second on one connection, \
             204 with a connection for each; with TLS 238 and 14.",
    remedy: "let the server and the proxies keep connections (nginx: `keepalive_timeout` above 0 and a large \
             `keepalive_requests`), or accept the result as that of clients that do not keep connections.",
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
    let made = requests.get(RequestCount::Reconnects);
    if sent < ENOUGH || made < sent.div_ceil(2) {
        return None;
    }
    let mut said = SaidNumbers::default();
    let job = entry.jobs.first()?;
    let handshake = match job.engine.http().map(|http| &http.tls) {
        Some(HttpTls::Off) | None => "",
        Some(HttpTls::Insecure | HttpTls::Checked { .. }) => ", each with a TLS handshake",
    };
    let name = &job.identity.name;
    let finding = CHECK
        .for_job(job, format!("job {name} needed a new connection for most requests"))
        .evidence(format!(
            "{} requests on {} connections that were made during the run{handshake}: their set-up is in the latencies",
            said.count("requests", sent as f64),
            said.count("connections", made as f64)
        ))
        .numbers(said)
        .remedy("let the server keep connections (nginx: `keepalive_timeout`, `keepalive_requests`)")
        .option(HTTP_HOST);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    #[test]
    fn reports_jobs_that_connect_again_and_again() {
        let found = |options: &str, sent: u64, made: u64| {
            let job = "--name=a --ioengine=http --filename=/x --rw=read --size=1m";
            fixture::after(&CHECK, &format!("{job} {options}"), &|job| {
                let mut requests = RequestSummary::default();
                requests.set(RequestCount::Sent, sent);
                requests.set(RequestCount::Reconnects, made);
                job.engine.requests = Some(requests);
            })
        };
        let reported = found("--https=insecure", 100, 99);
        assert!(reported[0].evidence.contains("each with a TLS handshake"), "{reported:?}");
        assert!(!found("", 100, 50)[0].evidence.contains("TLS"));
        assert!(found("", 100, 49).is_empty() && found("", 10, 10).is_empty());
    }
}
