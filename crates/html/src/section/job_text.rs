//! What ran: the job as a job file.

use std::collections::HashSet;
use std::fmt::Write;

use askama::Template;

use super::element::{PageSection, html};
use super::view::RunView;

/// Maximum number of job texts of a page: jobs of a large run are alike.
const MAX_TEXTS: usize = 40;

#[derive(Debug, Template)]
#[template(path = "job_text.html")]
struct JobTexts {
    texts: Vec<JobText>,
    left_out: String,
}

#[derive(Debug)]
struct JobText {
    title: String,
    text: String,
}

impl JobText {
    /// The sections of the job file, each in one piece.
    fn sections(&self) -> impl Iterator<Item = &str> {
        self.text.split("\n\n")
    }
}

/// The job file of each machine; one if they are equal. `None` if the report has no options.
pub(crate) fn of_run(run: &RunView<'_>) -> Option<PageSection> {
    let mut texts: Vec<(Vec<&str>, String)> = Vec::new();
    let mut left_out = 0;
    for machine in &run.machines {
        let (text, rest) = job_file(machine.report);
        left_out += rest;
        match texts.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) => names.push(machine.name),
            None => texts.push((vec![machine.name], text)),
        }
    }
    texts.retain(|(_, text)| !text.is_empty());
    if texts.is_empty() {
        return None;
    }
    let title = |names: &[&str]| match names {
        [""] => "Job file".to_owned(),
        [one] => format!("Job file of {one}"),
        [first, ..] => format!("Job file of {} hosts: {first} …", names.len()),
        [] => String::new(),
    };
    let shown = texts.iter().take(MAX_TEXTS);
    let texts = shown.map(|(names, text)| JobText { title: title(names), text: text.clone() });
    let left_out = match left_out {
        0 => String::new(),
        n => format!("{n} more jobs are not listed here; the data of this file has them."),
    };
    Some(PageSection {
        id: "job",
        title: "What ran".into(),
        about: String::new(),
        body: html(&JobTexts { texts: texts.collect(), left_out }),
    })
}

/// The options of a report in the language of job files, and the number of jobs that are left out. Jobs that differ in
/// nothing, such as those of `numjobs`, are one section.
fn job_file(report: &fiord_stat::report::Report) -> (String, usize) {
    let mut text = String::new();
    if !report.global_options.is_empty() {
        text.push_str("[global]\n");
        options(&report.global_options, &mut text);
    }
    let (mut shown, mut left_out) = (0, 0);
    let mut seen = HashSet::new();
    for job in &report.jobs {
        if job.options.is_empty() && report.global_options.is_empty() {
            continue;
        }
        if !seen.insert((&job.name, &job.options)) {
            continue;
        }
        if shown == MAX_TEXTS {
            left_out += 1;
            continue;
        }
        shown += 1;
        let gap = if text.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{gap}[{}]", job.name);
        let own = job.options.iter().filter(|(name, _)| name != "name");
        let own: Vec<_> =
            own.filter(|pair| !report.global_options.contains(pair)).cloned().collect();
        options(&own, &mut text);
    }
    (text, left_out)
}

fn options(options: &[(String, String)], text: &mut String) {
    for (name, value) in options {
        let _ = match value.is_empty() {
            true => writeln!(text, "{name}"),
            false => writeln!(text, "{name}={value}"),
        };
    }
}
