//! The key `fiord`.

use fiord_stat::device::{DeviceDir, DeviceView, Issued};
use fiord_stat::finding::Finding;
use fiord_stat::ramp::SyncCount;
use fiord_stat::report::{CpuIdleness, Extras, GeneratorReport, JobShares, SpecReport, UnitWork};
use fiord_stat::shares::{LoopStage, TimeShares};
use fiord_stat::slices::{Breach, Breached, LatencyLimit, SliceRow, SliceTable, Verdict};
use fiord_types::{Dir, Nanos, PerDir};
use serde::de::DeserializeOwned;

use super::node::Node;

/// What is under the key, with the findings of all hosts.
pub(super) fn extras(node: Node<'_>) -> Extras {
    let mut extras = own(node);
    extras.findings.extend(findings_of_hosts(node));
    extras
}

/// What is under the key, without the findings of hosts.
pub(super) fn own(node: Node<'_>) -> Extras {
    Extras {
        clock: node.find("clock").and_then(plain),
        generator: node.find("generator").map(generator),
        per_core: node.list("per_core").filter_map(plain).collect(),
        slices: node.list("latency_slices").map(slices).collect(),
        spec: node.list("spec").map(spec).collect(),
        devices: node.list("devices").map(device).collect(),
        findings: node.list("findings").filter_map(plain).collect(),
        machine: node.find("machine").and_then(plain),
        unchecked: node.list("not_checked").filter_map(plain).collect(),
        interim: node.flag("interim"),
        stops: node.list("stopped").filter_map(plain).collect(),
        findings_off: node.flag("findings_off"),
        ..Extras::default()
    }
}

/// Reads a value by its own rules. One that this version does not understand is left out.
fn plain<T: DeserializeOwned>(node: Node<'_>) -> Option<T> {
    serde_json::from_value(node.to_json()).ok()
}

/// The key `cpu_idleness`, which fio has, too.
pub(super) fn idleness(document: Node<'_>) -> Option<CpuIdleness> {
    const KEY: &str = "cpu_idleness";
    let node = document.find(KEY)?;
    let unit = UnitWork { mean_us: node.float("unit_mean"), stddev_us: node.float("unit_stddev") };
    let one = |(key, share): (&str, Node<'_>)| {
        Some((key.strip_prefix("cpu-")?.parse().ok()?, share.number()))
    };
    let cpus = document.entries(KEY).filter_map(one).collect();
    Some(CpuIdleness { system: node.float("system"), cpus, unit })
}

fn generator(node: Node<'_>) -> GeneratorReport {
    let job = |job: Node<'_>| JobShares {
        group_id: job.small("groupid"),
        name: job.text("jobname"),
        shares: shares(job),
    };
    GeneratorReport {
        shares: node.find("time_shares").map(shares),
        why_none: node.find("no_time_shares").map(|_| node.text("no_time_shares")),
        jobs: node.list("jobs").map(job).collect(),
        ceilings: node.list("ceiling").filter_map(plain).collect(),
    }
}

/// Shares that stand for one hour. Their rounding errors are divided among them, so that they add up to 1.
fn shares(node: Node<'_>) -> TimeShares {
    const HOUR: f64 = 3.6e12;
    let shares = LoopStage::ALL.map(|stage| node.float(stage.word()).clamp(0.0, 1.0));
    let used = shares.iter().filter(|share| **share > 0.0).count().max(1);
    let error = (1.0 - shares.iter().sum::<f64>()) / used as f64;
    let times = shares.map(|share| match share > 0.0 {
        true => Nanos(((share + error) * HOUR).round() as u64),
        false => Nanos::ZERO,
    });
    let (rounds, ios) = (node.whole("sampled_rounds"), node.whole("sampled_ios"));
    TimeShares { times, rounds, ios, submitting: 0 }
}

fn limit(node: Node<'_>) -> LatencyLimit {
    LatencyLimit { over: node.nanos("over_ns"), percent: node.float("below_percent") }
}

fn slices(node: Node<'_>) -> SliceTable {
    let shares =
        |row: Node<'_>, key| row.list(key).map(|share| share.number()).collect::<Vec<f64>>();
    let row = |row: Node<'_>| SliceRow {
        ios: row.whole("ios"),
        due: shares(row, "trans"),
        own: shares(row, "device"),
        lag: row.nanos("lag_ns"),
    };
    SliceTable {
        name: node.text("name"),
        group_id: node.small("groupid"),
        slice: node.nanos("slice_ns"),
        limits: node.list("limits").map(limit).collect(),
        slices: node.list("slices").map(row).collect(),
        verdict: match node.text("verdict").as_str() {
            "passed" => Verdict::Passed,
            "failed" => Verdict::Failed,
            _ => Verdict::Open,
        },
        complete: node.flag("complete"),
        broken: node.list("broken").map(breach).collect(),
    }
}

fn breach(node: Node<'_>) -> Breach {
    let number = |key| usize::try_from(node.whole(key)).unwrap_or(usize::MAX);
    Breach {
        slices: number("slices"),
        worst: number("worst_slice").saturating_sub(1),
        what: match node.text("of").as_str() {
            "device" => Breached::Own(limit(node), node.float("percent")),
            "trans" => Breached::Due(limit(node), node.float("percent")),
            _ => Breached::Lag(node.nanos("lag_ns")),
        },
    }
}

fn spec(node: Node<'_>) -> SpecReport {
    SpecReport {
        pattern: node.text("pattern"),
        target: node.text("target"),
        stated: node.float("stated"),
        achieved: node.float("achieved"),
        bytes: node.text("unit") == "bytes/s",
    }
}

fn device(node: Node<'_>) -> DeviceView {
    let row = |dir: Dir| node.get(dir.name());
    let dirs = PerDir::from_fn(|dir| DeviceDir {
        ios: row(dir).whole("ios"),
        merges: row(dir).whole("merges"),
        bytes: row(dir).bytes("bytes"),
        mean_ms: row(dir).float("mean_ms"),
    });
    let known = node.has("issued_depth") || Dir::ALL.iter().any(|dir| row(*dir).has("issued_ios"));
    let issued = known.then(|| Issued {
        ios: PerDir::from_fn(|dir| row(dir).whole("issued_ios")),
        bytes: PerDir::from_fn(|dir| row(dir).bytes("issued_bytes")),
        ramp_ios: PerDir::from_fn(|dir| row(dir).whole("issued_ramp_ios")),
        syncs: SyncCount(node.whole("issued_syncs")),
        zone_commands: node.whole("issued_zone_commands"),
        depth: node.find("issued_depth").map(|_| node.float("issued_depth")),
        ..Issued::default()
    });
    DeviceView {
        name: node.text("name"),
        seconds: node.float("seconds"),
        dirs,
        dir_seconds: PerDir::from_fn(|dir| row(dir).float("seconds")),
        flushes: node.whole("flushes"),
        depth: node.float("depth"),
        util: node.float("util"),
        issued,
        members: node.list("members").map(device).collect(),
        ..DeviceView::default()
    }
}

/// The findings of the hosts of a run, with the name of the host in front.
fn findings_of_hosts(node: Node<'_>) -> Vec<Finding> {
    let own = |host: Node<'_>| {
        let name = host.text("hostname");
        let named =
            move |found: Finding| Finding { what: format!("{name}: {}", found.what), ..found };
        host.get("fiord").list("findings").filter_map(plain).map(named).collect::<Vec<_>>()
    };
    node.list("hosts").flat_map(own).collect()
}
