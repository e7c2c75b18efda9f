//! Pictures as SVG.

use std::fmt::Write as _;

use super::args::LogView;
use super::collect::Collected;
use super::picture::{axis, curves, heat};
use super::scale::PlotAxis;
use super::table;
use super::timeline::{CHOSEN, LogTimeline};

/// Sizes in pixels: a panel, and the margins around its picture.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 36.0;
/// Bands of a heat map.
const BANDS: usize = 48;
/// Colours that people with colour vision deficiency can tell apart (Okabe and Ito).
const COLOURS: [&str; 7] =
    ["#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#000000"];

/// One panel for each kind and direction.
pub(super) fn document(collected: &Collected, show: LogView) -> String {
    let heat_maps = show == LogView::Heatmap;
    let shown = collected.timelines.iter().filter(|t| !heat_maps || t.kind.is_latency());
    let mut panels = String::new();
    let mut count = 0.0;
    for timeline in shown {
        let _ = writeln!(panels, "<g transform=\"translate(0 {})\">", count * HEIGHT);
        match heat_maps {
            true => heat_map(timeline, &mut panels),
            false => plot(timeline, &collected.percentiles, &mut panels),
        }
        panels.push_str("</g>\n");
        count += 1.0;
    }
    let height = (count * HEIGHT).max(1.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{panels}</svg>\n"
    )
}

/// The horizontal and vertical place of a point in a panel, from its places on the axes.
fn point(across: f64, up: f64) -> (f64, f64) {
    (LEFT + across * (WIDTH - LEFT - RIGHT), TOP + (1.0 - up) * (HEIGHT - TOP - BOTTOM))
}

fn plot(timeline: &LogTimeline, percentiles: &[f64], out: &mut String) {
    let curves = curves(timeline, percentiles);
    let values = axis(timeline, &curves);
    let time = frame(timeline, &values, out);
    for (at, curve) in curves.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let mut path = String::new();
        let mut gap = true;
        for (index, value) in curve.values.iter().enumerate() {
            let Some(value) = value else {
                // A window without I/O interrupts the line.
                gap = true;
                continue;
            };
            let (from, to) = timeline.span(index);
            let middle = (from as f64 + to as f64) / 2.0;
            let (x, y) = point(time.place(middle), values.place(*value));
            let _ = write!(path, "{}{x:.1} {y:.1}", if gap { 'M' } else { 'L' });
            // A line of one point has round ends, so that it is visible.
            path.push_str(if gap { "h0" } else { "" });
            gap = false;
        }
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" stroke-linecap=\"round\" \
             stroke-linejoin=\"round\"/>"
        );
        let (x, y) = (WIDTH - RIGHT + 12.0, TOP + 12.0 + at as f64 * 17.0);
        let _ = writeln!(
            out,
            "<path d=\"M{x} {}h16\" stroke=\"{colour}\" stroke-width=\"3\"/><text x=\"{}\" y=\"{y}\">{}</text>",
            y - 4.0,
            x + 22.0,
            escaped(&curve.name)
        );
    }
}

fn heat_map(timeline: &LogTimeline, out: &mut String) {
    let timeline = timeline.coarser(CHOSEN / 2);
    let (values, heat) = heat(&timeline, BANDS);
    let time = frame(&timeline, &values, out);
    for (index, bands) in heat.iter().enumerate() {
        let (from, to) = timeline.span(index);
        for (band, share) in bands.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let up = |band: usize| band as f64 / BANDS as f64;
            let (x, y) = point(time.place(from as f64), up(band + 1));
            let (right, bottom) = point(time.place(to as f64), up(band));
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#0072b2\" \
                 fill-opacity=\"{:.2}\"/>",
                (right - x).max(1.0),
                bottom - y,
                0.1 + 0.9 * share.sqrt()
            );
        }
    }
}

/// Draws title, axes and labels; returns the axis of time.
fn frame(timeline: &LogTimeline, values: &PlotAxis, out: &mut String) -> PlotAxis {
    let (from, to) = timeline.covered();
    let time = PlotAxis::between(from as f64, to as f64);
    let title = format!("{} {}", timeline.kind.name(), timeline.dir.name());
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{title}</text>");
    for tick in values.ticks() {
        let (x, y) = point(0.0, values.place(tick));
        let label = escaped(&table::value(timeline.kind, tick));
        let _ = writeln!(
            out,
            "<path d=\"M{x} {y:.1}H{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - RIGHT,
            x - 6.0,
            y + 4.0
        );
    }
    for tick in time.ticks() {
        let (x, y) = point(time.place(tick), 0.0);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{} s</text>",
            y + 18.0,
            tick / 1000.0
        );
    }
    let ((left, bottom), (right, top)) = (point(0.0, 0.0), point(1.0, 1.0));
    let _ =
        writeln!(out, "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#444\"/>");
    time
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
