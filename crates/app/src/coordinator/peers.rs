//! Which hosts of a run talk to each other over a network (`peer`), and at which ports.
//!
//! One end of each connection is the job as the user wrote it, on the host that has the job. The other end runs on the
//! peer. Ports count from the job's `port`: if there are enough, each connection of the run has one of its own, so that
//! agents on one machine do not meet; otherwise those to one address differ.

use std::collections::HashMap;
use std::num::NonZeroU16;
use std::ops::Range;

use fiord_fabric::message::NetLink;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::net::{HOSTNAME, LISTEN, PEER, PORT, PROTOCOL, Protocol};
use fiord_job::option::table::{FILENAME, NUMJOBS};
use fiord_job::spec::JobSpec;
use fiord_types::JobIndex;

use crate::peer_ends::answering_end_waits;

/// The first port of a job without `port`.
const FIRST_PORT: u32 = 10_000;

/// The first port that Linux gives to outgoing connections (`net.ipv4.ip_local_port_range`).
const EPHEMERAL: u32 = 32_768;

/// The end of all ports.
const END: u32 = 65_536;

/// In `hostname`, the name of the peer.
const WORD: &str = "$peer";

/// A host of a run, as its peers see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerHost<'a> {
    /// Name of the host as the user wrote it.
    pub(super) name: &'a str,
    /// Name or address of the host in the network.
    pub(super) address: &'a str,
}

/// The connections of each host, in the order of the hosts.
///
/// # Errors
/// A job names no peer for each host, or there are too few ports.
pub(super) fn links(
    jobs: &[JobSpec],
    hosts: &[PeerHost],
) -> Result<Vec<Vec<NetLink>>, Vec<Diagnostic>> {
    let mut links = vec![Vec::new(); hosts.len()];
    let mut ports = UsedPorts::default();
    let mut wrong = Vec::new();
    for (section, job) in jobs.iter().enumerate() {
        let Some(peer) = job.get(PEER) else { continue };
        let linked = check(job).and_then(|()| {
            let pairs = pairs(job, &peer, hosts)?;
            let begins = ports.of_job(job, &pairs, hosts)?;
            one_address(job, &pairs)?;
            Ok(pairs.into_iter().zip(begins))
        });
        let linked = match linked {
            Ok(linked) => linked,
            Err(error) => {
                wrong.push(*error);
                continue;
            }
        };
        for ((from, to), port) in linked {
            let link = |other: usize, answers| NetLink {
                job: JobIndex::at(section),
                host: hosts[other].name.to_owned(),
                address: address(job, &hosts[other]),
                port,
                answers,
            };
            links[from].push(link(to, false));
            links[to].push(link(from, true));
        }
    }
    if wrong.is_empty() { Ok(links) } else { Err(wrong) }
}

fn error(job: &JobSpec, what: String, help: &str) -> Box<Diagnostic> {
    let place = job.setting(PEER).map(|setting| setting.place.clone());
    Box::new(Diagnostic::error(what, place).help(help))
}

/// Refuses what says in another way who the peer is.
fn check(job: &JobSpec) -> Result<(), Box<Diagnostic>> {
    for option in [LISTEN.def(), FILENAME.def()] {
        if job.is_set(option) {
            let what = format!("`peer` and `{}` contradict each other", option.name);
            let help =
                "To fix: leave one of them out; with `peer`, the other end is made for the job";
            return Err(error(job, what, help));
        }
    }
    if matches!(job.get(PROTOCOL), Protocol::Unix | Protocol::Vsock) {
        let what = "`peer` needs a network: these sockets do not leave a machine".to_owned();
        return Err(error(job, what, "To fix: use `protocol=tcp` or `protocol=udp`"));
    }
    Ok(())
}

/// The hosts that have the job as it is written, each with its peer.
fn pairs(
    job: &JobSpec,
    peer: &str,
    hosts: &[PeerHost],
) -> Result<Vec<(usize, usize)>, Box<Diagnostic>> {
    let count = hosts.len();
    let all = 0..count;
    if count < 2 {
        let what = format!("`peer={peer}` needs two hosts, and this job has {count}");
        return Err(error(job, what, "To fix: name more hosts, with --hosts or --client"));
    }
    let to_one =
        |one: usize| all.clone().filter(move |host| *host != one).map(move |host| (host, one));
    Ok(match peer {
        "next" => all.map(|host| (host, (host + 1) % count)).collect(),
        "first" => to_one(0).collect(),
        "all" => all.clone().flat_map(to_one).collect(),
        "pair" if count % 2 == 1 => {
            let what =
                format!("`peer=pair` needs an even number of hosts, and this job has {count}");
            return Err(error(job, what, "To fix: leave a host out, or use `peer=next`"));
        }
        "pair" => all.step_by(2).map(|host| (host, host + 1)).collect(),
        name => match hosts.iter().position(|host| host.name == name || host.address == name) {
            Some(one) => to_one(one).collect(),
            None => {
                let what = format!("`peer={name}` is not a host of this run");
                let help = "To fix: write `next`, `pair`, `first`, `all` or the name of a host as in the list of hosts";
                return Err(error(job, what, help));
            }
        },
    })
}

/// Refuses an address that would be that of several hosts.
fn one_address(job: &JobSpec, pairs: &[(usize, usize)]) -> Result<(), Box<Diagnostic>> {
    let Some(name) = job.get(HOSTNAME).filter(|name| !name.contains(WORD)) else { return Ok(()) };
    if pairs.iter().all(|(_, to)| *to == pairs[0].1) {
        return Ok(());
    }
    let what = format!("`hostname={name}` is one address, but the job has several peers");
    Err(error(
        job,
        what,
        "To fix: leave `hostname` out, or write `$peer` in it: `hostname=$peer-ib`",
    ))
}

/// The address of a host for a job.
fn address(job: &JobSpec, host: &PeerHost) -> String {
    match job.get(HOSTNAME) {
        Some(name) => name.replace(WORD, host.address),
        None => host.address.to_owned(),
    }
}

/// The ports that are in use, by the address of the host. The empty address is that of all hosts.
#[derive(Debug, Default)]
struct UsedPorts<'a> {
    taken: HashMap<&'a str, Vec<Range<u32>>>,
}

impl<'a> UsedPorts<'a> {
    /// The first port of each connection. Each instance of the job (`numjobs`) uses a further one.
    fn of_job(
        &mut self,
        job: &JobSpec,
        pairs: &[(usize, usize)],
        hosts: &[PeerHost<'a>],
    ) -> Result<Vec<NonZeroU16>, Box<Diagnostic>> {
        let first = job.get(PORT).unwrap_or(FIRST_PORT);
        let each = job.get(NUMJOBS).max(1);
        let count = u32::try_from(pairs.len()).unwrap_or(END);
        let end = if first < EPHEMERAL { EPHEMERAL } else { END };
        let whole = self
            .find("", first, each.saturating_mul(count))
            .filter(|at| u64::from(*at) + u64::from(each) * u64::from(count) <= u64::from(end));
        let mut begins = Vec::with_capacity(pairs.len());
        let answers = answering_end_waits(job);
        for (n, (from, to)) in (0..).zip(pairs) {
            let address = hosts[if answers { *to } else { *from }].address;
            let (scope, begin) = match whole {
                Some(begin) => ("", Some(begin + n * each)),
                None => (address, self.find(address, first, each)),
            };
            let begin = begin.filter(|begin| begin.saturating_add(each) <= END);
            let port = begin.and_then(|port| NonZeroU16::new(u16::try_from(port).ok()?));
            let (Some(begin), Some(port)) = (begin, port) else {
                let what = format!(
                    "there are not enough ports from {first} on for all connections to a host"
                );
                return Err(error(
                    job,
                    what,
                    "To fix: use a smaller `port` or `numjobs`, or fewer hosts",
                ));
            };
            self.taken.entry(scope).or_default().push(begin..begin + each);
            begins.push(port);
        }
        Ok(begins)
    }

    /// The first of `count` ports in a row that no other connection to this address uses.
    fn find(&self, address: &str, first: u32, count: u32) -> Option<u32> {
        let own = self
            .taken
            .iter()
            .filter(|(other, _)| address.is_empty() || other.is_empty() || **other == address);
        let mut taken: Vec<&Range<u32>> = own.flat_map(|(_, ranges)| ranges).collect();
        taken.sort_by_key(|range| range.start);
        let mut begin = first;
        for range in taken {
            if range.start < begin.saturating_add(count) && begin < range.end {
                begin = range.end;
            }
        }
        (begin < END).then_some(begin)
    }
}

#[cfg(test)]
mod tests {
    use fiord_job::load::Memory;

    use super::*;

    const NAMES: [&str; 4] = ["n1", "root@n2", "n3", "n4"];

    fn linked(line: &str, hosts: usize) -> Result<Vec<Vec<NetLink>>, String> {
        let line: Vec<String> = line.split_whitespace().map(String::from).collect();
        let jobs = fiord_job::invocation(&line, &mut Memory::default()).unwrap().jobs;
        let hosts: Vec<PeerHost> = NAMES[..hosts]
            .iter()
            .map(|name| PeerHost { name, address: name.trim_start_matches("root@") })
            .collect();
        links(&jobs, &hosts).map_err(|wrong| wrong[0].what.to_string())
    }

    /// Host, address, port and whether the host answers, for each connection of each host.
    fn words(line: &str, hosts: usize) -> Vec<String> {
        let word = |link: &NetLink| {
            let arrow = if link.answers { "<" } else { ">" };
            format!("{arrow}{}:{}", link.address, link.port)
        };
        let all = linked(line, hosts).unwrap();
        all.iter().map(|host| host.iter().map(word).collect::<Vec<_>>().join(" ")).collect()
    }

    const JOB: &str = "--name=a --ioengine=net --rw=write --size=1m";

    #[test]
    fn each_way_to_choose_peers() {
        let next = words(&format!("{JOB} --peer=next"), 3);
        assert_eq!(next, [">n2:10000 <n3:10002", "<n1:10000 >n3:10001", "<n2:10001 >n1:10002"]);
        let first = words(&format!("{JOB} --peer=first --port=500"), 3);
        assert_eq!(first, ["<n2:500 <n3:501", ">n1:500", ">n1:501"]);
        let pair = words(&format!("{JOB} --peer=pair --numjobs=10"), 4);
        assert_eq!(pair, [">n2:10000", "<n1:10000", ">n4:10010", "<n3:10010"]);
        let one = words(&format!("{JOB} --peer=root@n2"), 3);
        assert_eq!(one, [">n2:10000", "<n1:10000 <n3:10001", ">n2:10001"]);
        let all = linked(&format!("{JOB} --peer=all"), 4).unwrap();
        for (host, links) in all.iter().enumerate() {
            assert_eq!(links.iter().filter(|link| link.answers).count(), 3, "{host}");
            assert_eq!(links.len(), 6, "{host}");
            assert!(links.iter().all(|link| link.host != NAMES[host]), "{links:?}");
        }
    }

    #[test]
    fn ports_do_not_meet() {
        let two = format!(
            "{JOB} --peer=next --name=b --ioengine=net --rw=read --size=1m --peer=next --stonewall"
        );
        let all = linked(&two, 4).unwrap();
        let mut ports: Vec<u16> =
            all.iter().flatten().filter(|l| l.answers).map(|l| l.port.get()).collect();
        ports.sort_unstable();
        assert_eq!(ports, (10_000..10_008).collect::<Vec<u16>>());
        // With too many connections, only those to one address differ.
        let many = words(&format!("{JOB} --peer=next --numjobs=8000"), 4);
        assert_eq!(many[0], ">n2:10000 <n4:10000");
        let wrong =
            linked(&format!("{JOB} --peer=first --numjobs=4000 --port=60000"), 4).unwrap_err();
        assert!(wrong.contains("not enough ports"), "{wrong}");
    }

    #[test]
    fn names_of_another_network() {
        let named = words(&format!("{JOB} --peer=next --hostname=$peer-ib"), 2);
        assert_eq!(named, [">n2-ib:10000 <n2-ib:10001", "<n1-ib:10000 >n1-ib:10001"]);
    }

    #[test]
    fn mistakes_are_named() {
        for (rest, hosts, why) in [
            ("--peer=next", 1, "needs two hosts"),
            ("--peer=pair", 3, "even number"),
            ("--peer=n9", 3, "not a host of this run"),
            ("--peer=next --listen", 2, "`listen` contradict"),
            ("--peer=next --filename=x", 2, "`filename` contradict"),
            ("--peer=next --hostname=n2", 3, "one address"),
            ("--peer=next --protocol=unix", 2, "needs a network"),
        ] {
            let wrong = linked(&format!("{JOB} {rest}"), hosts).unwrap_err();
            assert!(wrong.contains(why), "{rest}: {wrong}");
        }
        assert!(linked(&format!("{JOB} --peer=first --hostname=10.0.0.1"), 3).is_ok());
        assert_eq!(linked(JOB, 1), Ok(vec![vec![]]));
    }
}
