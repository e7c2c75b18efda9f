//! Metrics as text: Prometheus' format 0.0.4, and OpenMetrics 1.0.
//!
//! The formats differ in the names of families: in OpenMetrics, `# TYPE fiord_ios counter` precedes `fiord_ios_total`, and
//! families of the kind `info` exist. The readers of 0.0.4, such as the node exporter, need the whole name there. Both
//! documents end in `# EOF`, which 0.0.4 takes for a comment, so a reader of either notices a document that is cut.

use std::borrow::Cow;
use std::fmt::{Result, Write};

use fiord_stat::histogram::Histogram;
use fiord_stat::summary::Summary;

use super::buckets::{CLASSIC, classic};
use super::families::{Family, FamilyKind, MetricSample, MetricValue};

/// The metrics as a document.
pub(super) fn write(families: &[Family<'_>], open_metrics: bool) -> String {
    let mut out = String::with_capacity(16 << 10);
    for family in families {
        // Writing to a string cannot fail.
        let _ = one(family, open_metrics, &mut out);
    }
    out.push_str("# EOF\n");
    out
}

fn one(family: &Family<'_>, open_metrics: bool, out: &mut String) -> Result {
    let def = &family.def;
    let sample_name = def.sample_name();
    let name = if open_metrics { def.name } else { &sample_name };
    let kind = match def.kind {
        FamilyKind::Counter => "counter",
        FamilyKind::Gauge => "gauge",
        FamilyKind::Info if open_metrics => "info",
        FamilyKind::Info => "gauge",
        FamilyKind::Histogram => "histogram",
    };
    writeln!(out, "# HELP {name} {}", def.help)?;
    writeln!(out, "# TYPE {name} {kind}")?;
    if open_metrics && !def.unit.is_empty() {
        writeln!(out, "# UNIT {name} {}", def.unit)?;
    }
    for sample in &family.samples {
        match &sample.value {
            MetricValue::Number(value) => {
                writeln!(out, "{sample_name}{} {value}", labels(sample, None))?;
            }
            MetricValue::Latencies(histogram, summary) => {
                latencies(&sample_name, sample, histogram, summary, out)?;
            }
        }
    }
    Ok(())
}

fn latencies(
    name: &str,
    sample: &MetricSample<'_>,
    histogram: &Histogram,
    summary: &Summary,
    out: &mut String,
) -> Result {
    let count = histogram.count();
    let bounds = CLASSIC.iter().map(|(le, _)| *le).zip(classic(histogram));
    for (le, n) in bounds.chain([("+Inf", count)]) {
        writeln!(out, "{name}_bucket{} {n}", labels(sample, Some(le)))?;
    }
    let labels = labels(sample, None);
    writeln!(out, "{name}_sum{labels} {}", seconds(histogram, summary))?;
    writeln!(out, "{name}_count{labels} {count}")
}

/// The sum of the latencies in a histogram, seconds.
pub(super) fn seconds(histogram: &Histogram, summary: &Summary) -> f64 {
    // Without a histogram, the sum would belong to latencies that are not counted.
    if histogram.is_empty() { 0.0 } else { summary.sum() as f64 / 1e9 }
}

/// The labels of a sample in braces. Empty ones are left out: to Prometheus, they are the same.
fn labels(sample: &MetricSample<'_>, le: Option<&str>) -> String {
    let mut text = String::new();
    let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in own.chain(le.map(|le| ("le", le))).filter(|(_, value)| !value.is_empty()) {
        let separator = if text.is_empty() { '{' } else { ',' };
        let _ = write!(text, "{separator}{name}=\"{}\"", escaped(value));
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}

fn escaped(value: &str) -> Cow<'_, str> {
    match value.contains(['\\', '"', '\n']) {
        true => value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").into(),
        false => value.into(),
    }
}
