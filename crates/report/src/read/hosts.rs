//! A report of many hosts, host by host.

use fiord_stat::hosts::{ALL_CLIENTS, HostReport, HostsReport};
use fiord_stat::report::Report;

use super::node::Node;
use super::{disk, job};

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
        extras: fiord.read(),
        ..flat
    };
    HostsReport { all, hosts, ..fiord.read() }
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
        extras: node.get("fiord").read(),
        jobs,
        courses: Vec::new(),
    };
    let read: HostReport = node.read();
    HostReport {
        // An entry of a job, in a report of fio, knows nothing else.
        complete: read.complete || node.has("jobname"),
        report: Some(report).filter(|report| !report.jobs.is_empty()),
        ..read
    }
}
