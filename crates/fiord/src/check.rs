//! `fiord check`: prints what [`fiord_app::check()`] finds.

use std::fmt::Write;

use fiord_app::CheckedJobs;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::spec::Place;
use fiord_stat::finding::{Finding, Severity};
use fiord_sys::terminal;
use fiord_types::plural;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::findings;
use crate::sink::{self, complain};

/// Checks jobs for mistakes and for causes of misleading results, without I/O on their targets.
///
/// The exit status is 0 if nothing is wrong (except for notes), 1 if the jobs would not run, 252 if a result would be
/// suspect, and 253 if it would be invalid.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckArgs {
    /// The arguments of a run: job files, or job options as on the command line.
    #[arg(value_name = "JOB")]
    job: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value = "normal")]
    format: CheckFormat,
}

/// Output format of `fiord check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CheckFormat {
    /// Text for people.
    Normal,
    /// One JSON document.
    Json,
}

/// Runs the subcommand.
pub(crate) fn run(args: &CheckArgs) -> Exit {
    let checked = fiord_app::check(&args.job);
    let json = args.format == CheckFormat::Json;
    let printed = match json {
        true => sink::print(&document(&checked)),
        false => print_text(&checked),
    };
    match (printed, verdict(&checked)) {
        // A closed pipe does not change the verdict.
        (Exit::Success, verdict) => verdict,
        (Exit::ReaderGone, verdict) if verdict != Exit::Success => verdict,
        (failed, _) => failed,
    }
}

fn verdict(checked: &CheckedJobs) -> Exit {
    if !checked.errors.is_empty() {
        return Exit::Failure;
    }
    match checked.findings.worst() {
        Some(Severity::Invalid) => Exit::Invalid,
        Some(Severity::Suspect) => Exit::Suspect,
        Some(Severity::Note) | None => Exit::Success,
    }
}

/// Prints for people: errors to standard error, findings to standard output.
fn print_text(checked: &CheckedJobs) -> Exit {
    let color = |stream: bool| stream && std::env::var_os("NO_COLOR").is_none();
    if !checked.errors.is_empty() {
        let color = color(terminal::is_terminal(std::io::stderr()));
        complain(&fiord_job::diagnostic::render(&checked.errors, color));
        return Exit::Success;
    }
    let color = color(terminal::is_terminal(std::io::stdout()));
    let mut text = findings::rendered(&checked.findings, color);
    if let Some(line) = fiord_report::not_checked(checked.findings.unchecked()) {
        text.push_str(&line);
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", plural(n));
    let found = match checked.findings.all().len() {
        0 => "nothing found".to_owned(),
        n => count(n, "finding"),
    };
    let _ = writeln!(text, "{}: {found}", count(checked.jobs, "job"));
    sink::print(&text)
}

/// Formats the results as JSON.
fn document(checked: &CheckedJobs) -> String {
    let messages = |all: &[Diagnostic]| -> Vec<Value> { all.iter().map(message).collect() };
    let findings = checked.findings.findings().map(|known| Value::Object(finding(known)));
    let gaps = checked.findings.unchecked().iter();
    let document = json!({
        "schema": fiord_stat::report::SCHEMA,
        "version": fiord_job::version(),
        "jobs": checked.jobs,
        "errors": messages(&checked.errors),
        "findings": findings.collect::<Vec<Value>>(),
        "not_checked": gaps.map(|gap| json!({"id": gap.id, "why": gap.why})).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn message(diagnostic: &Diagnostic) -> Value {
    let mut object = Map::new();
    object.insert("what".into(), diagnostic.what.as_str().into());
    at(&mut object, diagnostic.place.as_ref());
    object.insert("help".into(), diagnostic.help.clone().into());
    Value::Object(object)
}

fn finding(finding: &Finding) -> Map<String, Value> {
    let Finding { id, severity, job, what, evidence, remedy, option, location, claim } = finding;
    let mut object = Map::new();
    object.insert("id".into(), id.as_str().into());
    object.insert("severity".into(), severity.word().into());
    if let Some(job) = job {
        object.insert("job".into(), job.as_str().into());
    }
    object.insert("what".into(), what.as_str().into());
    object.insert("evidence".into(), evidence.as_str().into());
    object.insert("mend".into(), remedy.as_str().into());
    if let Some(at) = location {
        object.insert("file".into(), at.file.as_str().into());
        object.insert("line".into(), at.line.into());
        object.insert("column".into(), at.column.into());
    }
    if let Some(option) = option {
        object.insert("option".into(), option.as_str().into());
    }
    if let Some(claim) = (!claim.is_empty()).then(|| serde_json::to_value(claim).ok()).flatten() {
        object.insert("claim".into(), claim);
    }
    object
}

fn at(object: &mut Map<String, Value>, place: Option<&Place>) {
    if let Some(place) = place {
        let (line, column) = place.line_column();
        object.insert("file".into(), place.source.name.as_str().into());
        object.insert("line".into(), line.into());
        object.insert("column".into(), column.into());
    }
}
