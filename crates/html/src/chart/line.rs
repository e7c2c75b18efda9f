//! Curves: values over time, latency over throughput, percentiles on an axis of nines.

use std::fmt::Write;

use fiord_stat::report::LatencySummary;

use crate::quantity::Quantity;
use crate::svg::{Coordinate, Escaped, path};

use super::frame::{ChartFrame, CurveStyle, ShadedSpan, legend};
use super::scale::{Scale, ScaleKind};

/// More points than this are thinned out before they are drawn: a chart has fewer pixels.
const MAX_POINTS: usize = 1200;

/// The curves of a chart. The horizontal axis is time, throughput or a percentage.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    /// What the chart shows, for those who do not see it.
    pub label: String,
    /// Title and quantity of the horizontal axis.
    pub across: (String, Quantity),
    /// Title and quantity of the vertical axis.
    pub up: (String, Quantity),
    /// How the vertical axis maps values; the horizontal one is linear, or of nines for percentages.
    pub up_kind: ScaleKind,
    /// The curves, in the order of the legend.
    pub curves: Vec<ChartCurve>,
    /// Shaded times.
    pub spans: Vec<ShadedSpan>,
    /// Points with a label, such as the knee.
    pub marks: Vec<ChartMark>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartCurve {
    /// Name of the curve in the legend.
    pub name: String,
    /// Chooses colour and dashes.
    pub style: CurveStyle,
    /// The points from left to right. A value that is not a number makes a gap.
    pub points: Vec<(f64, f64)>,
    /// Each point has a dot and a label. Empty: no dots.
    pub dots: Vec<String>,
}

/// A point with a label.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartMark {
    /// Where it is.
    pub at: (f64, f64),
    pub label: String,
}

/// Draws curves, with their legend. `None` without any point.
///
/// ```
/// use fiord_html::chart::{CurveStyle, ScaleKind};
/// use fiord_html::chart::line::{ChartCurve, LineChart, line_chart};
/// use fiord_html::quantity::Quantity;
///
/// let curve = ChartCurve { name: "a<b".into(), style: CurveStyle::of(0), points: vec![(0.0, 1.0), (1.0, 2.0)], dots: vec![] };
/// let chart = LineChart {
///     label: "IOPS over time".into(),
///     across: ("time".into(), Quantity::Clock),
///     up: ("IOPS".into(), Quantity::OpRate),
///     up_kind: ScaleKind::Linear,
///     curves: vec![curve],
///     spans: vec![],
///     marks: vec![],
/// };
/// assert!(line_chart(&chart).unwrap().contains("a&lt;b"));
/// ```
#[must_use]
pub fn line_chart(chart: &LineChart) -> Option<String> {
    let frame = frame_of(chart)?;
    Some(drawn(chart, &frame, &frame.ticks()))
}

/// Draws curves over values that have names instead of distances: the point at 1 belongs to the first name. `None` without
/// any point.
#[must_use]
pub fn named_chart(chart: &LineChart, names: &[String]) -> Option<String> {
    let x = Scale::exact(chart.across.1, 0.5, names.len() as f64 + 0.5);
    let frame = ChartFrame { x, ..frame_of(chart)? };
    // Names that have no space are left out.
    let step = names.len().div_ceil(NAMES).max(1);
    let named = names.iter().enumerate().step_by(step);
    let ticks: Vec<(f64, String)> =
        named.map(|(at, name)| (at as f64 + 1.0, Escaped(name).to_string())).collect();
    Some(drawn(chart, &frame, &ticks))
}

/// Maximum number of names of values below a chart.
const NAMES: usize = 12;

fn drawn(chart: &LineChart, frame: &ChartFrame, ticks: &[(f64, String)]) -> String {
    let mut out = String::new();
    // Dashes help to tell smooth curves apart; a noisy one would fall to pieces.
    let smooth = chart.across.1 != Quantity::Clock;
    let class = if smooth { "lines smooth" } else { "lines" };
    frame.open(class, &chart.label, &mut out);
    frame.shade(&chart.spans, &mut out);
    frame.axes((&chart.across.0, &chart.up.0), ticks, true, &mut out);
    for curve in chart.curves.iter().rev() {
        self::curve(frame, curve, &mut out);
    }
    for mark in &chart.marks {
        let (x, y) = (frame.left(mark.at.0), frame.top(mark.at.1));
        let (cx, cy) = (Coordinate(x), Coordinate(y));
        let label = Escaped(&mark.label);
        let (class, gap) = if x > 560.0 { ("end mark", -12.0) } else { ("mark", 12.0) };
        let _ = writeln!(
            out,
            "<circle class=\"mark\" cx=\"{cx}\" cy=\"{cy}\" r=\"8\"/><text class=\"{class}\" x=\"{}\" y=\"{}\">{label}</text>",
            Coordinate(x + gap),
            Coordinate((y - 10.0).max(24.0))
        );
    }
    out.push_str("</svg>\n");
    let names = chart.curves.iter().map(|curve| (curve.style, curve.name.as_str()));
    legend(names, smooth, &mut out);
    out
}

fn frame_of(chart: &LineChart) -> Option<ChartFrame> {
    let points = || {
        let all = chart.curves.iter().flat_map(|curve| &curve.points);
        all.filter(|(x, y)| x.is_finite() && y.is_finite())
    };
    points().next()?;
    let (left, right) = bounds(points().map(|(x, _)| *x));
    let (least, most) = bounds(points().map(|(_, y)| *y));
    let spans = chart.spans.iter().map(|span| span.to);
    let x = match chart.across.1 {
        Quantity::Percent => Scale {
            kind: ScaleKind::Nines,
            quantity: Quantity::Percent,
            low: 0.0,
            high: right.max(90.0),
        },
        Quantity::Clock => {
            Scale::exact(Quantity::Clock, left.min(0.0), spans.fold(right, f64::max))
        }
        quantity => Scale::from_zero(quantity, right),
    };
    let y = match chart.up_kind {
        ScaleKind::Log => Scale::log(chart.up.1, least, most),
        ScaleKind::Linear | ScaleKind::Nines => Scale::from_zero(chart.up.1, most),
    };
    Some(ChartFrame { x, y })
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn curve(frame: &ChartFrame, curve: &ChartCurve, out: &mut String) {
    let class = curve.style.class();
    let name = Escaped(&curve.name);
    let points = thinned(&curve.points);
    let places = points.iter().map(|(x, y)| {
        let gap = !(x.is_finite() && y.is_finite());
        if gap { (f64::NAN, f64::NAN) } else { (frame.left(*x), frame.top(*y)) }
    });
    let d = path(places);
    let _ = writeln!(out, "<path class=\"line {class}\" data-name=\"{name}\" d=\"{d}\"/>");
    for ((x, y), label) in curve.points.iter().zip(&curve.dots) {
        if !(x.is_finite() && y.is_finite()) {
            continue;
        }
        let _ = writeln!(
            out,
            "<circle class=\"dot c{}\" cx=\"{}\" cy=\"{}\" r=\"3.5\"><title>{}</title></circle>",
            curve.style.colour(),
            Coordinate(frame.left(*x)),
            Coordinate(frame.top(*y)),
            Escaped(label)
        );
    }
}

/// The points, or the least and the most of each of many short stretches: peaks stay visible.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MAX_POINTS / 2);
    let mut out = Vec::with_capacity(MAX_POINTS + 2);
    for part in points.chunks(stretch) {
        let known = || part.iter().filter(|(_, y)| y.is_finite());
        let least = known().min_by(|a, b| a.1.total_cmp(&b.1));
        let most = known().max_by(|a, b| a.1.total_cmp(&b.1));
        match (least, most) {
            (Some(a), Some(b)) if a.0 < b.0 => out.extend([*a, *b]),
            (Some(a), Some(b)) if a.0 > b.0 => out.extend([*b, *a]),
            (Some(a), _) => out.push(*a),
            // A stretch without values is a gap.
            (None, _) => out.push((part[0].0, f64::NAN)),
        }
    }
    out
}

/// The points of a percentile curve: from every bucket of the histogram if the report has it, else from the percentiles.
/// The last point is the largest value, at the percentage that stands for one half of a sample.
#[must_use]
pub fn percentile_points(latency: &LatencySummary) -> Vec<(f64, f64)> {
    if latency.bins.is_empty() {
        let listed = latency.percentiles.iter().filter(|(p, _)| *p < 100.0);
        return listed.map(|(p, value)| (*p, value.as_f64())).collect();
    }
    let all: u64 = latency.bins.iter().map(|(_, n)| n).sum();
    let all = all as f64;
    let mut points = vec![(0.0, latency.min.as_f64())];
    let mut below = 0u64;
    for (value, n) in &latency.bins {
        below += n;
        let percent = 100.0 * ((below as f64 - 0.5) / all);
        points.push((percent, value.as_f64()));
    }
    if let Some(last) = points.last_mut() {
        // The bucket of the largest value is up to 1.6 % wide; the value itself is exact.
        last.1 = last.1.min(latency.max.as_f64().max(1.0));
    }
    apart(&points)
}

/// Leaves out points that would lie within half a unit of their neighbour.
fn apart(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let samples = points.last().map_or(1.0, |(p, _)| 50.0 / (100.0 - p).max(1e-9));
    let x = Scale::nines(samples);
    let (low, high) = bounds(points.iter().map(|(_, y)| *y));
    let y = Scale::log(Quantity::Latency, low, high);
    let frame = ChartFrame { x, y };
    let place = |(p, value): &(f64, f64)| (frame.left(*p), frame.top(*value));
    let mut out: Vec<(f64, f64)> = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let near = out.last().is_some_and(|last| {
            let (a, b) = (place(last), place(point));
            (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 1.0
        });
        if !near || at + 1 == points.len() {
            out.push(*point);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;

    #[test]
    fn a_day_of_seconds_keeps_its_peaks() {
        let mut points: Vec<(f64, f64)> = (0..86_400).map(|s| (f64::from(s), 100.0)).collect();
        points[50_000].1 = 900.0;
        points[70_000].1 = 1.0;
        let thin = thinned(&points);
        assert!(thin.len() <= MAX_POINTS + 2, "{}", thin.len());
        assert!(thin.contains(&(50_000.0, 900.0)) && thin.contains(&(70_000.0, 1.0)));
        assert!(thin.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn a_percentile_curve_ends_with_the_largest_value() {
        let bins = vec![(Nanos(100), 900), (Nanos(200), 99), (Nanos(5000), 1)];
        let latency = LatencySummary {
            min: Nanos(99),
            max: Nanos(4990),
            n: 1000,
            bins,
            ..LatencySummary::default()
        };
        let points = percentile_points(&latency);
        assert_eq!((points[0], points[1]), ((0.0, 99.0), (89.95, 100.0)));
        let last = points.last().unwrap();
        assert!((last.0 - 99.95).abs() < 1e-9 && last.1 == 4990.0, "{points:?}");
        let percentiles = vec![(50.0, Nanos(7)), (99.0, Nanos(9))];
        let listed = LatencySummary { percentiles, ..LatencySummary::default() };
        assert_eq!(percentile_points(&listed), [(50.0, 7.0), (99.0, 9.0)]);
    }
}
