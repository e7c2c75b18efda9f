//! `fiord check`: what can be told of jobs without running them. Nothing is read from or written to
//! a target, nothing is made.

use std::fmt::Write;
use std::sync::Arc;

use fiord_doctor::{Findings, Machine, Told};
use fiord_job::command::{Action, Invocation};
use fiord_job::diagnostic::{Diagnostic, Level};
use fiord_job::load::Machine as Loader;
use fiord_job::spec::{JobSpec, Place};
use fiord_plan::{Plan, Terms, resolve};
use fiord_stat::finding::{Finding, Severity};
use fiord_sys::terminal;
use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::sink::{self, complain};

const HELP: &str = "\
fiord check [--format=json] JOBFILE... | OPTIONS...

Says what is wrong with jobs and what would make their results not worth believing, with no I/O to
what they are about. Takes what a run takes: job files, or options as on the command line.

  --format=json   one document for programs

The status is 0 when nothing is wrong (notes aside), 1 when the jobs would not run, 252 when a result
would be suspect, 253 when it would be invalid.
";

/// What was found.
struct Checked {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    findings: Findings,
    specs: Vec<JobSpec>,
    jobs: usize,
}

/// Runs the subcommand on its arguments.
pub fn run(args: &[String]) -> Exit {
    let mut json = false;
    let mut jobs = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let format = match arg.as_str() {
            "--help" | "-h" => return sink::print(HELP),
            "--format" => args.next().map(String::as_str).unwrap_or_default(),
            other => match other.strip_prefix("--format=") {
                Some(format) => format,
                None => {
                    jobs.push(arg.clone());
                    continue;
                }
            },
        };
        json = match format {
            "json" => true,
            "normal" => false,
            _ => {
                complain("fiord check: the formats are --format=normal and --format=json\n");
                return Exit::Failure;
            }
        };
    }
    let checked = check(&jobs);
    let printed = match json {
        true => sink::print(&document(&checked)),
        false => told(&checked),
    };
    match (printed, verdict(&checked)) {
        // A reader that goes away does not make jobs sound.
        (Exit::Success, verdict) => verdict,
        (Exit::ReaderGone, verdict) if verdict != Exit::Success => verdict,
        (failed, _) => failed,
    }
}

fn check(args: &[String]) -> Checked {
    let wrong = |errors| Checked {
        errors,
        warnings: Vec::new(),
        findings: Findings::default(),
        specs: Vec::new(),
        jobs: 0,
    };
    let invocation = match fiord_job::invocation(args, &mut Loader) {
        Ok(invocation) => invocation,
        Err(errors) => return wrong(errors),
    };
    if invocation.jobs.is_empty() || !matches!(invocation.action, Action::Run) {
        let error = Diagnostic::error("there is no job to check", None);
        let help =
            "name a job file, or give the options of a job: fiord check --name=a --rw=read …";
        return wrong(vec![error.help(help)]);
    }
    match plan(&invocation) {
        Ok((plan, mut warnings)) => {
            let machine = Machine::survey(&plan);
            let mut findings = fiord_doctor::lint(&plan, &invocation.jobs);
            findings.join(fiord_doctor::before(&plan, &machine));
            warnings.splice(0..0, invocation.warnings);
            let (findings, jobs) = (findings.settled(&plan), plan.jobs.len());
            Checked { errors: Vec::new(), warnings, findings, specs: invocation.jobs, jobs }
        }
        Err(errors) => wrong(errors),
    }
}

fn plan(invocation: &Invocation) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let unsupported: Vec<Diagnostic> =
        invocation.jobs.iter().flat_map(fiord_job::unsupported::unsupported).collect();
    if !unsupported.is_empty() {
        return Err(unsupported);
    }
    let terms = Terms::of(invocation);
    let resolved = resolve(&invocation.jobs, terms, &fiord_plan::system::Machine)?;
    Ok((resolved.plan, resolved.warnings))
}

fn verdict(checked: &Checked) -> Exit {
    if !checked.errors.is_empty() {
        return Exit::Failure;
    }
    match checked.findings.worst() {
        Some(Severity::Invalid) => Exit::Invalid,
        Some(Severity::Suspect) => Exit::Suspect,
        Some(Severity::Note) | None => Exit::Success,
    }
}

/// Where in a job file a finding points: at the option, else at the section.
fn place<'a>(told: &Told, specs: &'a [JobSpec]) -> Option<&'a Place> {
    let spec = specs.get(told.section?)?;
    let setting = told.option.and_then(|option| spec.setting(option));
    Some(setting.map_or(&spec.place, |setting| &setting.place))
}

/// For people: what is wrong to standard error, what was found to standard output.
fn told(checked: &Checked) -> Exit {
    let color = |stream: bool| stream && std::env::var_os("NO_COLOR").is_none();
    let to_errors = color(terminal::is_terminal(std::io::stderr()));
    // What a finding says at the same place need not be said twice.
    let pointed: Vec<&Place> =
        checked.findings.told().iter().filter_map(|told| place(told, &checked.specs)).collect();
    let said = |warning: &&Diagnostic| {
        let same = |at: &Place| {
            pointed.iter().any(|p| Arc::ptr_eq(&p.source, &at.source) && p.span == at.span)
        };
        warning.place.as_ref().is_some_and(same)
    };
    let warnings = checked.warnings.iter().filter(|warning| !said(warning)).cloned();
    let wrong: Vec<Diagnostic> = checked.errors.iter().cloned().chain(warnings).collect();
    complain(&fiord_job::diagnostic::render(&wrong, to_errors));
    if !checked.errors.is_empty() {
        return Exit::Success;
    }
    let to_results = color(terminal::is_terminal(std::io::stdout()));
    let mut text = String::new();
    for told in checked.findings.told() {
        text.push_str(&diagnostic(told, &checked.specs).render(to_results));
    }
    if let Some(line) = fiord_report::not_checked(checked.findings.unchecked()) {
        text.push_str(&line);
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let found = match checked.findings.told().len() {
        0 => "nothing found".to_owned(),
        n => count(n, "finding"),
    };
    let _ = writeln!(text, "{}: {found}", count(checked.jobs, "job"));
    sink::print(&text)
}

fn diagnostic(told: &Told, specs: &[JobSpec]) -> Diagnostic {
    let Finding { id, severity, what, evidence, mend, .. } = &told.finding;
    let place = place(told, specs).cloned();
    let mut diagnostic = Diagnostic::warning(format!("{id}: {what}"), place);
    diagnostic.level = Level::Found(severity.word());
    diagnostic.help(evidence).help(format!("mend it with {mend}"))
}

/// For programs.
fn document(checked: &Checked) -> String {
    let messages = |all: &[Diagnostic]| -> Vec<Value> { all.iter().map(message).collect() };
    let findings = checked.findings.told().iter().map(|told| {
        let mut object = finding(&told.finding);
        at(&mut object, place(told, &checked.specs));
        if let Some(option) = told.option {
            object.insert("option".into(), option.into());
        }
        Value::Object(object)
    });
    let gaps = checked.findings.unchecked().iter();
    let document = json!({
        "schema": fiord_stat::report::SCHEMA,
        "version": fiord_job::version(),
        "jobs": checked.jobs,
        "errors": messages(&checked.errors),
        "warnings": messages(&checked.warnings),
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
    let Finding { id, severity, job, what, evidence, mend } = finding;
    let mut object = Map::new();
    object.insert("id".into(), id.as_str().into());
    object.insert("severity".into(), severity.word().into());
    if let Some(job) = job {
        object.insert("job".into(), job.as_str().into());
    }
    object.insert("what".into(), what.as_str().into());
    object.insert("evidence".into(), evidence.as_str().into());
    object.insert("mend".into(), mend.as_str().into());
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
