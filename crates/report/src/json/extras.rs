//! The key `"fiord"`, which contains everything that fio does not have.

use fiord_stat::device::DeviceView;
use fiord_stat::report::{Extras, GeneratorReport, JobShares, SpecReport};
use fiord_stat::shares::{LoopStage, TimeShares};
use fiord_stat::slices::{Breach, Breached, LatencyLimit, SliceRow, SliceTable, Verdict};

use serde::Serialize;

use super::document::{Value, integer, number, text};

/// Names and values of an object.
type Keys = Vec<(String, Value)>;

/// Builds the object, or `None` if it would be empty.
pub(super) fn extras(extras: &Extras) -> Option<Value> {
    let mut keys: Vec<(String, Value)> = Vec::new();
    if extras.interim {
        keys.push(("interim".into(), integer(1)));
    }
    keys.extend(list("stopped", &extras.stops));
    keys.extend(extras.clock.as_ref().map(|clock| ("clock".into(), Value::of(clock))));
    keys.extend(extras.machine.as_ref().map(|machine| ("machine".into(), Value::of(machine))));
    if let Some(generator) = &extras.generator {
        keys.push(("generator".into(), self::generator(generator)));
    }
    keys.extend(list("per_core", &extras.per_core));
    if !extras.slices.is_empty() {
        let tables = extras.slices.iter().map(slices).collect();
        keys.push(("latency_slices".into(), Value::Array(tables)));
    }
    if !extras.spec.is_empty() {
        keys.push(("spec".into(), Value::Array(extras.spec.iter().map(spec).collect())));
    }
    if !extras.devices.is_empty() {
        keys.push(("devices".into(), Value::Array(extras.devices.iter().map(device).collect())));
    }
    keys.extend(list("findings", &extras.findings));
    if extras.findings_off {
        keys.push(("findings_off".into(), integer(1)));
    }
    keys.extend(list("not_checked", &extras.unchecked));
    if keys.is_empty() {
        return None;
    }
    keys.insert(0, ("schema".into(), integer(fiord_stat::report::SCHEMA)));
    Some(Value::Object(keys))
}

/// A list under a name; `None` if it is empty.
fn list(name: &str, values: &[impl Serialize]) -> Option<(String, Value)> {
    let array = || Value::Array(values.iter().map(Value::of).collect());
    (!values.is_empty()).then(|| (name.into(), array()))
}

/// Shares of the threads' time, from 0 to 1, and the ceiling of each group.
fn generator(report: &GeneratorReport) -> Value {
    let mut keys: Keys = Vec::new();
    if let Some(all) = &report.shares {
        keys.push(("time_shares".into(), Value::Object(shares(all))));
    }
    if let Some(why) = &report.why_none {
        keys.push(("no_time_shares".into(), text(why)));
    }
    let job = |job: &JobShares| {
        let mut keys: Keys =
            vec![("groupid".into(), integer(job.group_id)), ("jobname".into(), text(&job.name))];
        keys.extend(shares(&job.shares));
        Value::Object(keys)
    };
    if !report.jobs.is_empty() {
        keys.push(("jobs".into(), Value::Array(report.jobs.iter().map(job).collect())));
    }
    keys.extend(list("ceiling", &report.ceilings));
    Value::Object(keys)
}

fn shares(shares: &TimeShares) -> Keys {
    let one = |stage: LoopStage| (stage.word().into(), number(shares.share(stage)));
    let mut keys: Keys = LoopStage::ALL.into_iter().map(one).collect();
    keys.push(("sampled_ios".into(), integer(shares.ios)));
    keys.push(("sampled_rounds".into(), integer(shares.rounds)));
    keys
}

/// Shares in per cent: `trans` counts from the time at which I/Os were due, `device` from their start.
fn slices(table: &SliceTable) -> Value {
    let limit = |limit: &LatencyLimit| {
        Value::Object(vec![
            ("over_ns".into(), integer(limit.over.0)),
            ("below_percent".into(), number(limit.percent)),
        ])
    };
    let shares = |list: &[f64]| Value::Array(list.iter().map(|share| number(*share)).collect());
    let row = |row: &SliceRow| {
        Value::Object(vec![
            ("ios".into(), integer(row.ios)),
            ("trans".into(), shares(&row.due)),
            ("device".into(), shares(&row.own)),
            ("lag_ns".into(), integer(row.lag.0)),
        ])
    };
    let verdict = match table.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Open => "none",
    };
    Value::Object(vec![
        ("name".into(), text(&table.name)),
        ("groupid".into(), integer(table.group_id)),
        ("verdict".into(), text(verdict)),
        ("complete".into(), integer(u8::from(table.complete))),
        ("slice_ns".into(), integer(table.slice.0)),
        ("limits".into(), Value::Array(table.limits.iter().map(limit).collect())),
        ("slices".into(), Value::Array(table.slices.iter().map(row).collect())),
        ("broken".into(), Value::Array(table.broken.iter().map(breach).collect())),
    ])
}

/// A limit that was exceeded; `decides` says whether the test fails because of it.
fn breach(breach: &Breach) -> Value {
    let share = |of: &str, limit: &LatencyLimit, percent: f64| {
        vec![
            ("of".to_string(), text(of)),
            ("over_ns".into(), integer(limit.over.0)),
            ("below_percent".into(), number(limit.percent)),
            ("percent".into(), number(percent)),
        ]
    };
    let mut keys: Keys = match &breach.what {
        Breached::Own(limit, percent) => share("device", limit, *percent),
        Breached::Due(limit, percent) => share("trans", limit, *percent),
        Breached::Lag(lag) => {
            vec![("of".to_string(), text("lag")), ("lag_ns".into(), integer(lag.0))]
        }
    };
    keys.push(("worst_slice".into(), integer(breach.worst as u64 + 1)));
    keys.push(("slices".into(), integer(breach.slices as u64)));
    keys.push(("decides".into(), integer(u8::from(breach.what.decides()))));
    Value::Object(keys)
}

fn spec(spec: &SpecReport) -> Value {
    Value::Object(vec![
        ("pattern".into(), text(&spec.pattern)),
        ("target".into(), text(&spec.target)),
        ("unit".into(), text(if spec.bytes { "bytes/s" } else { "iops" })),
        ("stated".into(), number(spec.stated)),
        ("achieved".into(), number(spec.achieved)),
        ("percent".into(), number(spec.percent())),
    ])
}

/// The I/O that reached a device, and under `issued` the I/O that the jobs issued to it.
fn device(device: &DeviceView) -> Value {
    let mut keys = vec![
        ("name".to_string(), text(&device.name)),
        ("seconds".into(), number(device.seconds)),
        ("depth".into(), number(device.depth)),
        ("util".into(), number(device.util)),
        ("flushes".into(), integer(device.flushes)),
    ];
    for (dir, seen) in device.dirs.iter() {
        if seen.ios == 0 && device.issued.is_none_or(|issued| issued.ios[dir] == 0) {
            continue;
        }
        let mut row = vec![
            ("ios".to_string(), integer(seen.ios)),
            ("bytes".into(), integer(seen.bytes.0)),
            ("mean_bytes".into(), number(device.size(dir))),
            ("merges".into(), integer(seen.merges)),
            ("mean_ms".into(), number(seen.mean_ms)),
        ];
        let seconds = Some(device.dir_seconds[dir]).filter(|seconds| *seconds > 0.0);
        row.extend(seconds.map(|seconds| ("seconds".into(), number(seconds))));
        let empty = Some(device.empty(dir)).filter(|n| *n > 0);
        row.extend(empty.map(|n| ("empty_ios".into(), integer(n))));
        if let Some(issued) = &device.issued {
            // Unknown if other programs used the device.
            row.extend(device.splits(dir).map(|splits| ("splits".into(), integer(splits))));
            row.push(("issued_ios".into(), integer(issued.ios[dir])));
            row.push(("issued_bytes".into(), integer(issued.bytes[dir].0)));
            row.push(("issued_mean_bytes".into(), number(issued.size(dir))));
            let ramp = Some(issued.ramp_ios[dir]).filter(|n| *n > 0);
            row.extend(ramp.map(|n| ("issued_ramp_ios".into(), integer(n))));
        }
        keys.push((dir.name().into(), Value::Object(row)));
    }
    let issued = device.issued.unwrap_or_default();
    for (key, n) in
        [("issued_syncs", issued.syncs.0), ("issued_zone_commands", issued.zone_commands)]
    {
        keys.extend((n > 0).then(|| (key.to_string(), integer(n))));
    }
    if let Some(depth) = device.issued.and_then(|issued| issued.depth) {
        keys.push(("issued_depth".into(), number(depth)));
    }
    if !device.members.is_empty() {
        let members = device.members.iter().map(self::device).collect();
        keys.push(("members".into(), Value::Array(members)));
    }
    Value::Object(keys)
}
