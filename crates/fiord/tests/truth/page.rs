//! Compares the page of `--html` with the truth: the data in it, its tiles, the table of jobs and the curves of its charts.

use serde_json::Value;

use crate::chart::{BANDS, Chart, charts};
use crate::compared::{Comparisons, Rounding::Digits};
use crate::expected::{Asked, EntryTruth, LatencyTruth, RowTruth, middle};
use crate::record::{DIRECTIONS, DoneIo, JobRecord, LatencyOf};
use crate::series::{around, latency_of};

/// Curves that a chart has at most.
const CURVES: usize = 8;

/// An entry of the report.
pub(crate) struct PageEntry<'a> {
    pub label: String,
    pub truth: &'a EntryTruth,
    pub asked: Asked,
    pub records: Vec<&'a JobRecord>,
    /// The end of its last job, ns.
    pub end: u64,
    /// A job ended with an error.
    pub failed: bool,
    /// Length of the windows of its samples, ns.
    pub window: u64,
}

/// A row of the table of jobs: an entry and a direction in which it did I/O.
struct PageRow<'a> {
    entry: &'a PageEntry<'a>,
    /// Index in [`DIRECTIONS`]; `None`: all directions.
    dir: Option<usize>,
    word: &'static str,
    truth: RowTruth,
    latencies: LatencyTruth,
    has_percentiles: bool,
}

impl<'a> PageRow<'a> {
    fn of(entry: &'a PageEntry<'a>) -> Vec<PageRow<'a>> {
        let asked = &entry.asked;
        let rows = match asked.unified {
            "mixed" => vec![(None, "all", entry.truth.mixed())],
            _ => (0..3)
                .map(|dir| (Some(dir), DIRECTIONS[dir], entry.truth.rows[dir].clone()))
                .collect(),
        };
        let row = |(dir, word, truth): (Option<usize>, &'static str, RowTruth)| PageRow {
            entry,
            dir,
            word,
            latencies: latency_of(asked)
                .map_or_else(LatencyTruth::default, |of| truth.latencies(of)),
            has_percentiles: if asked.clat {
                asked.clat_percentiles
            } else {
                asked.lat_percentiles
            },
            truth,
        };
        rows.into_iter().filter(|(_, _, truth)| !truth.ios.is_empty()).map(row).collect()
    }

    /// A percentile, if the report has it.
    fn percentile(&self, percent: f64) -> Option<f64> {
        let listed = self.has_percentiles && self.entry.asked.percentiles.contains(&percent);
        self.latencies.percentile(percent).filter(|_| listed).map(|ns| middle(ns) as f64)
    }

    fn name(&self) -> String {
        format!("{} {}", self.entry.label, self.word)
    }

    /// The I/Os of each window, with those of the ramp: when the window begins and ends, ns.
    fn windows(&self) -> Vec<((u64, u64), Vec<&DoneIo>)> {
        let (length, end) = (self.entry.window, self.entry.end);
        let span = |at: u64| (at * length, ((at + 1) * length).min(end));
        let count = if length == 0 { 0 } else { end.div_ceil(length) };
        let mut windows: Vec<_> = (0..count).map(|at| (span(at), vec![])).collect();
        for io in self.entry.records.iter().flat_map(|record| &record.ios) {
            let counts =
                io.is_done() && io.dir.is_some_and(|dir| self.dir.is_none_or(|own| own == dir));
            let at = (io.end.saturating_sub(1)).checked_div(length).unwrap_or(0);
            if let Some((_, ios)) = windows.get_mut(at as usize).filter(|_| counts) {
                ios.push(io);
            }
        }
        windows
    }
}

pub(crate) fn page(c: &mut Comparisons, page: &str, json: &Value, entries: &[PageEntry<'_>]) {
    data(c, page, json);
    let rows: Vec<PageRow<'_>> = entries.iter().flat_map(PageRow::of).collect();
    tiles(c, page, entries, &rows);
    table(c, page, &rows);
    // The charts of more rows show sums.
    let charts = if rows.len() > CURVES { return } else { charts(page) };
    let several =
        rows.iter().filter(|row| row.has_percentiles && row.latencies.n() > 0).count() > 1;
    for row in &rows {
        rates(c, &charts, row);
        over_time(c, &charts, row);
        heat(c, &charts, row);
        distribution(c, &charts, row, several);
    }
}

/// The numbers of a document.
fn numbers(value: &Value) -> u64 {
    match value {
        Value::Number(_) => 1,
        Value::Array(list) => list.iter().map(numbers).sum(),
        Value::Object(map) => map.values().map(numbers).sum(),
        _ => 0,
    }
}

/// The data are the document of `json+`.
fn data(c: &mut Comparisons, page: &str, json: &Value) {
    let results = fiord_report::embedded::embedded(page).unwrap_or_default();
    c.same("page: results", results.len(), 1);
    let found = results.first().and_then(|result| serde_json::from_str::<Value>(&result.json).ok());
    c.made += numbers(json);
    if found.as_ref() != Some(json) {
        c.wrong.push("page: the data differ from --output-format=json+".to_owned());
    }
}

/// A number with three figures and a unit: its value, and half a unit of its last digit.
pub(crate) fn figures(text: &str) -> (f64, f64) {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "" | "ns" | "B/s" => 1.0,
        "k" | "µs" | "us" => 1e3,
        "M" | "ms" => 1e6,
        "G" | "s" => 1e9,
        "KiB/s" => 1024.0,
        "MiB/s" => 1024.0 * 1024.0,
        "GiB/s" => 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let decimals = number.split_once('.').map_or(0, |(_, after)| after.len() as i32);
    let value = number.parse::<f64>().unwrap_or(f64::NAN);
    (value * factor, 0.5 * 10f64.powi(-decimals) * factor)
}

fn number(c: &mut Comparisons, what: &str, text: &str, expected: Option<f64>) {
    match expected {
        None => c.same(&format!("page: {what}"), text, "–"),
        Some(expected) => {
            let (found, half) = figures(text);
            c.close(&format!("page: {what} `{text}`"), found, expected, Digits(half * 1.000_001));
        }
    }
}

fn tiles(c: &mut Comparisons, page: &str, entries: &[PageEntry<'_>], rows: &[PageRow<'_>]) {
    let mut shown = page.split("<span class=\"value\">").skip(1).filter_map(|rest| {
        let (value, rest) = rest.split_once("</span><span class=\"term\">")?;
        Some((value, rest.split_once("</span>")?.0))
    });
    let mut tile = |c: &mut Comparisons, term: String, expected: f64| {
        let (value, found) = shown.next().unwrap_or_default();
        c.same("page: term of a tile", found, term.as_str());
        number(c, &term, value, Some(expected));
    };
    for word in ["read", "write", "trim", "all"] {
        let own: Vec<&PageRow<'_>> = rows.iter().filter(|row| row.word == word).collect();
        if own.is_empty() {
            continue;
        }
        tile(c, format!("{word} IOPS"), own.iter().map(|row| row.truth.rate()).sum());
        let bandwidth: u64 = own.iter().map(|row| row.truth.bandwidth()).sum();
        if bandwidth > 0 {
            tile(c, format!("{word} bandwidth"), bandwidth as f64);
        }
        if let ([only], Some(ns)) = (&own[..], own[0].percentile(99.0)) {
            c.same("page: rows of a percentile", only.word, word);
            tile(c, format!("{word} p99"), ns);
        }
    }
    let failed = entries.iter().filter(|entry| entry.failed).count();
    if failed > 0 {
        let (value, term) = shown.next().unwrap_or_default();
        c.same("page: failed jobs", term, "jobs failed");
        c.same("page: failed jobs", value, format!("{failed} of {}", entries.len()).as_str());
    }
    let survived: usize = entries.iter().map(|entry| entry.truth.survived.len()).sum();
    if survived > 0 {
        let (value, term) = shown.next().unwrap_or_default();
        c.same("page: survived errors", term, "errors survived");
        number(c, "errors survived", value, Some(survived as f64));
    }
    c.same("page: last tile", shown.next().unwrap_or_default().1, "findings");
}

/// The cells of each row of a table.
fn cells<'a>(page: &'a str, caption: &str) -> Vec<Vec<&'a str>> {
    let table = page.split_once(&format!("<caption>{caption}</caption>"));
    let body = table.and_then(|(_, rest)| rest.split_once("<tbody>")?.1.split_once("</tbody>"));
    let cell = |text: &'a str| {
        let begin = text.find("<td").or_else(|| text.find("<th")).unwrap_or(0);
        text[begin..].split_once('>').map_or("", |(_, text)| text)
    };
    let row = |row: &'a str| {
        let row = row.split_once("</th>").unwrap_or_default();
        std::iter::once(cell(row.0)).chain(row.1.split("</td>").map(cell)).collect()
    };
    body.map_or("", |(body, _)| body).split("<tr>").skip(1).map(row).collect()
}

fn table(c: &mut Comparisons, page: &str, rows: &[PageRow<'_>]) {
    let found = cells(page, "Jobs");
    c.same("page: rows of jobs", found.len(), rows.len());
    for (cells, row) in found.iter().zip(rows) {
        let name = row.name();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        let label = cell(0).split(" <span").next().unwrap_or("");
        c.same("page: job", label, row.entry.label.as_str());
        c.same("page: badge of a failure", cell(0).contains("failed"), row.entry.failed);
        c.same("page: direction", cell(1), row.word);
        let known = |value: f64| Some(value).filter(|_| row.latencies.n() > 0);
        for (at, what, expected) in [
            (2, "IOPS", Some(row.truth.rate())),
            (4, "bandwidth", Some(row.truth.bandwidth() as f64)),
            (5, "mean", known(row.latencies.mean())),
            (6, "p50", row.percentile(50.0)),
            (7, "p99", row.percentile(99.0)),
            (8, "p99.9", row.percentile(99.9)),
            (9, "max", known(row.latencies.max() as f64)),
        ] {
            number(c, &format!("{what} of {name}"), cell(at), expected);
        }
    }
}

/// The curves of IOPS and bandwidth. A window shorter than half of the others has no point.
fn rates(c: &mut Comparisons, charts: &[Chart<'_>], row: &PageRow<'_>) {
    let (windows, usual) = (row.windows(), row.entry.window);
    if windows.iter().all(|(_, ios)| ios.is_empty()) {
        return;
    }
    let amounts: [(&str, LatencyOf); 2] =
        [("IOPS over time", |_| 1), ("Bandwidth over time", |io| io.bytes)];
    for (label, amount) in amounts {
        let long = windows.iter().filter(|((from, to), _)| 2 * (to - from) >= usual);
        let expected: Vec<(f64, f64)> = long
            .map(|((from, to), ios)| {
                let sum: u64 = ios.iter().map(|io| amount(io)).sum();
                ((from + to) as f64 / 2e9, sum as f64 / ((to - from) as f64 / 1e9))
            })
            .collect();
        let what = format!("page: {label} of {}", row.name());
        let Some(chart) = charts.iter().find(|chart| chart.label == label) else {
            // A chart without any I/O in a long window is not drawn.
            c.same(&what, expected.iter().any(|(_, rate)| *rate > 0.0), false);
            continue;
        };
        let found = chart.curve(&row.name());
        c.same(&format!("{what}: points"), found.len(), expected.len());
        for (found, (time, rate)) in found.iter().zip(expected) {
            chart.x.compare(c, &format!("{what}: time"), found.0, (time, time));
            chart.y.compare(c, &what, found.1, (rate, rate));
        }
    }
}

/// The percentiles of each window. Samples have 16 buckets for each power of two, and percentiles are interpolated.
fn over_time(c: &mut Comparisons, charts: &[Chart<'_>], row: &PageRow<'_>) {
    let Some(of) = latency_of(&row.entry.asked) else { return };
    let label = format!("Latency percentiles over time: {}", row.name());
    let windows = row.windows();
    let chart = charts.iter().find(|chart| chart.label == label);
    let moved = windows.iter().any(|(_, ios)| !ios.is_empty());
    c.same(&format!("page: there is a chart `{label}`"), chart.is_some(), moved);
    let Some(chart) = chart else { return };
    for (name, percent) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)] {
        // A percentile that needs more I/Os than the window has is not drawn.
        let enough =
            |n: usize| n > 0 && (percent == 100.0 || n as f64 * (1.0 - percent / 100.0) >= 0.5);
        let drawn: Vec<_> = windows.iter().filter(|(_, ios)| enough(ios.len())).collect();
        let found = chart.curve(name);
        c.same(&format!("{label}: points of {name}"), found.len(), drawn.len());
        for (found, ((from, to), ios)) in found.iter().zip(drawn) {
            let truth = LatencyTruth::of(ios.iter().map(|io| of(io)));
            let (low, high) = around(&truth, percent);
            let range = (low as f64 * (15.0 / 16.0) - 1.0, high as f64 * (17.0 / 16.0) + 1.0);
            let time = (from + to) as f64 / 2e9;
            chart.x.compare(c, &format!("{label}: time"), found.0, (time, time));
            chart.y.compare(c, &format!("{label}: {name}"), found.1, range);
        }
    }
}

/// The middle of the bucket of a sample. Those below 64 ns have 4 ns.
fn sampled(ns: u64) -> f64 {
    let width = 1u64 << (ns | 64).ilog2().saturating_sub(4);
    (ns / width * width) as f64 + width as f64 / 2.0
}

/// The heat map: for each column, the share of its I/Os in each band, on a scale of four decades.
fn heat(c: &mut Comparisons, charts: &[Chart<'_>], row: &PageRow<'_>) {
    let label = format!("Latencies over time: {}", row.name());
    let Some(of) = latency_of(&row.entry.asked) else { return };
    let Some(chart) = charts.iter().find(|chart| chart.label == label) else { return };
    let windows = row.windows();
    let join = windows.len().div_ceil(150).max(1);
    let columns: Vec<Vec<u64>> = windows
        .chunks(join)
        .map(|part| part.iter().flat_map(|(_, ios)| ios).map(|io| of(io)).collect())
        .collect();
    let seconds = join as f64 * row.entry.window as f64 / 1e9;
    let found = chart.cells(columns.len(), seconds);
    for (at, (latencies, found)) in columns.iter().zip(found).enumerate() {
        let mut counts = [0; BANDS];
        latencies.iter().for_each(|ns| counts[chart.y.band(sampled(*ns))] += 1);
        let expected = counts.map(|n| match n {
            0 => 0,
            n => {
                let decades = (f64::from(n) / latencies.len() as f64).log10().max(-4.0);
                1 + ((1.0 + decades / 4.0) * 8.0).round() as usize
            }
        });
        for band in 0..BANDS {
            c.same(&format!("{label}: column {at}, band {band}"), found[band], expected[band]);
        }
    }
}

/// The curve over all percentiles: the middle of each bucket at the share of I/Os up to its middle one. Points that would
/// touch are left out.
fn distribution(c: &mut Comparisons, charts: &[Chart<'_>], row: &PageRow<'_>, several: bool) {
    let (title, curve) = match several {
        true => ("All jobs", row.name()),
        false => (row.entry.label.as_str(), row.word.to_owned()),
    };
    let label = format!("Latency over percentile of {title}");
    let what = format!("page: {label}: {curve}");
    let chart = charts.iter().find(|chart| chart.label == label);
    let points = |name: &str| chart.map_or_else(Vec::new, |chart| chart.curve(name));
    // Beside the latencies from the intended start, those from the actual one have a longer name.
    let found = Some(points(&curve)).filter(|found| !found.is_empty());
    let found = found.unwrap_or_else(|| points(&format!("{curve} actual")));
    let has = row.has_percentiles && row.latencies.n() > 0;
    c.same(&format!("{what}: has points"), !found.is_empty(), has);
    let Some(chart) = chart.filter(|_| has && !found.is_empty()) else { return };
    let all = row.latencies.n() as f64;
    let mut below = 0;
    let mut expected = vec![(0.0, row.latencies.min() as f64)];
    for (value, count) in row.latencies.bins() {
        below += count;
        expected.push((100.0 * ((below as f64 - 0.5) / all), value as f64));
    }
    if let Some((_, last)) = expected.last_mut() {
        *last = last.min(row.latencies.max() as f64);
    }
    let is_at = |found: &(f64, f64), (percent, ns): &(f64, f64)| {
        chart.x.is_at(found.0, (*percent, *percent)) && chart.y.is_at(found.1, (*ns, *ns))
    };
    c.holds(&format!("{what}: first point"), is_at(&found[0], &expected[0]));
    c.holds(
        &format!("{what}: last point"),
        is_at(&found[found.len() - 1], &expected[expected.len() - 1]),
    );
    let mut rest = expected.iter();
    for point in &found {
        let holds = rest.any(|expected| is_at(point, expected));
        c.holds(&format!("{what}: the point at {}, {}", point.0, point.1), holds);
    }
}
