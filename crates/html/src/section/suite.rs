//! What did a suite find about a device?

use crate::chart::line::{ChartCurve, LineChart, named_chart};
use crate::chart::{CurveStyle, ScaleKind};
use crate::quantity::Quantity;
use crate::result::{PointDocument, SuiteDocument};
use crate::svg::Escaped;

use super::element::{Figures, HtmlCell, HtmlFigure, HtmlTable, PageSection, head, html};
use super::findings;
use super::points::{latency, lines, names, table, text, words};

pub(crate) fn sections(suite: &SuiteDocument) -> Vec<PageSection> {
    let labels: Vec<(String, &PointDocument)> =
        suite.rows.iter().map(|row| (words(row.settings.iter()), row)).collect();
    let mut sections = vec![findings::of_points(&labels)];
    let facts = suite.device.iter().map(|(name, value)| {
        vec![HtmlCell::text(&name.replace('_', " ")), HtmlCell::text(&text(Some(value)))]
    });
    let device = html(&HtmlTable {
        caption: "Device".into(),
        head: head(&["property", "value"], 2),
        rows: facts.collect(),
    });
    let title = "On what".to_owned();
    sections.push(PageSection { id: "machine", title, about: String::new(), body: device });
    let mut body = html(&Figures { figures: charts(suite), left_out: String::new() });
    body += &table("Rows", &suite.rows, false);
    for left in &suite.left_out {
        body += &format!("<p class=\"left-out\">Left out: {}</p>", Escaped(left));
    }
    if !suite.complete {
        body += "<p class=\"left-out\">Not all runs of the suite are done.</p>";
    }
    let title = format!("Suite {}", suite.suite);
    sections.push(PageSection { id: "suite", title, about: String::new(), body });
    sections
}

/// Bandwidth and p99 along the last option: one curve for each combination of the other ones.
fn charts(suite: &SuiteDocument) -> Vec<HtmlFigure> {
    let Some(along) = names(&suite.rows).last().map(|name| (*name).to_owned()) else {
        return Vec::new();
    };
    let lines = lines(&suite.rows, &along);
    let long = lines.iter().any(|(_, line)| line.len() > 1);
    if !long {
        return Vec::new();
    }
    let mut values: Vec<String> = Vec::new();
    for value in suite.rows.iter().map(|row| text(row.settings.get(&along))) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let figure = |title: &str,
                  up: Quantity,
                  kind: ScaleKind,
                  value: &dyn Fn(&PointDocument) -> f64| {
        let place = |row: &PointDocument| {
            let name = text(row.settings.get(&along));
            values.iter().position(|value| *value == name).map_or(f64::NAN, |at| at as f64 + 1.0)
        };
        let curve = |(number, (with, line)): (usize, &(String, Vec<&PointDocument>))| ChartCurve {
            name: if with.is_empty() { suite.suite.clone() } else { with.clone() },
            style: CurveStyle::of(number),
            points: line.iter().map(|row| (place(row), value(row))).collect(),
            dots: line.iter().map(|row| words(row.settings.iter())).collect(),
        };
        let chart = LineChart {
            label: format!("{title} along {along}"),
            across: (along.clone(), Quantity::Count),
            up: (title.to_lowercase(), up),
            up_kind: kind,
            curves: lines.iter().take(8).enumerate().map(curve).collect(),
            spans: Vec::new(),
            marks: Vec::new(),
        };
        let note = format!("along {along}");
        Some(HtmlFigure {
            title: title.into(),
            note,
            html: named_chart(&chart, &values)?,
            wide: false,
        })
    };
    let p99 = |row: &PointDocument| latency(row.clat_ns.as_ref(), "p99").unwrap_or(f64::NAN);
    let charts = [
        figure("Bandwidth", Quantity::ByteRate, ScaleKind::Linear, &|row| row.bw_bytes),
        figure("p99 latency", Quantity::Latency, ScaleKind::Log, &p99),
    ];
    charts.into_iter().flatten().collect()
}
