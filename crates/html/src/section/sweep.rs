//! Which settings give which result, and where is the knee?

use serde_json::{Map, Value};

use crate::chart::line::{ChartCurve, ChartMark, LineChart, line_chart};
use crate::chart::{CurveStyle, ScaleKind};
use crate::quantity::Quantity;
use crate::result::{KneeDocument, PointDocument, SweepDocument};

use super::element::{Figures, HtmlFigure, PageSection, html};
use super::findings;
use super::knee;
use super::points::{self, PointLine, latency, lines, table, text, words};

/// Maximum number of charts.
const CHARTS: usize = 12;
/// The latencies that charts show.
const SHOWN: [&str; 3] = ["p50", "p99", "p99.9"];

pub(crate) fn sections(sweep: &SweepDocument) -> Vec<PageSection> {
    let all = sweep.points.iter().chain(&sweep.loads);
    let labels: Vec<(String, &PointDocument)> = all.map(|point| (label(point), point)).collect();
    let mut sections = vec![findings::of_points(&labels)];
    let mut body = charts(sweep);
    if !sweep.points.is_empty() {
        body += &table("Points", &sweep.points, false);
    }
    if !sweep.complete {
        body += "<p class=\"left-out\">The sweep is not complete.</p>";
    }
    let about = "Throughput to the right, latency up. At the knee, throughput stops growing and only latency rises.";
    sections.push(PageSection {
        id: "sweep",
        title: "Latency over throughput".into(),
        about: about.into(),
        body,
    });
    if !sweep.loads.is_empty() {
        sections.push(loads(sweep));
    }
    sections
}

fn label(point: &PointDocument) -> String {
    match point.load_percent {
        Some(percent) => format!("{percent}% load"),
        None => words(point.settings.iter()),
    }
}

/// The option along which the points of a chart lie: that of the knees, or the last one.
fn along(sweep: &SweepDocument) -> String {
    let knee = sweep.knees.first().map(|knee| knee.along.clone());
    knee.or_else(|| Some((*points::names(&sweep.points).last()?).to_owned())).unwrap_or_default()
}

fn charts(sweep: &SweepDocument) -> String {
    let along = along(sweep);
    let lines = lines(&sweep.points, &along);
    let mut figures: Vec<HtmlFigure> = Vec::new();
    if lines.len() > 1 {
        figures.extend(compared(sweep, &lines, &along));
    }
    figures.extend(lines.iter().take(CHARTS).filter_map(|line| one(sweep, line, &along)));
    let left_out = match lines.len().saturating_sub(CHARTS) {
        0 => String::new(),
        n => format!("{n} more lines have no chart of their own."),
    };
    html(&Figures { figures, left_out })
}

/// All lines in one chart, with one latency.
fn compared(sweep: &SweepDocument, lines: &[PointLine<'_>], along: &str) -> Option<HtmlFigure> {
    let few = lines.iter().take(8).enumerate();
    let curve = |(number, (with, line)): (usize, &PointLine<'_>)| {
        curve(sweep, line, "p99", number, with.clone(), along)
    };
    let chart =
        chart(sweep, "All lines: p99 over throughput", few.map(curve).collect(), Vec::new());
    let title = "p99 of all lines".to_owned();
    Some(HtmlFigure { title, note: String::new(), html: line_chart(&chart)?, wide: true })
}

/// One line with several latencies and its knee.
fn one(sweep: &SweepDocument, (with, line): &PointLine<'_>, along: &str) -> Option<HtmlFigure> {
    let curves: Vec<ChartCurve> = SHOWN
        .iter()
        .enumerate()
        .map(|(number, key)| curve(sweep, line, key, number, (*key).to_owned(), along))
        .filter(|curve| curve.points.iter().any(|(_, y)| y.is_finite()))
        .collect();
    let knee = sweep.knees.iter().find(|knee| knee.along == along && rest(knee) == *with);
    let place = |value: &str| {
        let point = line.iter().find(|p| text(p.settings.get(along)) == value)?;
        let up = latency(point.clat_ns.as_ref(), "p99")?;
        Some(((throughput(sweep, point), up), format!("{along}={value}")))
    };
    let marks = knee.map(|knee| knee::marks(knee, place)).unwrap_or_default();
    let note = knee.map(|knee| knee::note(knee, |value| format!("{along}={value}")));
    let note = note.unwrap_or_default();
    let title = match with.is_empty() {
        true if sweep.job.is_empty() => "All points".to_owned(),
        true => sweep.job.clone(),
        false => with.clone(),
    };
    let chart = chart(sweep, &title, curves, marks);
    Some(HtmlFigure { title, note, html: line_chart(&chart)?, wide: false })
}

fn rest(knee: &KneeDocument) -> String {
    words(knee.with.iter())
}

fn chart(
    sweep: &SweepDocument,
    title: &str,
    curves: Vec<ChartCurve>,
    marks: Vec<ChartMark>,
) -> LineChart {
    let across = match moves_bytes(sweep) {
        true => ("bandwidth".to_owned(), Quantity::ByteRate),
        false => ("IOPS".to_owned(), Quantity::OpRate),
    };
    LineChart {
        label: format!("Latency over throughput: {title}"),
        across,
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves,
        spans: Vec::new(),
        marks,
    }
}

/// Bandwidth is the throughput if the block size differs between points; IOPS otherwise.
fn moves_bytes(sweep: &SweepDocument) -> bool {
    points::names(&sweep.points).contains(&"bs")
        && sweep.points.iter().all(|point| point.bw_bytes > 0.0)
}

fn throughput(sweep: &SweepDocument, point: &PointDocument) -> f64 {
    if moves_bytes(sweep) { point.bw_bytes } else { point.iops }
}

fn curve(
    sweep: &SweepDocument,
    line: &[&PointDocument],
    key: &str,
    number: usize,
    name: String,
    along: &str,
) -> ChartCurve {
    let place = |point: &&PointDocument| {
        let up = latency(point.clat_ns.as_ref(), key).unwrap_or(f64::NAN);
        (throughput(sweep, point), up)
    };
    let dot = |point: &&PointDocument| {
        let value = text(point.settings.get(along));
        let up = latency(point.clat_ns.as_ref(), key)
            .map_or("–".into(), |ns| Quantity::Latency.text(ns));
        format!("{along}={value}: {} IOPS, {key} {up}", Quantity::OpRate.text(point.iops))
    };
    ChartCurve {
        name,
        style: CurveStyle::of(number),
        points: line.iter().map(place).collect(),
        dots: line.iter().map(dot).collect(),
    }
}

/// The runs at shares of the highest rate, with the latencies from the intended start.
fn loads(sweep: &SweepDocument) -> PageSection {
    let due = |point: &PointDocument, key: &str| {
        let times: Option<&Map<String, Value>> = point.intended_lat_ns.as_ref();
        latency(times, key)
    };
    let curve = |(number, key): (usize, &&str)| ChartCurve {
        name: (*key).to_owned(),
        style: CurveStyle::of(number),
        points: sweep.loads.iter().map(|p| (p.iops, due(p, key).unwrap_or(f64::NAN))).collect(),
        dots: sweep.loads.iter().map(label).collect(),
    };
    let knee = sweep.load_knee.clone().unwrap_or_else(|| KneeDocument {
        // The document of an earlier version.
        at: sweep.load_knee_percent.map(|percent| format!("{percent}%")),
        ..KneeDocument::default()
    });
    let place = |value: &str| {
        let percent = value.trim_end_matches('%').parse::<f64>().ok();
        let point = sweep.loads.iter().find(|p| p.load_percent == percent)?;
        Some(((point.iops, due(point, "p99")?), label(point)))
    };
    let chart = LineChart {
        label: "Latency from the intended start over the offered load".into(),
        across: ("IOPS".into(), Quantity::OpRate),
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves: SHOWN.iter().enumerate().map(curve).collect(),
        spans: Vec::new(),
        marks: knee::marks(&knee, place),
    };
    let note = knee::note(&knee, |value| format!("{value} load"));
    let figure = line_chart(&chart).map(|html| HtmlFigure {
        title: "Offered load".into(),
        note,
        html,
        wide: true,
    });
    let mut body =
        html(&Figures { figures: figure.into_iter().collect(), left_out: String::new() });
    body += &table("Loads", &sweep.loads, true);
    PageSection {
        id: "loads",
        title: "Latency at a given load".into(),
        about: "From the time at which each I/O was due.".into(),
        body,
    }
}
