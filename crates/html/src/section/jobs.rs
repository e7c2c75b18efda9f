//! What are the numbers?

use fiord_stat::report::{DirReport, LatencySummary};
use fiord_types::Bytes;

use crate::chart::bars::cell_bar;
use crate::quantity::Quantity;

use super::element::{HtmlCell, HtmlTable, PageSection, Tile, Tiles, head, html};
use super::findings;
use super::view::{EntryView, RunView, word};

/// The numbers in large type, and one row for each job and direction.
pub(crate) fn of_run(
    run: &RunView<'_>,
    sparks: &dyn Fn(&EntryView<'_>, &DirReport) -> String,
) -> PageSection {
    let mut body = html(&Tiles { tiles: tiles(run) });
    body += &table(run, sparks);
    body += &hosts(run);
    PageSection { id: "results", title: "Results".into(), about: String::new(), body }
}

fn tiles(run: &RunView<'_>) -> Vec<Tile> {
    let tile = |value: String, term: &str| Tile { value, term: term.into(), class: "" };
    let mut tiles = Vec::new();
    let groups: std::collections::HashSet<_> =
        run.rows().map(|(entry, _)| (entry.machine, entry.job.group_id)).collect();
    // Groups run one after another, so their rates have no sum.
    if groups.len() <= run.machines.len() {
        let kinds = ["read", "write", "trim", "all"];
        for kind in kinds {
            let rows = || run.rows().filter(|(_, row)| word(row.kind) == kind).map(|(_, row)| row);
            if rows().next().is_none() {
                continue;
            }
            let iops: f64 = rows().map(|row| row.iops).sum();
            let bw = rows().fold(Bytes::ZERO, |sum, row| sum.saturating_add(row.bw));
            tiles.push(tile(Quantity::OpRate.text(iops), &format!("{kind} IOPS")));
            if bw > Bytes::ZERO {
                tiles
                    .push(tile(Quantity::ByteRate.text(bw.as_f64()), &format!("{kind} bandwidth")));
            }
            let only =
                Some(rows()).filter(|_| rows().count() == 1).and_then(|mut rows| rows.next());
            let worst = only.and_then(|row| percentile(latency(row), 99.0));
            tiles.extend(worst.map(|ns| tile(Quantity::Latency.text(ns), &format!("{kind} p99"))));
        }
    }
    let failed = run.entries.iter().filter(|entry| entry.job.failed).count();
    if failed > 0 {
        let value = format!("{failed} of {}", run.entries.len());
        tiles.push(Tile { value, term: "jobs failed".into(), class: "invalid" });
    }
    let survived: u64 =
        run.entries.iter().filter_map(|entry| entry.job.errors.as_ref()).map(|e| e.total).sum();
    if survived > 0 {
        let value = Quantity::Count.text(survived as f64);
        tiles.push(Tile { value, term: "errors survived".into(), class: "invalid" });
    }
    let (value, class) = findings::summary(&run.findings(), findings::looked_for(run));
    tiles.push(Tile { value, term: "findings".into(), class });
    tiles
}

/// The latencies of a row: completion latencies, or the total ones if only those were measured.
pub(crate) fn latency(row: &DirReport) -> &LatencySummary {
    if row.clat.n > 0 { &row.clat } else { &row.lat }
}

/// A percentile, ns. `None` if the report does not have it.
pub(crate) fn percentile(latency: &LatencySummary, percent: f64) -> Option<f64> {
    let listed = latency.percentiles.iter().find(|(p, _)| (p - percent).abs() < 1e-6);
    listed.map(|(_, value)| value.as_f64())
}

fn table(run: &RunView<'_>, sparks: &dyn Fn(&EntryView<'_>, &DirReport) -> String) -> String {
    let most = run.rows().map(|(_, row)| row.iops).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let names = [
        "job",
        "",
        "IOPS",
        "",
        "bandwidth",
        "mean",
        "p50",
        "p99",
        "p99.9",
        "max",
        "CPU",
        "over time",
    ];
    let row = |(entry, row): (&EntryView<'_>, &DirReport)| {
        let times = latency(row);
        let number = |text: String| HtmlCell::number(&text);
        let ns =
            |value: Option<f64>| number(value.map_or("–".into(), |ns| Quantity::Latency.text(ns)));
        let known = |value: f64| Some(value).filter(|_| times.n > 0);
        let error = match entry.job.failed {
            true => " <span class=\"badge bad\">failed</span>",
            false => "",
        };
        let bar = cell_bar(row.iops / most, if word(row.kind) == "write" { 1 } else { 0 });
        vec![
            HtmlCell { html: HtmlCell::text(&entry.label).html + error, number: false },
            HtmlCell::text(word(row.kind)),
            number(Quantity::OpRate.text(row.iops)),
            HtmlCell::html(bar),
            number(Quantity::ByteRate.text(row.bw.as_f64())),
            ns(known(times.mean)),
            ns(percentile(times, 50.0)),
            ns(percentile(times, 99.0)),
            ns(percentile(times, 99.9)),
            ns(known(times.max.as_f64())),
            number(Quantity::Percent.text(entry.job.usr_cpu + entry.job.sys_cpu)),
            HtmlCell::html(sparks(entry, row)),
        ]
    };
    let rows: Vec<_> = run.rows().map(row).collect();
    if rows.is_empty() {
        return "<p>No job did any I/O.</p>".into();
    }
    html(&HtmlTable { caption: "Jobs".into(), head: head(&names, 2), rows })
}

/// One row for each host of a run on many hosts.
fn hosts(run: &RunView<'_>) -> String {
    let Some(together) = run.together else { return String::new() };
    let row = |host: &fiord_stat::hosts::HostReport| {
        let number = |text: Option<String>| HtmlCell::number(&text.unwrap_or_else(|| "–".into()));
        let total = host.total.as_ref();
        let time = |time: Option<fiord_types::Nanos>| {
            number(time.map(|t| Quantity::Latency.text(t.as_f64())))
        };
        let state = match (&host.failure, host.complete) {
            (Some(failure), _) => format!("lost {}: {}", failure.stage.words(), failure.cause()),
            (None, false) => "incomplete".into(),
            (None, true) if host.errors.is_empty() => "complete".into(),
            (None, true) => host.errors.join("; "),
        };
        vec![
            HtmlCell::text(host.own_name()),
            number(total.map(|total| Quantity::OpRate.text(total.iops))),
            number(total.map(|total| Quantity::ByteRate.text(total.bw.as_f64()))),
            time(host.started),
            time(host.finished),
            time(host.clock.map(|clock| clock.bound)),
            HtmlCell::text(&state),
        ]
    };
    let names = ["host", "IOPS", "bandwidth", "started", "finished", "clock error", ""];
    let rows = together.hosts.iter().map(row).collect();
    let mut out = html(&HtmlTable { caption: "Hosts".into(), head: head(&names, 1), rows });
    if let Some(rate) = &together.together {
        out += &format!(
            "<p>While all hosts ran, from {} to {} after the start: {} IOPS, {}.</p>",
            Quantity::Clock.text(rate.begin.as_secs_f64()),
            Quantity::Clock.text(rate.end.as_secs_f64()),
            Quantity::OpRate.text(rate.iops),
            Quantity::ByteRate.text(rate.bw.as_f64())
        );
    }
    out
}
