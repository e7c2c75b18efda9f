//! The peers of `net` and `netsplice`: protocol, addresses, and which end waits for the other.

use std::net::IpAddr;
use std::path::PathBuf;

use fiord_job::option::handle::{Opt, WordEnum};
use fiord_job::option::table::net::{
    HOSTNAME, INTERFACE, LISTEN, MSS, NODELAY, PEER, PINGPONG, PORT, PROTOCOL, TTL, WINDOW_SIZE,
};
use fiord_job::option::table::{BS, FILENAME, NRFILES, RATE, RATE_IOPS, THINKTIME};
use fiord_types::{Bytes, Dir, RunNumber};

use crate::load;
use crate::model::{EnginePlan, HopLimit, Load, Mix, NetPlan, Protocol};
use crate::options::reading::Reading;

/// The largest port of TCP and UDP.
pub(super) const LAST_PORT: u32 = 65_535;

/// Maximum number of bytes of one datagram: what the 16-bit length fields leave beside the headers.
const fn largest_datagram(protocol: Protocol) -> u32 {
    match protocol {
        Protocol::Udpv6 => 65_527,
        _ => 65_507,
    }
}

const fn is_datagram(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Udp | Protocol::Udpv6)
}

/// Refuses jobs whose other end is on another host of a run, because this run has one host.
pub(crate) fn refuse_peers(jobs: &[Reading]) {
    for job in jobs {
        if let Some(peer) = job.get(PEER) {
            let what = format!(
                "`peer={peer}` names another host of the run, but this run has only one host"
            );
            let help = "To fix: name hosts with --hosts, --client or --ranks, or write `hostname` and `listen` instead";
            job.report(job.error(PEER, what).help(help));
        }
    }
}

/// Reads the options of `net` and `netsplice`.
pub(super) fn spliced(job: Reading) -> NetPlan {
    NetPlan { spliced: true, ..options(job) }
}

/// Reads the options of `net`, which `netsplice` has too.
pub(super) fn options(job: Reading) -> NetPlan {
    let protocol = job.get(PROTOCOL);
    let reads = matches!(load::mix(job).0, Mix::Read);
    let listens = job.get(LISTEN);
    if listens && is_datagram(protocol) {
        let what = "listen only valid for TCP proto IO: datagrams have no connections";
        job.report(job.error(LISTEN, what).help("To fix: leave it out: a job that reads waits"));
    }
    if listens && protocol == Protocol::Unix && !reads {
        let what =
            "the end that reads from a Unix socket listens, and the end that writes connects";
        job.report(job.error(LISTEN, what).help("To fix: leave it out"));
    }
    let waits = match protocol {
        Protocol::Unix | Protocol::Udp | Protocol::Udpv6 => reads,
        Protocol::Tcp | Protocol::Tcpv6 | Protocol::Vsock => listens,
    };
    let pingpong = job.get(PINGPONG);
    let paced = job.is_set(RATE) || job.is_set(RATE_IOPS) || job.is_set(THINKTIME);
    NetPlan {
        protocol,
        spliced: false,
        receives: reads,
        waits,
        pingpong,
        nodelay: job.get(NODELAY),
        interface: interface(job),
        ttl: HopLimit::new(u8::try_from(job.get(TTL)).unwrap_or_else(|_| {
            let what = format!("value out of range: `ttl={}` (255 max)", job.get(TTL));
            job.report(job.error(TTL, what).help("To fix: write 0 to 255"));
            1
        })),
        window: small(job, WINDOW_SIZE),
        segment: small(job, MSS),
        continuous: !pingpong && !paced,
        patient: job.is_set(PEER),
        run: None,
    }
}

/// Tells jobs whose peer is on another host the number of their run.
pub(crate) fn belongs_to(engine: &mut EnginePlan, run: Option<RunNumber>) {
    if let Some(plan) = engine.network_mut().filter(|plan| plan.patient) {
        plan.run = run;
    }
}

/// A size that the kernel takes as a signed 32-bit number. 0 means that the job does not set it.
fn small(job: Reading, option: Opt<Option<Bytes>>) -> Option<Bytes> {
    let value = job.get(option).filter(|size| size.0 > 0)?;
    if value.0 > i32::MAX as u64 {
        let what = format!("value out of range: `{}={}`", option.name(), value.0);
        let help = format!("To fix: write at most {} bytes", i32::MAX);
        job.report(job.error(option, what).help(help));
    }
    Some(value)
}

fn interface(job: Reading) -> Option<IpAddr> {
    let text = job.get(INTERFACE)?;
    let parsed = text.parse().ok();
    if parsed.is_none() {
        let what = format!("interface not valid interface IP: `{text}`");
        let help = "To fix: write the address of the interface (`ip address` lists them)";
        job.report(job.error(INTERFACE, what).help(help));
    }
    parsed
}

/// Refuses blocks that no datagram can carry.
pub(super) fn check(job: Reading, engine: &EnginePlan, load: &Load) {
    let Some(plan) = engine.network() else { return };
    if plan.spliced && is_datagram(plan.protocol) {
        let what = format!("`ioengine={}` cannot splice datagrams", engine.def().name);
        job.report(job.error(PROTOCOL, what).help("To fix: use `ioengine=net`"));
    }
    let most = largest_datagram(plan.protocol);
    let dir = if load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
    let largest = load.blocks[dir].max();
    if is_datagram(plan.protocol) && largest > most {
        let word = plan.protocol.word();
        let what = format!("`protocol={word}` sends at most {most} bytes at once, not {largest}");
        let help = format!("To fix: write a `bs` of at most {most} bytes");
        job.report(job.error(BS, what).help(help));
    }
}

/// The addresses of the peers of one instance: one for each host in `filename`, otherwise that in
/// `hostname`, as often as `nrfiles` says. Each instance has a port of its own, or for Unix sockets a
/// path of its own.
pub(crate) fn addresses(job: Reading, plan: &NetPlan, instance: u32) -> Vec<PathBuf> {
    let named = job.get(FILENAME).filter(|names| !names.is_empty());
    let hosts = match named {
        Some(names) => names,
        None => {
            let host = job.get(HOSTNAME).unwrap_or_default();
            vec![host; (job.get(NRFILES) as usize).clamp(1, 1 << 16)]
        }
    };
    if plan.protocol == Protocol::Unix {
        return unix_paths(job, &hosts, instance);
    }
    let last = (plan.protocol != Protocol::Vsock).then_some(LAST_PORT);
    let port = port(job, last, instance);
    let mut addresses = Vec::with_capacity(hosts.len());
    for host in hosts {
        let host = match host.as_str() {
            "" if plan.waits => any(plan.protocol),
            "" => {
                let what = "connect with no host to connect to: the job sets no `hostname`";
                job.report(job.error(HOSTNAME, what).help(NO_HOST));
                break;
            }
            host => host,
        };
        if plan.protocol == Protocol::Vsock && host.parse::<u32>().is_err() {
            let what = format!("the address of a vsock is a number, not `{host}`");
            let help =
                "To fix: write the CID of the virtual machine; 2 is the host, 1 this machine";
            let option = if job.is_set(FILENAME) { FILENAME.def() } else { HOSTNAME.def() };
            job.report(job.error(option, what).help(help));
            break;
        }
        addresses.push(host_and_port(host, port));
    }
    addresses
}

/// `HOST:PORT`, with brackets around an IPv6 address.
pub(super) fn host_and_port(host: &str, port: u32) -> PathBuf {
    PathBuf::from(match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    })
}

/// The remedy for a job without a peer.
const NO_HOST: &str = "To fix: write `hostname=ADDRESS`, or `listen` to wait for a connection";

/// The address that stands for all addresses of this machine.
const fn any(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcpv6 | Protocol::Udpv6 => "::",
        // VMADDR_CID_ANY.
        Protocol::Vsock => "4294967295",
        _ => "0.0.0.0",
    }
}

fn unix_paths(job: Reading, names: &[String], instance: u32) -> Vec<PathBuf> {
    if job.is_set(PORT) {
        let what = "network IO port not valid with unix socket";
        job.report(job.error(PORT, what).help("To fix: leave it out"));
    }
    if names.iter().any(String::is_empty) {
        let what = "UNIX sockets need host/filename: the job names no socket";
        job.report(job.error(FILENAME, what).help("To fix: write `filename=/run/name.sock`"));
        return Vec::new();
    }
    let own = |name: &String| match instance {
        0 => PathBuf::from(name),
        _ => PathBuf::from(format!("{name}.{instance}")),
    };
    names.iter().map(own).collect()
}

/// The port of one instance. `last`: the largest port.
pub(super) fn port(job: Reading, last: Option<u32>, instance: u32) -> u32 {
    let Some(first) = job.get(PORT) else {
        let what = "network IO requires port for tcp or udp";
        job.report(job.error(PORT, what).help("To fix: write `port=8888`"));
        return 0;
    };
    let port = first.saturating_add(instance);
    if let Some(last) = last.filter(|last| port > *last) {
        let what = format!(
            "each instance of the job uses a port of its own, and the last instance would use {port}, which is above \
             {last}"
        );
        job.report(job.error(PORT, what).help("To fix: use a smaller `port` or `numjobs`"));
    }
    port
}
