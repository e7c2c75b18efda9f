//! The report of a run on many hosts, with the keys of fio's `--client`.
//!
//! The elements of `client_stats` are jobs without `eta` and `elapsed`, which have `hostname` and `port` after fio's
//! other keys. The last element is the sum of all ([`ALL_CLIENTS`](fiord_stat::hosts::ALL_CLIENTS)); it has no
//! options and no latency target. What fio does not have is under `fiord`.

use std::io::{self, Write};

use fiord_stat::hosts::{HostFacts, HostFailure, HostReport, HostTarget, HostTotal, HostsReport};
use fiord_stat::report::{JobReport, Report};

use super::document::{Part, Value, integer, number, text, write_parts};
use super::{extras, job};

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
    // Additions stay after fio's keys.
    let end = keys.iter().position(|(key, _)| key == "fiord").unwrap_or(keys.len());
    keys.splice(end..end, address(host));
    value
}

fn ours(report: &HostsReport) -> Value {
    let mut keys: Keys = Vec::new();
    let flags = [
        ("partial", report.is_partial()),
        ("refused", report.refused),
        ("insecure", report.insecure),
    ];
    keys.extend(flags.iter().filter(|(_, on)| *on).map(|(name, _)| ((*name).into(), integer(1))));
    keys.extend(report.signal.map(|signal| ("signal".to_string(), integer(signal))));
    if let Some(start) = &report.start {
        keys.push(("start_skew_ns".into(), integer(start.skew.0)));
        keys.extend(start.clock_error.map(|error| ("clock_error_ns".into(), integer(error.0))));
    }
    if let Some(rate) = &report.together {
        let object = vec![
            ("begin_ns".into(), integer(rate.begin.0)),
            ("end_ns".into(), integer(rate.end.0)),
            ("iops".into(), number(rate.iops)),
            ("bw_bytes".into(), integer(rate.bw.0)),
        ];
        keys.push(("while_all_ran".into(), Value::Object(object)));
    }
    keys.push(("hosts".into(), Value::Array(report.hosts.iter().map(host).collect())));
    match extras::extras(&report.all.extras) {
        Some(Value::Object(run)) => {
            let at = run.len().min(1);
            let mut all = run;
            all.splice(at..at, keys);
            Value::Object(all)
        }
        _ => {
            keys.insert(0, ("schema".into(), integer(fiord_stat::report::SCHEMA)));
            Value::Object(keys)
        }
    }
}

fn host(host: &HostReport) -> Value {
    let mut keys = address(host);
    keys.extend(host.facts.iter().flat_map(facts));
    keys.push(("complete".into(), integer(u8::from(host.complete))));
    keys.extend(host.status.map(|status| ("status".to_string(), integer(status))));
    keys.extend(host.failure.iter().flat_map(failure));
    // A host with results has totals, which are complete.
    let seen = host.seen.filter(|_| host.total.is_none());
    keys.extend(seen.map(|seen| ("seen_io_bytes".into(), integer(seen.all_bytes().0))));
    if !host.errors.is_empty() {
        let errors = host.errors.iter().map(text).collect();
        keys.push(("errors".into(), Value::Array(errors)));
    }
    if !host.targets.is_empty() {
        let targets = host.targets.iter().map(target).collect();
        keys.push(("targets".into(), Value::Array(targets)));
    }
    let times = [
        ("started_ns", host.started),
        ("finished_ns", host.finished),
        ("clock_error_ns", host.clock.map(|clock| clock.bound)),
        ("round_trip_ns", host.clock.map(|clock| clock.round_trip)),
    ];
    let known = times.into_iter().filter_map(|(name, time)| Some((name, time?)));
    keys.extend(known.map(|(name, time)| (name.into(), integer(time.0))));
    if let Some(HostTotal { bytes, runtime, iops, bw }) = &host.total {
        keys.push(("io_bytes".into(), integer(bytes.0)));
        keys.push(("runtime".into(), integer(runtime.as_millis())));
        keys.push(("iops".into(), number(*iops)));
        keys.push(("bw_bytes".into(), integer(bw.0)));
    }
    let own = host.report.as_ref();
    let idleness = own.and_then(|own| own.extras.idleness.as_ref());
    keys.extend(idleness.map(|idle| ("cpu_idleness".into(), super::cpu_idleness(idle))));
    let additions = own.and_then(|own| extras::extras(&own.extras));
    keys.extend(additions.map(|additions| ("fiord".into(), additions)));
    Value::Object(keys)
}

/// A file or device of a host. The end is left out if it is unknown.
fn target(target: &HostTarget) -> Value {
    let HostTarget { path, shared_id, kind, scheduler, begin, end, writes } = target;
    let mut keys: Keys = vec![("path".into(), text(path)), ("storage".into(), text(kind))];
    if !scheduler.is_empty() {
        keys.push(("scheduler".into(), text(scheduler)));
    }
    keys.extend(shared_id.iter().map(|id| ("shared_id".to_string(), text(id))));
    keys.push(("begin_bytes".into(), integer(begin.0)));
    let known = Some(end.0).filter(|end| *end > 0);
    keys.extend(known.map(|end| ("end_bytes".to_string(), integer(end))));
    keys.push(("writes".into(), integer(u8::from(*writes))));
    Value::Object(keys)
}

fn facts(facts: &HostFacts) -> Keys {
    let HostFacts { hostname, version, os, kernel, arch, cpus, memory, .. } = facts;
    let mut keys: Keys = vec![
        ("own_name".into(), text(hostname)),
        ("version".into(), text(version)),
        ("os".into(), text(os)),
        ("kernel".into(), text(kernel)),
        ("arch".into(), text(arch)),
    ];
    keys.extend(cpus.map(|cpus| ("cpus".into(), integer(cpus))));
    keys.push(("memory_bytes".into(), integer(memory.0)));
    keys
}

fn failure(failure: &HostFailure) -> Keys {
    let mut keys: Keys = vec![
        ("failed_stage".into(), text(failure.stage.words())),
        ("failed_at_ns".into(), integer(failure.at.0)),
        ("failure".into(), text(&failure.why)),
    ];
    keys.extend(failure.refused.then(|| ("refused".to_string(), integer(1))));
    keys
}
