//! The data of the page: its results as JSON, for programs that read the page back.

use std::io::Write;

use fiord_report::embedded::embed;
use fiord_report::output::Formats;
use fiord_stat::report::{JobReport, Report};
use fiord_types::Nanos;

use crate::result::{NamedResult, PageResult};

/// The longest data of all results together that keep all their detail, bytes. A page with 1,000 jobs stays below 5 MB.
const BUDGET: usize = 2_500_000;

/// The elements with the data, and whether they have less detail than the results.
pub(crate) fn elements(results: &[NamedResult]) -> (Vec<String>, bool) {
    let mut elements = Vec::new();
    let jobs: usize = results.iter().map(|result| jobs(&result.content)).sum();
    // Many jobs never fit with everything, and each attempt takes time.
    let first = usize::from(jobs > MANY);
    for detail in Detail::ALL.into_iter().skip(first) {
        elements = results.iter().map(|result| element(result, detail)).collect();
        if elements.iter().map(String::len).sum::<usize>() <= BUDGET {
            return (elements, detail != Detail::Everything);
        }
    }
    (elements, true)
}

/// A page with more jobs than this does not keep all their detail.
const MANY: usize = 200;

fn jobs(content: &PageResult) -> usize {
    match content {
        PageResult::Run(report) => report.jobs.len(),
        PageResult::Hosts(run) => {
            run.hosts.iter().filter_map(|host| host.report.as_ref()).map(|r| r.jobs.len()).sum()
        }
        PageResult::Sweep(_) | PageResult::Suite(_) | PageResult::Precondition(_) => 0,
    }
}

/// How much of a report is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All of it, with the buckets of all histograms.
    Everything,
    /// No buckets, and at most this number of windows of time.
    Windows(usize),
    /// No buckets and no windows.
    Totals,
}

impl Detail {
    const ALL: [Detail; 4] =
        [Detail::Everything, Detail::Windows(64), Detail::Windows(8), Detail::Totals];
}

fn element(result: &NamedResult, detail: Detail) -> String {
    let mut json = Vec::new();
    // Writing to memory cannot fail.
    let _ = match &result.content {
        PageResult::Run(report) => match detail {
            Detail::Everything => fiord_report::json_plus(report, &mut json),
            detail => fiord_report::json(&reduced(report, detail), &mut json),
        },
        PageResult::Hosts(run) => {
            let plus = detail == Detail::Everything;
            let formats =
                Formats { normal: false, json: !plus, json_plus: plus, ..Formats::default() };
            let mut run = run.clone();
            for report in run.hosts.iter_mut().filter_map(|host| host.report.as_mut()) {
                *report = reduced(report, detail);
            }
            fiord_report::hosts::write(&run, formats, &mut json)
        }
        PageResult::Sweep(sweep) => json.write_all(sweep.json.as_bytes()),
        PageResult::Suite(suite) => json.write_all(suite.json.as_bytes()),
        PageResult::Precondition(filled) => json.write_all(filled.json.as_bytes()),
    };
    let mut out = Vec::new();
    let _ = embed(&result.name, &json, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A copy with less detail.
fn reduced(report: &Report, detail: Detail) -> Report {
    let mut report = report.clone();
    for job in &mut report.jobs {
        match detail {
            Detail::Everything => {}
            Detail::Windows(most) => widen(job, most),
            Detail::Totals => job.samples = fiord_stat::samples::Samples::default(),
        }
    }
    report
}

/// Merges windows until there are at most `most` of them.
fn widen(job: &mut JobReport, most: usize) {
    let mut window = job.samples.window();
    while job.samples.spans().len() > most && window > Nanos::ZERO {
        window = window.saturating_mul(2);
        job.samples.widen(window);
    }
}
