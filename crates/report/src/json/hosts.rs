//! The report of a run on many hosts, with the keys of fio's `--client`.
//!
//! The elements of `client_stats` are jobs without `eta` and `elapsed`, which have `hostname` and `port` after fio's
//! other keys. The last element is the sum of all ([`ALL_CLIENTS`](fiord_stat::hosts::ALL_CLIENTS)); it has no
//! options and no latency target. What fio does not have is under `fiord`.

use std::io::{self, Write};

use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::report::{JobReport, Report};

use super::document::{Part, Value, integer, text, write_parts};
use super::job;

/// Names and values of an object.
type Keys = Vec<(String, Value)>;

/// Keys of a job that the jobs of hosts do not have.
const LOCAL_KEYS: [&str; 2] = ["eta", "elapsed"];

/// Keys of a job that the sum of all hosts does not have.
const SINGLE_KEYS: [&str; 6] = [
    "latency_depth",
    "latency_target",
    "latency_target_ns",
    "latency_percentile",
    "latency_window",
    "latency_window_us",
];

/// Writes the document. `bins`: with every histogram bucket in use (`json+`).
pub(crate) fn write(report: &HostsReport, bins: bool, out: &mut dyn Write) -> io::Result<()> {
    let HostsReport { all, hosts, .. } = report;
    let seconds = all.written.as_secs();
    let reports = || hosts.iter().filter_map(|host| Some((host, host.report.as_ref()?)));
    let own_jobs = reports().flat_map(|(host, own)| {
        own.jobs.iter().map(move |job| client_job(job, host, &LOCAL_KEYS, bins))
    });
    let left_out: Vec<&str> = LOCAL_KEYS.iter().chain(&SINGLE_KEYS).copied().collect();
    // As in fio, the sum has the address of the last host.
    let last = reports().next_back().map(|(host, _)| host);
    let sum = last.into_iter().flat_map(|host| {
        all.jobs.iter().map(|job| client_job(job, host, &left_out, bins)).collect::<Vec<_>>()
    });
    let parts = vec![
        ("fio version", Part::Whole(text(&all.version))),
        ("timestamp", Part::Whole(integer(seconds))),
        ("time", Part::Whole(text(crate::date::words(seconds, all.utc_offset_s)))),
        ("global options", Part::Whole(global_options(reports()))),
        ("client_stats", Part::List(Box::new(own_jobs.chain(sum)))),
        ("disk_util", Part::List(Box::new(reports().flat_map(|(host, own)| disks(host, own))))),
        ("fiord", Part::Whole(ours(report))),
    ];
    write_parts(parts, out)
}

fn disks(host: &HostReport, own: &Report) -> Vec<Value> {
    let mut disks = Vec::new();
    own.disks.iter().for_each(|disk| super::disk(disk, &mut disks));
    disks.iter_mut().for_each(|disk| keys_of(disk).extend(address(host)));
    disks
}

/// One object with one host; a list with several, of those that have options.
fn global_options<'a>(hosts: impl Iterator<Item = (&'a HostReport, &'a Report)>) -> Value {
    let hosts: Vec<_> = hosts.collect();
    if let [(_, only)] = hosts.as_slice() {
        return super::options(&only.global_options);
    }
    let with = hosts.into_iter().filter(|(_, own)| !own.global_options.is_empty());
    let one = |(host, own): (&HostReport, &Report)| {
        let mut keys: Keys = address(host);
        keys.extend(own.global_options.iter().map(|(name, value)| (name.clone(), text(value))));
        Value::Object(keys)
    };
    Value::Array(with.map(one).collect())
}

/// The name of a host as the user wrote it, and its port if it has one.
fn address(host: &HostReport) -> Keys {
    let mut keys = vec![("hostname".to_string(), text(&host.name))];
    keys.extend(host.port.map(|port| ("port".to_string(), integer(port))));
    keys
}

/// The keys of an object.
fn keys_of(value: &mut Value) -> &mut Keys {
    match value {
        Value::Object(keys) => keys,
        _ => unreachable!("jobs and disks are objects"),
    }
}

fn client_job(job: &JobReport, host: &HostReport, left_out: &[&str], bins: bool) -> Value {
    let mut value = job::job(job, bins);
    let keys = keys_of(&mut value);
    keys.retain(|(key, _)| !left_out.contains(&key.as_str()));
    // Keys that fio does not have come after its own.
    let end = keys.iter().position(|(key, _)| key == "fiord").unwrap_or(keys.len());
    keys.splice(end..end, address(host));
    value
}

fn ours(report: &HostsReport) -> Value {
    let mut keys = Value::of(report).into_keys();
    for (key, value) in &mut keys {
        if let ("hosts", Value::Array(list)) = (key.as_str(), value) {
            list.iter_mut().zip(&report.hosts).for_each(|(value, host)| add_own(value, host));
        }
    }
    if report.is_partial() {
        keys.insert(0, ("partial".into(), integer(1)));
    }
    let schema = || vec![("schema".to_string(), integer(fiord_stat::report::SCHEMA))];
    let mut all = super::extras(&report.all.extras).map_or_else(schema, Value::into_keys);
    all.splice(1..1, keys);
    Value::Object(all)
}

/// Adds what the report of a host contains beside its jobs and disks.
fn add_own(value: &mut Value, host: &HostReport) {
    let Some(own) = &host.report else { return };
    let idleness = own.extras.idleness.as_ref();
    let idleness = idleness.map(|idle| ("cpu_idleness".into(), super::cpu_idleness(idle)));
    let extras = super::extras(&own.extras).map(|extras| ("fiord".into(), extras));
    keys_of(value).extend(idleness.into_iter().chain(extras));
}
