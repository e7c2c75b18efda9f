//! Compares the text report with the truth. Its numbers have few digits: each is within one unit of the last digit that is
//! shown, because some are rounded and some are cut.

use crate::compared::{Comparisons, Rounding::Digits};
use crate::expected::{
    Asked, EntryTruth, LatencyTruth, RateTruth, RowTruth, coarse, middle, share,
};
use crate::record::{DIRECTIONS, DoneIo, LatencyOf};

/// The totals of a group by row: read, write, trim, mixed.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupTruth {
    rows: [Option<GroupRow>; 4],
}

#[derive(Debug, Clone, Copy)]
struct GroupRow {
    bytes: u64,
    bandwidth: (u64, u64),
    runtime: (u64, u64),
}

impl GroupTruth {
    pub(crate) fn of(entries: &[EntryTruth], unified: &str) -> Self {
        let mut group = GroupTruth::default();
        for entry in entries {
            let rows = entry.rows.iter().filter(|row| row.bytes > 0);
            let rates = || rows.clone().map(RowTruth::bandwidth);
            if unified != "mixed" {
                for (at, row) in entry.rows.iter().enumerate() {
                    group.add(at, row, (row.bandwidth(), row.bandwidth()));
                }
            }
            if unified != "none" {
                let all = entry.mixed();
                // The mixed row spans the rates of the single directions, if they are reported.
                let span = match unified {
                    "both" => (rates().min().unwrap_or(0), rates().max().unwrap_or(0)),
                    _ => (all.bandwidth(), all.bandwidth()),
                };
                group.add(3, &all, span);
            }
        }
        group
    }

    fn add(&mut self, at: usize, row: &RowTruth, (low, high): (u64, u64)) {
        if row.bytes == 0 {
            return;
        }
        let runtime = row.runtime_ms;
        let sum = self.rows[at].get_or_insert(GroupRow {
            bytes: 0,
            bandwidth: (low, high),
            runtime: (runtime, runtime),
        });
        sum.bytes += row.bytes;
        sum.bandwidth = (sum.bandwidth.0.min(low), sum.bandwidth.1.max(high));
        sum.runtime = (sum.runtime.0.min(runtime), sum.runtime.1.max(runtime));
    }

    /// Bytes per second of each row: all bytes over the longest run time.
    pub(crate) fn bandwidths(&self) -> [u64; 4] {
        self.rows.map(|row| row.map_or(0, GroupRow::bandwidth))
    }
}

impl GroupRow {
    fn bandwidth(self) -> u64 {
        (u128::from(self.bytes) * 1000 / u128::from(self.runtime.1.max(1))) as u64
    }
}

/// The lines of an entry.
pub(crate) fn block<'a>(text: &'a str, name: &str) -> &'a str {
    let Some(begin) = text.find(&format!("\n{name}: (groupid=")) else { return "" };
    let rest = &text[begin + 1..];
    let next = rest.find("\nj").into_iter().chain(rest.find("\nRun status")).min();
    &rest[..next.unwrap_or(rest.len())]
}

/// A number with a unit prefix, and the value of one unit of its last digit.
pub(crate) fn shown(text: &str) -> (f64, f64) {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let decimals = number.split_once('.').map_or(0, |(_, after)| after.len() as i32);
    let base: f64 = if unit.get(1..2) == Some("i") { 1024.0 } else { 1000.0 };
    let power = "kMGTPE".find(|c: char| unit.to_lowercase().starts_with(c.to_ascii_lowercase()));
    let factor = power.map_or(1.0, |at| base.powi(at as i32 + 1));
    let value = number.parse::<f64>().unwrap_or(f64::NAN);
    (value * factor, 10f64.powi(-decimals) * factor)
}

pub(crate) fn number(c: &mut Comparisons, what: &str, text: &str, expected: f64) {
    let (found, step) = shown(text);
    c.close(&format!("text: {what} `{text}`"), found, expected, Digits(step * 1.001));
}

/// The value after `key=`, up to a separator.
fn after<'a>(line: &'a str, key: &str) -> &'a str {
    let Some(at) = line.find(&format!("{key}=")) else { return "" };
    let rest = line[at + key.len() + 1..].trim_start();
    rest.split([',', ' ', ')', '(', '%', '\n', ';', '/', '-']).next().unwrap_or("")
}

pub(crate) fn entry(c: &mut Comparisons, block: &str, truth: &EntryTruth, asked: &Asked) {
    if truth.rows.iter().all(|row| row.issued == 0 && row.bytes == 0) {
        return c.same("text: an entry without I/O has no lines", block, "");
    }
    let mixed = truth.mixed();
    let mut named: Vec<(&str, &RowTruth)> = Vec::new();
    if asked.unified != "mixed" {
        named.extend(DIRECTIONS.into_iter().zip(&truth.rows));
    }
    if asked.unified != "none" {
        named.push(("mixed", &mixed));
    }
    let starts: Vec<usize> = named
        .iter()
        .map(|(name, _)| block.find(&format!("\n  {name}: IOPS=")).unwrap_or(block.len()))
        .collect();
    for (at, (name, row)) in named.iter().enumerate() {
        let did = row.runtime_ms > 0 || row.bytes > 0;
        c.same(&format!("text: {name} has lines"), starts[at] < block.len(), did);
        if did && starts[at] < block.len() {
            let own = &block[starts[at] + 1..];
            let after_head = own.find('\n').unwrap_or(own.len());
            let next = own[after_head..].find(": IOPS=").map(|at| after_head + at);
            let ends = [own.find("\n  lat ("), own.find("\n  cpu "), next];
            let end = ends.into_iter().flatten().min().unwrap_or(own.len());
            direction(c, &own[..end], name, row, asked);
        }
    }
    rest(c, block, truth, asked);
}

fn direction(c: &mut Comparisons, lines: &str, name: &str, row: &RowTruth, asked: &Asked) {
    let head = lines.lines().next().unwrap_or("");
    number(c, &format!("{name} IOPS"), after(head, "IOPS"), row.rate());
    number(c, &format!("{name} bandwidth"), after(head, "BW"), row.bandwidth() as f64);
    let parts: Vec<&str> = head.split('(').collect();
    let decimal = parts.get(1).map_or("", |text| text.trim_end_matches([')', ' ']));
    number(c, &format!("{name} bandwidth"), decimal, row.bandwidth() as f64);
    let (amount, time) = parts.get(2).and_then(|text| text.split_once('/')).unwrap_or(("", ""));
    number(c, &format!("{name} bytes"), amount, row.bytes as f64);
    c.same("text: run time", time, format!("{}msec)", row.runtime_ms).as_str());
    let kinds: [(&str, bool, bool, LatencyOf); 3] = [
        ("slat", asked.slat, asked.slat_percentiles, DoneIo::slat),
        ("clat", asked.clat, asked.clat_percentiles, DoneIo::clat),
        ("lat", asked.lat, asked.lat_percentiles, DoneIo::lat),
    ];
    for (kind, measured, percentiles, of) in kinds {
        let latencies = if measured { row.latencies(of) } else { LatencyTruth::default() };
        latency_line(c, lines, kind, &latencies);
        if percentiles && latencies.n() > 0 {
            percentile_block(c, lines, kind, &latencies, asked);
        }
    }
    rate_line(c, lines, "   bw (", &row.bw, true);
    rate_line(c, lines, "   iops  ", &row.iops, false);
}

/// Nanoseconds of the unit that a line names.
fn unit_of(line: &str) -> f64 {
    if line.contains("(nsec)") {
        1.0
    } else if line.contains("(usec)") {
        1e3
    } else {
        1e6
    }
}

fn latency_line(c: &mut Comparisons, lines: &str, kind: &str, truth: &LatencyTruth) {
    let start = format!("{kind:>8} (");
    let line = lines.lines().find(|line| line.starts_with(&start));
    c.same(&format!("text: line of {kind}"), line.is_some(), truth.n() > 0);
    let Some(line) = line else { return };
    let unit = unit_of(line);
    for (key, expected) in [
        ("min", truth.min() as f64),
        ("max", truth.max() as f64),
        ("avg", truth.mean()),
        ("stdev", truth.deviation()),
    ] {
        number(
            c,
            &format!("{kind} {key} in units of {unit} ns"),
            after(line, key),
            expected / unit,
        );
    }
}

fn percentile_block(
    c: &mut Comparisons,
    lines: &str,
    kind: &str,
    truth: &LatencyTruth,
    asked: &Asked,
) {
    let start = format!("    {kind} percentiles (");
    let Some(at) = lines.find(&start) else {
        return c.wrong.push(format!("text: there are no {kind} percentiles"));
    };
    let own = &lines[at..];
    let unit = unit_of(own.lines().next().unwrap_or(""));
    let body: String = own.lines().skip(1).take_while(|line| line.starts_with("     |")).collect();
    let entries: Vec<&str> =
        body.split("th=[").skip(1).filter_map(|text| text.split(']').next()).collect();
    c.same(&format!("text: number of {kind} percentiles"), entries.len(), asked.percentiles.len());
    for (text, percent) in entries.iter().zip(&asked.percentiles) {
        let value = middle(truth.percentile(*percent).unwrap_or(0));
        // Rounded up to a whole number of the unit.
        let expected = (value as f64 / unit).ceil();
        c.close(
            &format!("text: {kind} p{percent}"),
            text.trim().parse().unwrap_or(f64::NAN),
            expected,
            Digits(0.0),
        );
    }
}

fn rate_line(c: &mut Comparisons, lines: &str, start: &str, truth: &RateTruth, bytes: bool) {
    let line = lines.lines().find(|line| line.starts_with(start));
    // A line appears if there are samples.
    c.same(&format!("text: line `{start}`"), line.is_some(), truth.samples > 0);
    let Some(line) = line else { return };
    // Bandwidth is in KiB/s, or in MiB/s.
    let unit = if bytes && line.contains("MiB/s") { 1024.0 } else { 1.0 };
    for (key, expected) in [
        ("min", truth.min as f64),
        ("max", truth.max as f64),
        ("avg", truth.mean),
        ("stdev", truth.deviation()),
    ] {
        number(c, &format!("{key} of `{start}`"), after(line, key), expected / unit);
    }
    c.same("text: samples", after(line, "samples"), truth.samples.to_string().as_str());
}

fn rest(c: &mut Comparisons, block: &str, truth: &EntryTruth, asked: &Asked) {
    let issued = truth.rows.iter().map(|row| row.issued).sum();
    for (start, counts, of) in [
        ("  IO depths    :", truth.depth, issued),
        ("     submit    :", truth.submit, truth.submit.iter().sum()),
        ("     complete  :", truth.complete, truth.complete.iter().sum()),
    ] {
        let line = block.lines().find(|line| line.starts_with(start)).unwrap_or("");
        let shares: Vec<&str> = line.split(['=', '%']).filter(|text| text.contains('.')).collect();
        c.same(&format!("text: shares of `{start}`"), shares.len(), 7);
        for (text, count) in shares.iter().zip(counts) {
            number(c, start, text, share(count, of, 0.1));
        }
    }
    let list = |values: [u64; 4]| values.map(|n| n.to_string()).join(",");
    let of = |row: fn(&RowTruth) -> u64, syncs: u64| {
        let [read, write, trim] = [0, 1, 2].map(|at| row(&truth.rows[at]));
        match asked.unified {
            "mixed" => [read + write + trim, 0, 0, syncs],
            _ => [read, write, trim, syncs],
        }
    };
    let expected = format!(
        "     issued rwts: total={} short={} dropped=0,0,0,0",
        list(of(|row| row.issued, truth.syncs_issued)),
        list(of(|row| row.short, 0))
    );
    let line = block.lines().find(|line| line.contains("issued rwts")).unwrap_or("");
    c.same("text", line, expected.as_str());
    let counts = if asked.clat { coarse(truth) } else { [0; 32] };
    let filled: Vec<f64> =
        counts.iter().map(|n| share(*n, truth.ios(), 0.01)).filter(|n| *n > 0.0).collect();
    let lines = block.lines().filter(|line| line.starts_with("  lat ("));
    let shares: Vec<&str> =
        lines.flat_map(|line| line.split(['=', '%'])).filter(|text| text.contains('.')).collect();
    c.same("text: latency buckets", shares.len(), filled.len());
    for (text, expected) in shares.iter().zip(filled) {
        number(c, "latency bucket", text, expected);
    }
}

/// The lines of the group.
pub(crate) fn groups(c: &mut Comparisons, text: &str, truth: &GroupTruth) {
    for (at, name) in ["READ", "WRITE", "TRIM", "MIXED"].into_iter().enumerate() {
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{name}: bw=")));
        c.same(&format!("text: group line of {name}"), line.is_some(), truth.rows[at].is_some());
        let (Some(line), Some(row)) = (line, truth.rows[at]) else { continue };
        number(c, "bandwidth of the group", after(line, "bw"), row.bandwidth() as f64);
        number(c, "bytes of the group", after(line, "io"), row.bytes as f64);
        let times = line.split("run=").nth(1).unwrap_or("");
        let expected = format!("{}-{}msec", row.runtime.0, row.runtime.1);
        c.same("text: run times of the group", times, expected.as_str());
        let range = line.split(", ").nth(1).unwrap_or("").split(' ').next().unwrap_or("");
        let (low, high) = range.split_once('-').unwrap_or(("", ""));
        number(c, "least bandwidth of the group", low, row.bandwidth.0 as f64);
        number(c, "largest bandwidth of the group", high, row.bandwidth.1 as f64);
    }
}
