//! The object of a job.

use fiord_stat::block_errors::{BlockErrors, BlockState};
use fiord_stat::report::*;
use fiord_stat::verify::StatedResults;
use fiord_types::{Bytes, Nanos};

use super::node::Node;

/// Stands for an unknown remaining time.
const NO_ETA: u64 = i32::MAX as u64;

const ROWS: [(&str, DirKind); 4] = [
    ("read", DirKind::Read),
    ("write", DirKind::Write),
    ("trim", DirKind::Trim),
    ("mixed", DirKind::Mixed),
];

pub(super) fn job(node: Node<'_>, globals: &[(String, String)]) -> JobReport {
    let options = node.options("job options");
    let configured = configured(&options, globals);
    let row = |(key, kind)| node.find(key).map(|row| direction(row, kind));
    let dirs: Vec<DirReport> = ROWS.into_iter().filter_map(row).collect();
    let sync = node.get("sync");
    let sync = SyncReport { total_ios: sync.whole("total_ios"), lat: latency(sync.get("lat_ns")) };
    let latency_ns: [f64; 10] = node.shares("latency_ns");
    let latency_us: [f64; 10] = node.shares("latency_us");
    let error = node.errno("error");
    let fiord = node.get("fiord");
    let errors = node.find("total_err").map(|total| ErrorReport {
        total: total.integer(),
        first: node.errno("first_error"),
        first_text: "Success".into(),
    });
    JobReport {
        name: node.text("jobname"),
        description: node.find("desc").map(|_| node.text("desc")),
        group_id: node.small("groupid"),
        start: node.millis("job_start"),
        error,
        failed: error.is_some() && errors.as_ref().is_none_or(|errors| errors.total == 0),
        eta: Some(node.whole("eta")).filter(|eta| *eta != NO_ETA).map(Nanos::from_secs),
        elapsed: Nanos::from_secs(node.whole("elapsed")),
        issued: issued(&dirs, &sync, configured.unified),
        short: counts(&dirs, |dir| dir.short_ios),
        dropped: counts(&dirs, |dir| dir.drop_ios),
        dirs,
        sync,
        runtime: node.millis("job_runtime"),
        usr_cpu: node.float("usr_cpu"),
        sys_cpu: node.float("sys_cpu"),
        ctx: node.whole("ctx"),
        majf: node.whole("majf"),
        minf: node.whole("minf"),
        depth_level: node.shares("iodepth_level"),
        depth_submit: node.shares("iodepth_submit"),
        depth_complete: node.shares("iodepth_complete"),
        latency_ns,
        latency_under_2us: latency_ns.iter().sum::<f64>() + latency_us[0],
        latency_us,
        latency_ms: node.shares("latency_ms"),
        errors,
        latency_depth: node.small("latency_depth"),
        latency_target: node.nanos("latency_target_ns"),
        latency_percentile: node.float("latency_percentile"),
        latency_window: Nanos::from_micros(node.whole("latency_window_us")),
        steady_state: node.find("steadystate").map(steady_state),
        zone_resets: node.find("zone_resets").map(Node::integer),
        intended: intended(fiord.get("intended_lat_ns")),
        replay: fiord.find("replay").map(Node::read),
        block_errors: fiord.find("block_errors").map(block_errors),
        verify: fiord.find("verify").map(|results| results.read::<StatedResults>().into()),
        engine: fiord.read(),
        samples: fiord.get("samples").read(),
        options,
        ..configured
    }
}

/// I/Os issued by direction, and syncs. A row for all directions counts as reads if it is the only one.
pub(super) fn issued(dirs: &[DirReport], sync: &SyncReport, unified: Unified) -> [u64; 4] {
    let rows = dirs.iter().filter(|dir| unified != Unified::Both || dir.kind != DirKind::Mixed);
    let mut issued = [0; 4];
    rows.for_each(|dir| issued[dir.kind as usize % 3] = dir.total_ios);
    issued[3] = sync.total_ios;
    issued
}

/// A count of each direction, and 0 for syncs.
pub(super) fn counts(dirs: &[DirReport], of: fn(&DirReport) -> u64) -> [u64; 4] {
    let mut counts = [0; 4];
    let apart = dirs.iter().filter(|dir| dir.kind != DirKind::Mixed);
    apart.for_each(|dir| counts[dir.kind as usize] = of(dir));
    counts
}

/// What only the options say: how many jobs were merged, and how numbers are printed.
fn configured(own: &[(String, String)], globals: &[(String, String)]) -> JobReport {
    let option = |name: &str| {
        let mut all = globals.iter().chain(own).rev();
        all.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    };
    let number = |name: &str, default: u32| {
        option(name).and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let is_on = |name: &str, default: &str| option(name).unwrap_or(default) == "1";
    let percentiles = is_on("clat_percentiles", "1") || is_on("lat_percentiles", "0");
    let list = option("percentile_list");
    let decimals = |p: &str| p.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let most = list.map_or(2, |list| list.split(':').map(decimals).max().unwrap_or(0));
    JobReport {
        members: number("numjobs", 1),
        style: NumberStyle {
            figures: number("significant_figures", 4).clamp(1, 10),
            kb_base: if option("kb_base") == Some("1000") { 1000 } else { 1024 },
            bits: option("unit_base") == Some("1"),
        },
        percentile_list: match list {
            _ if !percentiles || is_on("gtod_reduce", "0") => Vec::new(),
            Some(list) => list.split(':').filter_map(|p| p.parse().ok()).collect(),
            None => fiord_stat::job::DEFAULT_PERCENTILES.to_vec(),
        },
        percentile_decimals: u32::try_from(most.min(6)).unwrap_or(2),
        unified: match option("unified_rw_reporting") {
            Some("mixed" | "1") => Unified::Mixed,
            Some("both" | "2") => Unified::Both,
            _ => Unified::Separate,
        },
        ..JobReport::default()
    }
}

fn direction(node: Node<'_>, kind: DirKind) -> DirReport {
    DirReport {
        kind,
        io_bytes: node.bytes("io_bytes"),
        bw: node.bytes("bw_bytes"),
        iops: node.float("iops"),
        runtime: node.millis("runtime"),
        total_ios: node.whole("total_ios"),
        short_ios: node.whole("short_ios"),
        drop_ios: node.whole("drop_ios"),
        slat: latency(node.get("slat_ns")),
        clat: latency(node.get("clat_ns")),
        lat: latency(node.get("lat_ns")),
        priorities: node.list("prios").map(priority).collect(),
        bw_samples: rate(node, "bw", "bw_dev"),
        iops_samples: rate(node, "iops", "iops_stddev"),
    }
}

/// The I/Os of one priority.
fn priority(node: Node<'_>) -> PriorityReport {
    let total = node.has("lat_ns");
    PriorityReport {
        class: u8::try_from(node.whole("prioclass")).unwrap_or(u8::MAX),
        level: u8::try_from(node.whole("prio")).unwrap_or(u8::MAX),
        hint: u16::try_from(node.whole("priohint")).unwrap_or(u16::MAX),
        total,
        latency: latency(node.get(if total { "lat_ns" } else { "clat_ns" })),
    }
}

fn latency(node: Node<'_>) -> LatencySummary {
    let pairs = |key| node.entries(key);
    LatencySummary {
        min: node.nanos("min"),
        max: node.nanos("max"),
        mean: node.float("mean"),
        stddev: node.float("stddev"),
        n: node.whole("N"),
        percentiles: pairs("percentile")
            .filter_map(|(percent, ns)| Some((percent.parse().ok()?, Nanos(ns.integer()))))
            .collect(),
        bins: pairs("bins")
            .filter_map(|(ns, n)| Some((Nanos(ns.parse().ok()?), n.integer())))
            .collect(),
    }
}

fn rate(node: Node<'_>, name: &str, deviation: &str) -> RateSummary {
    let key = |what: &str| format!("{name}_{what}");
    RateSummary {
        min: node.whole(&key("min")),
        max: node.whole(&key("max")),
        agg: node.float(&key("agg")),
        mean: node.float(&key("mean")),
        dev: node.float(deviation),
        samples: node.whole(&key("samples")),
    }
}

fn intended(node: Node<'_>) -> Vec<(DirKind, LatencySummary)> {
    let row = |(key, kind)| Some((kind, latency(node.find(key)?)));
    ROWS.into_iter().filter_map(row).collect()
}

fn steady_state(node: Node<'_>) -> SteadyState {
    let spec = node.text("ss");
    let criterion = node.text("criterion");
    let data = node.get("data");
    let list = |key: &str| data.list(key).map(Node::integer);
    SteadyState {
        measure: match spec.get(..3) {
            Some("iop") => SteadyMeasure::Iops,
            Some("lat") => SteadyMeasure::Latency,
            _ if data.has("lat_ns") => SteadyMeasure::Latency,
            _ if spec.contains("iops") => SteadyMeasure::Iops,
            _ => SteadyMeasure::Bandwidth,
        },
        kind: match node.find("slope_percent") {
            Some(_) => SteadyKind::Pts { slope_percent: node.float("slope_percent") },
            None if spec.contains("slope") => SteadyKind::Slope,
            None => SteadyKind::Deviation,
        },
        percent: criterion.ends_with('%'),
        spec,
        duration: Nanos::from_secs(node.whole("duration")),
        attained: node.flag("attained"),
        criterion: criterion.trim_end_matches('%').parse().unwrap_or(0.0),
        max_deviation: node.float("max_deviation"),
        slope: node.float("slope"),
        bw_mean: data.bytes("bw_mean"),
        iops_mean: data.whole("iops_mean"),
        lat_mean: data.nanos("lat_mean"),
        iops_data: list("iops").collect(),
        bw_data: list("bw").map(Bytes).collect(),
        lat_data: list("lat_ns").map(Nanos).collect(),
        // Zeros stand for intervals that the job did not reach.
        missing: 0,
    }
}

/// How many trims blocks survived. The numbers of trims are those of blocks that failed.
fn block_errors(node: Node<'_>) -> BlockErrors {
    let states = node.get("states");
    let failed: Vec<(u32, u64)> = node
        .entries("trims_before_error")
        .filter_map(|(trims, blocks)| Some((trims.parse().ok()?, blocks.integer())))
        .collect();
    BlockErrors::with(BlockState::ALL.map(|state| states.whole(state.name())), &failed)
}
