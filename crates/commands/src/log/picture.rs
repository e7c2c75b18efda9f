//! Pictures in the terminal.

use std::fmt::Write as _;

use fiord_formats::log::LogKind;

use super::collect::Collected;
use super::error::ShowLogError;
use super::scale::PlotAxis;
use super::table;
use super::timeline::LogTimeline;

/// Width and height of a picture in characters.
const WIDTH: usize = 72;
const HEIGHT: usize = 14;
/// Characters of curves: percentiles in the order of the command line, then the maximum.
const MARKS: [char; 8] = ['.', ':', 'o', '*', '#', '%', '@', '&'];
/// From no I/O to most I/Os of a window.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// The start of an axis without latencies.
const MICROSECOND: f64 = 1000.0;

/// One picture for each kind and direction.
pub(super) fn plots(collected: &Collected) -> String {
    let plots = collected.timelines.iter().map(|timeline| {
        let timeline = timeline.coarser(WIDTH);
        let curves = curves(&timeline, &collected.percentiles);
        let axis = axis(&timeline, &curves);
        let mut cells = vec![[' '; WIDTH]; HEIGHT];
        // The first percentile, often the median, is on top.
        for (at, curve) in curves.iter().enumerate().rev() {
            for (index, value) in curve.values.iter().enumerate() {
                let Some(value) = value else { continue };
                let row = ((1.0 - axis.place(*value)) * (HEIGHT - 1) as f64).round() as usize;
                let (from, to) = columns_of(&timeline, index);
                cells[row][from..to].fill(MARKS[at % MARKS.len()]);
            }
        }
        let legend: Vec<String> = curves
            .iter()
            .zip(MARKS.iter().cycle())
            .map(|(curve, mark)| format!("{mark} {}", curve.name))
            .collect();
        picture(&timeline, &axis, &cells, &legend.join("   "))
    });
    plots.collect::<Vec<_>>().join("\n")
}

/// One picture for each kind of latency and direction: the darker, the more I/Os of the window.
pub(super) fn heat_maps(collected: &Collected) -> Result<String, ShowLogError> {
    let mut maps = Vec::new();
    for timeline in collected.timelines.iter().filter(|timeline| timeline.kind.is_latency()) {
        let timeline = timeline.coarser(WIDTH);
        let (axis, heat) = heat(&timeline, HEIGHT);
        let mut cells = vec![[' '; WIDTH]; HEIGHT];
        for (index, bands) in heat.iter().enumerate() {
            let (from, to) = columns_of(&timeline, index);
            for (band, share) in bands.iter().enumerate() {
                let darkest = (SHADES.len() - 1) as f64;
                // A few slow I/Os must be visible: the square root raises small shares.
                let shade = (share.sqrt() * darkest).ceil() as usize;
                cells[HEIGHT - 1 - band][from..to].fill(SHADES[shade]);
            }
        }
        maps.push(picture(&timeline, &axis, &cells, "the darker, the more I/Os of the window"));
    }
    match maps.is_empty() {
        true => Err(ShowLogError::NoLatencies),
        false => Ok(maps.join("\n")),
    }
}

/// The columns of the picture that a window fills.
fn columns_of(timeline: &LogTimeline, index: usize) -> (usize, usize) {
    let windows = timeline.windows.len();
    let column = |index: usize| index * WIDTH / windows;
    (column(index), column(index + 1).max(column(index) + 1))
}

fn picture(
    timeline: &LogTimeline,
    axis: &PlotAxis,
    cells: &[[char; WIDTH]],
    legend: &str,
) -> String {
    let mut text = format!("{} {}: {legend}\n", timeline.kind.name(), timeline.dir.name());
    let ticks: Vec<(usize, f64)> = axis
        .ticks()
        .into_iter()
        .map(|tick| (((1.0 - axis.place(tick)) * (cells.len() - 1) as f64).round() as usize, tick))
        .collect();
    for (row, line) in cells.iter().enumerate() {
        let tick = ticks.iter().find(|(at, _)| *at == row);
        let label = tick.map(|(_, tick)| table::value(timeline.kind, *tick)).unwrap_or_default();
        let line: String = line.iter().collect();
        let _ = writeln!(text, "{label:>10} |{}", line.trim_end());
    }
    let (from, to) = timeline.covered();
    let (from, to) = (table::milliseconds(from), table::milliseconds(to));
    let _ = writeln!(text, "{:>10} +{}", "", "-".repeat(WIDTH));
    let _ = writeln!(text, "{:>11} {from}{to:>1$}", "", WIDTH.saturating_sub(from.len()));
    text
}

/// A value over time.
pub(super) struct PlotCurve {
    pub(super) name: String,
    /// One for each window; `None` without I/Os.
    pub(super) values: Vec<Option<f64>>,
}

/// The percentiles and the maximum of latencies, or the rate.
pub(super) fn curves(timeline: &LogTimeline, percentiles: &[f64]) -> Vec<PlotCurve> {
    if !timeline.kind.is_latency() {
        let values = (0..timeline.windows.len()).map(|index| Some(timeline.rate(index))).collect();
        return vec![PlotCurve { name: "rate".to_owned(), values }];
    }
    let found: Vec<_> =
        timeline.windows.iter().map(|window| window.latencies.percentiles(percentiles)).collect();
    let mut curves: Vec<PlotCurve> = percentiles
        .iter()
        .enumerate()
        .map(|(at, percentile)| PlotCurve {
            name: format!("{percentile} %"),
            values: found.iter().map(|found| Some(found.get(at)?.1.0 as f64)).collect(),
        })
        .collect();
    let most = |window: &super::timeline::LogWindow| window.mean().map(|_| window.most.0 as f64);
    let values = timeline.windows.iter().map(most).collect();
    curves.push(PlotCurve { name: "max".to_owned(), values });
    curves
}

/// The axis of the values of curves.
pub(super) fn axis(timeline: &LogTimeline, curves: &[PlotCurve]) -> PlotAxis {
    let values = || curves.iter().flat_map(|curve| curve.values.iter().flatten().copied());
    let most = values().fold(0.0, f64::max);
    match timeline.kind.is_latency() {
        true => {
            PlotAxis::logarithmic(values().fold(most, f64::min).min(most), most.max(MICROSECOND))
        }
        false if timeline.kind == LogKind::Bandwidth => PlotAxis::linear(most, 1024.0),
        false => PlotAxis::linear(most, 1000.0),
    }
}

/// For each window, the share of its I/Os in each of `bands` bands of latency, relative to the fullest band.
pub(super) fn heat(timeline: &LogTimeline, bands: usize) -> (PlotAxis, Vec<Vec<f64>>) {
    let filled = timeline.total().latencies.bins();
    let least = filled.first().map_or(MICROSECOND, |(latency, _)| latency.0 as f64);
    let most = filled.last().map_or(MICROSECOND, |(latency, _)| latency.0 as f64);
    let axis = PlotAxis::logarithmic(least, most);
    let heat = timeline.windows.iter().map(|window| {
        let mut counts = vec![0.0; bands];
        for (latency, count) in window.latencies.bins() {
            let band = (axis.place(latency.0 as f64) * bands as f64) as usize;
            counts[band.min(bands - 1)] += count as f64;
        }
        let most = counts.iter().copied().fold(1.0, f64::max);
        counts.into_iter().map(|count| count / most).collect()
    });
    let heat = heat.collect();
    (axis, heat)
}
