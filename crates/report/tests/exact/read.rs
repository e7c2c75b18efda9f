//! Reads the reference's JSON back into a [`Report`]: what the writers make of it must be what
//! the reference printed, byte for byte.

use fiord_golden::json::Json;
use fiord_stat::report::*;

fn text(v: &Json, key: &str) -> String {
    match v.get(key) {
        Some(Json::Text(text)) => text.clone(),
        other => panic!("{key}: {other:?}"),
    }
}

fn float(v: &Json, key: &str) -> f64 {
    match v.get(key) {
        Some(Json::Number(digits)) => digits.parse().expect("digits"),
        other => panic!("{key}: {other:?}"),
    }
}

fn whole(v: &Json, key: &str) -> u64 {
    float(v, key) as u64
}

fn options(v: &Json, key: &str) -> Vec<(String, String)> {
    let Some(Json::Object(keys)) = v.get(key) else { return Vec::new() };
    let pair = |(k, v): &(String, Json)| match v {
        Json::Text(text) => (k.clone(), text.clone()),
        other => panic!("{k}: {other:?}"),
    };
    keys.iter().map(pair).collect()
}

fn shares<const N: usize>(v: &Json, key: &str) -> [f64; N] {
    let Some(Json::Object(keys)) = v.get(key) else { panic!("{key}") };
    let all: Vec<f64> =
        keys.iter().map(|(k, _)| float(v.get(key).expect("it is there"), k)).collect();
    all.try_into().expect("as many as there should be")
}

fn list(v: &Json, key: &str) -> Vec<u64> {
    let Some(Json::Array(values)) = v.get(key) else { panic!("{key}") };
    let one = |v: &Json| match v {
        Json::Number(digits) => digits.parse().expect("digits"),
        other => panic!("{key}: {other:?}"),
    };
    values.iter().map(one).collect()
}

fn pairs(v: &Json, key: &str) -> Vec<(f64, u64)> {
    let Some(Json::Object(keys)) = v.get(key) else { return Vec::new() };
    let pair = |(k, v): &(String, Json)| match v {
        Json::Number(digits) => (k.parse().expect("a number"), digits.parse().expect("an integer")),
        other => panic!("{k}: {other:?}"),
    };
    keys.iter().map(pair).collect()
}

fn latency(v: &Json, key: &str) -> LatencySummary {
    let v = v.get(key).unwrap_or_else(|| panic!("{key}"));
    LatencySummary {
        min: whole(v, "min"),
        max: whole(v, "max"),
        mean: float(v, "mean"),
        stddev: float(v, "stddev"),
        n: whole(v, "N"),
        percentiles: pairs(v, "percentile"),
        bins: pairs(v, "bins").into_iter().map(|(value, n)| (value as u64, n)).collect(),
    }
}

fn rate(v: &Json, name: &str, dev: &str) -> RateSummary {
    let key = |what: &str| format!("{name}_{what}");
    RateSummary {
        min: whole(v, &key("min")),
        max: whole(v, &key("max")),
        agg: if name == "bw" { float(v, &key("agg")) } else { 0.0 },
        mean: float(v, &key("mean")),
        dev: float(v, &key(dev)),
        samples: whole(v, &key("samples")),
    }
}

fn priorities(v: &Json) -> Vec<PriorityReport> {
    let Some(Json::Array(list)) = v.get("prios") else { return Vec::new() };
    let one = |v: &Json| {
        let total = v.get("lat_ns").is_some();
        PriorityReport {
            class: whole(v, "prioclass") as u8,
            level: whole(v, "prio") as u8,
            hint: whole(v, "priohint") as u16,
            total,
            latency: latency(v, if total { "lat_ns" } else { "clat_ns" }),
        }
    };
    list.iter().map(one).collect()
}

fn direction(v: &Json, kind: DirKind) -> DirReport {
    DirReport {
        kind,
        io_bytes: whole(v, "io_bytes"),
        bw_bytes: whole(v, "bw_bytes"),
        iops: float(v, "iops"),
        runtime_ms: whole(v, "runtime"),
        total_ios: whole(v, "total_ios"),
        short_ios: whole(v, "short_ios"),
        drop_ios: whole(v, "drop_ios"),
        slat: latency(v, "slat_ns"),
        clat: latency(v, "clat_ns"),
        lat: latency(v, "lat_ns"),
        priorities: priorities(v),
        bw_samples: rate(v, "bw", "dev"),
        iops_samples: rate(v, "iops", "stddev"),
    }
}

fn steady_state(v: &Json) -> SteadyState {
    let spec = text(v, "ss");
    let criterion = text(v, "criterion");
    let data = v.get("data").expect("data");
    SteadyState {
        measure: match spec.get(..3) {
            Some("iop") => SteadyMeasure::Iops,
            Some("lat") => SteadyMeasure::Latency,
            _ => SteadyMeasure::Bandwidth,
        },
        kind: match spec.contains("slope") {
            true => SteadyKind::Slope,
            false => SteadyKind::Deviation,
        },
        percent: spec.ends_with('%'),
        spec,
        duration_s: whole(v, "duration"),
        attained: whole(v, "attained") == 1,
        criterion: criterion.trim_end_matches('%').parse().expect("a number"),
        max_deviation: float(v, "max_deviation"),
        slope: float(v, "slope"),
        bw_mean: whole(data, "bw_mean"),
        iops_mean: whole(data, "iops_mean"),
        iops_data: list(data, "iops"),
        bw_data: list(data, "bw"),
        ..SteadyState::default()
    }
}

/// What only the options say: how many jobs were merged, how numbers are printed.
fn configured(own: &[(String, String)], globals: &[(String, String)]) -> JobReport {
    let option = |name: &str| {
        let mut all = globals.iter().chain(own).rev();
        all.find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    };
    let number = |name: &str, default: u32| option(name).map_or(default, |v| v.parse().expect("n"));
    let is_on = |name: &str, default: &str| option(name).unwrap_or(default) == "1";
    let percentiles = is_on("clat_percentiles", "1") || is_on("lat_percentiles", "0");
    let list = option("percentile_list");
    let decimals = list.map_or(2, |list| {
        list.split(':').map(|p| p.split_once('.').map_or(0, |(_, d)| d.len())).max().unwrap_or(0)
    });
    JobReport {
        members: number("numjobs", 1),
        style: NumberStyle {
            figures: number("significant_figures", 4),
            kb_base: number("kb_base", 1024),
            bits: number("unit_base", 8) == 1,
        },
        percentile_list: match list {
            _ if !percentiles || is_on("gtod_reduce", "0") => Vec::new(),
            Some(list) => list.split(':').map(|p| p.parse().expect("a percentage")).collect(),
            None => fiord_stat::job::DEFAULT_PERCENTILES.to_vec(),
        },
        percentile_decimals: decimals as u32,
        unified: match option("unified_rw_reporting") {
            Some("mixed") => Unified::Mixed,
            Some("both") => Unified::Both,
            _ => Unified::Separate,
        },
        ..JobReport::default()
    }
}

fn job(v: &Json, globals: &[(String, String)]) -> JobReport {
    let own = options(v, "job options");
    let configured = configured(&own, globals);
    let kinds = [
        ("read", DirKind::Read),
        ("write", DirKind::Write),
        ("trim", DirKind::Trim),
        ("mixed", DirKind::Mixed),
    ];
    let dirs: Vec<DirReport> =
        kinds.into_iter().filter_map(|(key, kind)| Some(direction(v.get(key)?, kind))).collect();
    let sync = v.get("sync").map_or_else(SyncReport::default, |sync| SyncReport {
        total_ios: whole(sync, "total_ios"),
        lat: latency(sync, "lat_ns"),
    });
    let mut issued = [0; 4];
    for d in dirs.iter().filter(|d| configured.unified != Unified::Both || d.kind != DirKind::Mixed)
    {
        issued[d.kind as usize % 3] = d.total_ios;
    }
    issued[3] = sync.total_ios;
    let latency_ns: [f64; 10] = shares(v, "latency_ns");
    let latency_us: [f64; 10] = shares(v, "latency_us");
    JobReport {
        name: text(v, "jobname"),
        description: v.get("desc").map(|_| text(v, "desc")),
        group_id: whole(v, "groupid") as u32,
        start_ms: whole(v, "job_start"),
        error: whole(v, "error") as i32,
        eta_s: Some(whole(v, "eta")),
        elapsed_s: whole(v, "elapsed"),
        dirs,
        sync,
        runtime_ms: whole(v, "job_runtime"),
        usr_cpu: float(v, "usr_cpu"),
        sys_cpu: float(v, "sys_cpu"),
        ctx: whole(v, "ctx"),
        majf: whole(v, "majf"),
        minf: whole(v, "minf"),
        depth_level: shares(v, "iodepth_level"),
        depth_submit: shares(v, "iodepth_submit"),
        depth_complete: shares(v, "iodepth_complete"),
        issued,
        latency_ns,
        latency_under_2us: latency_ns.iter().sum::<f64>() + latency_us[0],
        latency_us,
        latency_ms: shares(v, "latency_ms"),
        errors: v.get("total_err").map(|_| ErrorReport {
            total: whole(v, "total_err"),
            first: whole(v, "first_error") as i32,
            first_text: "Success".into(),
        }),
        latency_depth: whole(v, "latency_depth") as u32,
        latency_target_ns: whole(v, "latency_target_ns"),
        latency_percentile: float(v, "latency_percentile"),
        latency_window_us: whole(v, "latency_window_us"),
        steady_state: v.get("steadystate").map(steady_state),
        options: own,
        ..configured
    }
}

fn disk(v: &Json) -> DiskReport {
    let both = |what: &str| ["read", "write"].map(|dir| whole(v, &format!("{dir}_{what}")));
    let counts = DiskCounts {
        ios: both("ios"),
        sectors: both("sectors"),
        merges: both("merges"),
        ticks: both("ticks"),
        in_queue: whole(v, "in_queue"),
        util: float(v, "util"),
    };
    DiskReport { name: text(v, "name"), counts, ..DiskReport::default() }
}

/// The whole report.
pub(crate) fn report(document: &str) -> Report {
    let v = Json::parse(document).expect("the reference prints JSON");
    let globals = options(&v, "global options");
    let Some(Json::Array(jobs)) = v.get("jobs") else { panic!("no jobs") };
    let jobs: Vec<JobReport> = jobs.iter().map(|j| job(j, &globals)).collect();
    let disks = match v.get("disk_util") {
        Some(Json::Array(disks)) => disks.iter().map(disk).collect(),
        _ => Vec::new(),
    };
    Report {
        schema: SCHEMA,
        version: text(&v, "fio version"),
        unix_ms: whole(&v, "timestamp_ms"),
        utc_offset_s: 0,
        global_options: globals,
        groups: fiord_stat::job::groups(&jobs),
        jobs,
        disks,
        extras: Extras::default(),
    }
}
