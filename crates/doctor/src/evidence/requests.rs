//! The requests of jobs to object servers.

use fiord_stat::engine::{RequestCount, RequestSummary};

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

/// Reports what `finding` says about each printed job that sent requests.
pub(crate) fn each_with_requests(
    known: &After<'_>,
    findings: &mut CollectedFindings,
    finding: fn(&Entry<'_>, &RequestSummary) -> Option<FindingBuilder>,
) {
    for entry in known.entries() {
        let requests = entry.report.engine.requests.as_ref();
        findings.report_if(requests.and_then(|requests| finding(&entry, requests)));
    }
}

/// Returns the finding that some requests of a printed job had the fate that `which` counts; `None` if there are none.
/// `what` gets the name of the job, `fate` is what became of them: `were answered with 503`.
pub(crate) fn with_fate(
    check: &Check,
    entry: &Entry<'_>,
    requests: &RequestSummary,
    which: RequestCount,
    what: impl FnOnce(&str) -> String,
    fate: impl FnOnce(&mut SaidNumbers) -> String,
) -> Option<FindingBuilder> {
    let (some, sent) = (requests.get(which), requests.get(RequestCount::Sent));
    let job = entry.jobs.first().filter(|_| some > 0)?;
    let mut said = SaidNumbers::default();
    let (some, sent) = (said.count("some", some as f64), said.count("requests", sent as f64));
    let evidence = format!("{some} of {sent} requests {}", fate(&mut said));
    Some(check.for_job(job, what(&job.identity.name)).evidence(evidence).numbers(said))
}
