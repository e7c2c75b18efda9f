//! The requests of jobs to servers of objects.

use fiord_types::RequestSummary;

use crate::check::{After, CollectedFindings, Entry, FindingBuilder};

/// Reports what `finding` says about each printed job that sent requests.
pub(crate) fn each_with_requests(
    known: &After<'_>,
    findings: &mut CollectedFindings,
    finding: fn(&Entry<'_>, &RequestSummary) -> Option<FindingBuilder>,
) {
    for entry in known.entries() {
        let requests = entry.report.requests.as_ref();
        findings.report_if(requests.and_then(|requests| finding(&entry, requests)));
    }
}
