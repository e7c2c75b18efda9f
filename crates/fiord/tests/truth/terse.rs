//! Compares a line of terse output with the truth.

use crate::compared::{
    Comparisons,
    Rounding::{Digits, SixDecimals},
};
use crate::expected::{
    Asked, EntryTruth, LatencyTruth, RateTruth, RowTruth, coarse, middle, share,
};
use crate::record::{DIRECTIONS, DoneIo};

/// The fields of a line that are left.
struct Fields<'a> {
    rest: std::str::Split<'a, char>,
    at: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> &'a str {
        self.at += 1;
        self.rest.next().unwrap_or("")
    }
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }
    fn whole(&mut self, c: &mut Comparisons, what: &str, expected: u64) {
        let text = self.next();
        let what = format!("terse field {}, {what}", self.at);
        c.same(&what, text, expected.to_string().as_str());
    }
    fn float(&mut self, c: &mut Comparisons, what: &str, expected: f64, step: Option<f64>) {
        let found = self.next().trim_end_matches('%').parse().unwrap_or(f64::NAN);
        let what = format!("terse field {}, {what}", self.at);
        c.close(&what, found, expected, step.map_or(SixDecimals, Digits));
    }
}

/// `group_bw`: bytes per second of each direction of the group.
pub(crate) fn line(
    c: &mut Comparisons,
    text: &str,
    version: u32,
    truth: &EntryTruth,
    asked: &Asked,
    group_bw: [u64; 4],
) {
    let mut fields = Fields { rest: text.split(';'), at: 0 };
    c.same("terse version", fields.next(), version.to_string().as_str());
    // The version of the program, the name and the group.
    fields.skip(3);
    let error = truth.errors.first().copied().unwrap_or(0);
    fields.whole(c, "error", error as u64);
    let shown = if version == 3 { 2 } else { 3 };
    if asked.unified == "mixed" {
        row(c, &mut fields, version, ("mixed", &truth.mixed()), asked, group_bw[3]);
    } else {
        for at in 0..shown {
            let named = (DIRECTIONS[at], &truth.rows[at]);
            row(c, &mut fields, version, named, asked, group_bw[at]);
        }
        if asked.unified == "both" {
            row(c, &mut fields, version, ("mixed", &truth.mixed()), asked, group_bw[3]);
        }
    }
    // What the machine spent.
    fields.skip(5);
    let issued = truth.rows.iter().map(|row| row.issued).sum();
    for count in truth.depth {
        fields.float(c, "depth", share(count, issued, 0.1), Some(0.051));
    }
    let counts = if asked.clat { coarse(truth) } else { [0; 32] };
    let under: u64 = counts[..11].iter().sum();
    for count in std::iter::once(under).chain(counts[11..].iter().copied()) {
        fields.float(c, "latency", share(count, truth.ios(), 0.01), Some(0.0051));
    }
    if asked.survives {
        fields.whole(c, "errors", truth.survived.len() as u64);
        fields.whole(c, "first error", truth.survived.first().copied().unwrap_or(0) as u64);
    }
    c.same("terse end", fields.rest.next().is_none(), true);
}

fn row(
    c: &mut Comparisons,
    fields: &mut Fields<'_>,
    version: u32,
    (name, truth): (&str, &RowTruth),
    asked: &Asked,
    group_bw: u64,
) {
    fields.whole(c, &format!("{name} KiB"), truth.bytes / 1024);
    fields.whole(c, &format!("{name} bandwidth"), truth.bandwidth() / 1024);
    // Cut to a whole number.
    fields.whole(c, &format!("{name} IOPS"), truth.rate() as u64);
    fields.whole(c, &format!("{name} runtime"), truth.runtime_ms);
    let of = |measured: bool, of: fn(&DoneIo) -> u64| match measured {
        true => truth.latencies(of),
        false => LatencyTruth::default(),
    };
    let slat = of(asked.slat, DoneIo::slat);
    let (clat, lat) = (of(asked.clat, DoneIo::clat), of(asked.lat, DoneIo::lat));
    latency(c, fields, &format!("{name} slat"), &slat);
    latency(c, fields, &format!("{name} clat"), &clat);
    let percentiles = if asked.lat_percentiles && lat.n() > 0 { &lat } else { &clat };
    let has = asked.lat_percentiles && asked.lat || asked.clat_percentiles && asked.clat;
    // As in fio, the line names no percentages if no latency with percentiles is measured.
    let list = if has { &asked.percentiles[..] } else { &[] };
    for at in 0..20 {
        let text = fields.next();
        let expected = match list.get(at) {
            Some(percent) => {
                let value = percentiles.percentile(*percent).filter(|_| has).map_or(0, middle);
                format!("{percent:.6}%={}", value / 1000)
            }
            None => "0%=0".to_owned(),
        };
        c.same(&format!("terse {name} percentile {at}"), text, expected.as_str());
    }
    latency(c, fields, &format!("{name} lat"), &lat);
    rates(c, fields, name, version, truth, group_bw);
}

fn rates(
    c: &mut Comparisons,
    fields: &mut Fields<'_>,
    name: &str,
    version: u32,
    truth: &RowTruth,
    group_bw: u64,
) {
    let RowTruth { bw, iops, .. } = truth;
    fields.whole(c, &format!("{name} least bandwidth"), bw.min);
    fields.whole(c, &format!("{name} largest bandwidth"), bw.max);
    let part = if group_bw == 0 { 0.0 } else { bw.mean * 100.0 / (group_bw as f64 / 1024.0) };
    fields.float(c, &format!("{name} share of the group"), part.min(100.0), None);
    let means = |c: &mut Comparisons, fields: &mut Fields<'_>, rate: &RateTruth| {
        fields.float(c, &format!("{name} mean rate"), rate.mean, None);
        fields.float(c, &format!("{name} deviation of rates"), rate.deviation(), None);
    };
    means(c, fields, bw);
    if version == 5 {
        fields.whole(c, &format!("{name} bandwidth samples"), bw.samples);
        fields.whole(c, &format!("{name} least IOPS"), iops.min);
        fields.whole(c, &format!("{name} largest IOPS"), iops.max);
        means(c, fields, iops);
        fields.whole(c, &format!("{name} IOPS samples"), iops.samples);
    }
}

/// In microseconds: the smallest and largest are cut.
fn latency(c: &mut Comparisons, fields: &mut Fields<'_>, what: &str, truth: &LatencyTruth) {
    fields.whole(c, &format!("{what} min"), truth.min() / 1000);
    fields.whole(c, &format!("{what} max"), truth.max() / 1000);
    fields.float(c, &format!("{what} mean"), truth.mean() / 1000.0, None);
    fields.float(c, &format!("{what} deviation"), truth.deviation() / 1000.0, None);
}
