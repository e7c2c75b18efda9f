//! How were devices filled before a measurement, and is their rate steady?

use fiord_types::Nanos;

use crate::chart::line::{ChartCurve, LineChart, line_chart};
use crate::chart::{CurveStyle, ScaleKind, ShadedKind, ShadedSpan};
use crate::quantity::Quantity;
use crate::result::{
    FilledState, FilledTarget, PreconditionDocument, RandomWrites, SteadyRounds, WriteStep,
};

use super::element::{Figures, HtmlCell, HtmlFigure, HtmlTable, PageSection, head, html};

/// Maximum number of devices with charts.
const CHARTS: usize = 16;
/// Curves with more points than this have no dots.
const DOTS: usize = 60;
/// The rounds are steady if their range is within this share of their mean, on both sides of it together.
const RANGE: f64 = 0.2;

pub(crate) fn title(filled: &PreconditionDocument) -> String {
    match filled.targets.as_slice() {
        [only] => format!("Preconditioning of {}", label(only)),
        all => format!("Preconditioning of {} devices", all.len()),
    }
}

pub(crate) fn sections(filled: &PreconditionDocument) -> Vec<PageSection> {
    let section = |id, title: &str, about: &str, body| PageSection {
        id,
        title: title.into(),
        about: about.into(),
        body,
    };
    let mut sections = vec![
        section("machine", "On what", "", devices(filled)),
        section("results", "Results", "", results(filled)),
    ];
    let random = random(filled);
    if !random.figures.is_empty() {
        let about = "Each point is a round of random writes. The rate is steady when, over the shaded rounds, the highest and \
                     the lowest IOPS differ by at most 20\u{202f}% of the mean, and the ends of the fitted line by at most \
                     10\u{202f}%.";
        sections.push(section("rounds", "Random writes", about, html(&random)));
    }
    let passes = passes(filled);
    if !passes.figures.is_empty() {
        let about = "Each point is an extent that was written and flushed.";
        sections.push(section("passes", "Sequential passes", about, html(&passes)));
    }
    sections
}

/// A name that says which host a device belongs to.
fn label(target: &FilledTarget) -> String {
    match target.host.as_str() {
        "" => target.name.clone(),
        host => format!("{host}: {}", target.name),
    }
}

fn devices(filled: &PreconditionDocument) -> String {
    let text = |text: &str| HtmlCell::text(if text.is_empty() { "–" } else { text });
    let row = |target: &FilledTarget| {
        vec![
            text(&label(target)),
            text(&target.path),
            text(&target.model),
            HtmlCell::number(&Quantity::Size.text(target.size.as_f64())),
            text(&target.contents.join(", ")),
        ]
    };
    let names = ["device", "path", "model", "size", "what was on it"];
    let mut names = head(&names, 5);
    names[3].number = true;
    let rows = filled.targets.iter().map(row).collect();
    html(&HtmlTable { caption: "Devices and files".into(), head: names, rows })
}

fn results(filled: &PreconditionDocument) -> String {
    let number = |quantity: Quantity, value: Option<f64>| {
        HtmlCell::number(&value.map_or("–".into(), |value| quantity.text(value)))
    };
    let row = |target: &FilledTarget| {
        let seconds = target.write_time.as_secs_f64();
        let rate = (seconds > 0.0).then(|| target.written.as_f64() / seconds);
        let rounds = target.random.as_ref().map(|random| random.rounds.len() as f64);
        let window = target.random.as_ref().and_then(|random| random.window.as_ref());
        let value = |of: fn(&SteadyRounds) -> f64| window.map(of);
        let steady = window.filter(|window| window.attained);
        vec![
            HtmlCell::text(&label(target)),
            HtmlCell::html(state(target.end)),
            number(Quantity::Size, Some(target.written.as_f64())),
            number(Quantity::Clock, Some(seconds)),
            number(Quantity::ByteRate, rate),
            number(Quantity::Count, rounds),
            number(Quantity::Clock, steady.map(|window| window.to.as_secs_f64())),
            number(Quantity::OpRate, value(|window| window.iops)),
            number(Quantity::Percent, value(|window| window.range_percent)),
            number(Quantity::Percent, value(|window| window.slope_percent)),
        ]
    };
    let names = [
        "device",
        "state",
        "written",
        "time",
        "bandwidth",
        "rounds",
        "steady after",
        "random IOPS",
        "range",
        "slope",
    ];
    let rows = filled.targets.iter().map(row).collect();
    let mut body = html(&HtmlTable { caption: "Writes".into(), head: head(&names, 2), rows });
    let bad = filled.targets.iter().filter(|target| target.end != FilledState::Written);
    for target in bad.filter(|target| !target.outcome.is_empty()) {
        let text = format!("{}: {}", label(target), target.outcome);
        body += &format!("<p class=\"left-out\">{}</p>", crate::svg::Escaped(&text));
    }
    body
}

/// The state as a word, with a badge if it is not the one that the user wanted.
fn state(end: FilledState) -> String {
    let badge = |class: &str, word: &str| {
        format!("<span class=\"{class}\"><span class=\"badge\">{word}</span></span>")
    };
    match end {
        FilledState::Written => "written".into(),
        FilledState::NotSteady => badge("suspect", "not steady"),
        FilledState::Stopped => badge("suspect", "stopped"),
        FilledState::Failed => badge("invalid", "failed"),
        FilledState::DryRun => "nothing written".into(),
    }
}

/// The IOPS of each round, with the limits of the steady rounds, and the bandwidth.
fn random(filled: &PreconditionDocument) -> Figures {
    let with: Vec<(String, &RandomWrites)> = filled
        .targets
        .iter()
        .filter_map(|target| Some((label(target), target.random.as_ref()?)))
        .filter(|(_, random)| !random.rounds.is_empty())
        .collect();
    let mut figures = Vec::new();
    for (name, random) in with.iter().take(CHARTS) {
        let span =
            random.window.as_ref().filter(|window| window.attained).map(|window| ShadedSpan {
                kind: ShadedKind::Steady,
                from: window.from.as_secs_f64(),
                to: window.to.as_secs_f64(),
                label: "steady".into(),
            });
        let spans: Vec<ShadedSpan> = span.into_iter().collect();
        let rounds = |of: fn(&WriteStep) -> f64, up| curve(0, "rounds", &random.rounds, of, up);
        let mut curves = vec![rounds(|step| step.iops, Quantity::OpRate)];
        curves.extend(random.window.iter().flat_map(limits));
        let charts = [
            ("IOPS", Quantity::OpRate, curves),
            ("bandwidth", Quantity::ByteRate, vec![rounds(|s| s.bw.as_f64(), Quantity::ByteRate)]),
        ];
        for (what, up, curves) in charts {
            figures.extend(figure(name, what, up, curves, &spans));
        }
    }
    Figures { figures, left_out: left_out(with.len()) }
}

/// The lines between which the IOPS of steady rounds lie. The range of the rounds need not be centred on their mean, so
/// the lines are an aid for the eye.
fn limits(window: &SteadyRounds) -> Vec<ChartCurve> {
    let (from, to) = (window.from.as_secs_f64(), window.to.as_secs_f64());
    let line = |number: usize, name: &str, share: f64| ChartCurve {
        name: name.into(),
        style: CurveStyle::of(number),
        points: vec![(from, window.iops * share), (to, window.iops * share)],
        dots: Vec::new(),
    };
    vec![
        line(2, "mean of the last rounds", 1.0),
        line(3, "mean + 10\u{202f}%", 1.0 + RANGE / 2.0),
        line(3, "mean − 10\u{202f}%", 1.0 - RANGE / 2.0),
    ]
}

/// The bandwidth over time of the sequential passes.
fn passes(filled: &PreconditionDocument) -> Figures {
    let with: Vec<&FilledTarget> =
        filled.targets.iter().filter(|target| !target.passes.is_empty()).collect();
    let figure = |target: &&FilledTarget| {
        let pass = |(number, pass): (usize, &crate::result::FilledPass)| {
            let name = format!("pass {}", pass.name);
            curve(number, &name, &pass.extents, |step| step.bw.as_f64(), Quantity::ByteRate)
        };
        let curves = target.passes.iter().enumerate().map(pass).collect();
        figure(&label(target), "bandwidth", Quantity::ByteRate, curves, &[])
    };
    let figures = with.iter().take(CHARTS).filter_map(figure).collect();
    Figures { figures, left_out: left_out(with.len()) }
}

fn left_out(devices: usize) -> String {
    match devices.saturating_sub(CHARTS) {
        0 => String::new(),
        n => format!("{n} more devices have no chart."),
    }
}

/// A point in the middle of each step.
fn curve(
    number: usize,
    name: &str,
    steps: &[WriteStep],
    of: fn(&WriteStep) -> f64,
    up: Quantity,
) -> ChartCurve {
    let seconds = Nanos::as_secs_f64;
    let point = |step: &WriteStep| ((seconds(step.from) + seconds(step.to)) / 2.0, of(step));
    let dot = |step: &WriteStep| {
        let (from, to) =
            (Quantity::Clock.text(seconds(step.from)), Quantity::Clock.text(seconds(step.to)));
        format!("{from} to {to}: {}", up.text(of(step)))
    };
    ChartCurve {
        name: name.into(),
        style: CurveStyle::of(number),
        points: steps.iter().map(point).collect(),
        dots: if steps.len() > DOTS { Vec::new() } else { steps.iter().map(dot).collect() },
    }
}

fn figure(
    device: &str,
    what: &str,
    up: Quantity,
    curves: Vec<ChartCurve>,
    spans: &[ShadedSpan],
) -> Option<HtmlFigure> {
    let chart = LineChart {
        label: format!("{what} of {device} over time"),
        across: ("time".into(), Quantity::Clock),
        up: (what.into(), up),
        up_kind: ScaleKind::Linear,
        curves,
        spans: spans.to_vec(),
        marks: Vec::new(),
    };
    let title = format!("{device}: {what}");
    Some(HtmlFigure { title, note: String::new(), html: line_chart(&chart)?, wide: false })
}
