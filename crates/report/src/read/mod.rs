//! Reads reports: fiord's JSON and fio's (`--output-format=json` and `json+` of fio 3), and terse lines of both.
//!
//! fiord's JSON has fio's keys, and everything else under the key `fiord`, with the version of the data model in
//! `schema`. The rule of compatibility: this program reads every version up to its own
//! ([`fiord_stat::report::SCHEMA`]). Keys that it does not know are ignored, and keys that are missing have their
//! default, so a key may be added without a new version. The version increases when a key changes its meaning.
//! Stored reports in `tests/stored/` check this.
//!
//! A page of `--html` or `fiord report` is read like the JSON that it contains ([`crate::embedded`]).
//!
//! A report of many hosts is read as one of all their jobs, without the sum of all hosts, and with the findings of all hosts.
//!
//! JSON contains less than a [`Report`]: thread ids, delays of threads, timelines and texts of errors are empty in a
//! report that was read, and numbers have six decimals. Members of a device are devices of their own.
//!
//! | question | module |
//! |---|---|
//! | where in a file are the documents | this one |
//! | the object of a job | `job.rs` |
//! | terse lines | `terse.rs` |
//! | a report of many hosts, host by host | `hosts.rs` |
//! | the key `fiord` | `extras.rs` |
//! | how are missing keys and other types treated | `node.rs` |

mod extras;
mod hosts;
mod job;
mod node;
mod terse;

use fiord_stat::hosts::{ALL_CLIENTS, HostsReport};
use fiord_stat::report::{DiskCounts, DiskReport, Extras, JobReport, Report, SCHEMA};
use fiord_types::Nanos;
use serde_json::Deserializer;

use crate::embedded::{EmbeddedError, embedded, is_page};
use node::{Node, Value};

/// Why a text is not a report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text contains neither a JSON document nor a terse line.
    #[error(
        "there is no JSON document and no terse line. To fix: use --output-format=json, json+ or terse"
    )]
    NoDocument,
    /// The text is truncated or is not JSON.
    #[error("invalid JSON: {0}")]
    Invalid(#[from] serde_json::Error),
    /// The document is not a report of a run.
    #[error("the document is not a report: it has no list `jobs` or `client_stats`")]
    NotAReport,
    /// A later version of fiord wrote the report.
    #[error(
        "the report has version {0}; this fiord reads versions up to {SCHEMA}. To fix: use a newer fiord"
    )]
    Later(u32),
    /// The data of a page cannot be read.
    #[error(transparent)]
    Page(#[from] EmbeddedError),
}

/// Reads the final report of a run.
///
/// # Errors
/// The text contains no report, or one that this version cannot read.
pub fn read(text: &str) -> Result<Report, ReadError> {
    read_all(text)?.pop().ok_or(ReadError::NoDocument)
}

/// Reads all reports of a run: a run that was asked for its status writes a report each time, before the final one.
/// Ignores lines before the first document and text after the last one, which fio and other formats write into
/// the same file. If there is no JSON document, all terse lines are one report.
///
/// # Errors
/// The text contains no report, or one that this version cannot read.
pub fn read_all(text: &str) -> Result<Vec<Report>, ReadError> {
    if is_page(text) {
        let results = embedded(text)?;
        let reports = results.iter().map(|result| documents(&result.json));
        return Ok(reports.collect::<Result<Vec<_>, _>>()?.concat());
    }
    documents(text)
}

/// Reads the final report of a run on many hosts. A run on one machine is a report without hosts.
///
/// # Errors
/// The text contains no report, or one that this version cannot read.
pub fn read_hosts(text: &str) -> Result<HostsReport, ReadError> {
    let mut found = None;
    let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{").map(|at| at + 1) };
    let mut rest = &text[begin.ok_or(ReadError::NoDocument)?..];
    while rest.starts_with('{') {
        let mut documents = Deserializer::from_slice(rest.as_bytes()).into_iter::<Value>();
        let Some(document) = documents.next() else { break };
        let document = document?;
        found = Some(hosts::hosts(Node(&document), report(Node(&document))?));
        rest = rest[documents.byte_offset()..].trim_start();
    }
    found.ok_or(ReadError::NoDocument)
}

/// Reads all documents of a text that is not a page.
fn documents(text: &str) -> Result<Vec<Report>, ReadError> {
    let begin = match text.starts_with('{') {
        true => Some(0),
        false => text.find("\n{").map(|line_end| line_end + 1),
    };
    let Some(begin) = begin else {
        return Ok(vec![terse::read(text).ok_or(ReadError::NoDocument)?]);
    };
    let mut reports = Vec::new();
    let mut rest = &text[begin..];
    while rest.starts_with('{') {
        let mut documents = Deserializer::from_slice(rest.as_bytes()).into_iter::<Value>();
        let Some(document) = documents.next() else { break };
        reports.push(report(Node(&document?))?);
        rest = rest[documents.byte_offset()..].trim_start();
    }
    Ok(reports)
}

fn report(document: Node<'_>) -> Result<Report, ReadError> {
    let fiord = document.get("fiord");
    let schema = u32::try_from(fiord.whole("schema")).unwrap_or(u32::MAX);
    if schema > SCHEMA {
        return Err(ReadError::Later(schema));
    }
    let globals = document.options("global options");
    let jobs = ["jobs", "client_stats"].into_iter().find(|key| document.has_list(key));
    let jobs = document.list(jobs.ok_or(ReadError::NotAReport)?);
    let mut jobs: Vec<_> = jobs.map(|job| job::job(job, &globals)).collect();
    // It repeats the other entries: who adds up the jobs would count each of them twice.
    let is_sum = |job: &mut JobReport| job.name == ALL_CLIENTS && document.has_list("client_stats");
    if jobs.len() > 2 {
        jobs.pop_if(is_sum);
    }
    let written = match document.whole("timestamp_ms") {
        0 => Nanos::from_secs(document.whole("timestamp")),
        ms => Nanos::from_millis(ms),
    };
    Ok(Report {
        schema,
        version: document.text("fio version"),
        written,
        utc_offset_s: 0,
        global_options: globals,
        groups: fiord_stat::job::groups(&jobs),
        jobs,
        disks: document.list("disk_util").map(disk).collect(),
        extras: Extras {
            idleness: extras::idleness(document),
            of_hosts: document.has_list("client_stats"),
            ..extras::extras(fiord)
        },
        courses: Vec::new(),
    })
}

fn disk(node: Node<'_>) -> DiskReport {
    let aggregate = node.has("aggr_read_ios").then(|| counts(node, "aggr_", "write_merge"));
    DiskReport {
        name: node.text("name"),
        counts: counts(node, "", "write_merges"),
        aggregate,
        members: Vec::new(),
    }
}

/// Counters of a disk. The key of merged writes is in the singular in aggregates of fio.
fn counts(node: Node<'_>, prefix: &str, merged_writes: &str) -> DiskCounts {
    let one = |key: &str| node.whole(&format!("{prefix}{key}"));
    DiskCounts {
        ios: ["read_ios", "write_ios"].map(one),
        sectors: ["read_sectors", "write_sectors"].map(one),
        merges: ["read_merges", merged_writes].map(one),
        time: ["read_ticks", "write_ticks"].map(one).map(Nanos::from_millis),
        in_queue: Nanos::from_millis(one("in_queue")),
        util: node.float(&format!("{prefix}util")),
    }
}
