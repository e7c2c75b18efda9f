//! Heat maps: how many I/Os had which latency, over time.

use std::fmt::Write;

use crate::quantity::Quantity;
use crate::svg::Coordinate;

use super::frame::{ChartFrame, ShadedSpan};
use super::scale::Scale;

/// Maximum number of columns of a map.
pub const COLUMNS: usize = 150;
/// Bands of latency.
const BANDS: usize = 44;
/// Shades, without the empty one.
const SHADES: usize = 9;

/// The latencies of the I/Os of equal windows of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeatMap {
    /// What the map shows, for those who do not see it.
    pub label: String,
    /// When the first window begins, seconds.
    pub begin: f64,
    /// Length of a window, seconds.
    pub window: f64,
    /// For each window, latency in nanoseconds and number of I/Os.
    pub windows: Vec<Vec<(f64, u64)>>,
}

/// Draws a heat map: the stronger the colour, the larger the share of the window's I/Os. `None` without I/Os.
#[must_use]
pub fn heat_map(map: &HeatMap, spans: &[ShadedSpan]) -> Option<String> {
    let map = coarser(map);
    let values = || map.windows.iter().flatten().filter(|(_, n)| *n > 0).map(|(value, _)| *value);
    let (low, high) = values().fold((f64::INFINITY, 0.0), |(a, b), v| (v.min(a), v.max(b)));
    if high <= 0.0 {
        return None;
    }
    let end = map.begin + map.window * map.windows.len() as f64;
    let last = spans.iter().map(|span| span.to).fold(end, f64::max);
    let x = Scale::exact(Quantity::Clock, map.begin.min(0.0), last);
    let frame = ChartFrame { x, y: Scale::log(Quantity::Latency, low, high) };
    let mut out = String::new();
    frame.open("heat", &map.label, &mut out);
    frame.shade(spans, &mut out);
    let cells = cells(&map, &frame.y);
    for (shade, path) in paths(&map, &frame, &cells).iter().enumerate() {
        if !path.is_empty() {
            let _ = writeln!(out, "<path class=\"h{}\" d=\"{path}\"/>", shade + 1);
        }
    }
    frame.axes(("time since the run began", "latency"), &frame.ticks(), false, &mut out);
    out.push_str("</svg>\n");
    out.push_str(&key());
    Some(out)
}

/// Joins windows until there are few enough columns.
fn coarser(map: &HeatMap) -> HeatMap {
    let join = map.windows.len().div_ceil(COLUMNS).max(1);
    let joined = map.windows.chunks(join).map(|part| part.concat());
    HeatMap { windows: joined.collect(), window: map.window * join as f64, ..map.clone() }
}

/// For each window the shade of each band, 0 for empty.
fn cells(map: &HeatMap, scale: &Scale) -> Vec<[usize; BANDS]> {
    let one = |window: &Vec<(f64, u64)>| {
        let mut counts = [0u64; BANDS];
        for (value, n) in window {
            let band = (scale.place(*value) * BANDS as f64) as usize;
            let count = &mut counts[band.min(BANDS - 1)];
            *count = count.saturating_add(*n);
        }
        let all = counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n)).max(1);
        // The logarithm of the share, so that one I/O in 10,000 is visible: the tail is what the map is for.
        counts.map(|n| match n {
            0 => 0,
            n => {
                let decades = (n as f64 / all as f64).log10().max(-4.0);
                1 + ((1.0 + decades / 4.0) * (SHADES - 1) as f64).round() as usize
            }
        })
    };
    map.windows.iter().map(one).collect()
}

/// One path for each shade. Neighbours of one shade in a band are one rectangle.
fn paths(map: &HeatMap, frame: &ChartFrame, cells: &[[usize; BANDS]]) -> [String; SHADES] {
    let mut paths: [String; SHADES] = Default::default();
    let height = ChartFrame::PLOT_HEIGHT / BANDS as f64;
    let bottom = frame.top(frame.y.low);
    for band in 0..BANDS {
        let top = Coordinate(bottom - (band + 1) as f64 * height);
        let mut column = 0;
        while column < cells.len() {
            let shade = cells[column][band];
            let from = column;
            while column < cells.len() && cells[column][band] == shade {
                column += 1;
            }
            if shade > 0 {
                let left = frame.left(map.begin + from as f64 * map.window);
                let right = frame.left(map.begin + column as f64 * map.window);
                let (x, width) = (Coordinate(left), Coordinate((right - left).max(0.5)));
                let (down, back) = (Coordinate(height), Coordinate(-(right - left).max(0.5)));
                let _ = write!(paths[shade - 1], "M{x} {top}h{width}v{down}h{back}z");
            }
        }
    }
    paths
}

/// The key of the shades.
fn key() -> String {
    let mut out = String::from(
        "<p class=\"key\">share of the I/Os of a window: 0.01\u{202f}% <svg class=\"shades\" viewBox=\"0 0 162 12\" aria-hidden=\"true\">",
    );
    for shade in 0..SHADES {
        let _ = write!(out, "<path class=\"h{}\" d=\"M{} 0h18v12h-18z\"/>", shade + 1, shade * 18);
    }
    out.push_str("</svg> 100\u{202f}%</p>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_windows_become_few_columns_and_no_io_is_lost() {
        let windows = (0..1000).map(|n| vec![(1000.0 + f64::from(n), 2)]).collect();
        let map = HeatMap { window: 1.0, windows, ..HeatMap::default() };
        let few = coarser(&map);
        assert!(few.windows.len() <= COLUMNS && few.window == 7.0);
        assert_eq!(few.windows.iter().flatten().map(|(_, n)| n).sum::<u64>(), 2000);
    }

    #[test]
    fn one_io_in_ten_thousand_is_visible() {
        let windows = vec![vec![(100_000.0, 9999), (5e7, 1)]];
        let map = HeatMap { window: 1.0, windows, ..HeatMap::default() };
        let shades = cells(&map, &Scale::log(Quantity::Latency, 1e5, 5e7))[0];
        let shown: Vec<usize> = shades.into_iter().filter(|shade| *shade > 0).collect();
        assert_eq!(shown, [9, 1]);
        assert_eq!(heat_map(&HeatMap::default(), &[]), None);
    }
}
