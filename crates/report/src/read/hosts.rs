//! A report of many hosts, host by host.

use fiord_stat::hosts::{
    ALL_CLIENTS, ClockError, HostFacts, HostFailure, HostReport, HostStage, HostTarget, HostTotal,
    HostsReport, HostsStart, TogetherRate,
};
use fiord_stat::report::Report;
use fiord_types::HostIndex;

use super::node::Node;
use super::{disk, extras, job};

/// The stages of a run, by the words that reports have for them.
const STAGES: [HostStage; 8] = [
    HostStage::Greet,
    HostStage::Check,
    HostStage::LayOut,
    HostStage::CompareClocks,
    HostStage::Run,
    HostStage::Collect,
    HostStage::CompareAgain,
    HostStage::Done,
];

/// Reads the hosts of a document. `flat` is the document as one report of all jobs.
pub(super) fn hosts(document: Node<'_>, flat: Report) -> HostsReport {
    let fiord = document.get("fiord");
    let jobs: Vec<Node<'_>> =
        document.list("client_stats").filter(|job| job.text("jobname") != ALL_CLIENTS).collect();
    let mut addresses: Vec<Node<'_>> = fiord.list("hosts").collect();
    if addresses.is_empty() {
        // fio has no list of hosts, so each job names its own.
        for job in &jobs {
            if !addresses.iter().any(|known| is_same(*known, *job)) {
                addresses.push(*job);
            }
        }
    }
    let one = |node: &Node<'_>| host(*node, document, &jobs, &flat);
    let hosts: Vec<HostReport> = addresses.iter().map(one).collect();
    let sum = document.list("client_stats").filter(|job| job.text("jobname") == ALL_CLIENTS);
    let all = Report {
        jobs: sum.map(|sum| job::job(sum, &[])).collect(),
        disks: Vec::new(),
        global_options: Vec::new(),
        groups: Vec::new(),
        extras: extras::own(fiord),
        ..flat
    };
    HostsReport {
        all,
        hosts,
        start: fiord.has("start_skew_ns").then(|| HostsStart {
            skew: fiord.nanos("start_skew_ns"),
            clock_error: fiord.has("clock_error_ns").then(|| fiord.nanos("clock_error_ns")),
            last: HostIndex::default(),
            worst_clock: HostIndex::default(),
        }),
        together: fiord.find("while_all_ran").map(|rate| TogetherRate {
            begin: rate.nanos("begin_ns"),
            end: rate.nanos("end_ns"),
            iops: rate.float("iops"),
            bw: rate.bytes("bw_bytes"),
        }),
        signal: fiord.has("signal").then(|| i32::try_from(fiord.whole("signal")).unwrap_or(0)),
        refused: fiord.flag("refused"),
        insecure: fiord.flag("insecure"),
        // JSON does not have it; only findings, which exist already, depend on it.
        shares_targets: false,
    }
}

/// Whether two objects name one host.
fn is_same(a: Node<'_>, b: Node<'_>) -> bool {
    a.text("hostname") == b.text("hostname") && a.whole("port") == b.whole("port")
}

fn host(node: Node<'_>, document: Node<'_>, jobs: &[Node<'_>], flat: &Report) -> HostReport {
    let own = jobs.iter().filter(|job| is_same(**job, node));
    let jobs: Vec<_> = own.map(|own| job::job(*own, &[])).collect();
    let globals = document.list("global options").find(|options| is_same(*options, node));
    let mut global_options = globals.map_or_else(|| flat.global_options.clone(), Node::pairs);
    global_options.retain(|(name, _)| name != "hostname" && name != "port");
    let report = Report {
        schema: flat.schema,
        version: flat.version.clone(),
        written: flat.written,
        utc_offset_s: flat.utc_offset_s,
        global_options,
        groups: fiord_stat::job::groups(&jobs),
        disks: document.list("disk_util").filter(|one| is_same(*one, node)).map(disk).collect(),
        extras: extras::own(node.get("fiord")),
        jobs,
    };
    let time = |key: &str| node.has(key).then(|| node.nanos(key));
    // An entry of a job, in a report of fio, knows nothing else.
    let is_entry = node.has("jobname");
    HostReport {
        name: node.text("hostname"),
        port: u16::try_from(node.whole("port")).ok().filter(|port| *port > 0),
        facts: node.has("own_name").then(|| facts(node)),
        targets: node.list("targets").map(target).collect(),
        report: Some(report).filter(|report| !report.jobs.is_empty()),
        clock: time("clock_error_ns")
            .map(|bound| ClockError { bound, round_trip: node.nanos("round_trip_ns") }),
        started: time("started_ns"),
        finished: time("finished_ns"),
        total: node.has("io_bytes").then(|| HostTotal {
            bytes: node.bytes("io_bytes"),
            runtime: node.millis("runtime"),
            iops: node.float("iops"),
            bw: node.bytes("bw_bytes"),
        }),
        seen: None,
        complete: is_entry || node.flag("complete"),
        status: node.has("status").then(|| u8::try_from(node.whole("status")).unwrap_or(u8::MAX)),
        errors: node.texts("errors"),
        failure: node.has("failure").then(|| HostFailure {
            stage: stage(&node.text("failed_stage")),
            why: node.text("failure"),
            at: node.nanos("failed_at_ns"),
            refused: node.flag("refused"),
        }),
    }
}

fn stage(words: &str) -> HostStage {
    STAGES.into_iter().find(|stage| stage.words() == words).unwrap_or_default()
}

fn target(node: Node<'_>) -> HostTarget {
    HostTarget {
        path: node.text("path"),
        shared_id: node.has("shared_id").then(|| node.text("shared_id")),
        kind: node.text("storage"),
        scheduler: node.text("scheduler"),
        begin: node.bytes("begin_bytes"),
        end: node.bytes("end_bytes"),
        writes: node.flag("writes"),
    }
}

fn facts(node: Node<'_>) -> HostFacts {
    HostFacts {
        version: node.text("version"),
        hostname: node.text("own_name"),
        os: node.text("os"),
        kernel: node.text("kernel"),
        arch: node.text("arch"),
        cpus: node.has("cpus").then(|| node.small("cpus")),
        memory: node.bytes("memory_bytes"),
        ..HostFacts::default()
    }
}
