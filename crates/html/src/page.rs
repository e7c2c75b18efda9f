//! The whole page.

use askama::Template;
use fiord_report::date;
use fiord_stat::report::Report;

use crate::data;
use crate::policy;
use crate::result::{NamedResult, PageResult};
use crate::section::element::{PageSection, html};
use crate::section::view::RunView;
use crate::section::{
    curves, devices, findings, generator, job_text, jobs, machine, precondition, series, suite,
    sweep, verification,
};

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate {
    title: String,
    when: String,
    policy: String,
    styles: &'static str,
    chapters: Vec<Chapter>,
    data: Vec<String>,
    note: String,
    scripts: [&'static str; 2],
}

/// One result.
struct Chapter {
    id: String,
    title: String,
    sections: Vec<PageSection>,
}

/// Builds a page from results. The same results make the same page.
#[must_use]
pub fn page(results: &[NamedResult]) -> String {
    let chapter = |(at, result): (usize, &NamedResult)| Chapter {
        id: format!("r{}", at + 1),
        title: title(result),
        sections: sections(&result.content),
    };
    let chapters: Vec<Chapter> = results.iter().enumerate().map(chapter).collect();
    let (data, is_reduced) = data::elements(results);
    let title = match chapters.as_slice() {
        [only] => only.title.clone(),
        [first, rest @ ..] => format!("{} and {} more results", first.title, rest.len()),
        [] => "No results".into(),
    };
    let when = match results {
        [only] => when(&only.content),
        _ => String::new(),
    };
    let note = match is_reduced {
        true => "To keep the file small, the data has fewer windows of time and no histogram buckets of single jobs; \
                 --output-format=json+ has all of them."
            .to_owned(),
        false => String::new(),
    };
    html(&PageTemplate {
        title,
        when,
        policy: policy::policy(),
        styles: policy::styles(),
        chapters,
        data,
        note,
        scripts: policy::scripts(),
    })
}

/// The name of a result: that of its file, or of its jobs.
fn title(result: &NamedResult) -> String {
    let of_jobs = |report: &Report| {
        let mut names: Vec<&str> = Vec::new();
        for job in &report.jobs {
            if !names.contains(&job.name.as_str()) && names.len() < 4 {
                names.push(&job.name);
            }
        }
        let more = report.jobs.iter().any(|job| !names.contains(&job.name.as_str()));
        names.join(", ") + if more { " …" } else { "" }
    };
    match &result.content {
        PageResult::Run(report) if result.name.is_empty() => of_jobs(report),
        PageResult::Hosts(run) if result.name.is_empty() => {
            let jobs = run.hosts.iter().find_map(|host| host.report.as_ref()).map(of_jobs);
            format!("{} on {} hosts", jobs.unwrap_or_default(), run.hosts.len())
        }
        PageResult::Sweep(sweep) if result.name.is_empty() => format!("Sweep of {}", sweep.job),
        PageResult::Suite(suite) if result.name.is_empty() => format!("Suite {}", suite.suite),
        PageResult::Precondition(filled) if result.name.is_empty() => precondition::title(filled),
        _ => result.name.clone(),
    }
}

/// Program and time.
fn when(content: &PageResult) -> String {
    let of_report = |report: &Report| match report.written.as_secs() {
        0 => report.version.clone(),
        seconds => {
            let zone = if report.utc_offset_s == 0 { " UTC" } else { "" };
            format!("{}{zone} · {}", date::words(seconds, report.utc_offset_s), report.version)
        }
    };
    match content {
        PageResult::Run(report) => of_report(report),
        PageResult::Hosts(run) => of_report(&run.all),
        PageResult::Precondition(filled) => filled.version.clone(),
        PageResult::Sweep(_) | PageResult::Suite(_) => String::new(),
    }
}

fn sections(content: &PageResult) -> Vec<PageSection> {
    match content {
        PageResult::Run(report) => of_run(&RunView::alone(report)),
        PageResult::Hosts(run) => of_run(&RunView::of_hosts(run)),
        PageResult::Sweep(sweep) => sweep::sections(sweep),
        PageResult::Suite(suite) => suite::sections(suite),
        PageResult::Precondition(filled) => precondition::sections(filled),
    }
}

/// In the order in which an engineer asks.
fn of_run(run: &RunView<'_>) -> Vec<PageSection> {
    let mut sections = vec![findings::of_run(run)];
    sections.extend(job_text::of_run(run));
    sections.push(machine::of_run(run));
    sections.push(jobs::of_run(run, &series::spark));
    sections.extend(series::of_run(run));
    sections.extend(curves::of_run(run));
    sections.extend(devices::of_run(run));
    sections.extend(generator::of_run(run));
    sections.extend(verification::of_run(run));
    sections
}
