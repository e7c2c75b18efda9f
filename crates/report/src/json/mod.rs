//! The report as JSON with fio's keys. Everything that fio does not have is under the last key, `"fiord"`.
//!
//! Each report of a running job (`--status-interval`, a signal) is a separate document. Like fio, fiord
//! writes nothing between two documents. `"interim" : 1` under `"fiord"`
//! marks all but the last one.

mod document;
pub(crate) mod hosts;
mod job;

use std::io::{self, Write};

use document::{Value, integer, number, text};
use fiord_stat::report::{CpuIdleness, DiskCounts, DiskReport, Extras, Report, SCHEMA};
use fiord_types::Nanos;

/// Writes the report with percentiles.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    whole(report, false).write(out)
}

/// Writes the report with percentiles and every histogram bucket in use.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn json_plus(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    whole(report, true).write(out)
}

fn whole(report: &Report, bins: bool) -> Value {
    let seconds = report.written.as_secs();
    let mut keys: Vec<(String, Value)> = vec![
        ("fio version".into(), text(&report.version)),
        ("timestamp".into(), integer(seconds)),
        ("timestamp_ms".into(), integer(report.written.as_millis())),
        ("time".into(), text(crate::date::words(seconds, report.utc_offset_s))),
    ];
    if !report.global_options.is_empty() {
        keys.push(("global options".into(), options(&report.global_options)));
    }
    let jobs = report.jobs.iter().map(|j| job::job(j, bins)).collect();
    keys.push(("jobs".into(), Value::Array(jobs)));
    if !report.disks.is_empty() {
        let mut all = Vec::new();
        report.disks.iter().for_each(|d| disk(d, &mut all));
        keys.push(("disk_util".into(), Value::Array(all)));
    }
    if let Some(idleness) = &report.extras.idleness {
        keys.push(("cpu_idleness".into(), cpu_idleness(idleness)));
    }
    if let Some(extras) = extras(&report.extras) {
        keys.push(("fiord".into(), extras));
    }
    Value::Object(keys)
}

/// The key `"fiord"`, which contains everything that fio does not have; `None` if it would be empty.
fn extras(extras: &Extras) -> Option<Value> {
    let mut keys = Value::of(extras).into_keys();
    if keys.is_empty() {
        return None;
    }
    keys.insert(0, ("schema".into(), integer(SCHEMA)));
    Some(Value::Object(keys))
}

fn cpu_idleness(idleness: &CpuIdleness) -> Value {
    let mut keys = vec![("system".to_string(), number(idleness.system))];
    keys.extend(idleness.cpus.iter().map(|(cpu, share)| (format!("cpu-{cpu}"), number(*share))));
    keys.push(("unit_mean".into(), number(idleness.unit.mean_us)));
    keys.push(("unit_stddev".into(), number(idleness.unit.stddev_us)));
    Value::Object(keys)
}

fn options(list: &[(String, String)]) -> Value {
    Value::Object(list.iter().map(|(k, v)| (k.clone(), text(v))).collect())
}

/// A disk and its members, in fio's order.
fn disk(disk: &DiskReport, all: &mut Vec<Value>) {
    let mut keys: Vec<(String, Value)> = vec![("name".into(), text(&disk.name))];
    counts("", &disk.counts, &mut keys);
    if let Some(aggregate) = &disk.aggregate {
        counts("aggr_", aggregate, &mut keys);
    }
    all.push(Value::Object(keys));
    disk.members.iter().for_each(|m| self::disk(m, all));
}

fn counts(prefix: &str, c: &DiskCounts, keys: &mut Vec<(String, Value)>) {
    let mut both = |name: [&str; 2], values: [u64; 2]| {
        for (name, value) in name.iter().zip(values) {
            keys.push((format!("{prefix}{name}"), integer(value)));
        }
    };
    both(["read_ios", "write_ios"], c.ios);
    both(["read_sectors", "write_sectors"], c.sectors);
    // In fio's aggregates, the second key is singular.
    let write_merges = if prefix.is_empty() { "write_merges" } else { "write_merge" };
    both(["read_merges", write_merges], c.merges);
    both(["read_ticks", "write_ticks"], c.time.map(Nanos::as_millis));
    keys.push((format!("{prefix}in_queue"), integer(c.in_queue.as_millis())));
    keys.push((format!("{prefix}util"), number(c.util)));
}
