//! How did rates and latencies develop?

use fiord_stat::report::{DirKind, DirReport, JobReport, SteadyState};
use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
use fiord_types::{Dir, Nanos};

use crate::chart::bars::sparkline;
use crate::chart::heat::{HeatMap, heat_map};
use crate::chart::line::{ChartCurve, LineChart, line_chart};
use crate::chart::{CurveStyle, ScaleKind, ShadedKind, ShadedSpan};
use crate::quantity::Quantity;

use super::element::{Figures, HtmlFigure, PageSection, html};
use super::view::{EntryView, RunView, active, word};

/// Maximum number of curves of a chart.
const CURVES: usize = 8;
/// Maximum number of charts of one job each.
const CHARTS: usize = 16;
/// The percentiles over time.
const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 100.0];
/// A percentile of a window is drawn if at least this number of I/Os lies beyond it: otherwise it is the largest value.
const BEYOND: f64 = 0.5;

/// A number of a window.
type SampleValue = fn(&WindowSample) -> f64;

/// The samples of a row of a job.
struct RowSeries<'a> {
    name: String,
    samples: &'a Samples,
    dirs: Vec<Dir>,
}

/// The charts over time: rates, then latencies of each job.
pub(crate) fn of_run(run: &RunView<'_>) -> Vec<PageSection> {
    let all: Vec<RowSeries<'_>> =
        run.rows().filter_map(|(entry, row)| series(&entry.label, entry.job, row)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let spans = spans(run.entries.iter().map(|entry| entry.job));
    let sums = if all.len() > CURVES { sums(run) } else { Vec::new() };
    let mut sections = vec![rates(&sums, &all, &spans)];
    sections.extend(latencies(run, &sums));
    sections
}

fn series<'a>(label: &str, job: &'a JobReport, row: &DirReport) -> Option<RowSeries<'a>> {
    let dirs = match row.kind {
        DirKind::Read => vec![Dir::Read],
        DirKind::Write => vec![Dir::Write],
        DirKind::Trim => vec![Dir::Trim],
        DirKind::Mixed => Dir::ALL.to_vec(),
    };
    let known = dirs.iter().any(|dir| !job.samples.dir(*dir).is_empty());
    let name = format!("{label} {}", word(row.kind));
    known.then_some(RowSeries { name, samples: &job.samples, dirs })
}

impl RowSeries<'_> {
    /// For each window its middle, seconds, its length, seconds, and its samples.
    fn windows(&self) -> impl Iterator<Item = (f64, f64, Vec<&WindowSample>)> {
        self.samples.spans().enumerate().map(|(at, (from, to))| {
            let (from, to) = (from.as_secs_f64(), to.as_secs_f64());
            let samples = self.dirs.iter().filter_map(|dir| self.samples.dir(*dir).get(at));
            ((from + to) / 2.0, to - from, samples.collect())
        })
    }

    /// A rate over time. A window much shorter than the others has no meaningful rate.
    fn rate(&self, of: SampleValue) -> Vec<(f64, f64)> {
        let usual = self.samples.window().as_secs_f64();
        let long = self.windows().filter(|(_, length, _)| *length >= usual / 2.0);
        long.map(|(middle, length, samples)| {
            (middle, samples.into_iter().map(of).sum::<f64>() / length)
        })
        .collect()
    }
}

fn ios(sample: &WindowSample) -> f64 {
    sample.ios() as f64
}

fn bytes(sample: &WindowSample) -> f64 {
    sample.bytes().as_f64()
}

/// The small curve of a row in the table of jobs.
pub(crate) fn spark(entry: &EntryView<'_>, row: &DirReport) -> String {
    let Some(series) = series("", entry.job, row) else { return String::new() };
    let values: Vec<f64> = series.rate(ios).into_iter().map(|(_, rate)| rate).collect();
    sparkline(&values)
}

/// Bandwidth and IOPS: a curve for each job and direction, or for each host and all together if there are many.
fn rates(sums: &[(String, Samples)], all: &[RowSeries<'_>], spans: &[ShadedSpan]) -> PageSection {
    let mut figures = Vec::new();
    let mut left_out = String::new();
    let charts: [(&str, Quantity, SampleValue); 2] =
        [("Bandwidth", Quantity::ByteRate, bytes), ("IOPS", Quantity::OpRate, ios)];
    for (title, quantity, of) in charts {
        let curves = match all.len() {
            n if n <= CURVES => single(all, of),
            n => {
                left_out = format!(
                    "{n} jobs and directions are added up here; the table has a small curve of each."
                );
                added(sums, of)
            }
        };
        let chart = LineChart {
            label: format!("{title} over time"),
            across: ("time since the run began".into(), Quantity::Clock),
            up: (title.into(), quantity),
            up_kind: ScaleKind::Linear,
            curves,
            spans: spans.to_vec(),
            marks: Vec::new(),
        };
        let moved = chart.curves.iter().flat_map(|curve| &curve.points).any(|(_, y)| *y > 0.0);
        let drawn = line_chart(&chart).filter(|_| moved);
        figures.extend(drawn.map(|html| HtmlFigure {
            title: title.into(),
            note: String::new(),
            html,
            wide: false,
        }));
    }
    let body = html(&Figures { figures, left_out });
    let window = all.iter().map(|series| series.samples.window()).max().unwrap_or_default();
    let about = format!(
        "Each point is the mean of a window of {}. With a pointer: drag to zoom, double-click to see all. With keys: \
         arrows move, + and − zoom, 0 shows all.",
        Quantity::Latency.text(window.as_f64())
    );
    PageSection { id: "rates", title: "Over time".into(), about, body }
}

fn single(all: &[RowSeries<'_>], of: SampleValue) -> Vec<ChartCurve> {
    let curve = |(number, series): (usize, &RowSeries<'_>)| ChartCurve {
        name: series.name.clone(),
        style: CurveStyle::of(number),
        points: series.rate(of),
        dots: Vec::new(),
    };
    all.iter().enumerate().map(curve).collect()
}

/// The samples of many jobs together: all of them, then those of each host if there are a few hosts.
fn sums(run: &RunView<'_>) -> Vec<(String, Samples)> {
    let mut parts: Vec<(String, Samples)> =
        run.machines.iter().map(|m| (m.name.to_owned(), Samples::default())).collect();
    for entry in &run.entries {
        parts[entry.machine.get()].1.merge(&entry.job.samples);
    }
    let mut all = Samples::default();
    parts.iter().for_each(|(_, samples)| all.merge(samples));
    if !(2..CURVES).contains(&parts.len()) {
        parts.clear();
    }
    parts.insert(0, ("all jobs".to_owned(), all));
    parts
}

fn added(parts: &[(String, Samples)], of: SampleValue) -> Vec<ChartCurve> {
    let mut curves = Vec::new();
    for (name, samples) in parts {
        for dir in Dir::ALL {
            if samples.dir(dir).is_empty() || curves.len() == CURVES {
                continue;
            }
            let name = format!("{name} {}", dir.name());
            let series = RowSeries { name: name.clone(), samples, dirs: vec![dir] };
            let style = CurveStyle::of(curves.len());
            curves.push(ChartCurve { name, style, points: series.rate(of), dots: vec![] });
        }
    }
    curves
}

/// Percentiles over time and the heat map of each job and direction, or of all together if there are many jobs.
fn latencies(run: &RunView<'_>, sums: &[(String, Samples)]) -> Option<PageSection> {
    let mut figures = Vec::new();
    let mut left_out = String::new();
    let with: Vec<&EntryView<'_>> =
        run.entries.iter().filter(|entry| !entry.job.samples.is_empty()).collect();
    let rows = |entry: &&EntryView<'_>| active(entry.job).count();
    let many = with.iter().map(rows).sum::<usize>() > CHARTS;
    if let Some((_, samples)) = sums.first().filter(|_| many) {
        let spans = spans(with.iter().map(|entry| entry.job));
        for dir in Dir::ALL.into_iter().filter(|dir| !samples.dir(*dir).is_empty()) {
            let name = format!("all jobs {}", dir.name());
            let series = RowSeries { name, samples, dirs: vec![dir] };
            figures.extend(charts(&series, &spans));
        }
        left_out = "The latencies of all jobs are merged here.".into();
    } else {
        for entry in with {
            let spans = spans(std::iter::once(entry.job));
            let all = active(entry.job).filter_map(|row| series(&entry.label, entry.job, row));
            all.for_each(|series| figures.extend(charts(&series, &spans)));
        }
    }
    if figures.is_empty() {
        return None;
    }
    let body = html(&Figures { figures, left_out });
    Some(PageSection {
        id: "latency",
        title: "Latency over time".into(),
        about:
            "Left, percentiles of each window of time; right, all I/Os of each window by latency."
                .into(),
        body,
    })
}

fn charts(series: &RowSeries<'_>, spans: &[ShadedSpan]) -> Vec<HtmlFigure> {
    let windows: Vec<_> =
        series.windows().map(|(middle, _, samples)| (middle, merged(&samples))).collect();
    let curve = |(number, percent): (usize, f64)| {
        let point = |(middle, latencies): &(f64, SampleLatencies)| {
            let enough =
                percent >= 100.0 || latencies.count() as f64 * (1.0 - percent / 100.0) >= BEYOND;
            let value = Some(latencies).filter(|_| enough).and_then(|l| l.percentile(percent));
            (*middle, value.map_or(f64::NAN, Nanos::as_f64))
        };
        let name = if percent >= 100.0 { "max".to_owned() } else { format!("p{percent}") };
        ChartCurve {
            name,
            style: CurveStyle::of(number),
            points: windows.iter().map(point).collect(),
            dots: Vec::new(),
        }
    };
    let mut curves: Vec<ChartCurve> = PERCENTILES.into_iter().enumerate().map(curve).collect();
    curves.retain(|curve| curve.points.iter().any(|(_, y)| y.is_finite()));
    let chart = LineChart {
        label: format!("Latency percentiles over time: {}", series.name),
        across: ("time since the run began".into(), Quantity::Clock),
        up: ("latency".into(), Quantity::Latency),
        up_kind: ScaleKind::Log,
        curves,
        spans: spans.to_vec(),
        marks: Vec::new(),
    };
    let map = HeatMap {
        label: format!("Latencies over time: {}", series.name),
        begin: series.samples.spans().next().map_or(0.0, |(from, _)| from.as_secs_f64()),
        window: series.samples.window().as_secs_f64(),
        windows: windows.iter().map(|(_, latencies)| buckets(latencies)).collect(),
    };
    let figure = |what: &str, html: String| HtmlFigure {
        title: format!("{}: {what}", series.name),
        note: String::new(),
        html,
        wide: false,
    };
    let mut figures = Vec::new();
    figures.extend(line_chart(&chart).map(|html| figure("percentiles", html)));
    figures.extend(heat_map(&map, spans).map(|html| figure("heat map", html)));
    figures
}

fn merged(samples: &[&WindowSample]) -> SampleLatencies {
    let mut sum = SampleLatencies::default();
    samples.iter().for_each(|sample| sum.merge(sample.latencies()));
    sum
}

/// The middle of each bucket, ns, and its count.
fn buckets(latencies: &SampleLatencies) -> Vec<(f64, u64)> {
    let middle = |from: Nanos, to: Nanos| (from.as_f64() + to.as_f64()) / 2.0;
    latencies.buckets().map(|b| (middle(b.from(), b.to()), b.count())).collect()
}

/// The ramp and the window of steady state of jobs, each once.
fn spans<'a>(jobs: impl Iterator<Item = &'a JobReport>) -> Vec<ShadedSpan> {
    let mut spans: Vec<ShadedSpan> = Vec::new();
    let mut add = |kind, from: Nanos, to: Nanos, label: &str| {
        let span = ShadedSpan {
            kind,
            from: from.as_secs_f64(),
            to: to.as_secs_f64(),
            label: label.into(),
        };
        // Jobs of one group have nearly the same times.
        let near = |known: &ShadedSpan| {
            known.kind == kind
                && (known.from - span.from).abs() < 1.0
                && (known.to - span.to).abs() < 1.0
        };
        if !spans.iter().any(near) {
            spans.push(span);
        }
    };
    for job in jobs {
        let samples = &job.samples;
        if samples.measured() > samples.begin() {
            add(ShadedKind::Ramp, samples.begin(), samples.measured(), "ramp");
        }
        if let Some(SteadyState { attained: true, duration, .. }) = &job.steady_state {
            let from = samples.end().saturating_sub(*duration).max(samples.measured());
            add(ShadedKind::Steady, from, samples.end(), "steady");
        }
    }
    spans
}
