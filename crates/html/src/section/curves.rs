//! How are latencies distributed?

use fiord_stat::report::{DirKind, JobReport, LatencySummary};

use crate::chart::line::{ChartCurve, LineChart, line_chart, percentile_points};
use crate::chart::{CurveStyle, ScaleKind};
use crate::quantity::Quantity;

use super::element::{Figures, HtmlFigure, PageSection, html};
use super::jobs::latency;
use super::view::{RunView, active, word};

/// Maximum number of charts of one job each.
const CHARTS: usize = 12;
/// Maximum number of curves in the chart that compares jobs.
const CURVES: usize = 8;

/// The percentile curves: one chart that compares the jobs, and one for each job that has more than one curve.
pub(crate) fn of_run(run: &RunView<'_>) -> Option<PageSection> {
    let mut figures = Vec::new();
    let all: Vec<(String, &LatencySummary)> = run
        .rows()
        .map(|(entry, row)| (format!("{} {}", entry.label, word(row.kind)), latency(row)))
        .filter(|(_, latency)| !percentile_points(latency).is_empty())
        .collect();
    if all.len() > 1 {
        let chosen = chosen(&all);
        let note = match all.len() > chosen.len() {
            true => format!("the {} with the most I/Os of {}", chosen.len(), all.len()),
            false => String::new(),
        };
        let curves = chosen.iter().map(|(name, latency)| (name.clone(), *latency)).collect();
        figures.extend(figure("All jobs", note, curves, true));
    }
    let mut left_out = 0;
    for entry in &run.entries {
        let curves = curves_of(entry.job);
        // The chart of all jobs has this curve already.
        if curves.is_empty() || (all.len() > 1 && entry.job.intended.is_empty()) {
            continue;
        }
        if figures.len() > CHARTS {
            left_out += 1;
            continue;
        }
        figures.extend(figure(&entry.label, String::new(), curves, false));
    }
    if figures.is_empty() {
        return None;
    }
    let left_out = match left_out {
        0 => String::new(),
        n => format!("{n} more jobs have no chart of their own here."),
    };
    let body = html(&Figures { figures, left_out });
    let about = "Each further nine to the right is ten times rarer. The intended latency counts from the time at which an \
                 I/O was due, so it includes the wait behind a stall; the actual one counts from its start.";
    Some(PageSection { id: "percentiles", title: "Percentiles".into(), about: about.into(), body })
}

/// The rows with the most I/Os, in their order.
fn chosen<'a>(all: &'a [(String, &'a LatencySummary)]) -> Vec<&'a (String, &'a LatencySummary)> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(all[*at].1.n));
    order.truncate(CURVES);
    order.sort();
    order.into_iter().map(|at| &all[at]).collect()
}

/// The actual and the intended latencies of a job.
fn curves_of(job: &JobReport) -> Vec<(String, &LatencySummary)> {
    let mut curves = Vec::new();
    for row in active(job) {
        let due = job.intended.iter().find(|(kind, _)| *kind == row.kind).map(|(_, due)| due);
        let name = match due {
            Some(_) => format!("{} actual", word(row.kind)),
            None => word(row.kind).to_owned(),
        };
        curves.push((name, latency(row)));
        curves.extend(due.map(|due| (format!("{} intended", word(row.kind)), due)));
    }
    let sync = &job.sync.lat;
    if sync.n > 0 && job.dirs.iter().all(|row| row.kind != DirKind::Mixed) {
        curves.push(("syncs".into(), sync));
    }
    curves.retain(|(_, latency)| !percentile_points(latency).is_empty());
    curves
}

fn figure(
    title: &str,
    note: String,
    curves: Vec<(String, &LatencySummary)>,
    wide: bool,
) -> Option<HtmlFigure> {
    let curve = |(number, (name, latency)): (usize, (String, &LatencySummary))| ChartCurve {
        name,
        style: CurveStyle::of(number),
        points: percentile_points(latency),
        dots: Vec::new(),
    };
    let chart = LineChart {
        label: format!("Latency over percentile of {title}"),
        across: ("percentile".into(), Quantity::Percent),
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves: curves.into_iter().enumerate().map(curve).collect(),
        spans: Vec::new(),
        marks: Vec::new(),
    };
    Some(HtmlFigure { title: title.into(), note, html: line_chart(&chart)?, wide })
}
