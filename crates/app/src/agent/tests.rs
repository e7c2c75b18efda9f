//! Agents whose coordinator is the test. Messages travel through queues in memory.

mod partners;
mod peers;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fiord_fabric::contract::{Arrival, Happening, Loss};
use fiord_fabric::message::{
    Ended, FromHost, Hello, HostJobs, HostsData, JobOrder, ToHost, decode, encode,
};
use fiord_run::events::{Event, EventKind};
use fiord_stat::job::JobData;
use fiord_stat::progress::Progress;
use fiord_sys::clock;
use fiord_types::{Bytes, Dir, HostIndex, JobIndex};

use super::*;
use partners::{Agent, Scratch, order, status};

#[test]
fn a_run_starts_at_the_ordered_time_and_sends_its_raw_data() {
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let mut order = order(&["job.fio"]);
    let text = "[global]\ninclude size.fio\n[$host]\nname=x\n[a]\ndescription=${WHO} on $host, $rank of $ranks\n[b]\n";
    order.files = vec![
        ("job.fio".into(), text.into()),
        ("size.fio".into(), "ioengine=null\nsize=1m\nrw=randread\n".into()),
    ];
    order.variables = vec![("WHO".into(), "me".into())];
    let jobs = peer.checked(2, order);
    assert_eq!(jobs.introduction, "3 sections\n");
    assert_eq!(jobs.targets, []);
    let at = peer.start();
    let (data, ended) = peer.results();
    assert_eq!((ended.status, ended.signal, &ended.errors[..]), (Some(0), None, &[][..]));
    assert_eq!(ended.started.len(), 3);
    assert!(ended.started.iter().all(|started| started.is_some_and(|started| started >= at)));
    assert!(ended.finished.is_some_and(|finished| finished >= at));
    assert_eq!(data[1].settings.description.as_deref(), Some("me on host2, 2 of 4"));
    let bytes = |job: &JobData| job.recorder.dirs[Dir::Read].bytes;
    assert!(data.iter().all(|job| bytes(job) == Bytes::from_mib(1)));
    assert!(peer.events.iter().any(|event| matches!(event.kind, EventKind::JobEnded { .. })));
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

#[test]
fn probes_are_answered_while_jobs_run() {
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let jobs = ["--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=60"];
    let progress = Some(Nanos::from_millis(10));
    peer.checked(0, JobOrder { progress, ..order(&jobs) });
    peer.start();
    for sent in [Nanos(7), Nanos(8)] {
        let before = Nanos(clock::monotonic());
        peer.say(&ToHost::Probe { sent });
        let FromHost::Answer { sent: repeated, received, answered } = peer.message() else {
            panic!("no answer")
        };
        assert_eq!(repeated, sent);
        assert!(before <= received && received <= answered, "{before:?} {received:?} {answered:?}");
    }
    peer.wait_for_io();
    peer.say(&ToHost::Stop { why: "Ctrl-C".into(), signal: Some(2) });
    let (data, ended) = peer.results();
    assert_eq!((ended.status, ended.signal), (None, Some(2)));
    assert!(data[0].recorder.dirs[Dir::Read].bytes > Bytes::ZERO);
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

#[test]
fn progress_has_latencies_and_the_user_can_end_the_jobs() {
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let jobs = ["--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=60"];
    let order =
        JobOrder { progress: Some(Nanos::from_millis(10)), latencies: true, ..order(&jobs) };
    let checked = peer.checked(0, order);
    assert_eq!(checked.names, [("a".to_owned(), String::new())]);
    peer.start();
    peer.wait_for_progress(|progress| {
        let latencies = progress.jobs.iter().filter_map(|job| job.latency.as_ref());
        latencies.map(|all| all[Dir::Read].n).any(|n| n > 0)
    });
    peer.say(&ToHost::Finish);
    let (data, ended) = peer.results();
    assert_eq!((ended.status, ended.signal), (Some(status(RunEnd::Succeeded)), None));
    assert!(data[0].recorder.dirs[Dir::Read].bytes > Bytes::ZERO);
    let warned = |event: &Event| match &event.kind {
        EventKind::Warning { what, .. } => what.starts_with("the user ended the run early"),
        _ => false,
    };
    assert!(peer.events.iter().any(warned));
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

#[test]
fn a_coordinator_can_stop_before_anything_is_written_or_without_a_signal() {
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let jobs = ["--name=a", "--ioengine=null", "--size=1g", "--time_based", "--runtime=60"];
    peer.checked(0, order(&jobs));
    peer.start();
    peer.say(&ToHost::Stop { why: "another host failed".into(), signal: None });
    let (_, ended) = peer.results();
    assert_eq!((ended.status, ended.signal), (None, None));
    // What was stopped once stays stopped.
    peer.order(order(&jobs));
    assert!(matches!(peer.message(), FromHost::Checked(_)));
    let (data, ended) = peer.results();
    assert_eq!((data, ended), (Vec::new(), Ended::default()));
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

#[test]
fn invalid_jobs_are_refused_with_the_messages_of_a_run_on_that_host() {
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    peer.hello(0);
    let FromHost::Welcome(facts) = peer.message() else { panic!("no welcome") };
    assert!(!facts.kernel.is_empty() && !facts.boot_id.is_empty() && facts.cpus > Some(0));
    for (argument, expected) in [
        ("--rw=raed", "did you mean `read`?"),
        ("--ioengine=null", "size"),
        ("--version", "the coordinator sent no jobs to run"),
    ] {
        peer.order(order(&["--name=a", argument]));
        let FromHost::Refused { text } = peer.message() else { panic!("not refused") };
        assert!(text.starts_with("fiord: ") && text.contains(expected), "{text}");
    }
    // The coordinator can try again.
    peer.order(order(&["--name=a", "--ioengine=null", "--size=4k"]));
    assert!(matches!(peer.message(), FromHost::Checked(_)));
    peer.start();
    assert_eq!(peer.results().1.status, Some(0));
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

/// Jobs that write files in a directory of their own for a minute.
fn writers(directory: &Path) -> JobOrder {
    let directory = format!("--directory={}", directory.display());
    let format = "--filename_format=sub/$jobname";
    order(&[
        "--name=a",
        "--size=64k",
        "--rw=write",
        "--time_based",
        "--runtime=60",
        &directory,
        format,
    ])
}

#[test]
fn an_agent_that_loses_its_coordinator_stops_and_removes_what_it_created() {
    let scratch = Scratch::new("agent-lost");
    std::fs::write(scratch.0.join("mine"), "x").unwrap();
    std::fs::write(scratch.0.join("b.prerun.txt"), "y").unwrap();
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let mut writers = writers(&scratch.0);
    let iolog = format!("--write_iolog={}", scratch.0.join("iolog").display());
    let aux_path = format!("--aux-path={}", scratch.0.display());
    let extents = format!("--verify_extents={}", scratch.0.join("extents").display());
    let command = ["--exec_prerun=echo hello", &aux_path, &iolog, "--verify=crc32c", &extents];
    writers.arguments.extend(command.map(String::from));
    let tree = format!("--filename={}", scratch.0.join("tree").display());
    let tree = ["--name=b", "--exec_prerun=echo hello", "--ioengine=filecreate", &tree];
    writers.arguments.extend(tree.map(String::from));
    writers.arguments.push("--tree_items=5".to_owned());
    let jobs = peer.checked(0, writers);
    let [target, _tree] = &jobs.targets[..] else { panic!("{jobs:?}") };
    assert_eq!((target.begin, target.end, target.writes), (Bytes(0), Bytes::from_kib(64), true));
    assert!(target.shared_id.is_some() && target.path.ends_with("sub/a"), "{target:?}");
    peer.start();
    for name in ["sub/a", "iolog", "a.prerun.txt", "tree"] {
        assert!(scratch.0.join(name).exists(), "{name}");
    }
    let lost = Instant::now();
    peer.tell(Happening::Lost(Loss::Closed { said: String::new() }));
    let (end, notices) = agent.end();
    assert!(lost.elapsed() < Duration::from_secs(10), "{:?}", lost.elapsed());
    assert_eq!(end, AgentEnd::Lost { why: "the connection ended".into() });
    let mut left = scratch.files();
    left.sort();
    // What existed before stays.
    assert_eq!(left, ["b.prerun.txt", "mine"].map(|name| scratch.0.join(name)));
    assert!(matches!(notices.last(), Some(AgentNotice::Lost { .. })), "{notices:?}");
}

#[test]
fn logs_are_sent_in_parts_and_have_names_of_their_own_until_then() {
    let scratch = Scratch::new("agent-logs");
    let log = scratch.0.join("x");
    let log = format!("--write_bw_log={}", log.display());
    let old = scratch.0.join("old");
    std::fs::write(scratch.0.join("old_iops.1.log"), "mine").unwrap();
    let other = format!("--write_iops_log={}", old.display());
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let order = order(&["--name=a", "--ioengine=null", "--size=512m", "--bs=4k", &log, &other]);
    peer.checked(0, JobOrder { fetch_logs: true, ..order });
    peer.start();
    let (mut lines, mut parts) = (0, 0);
    let mut finished = Vec::new();
    let mut lengths = std::collections::BTreeMap::<String, u64>::new();
    let ended = loop {
        match peer.next() {
            Happening::Message(bytes) => match decode::<FromHost>(&bytes).unwrap() {
                (FromHost::Log { name, number, offset, last }, part) => {
                    if last {
                        // Until the coordinator has it, the host keeps its own.
                        assert_eq!(scratch.files().len(), 3);
                        finished.push(number);
                    }
                    let length = lengths.entry(name).or_default();
                    assert_eq!(offset, Bytes(*length));
                    *length += part.len() as u64;
                    lines += part.iter().filter(|byte| **byte == b'\n').count();
                    parts += 1;
                    assert!(last || part.len() == 1 << 20);
                    if finished.len() == 2 {
                        let answers = finished.drain(..).rev();
                        answers.for_each(|number| peer.say(&ToHost::Kept { number, failed: None }));
                    }
                }
                (FromHost::Ended(ended), _) => break *ended,
                _ => {}
            },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((ended.status, ended.errors), (Some(0), Vec::new()));
    let names: Vec<&str> = lengths.keys().map(String::as_str).collect();
    let [old_log, new_log] = names[..] else { panic!("{names:?}") };
    assert!(old_log.ends_with("old_iops.1.log") && new_log.ends_with("x_bw.1.log"), "{names:?}");
    assert_eq!(lines, 2 * (512 << 20) / 4096);
    assert!(parts > 4, "{parts}");
    assert_eq!(scratch.files(), [scratch.0.join("old_iops.1.log")]);
    assert_eq!(std::fs::read(scratch.0.join("old_iops.1.log")).unwrap(), b"mine");
}

#[test]
fn each_host_uses_its_part_of_the_data() {
    let parts = [(0, 0, 8), (1, 8, 16), (2, 16, 24), (3, 24, 33)];
    let scratch = Scratch::new("agent-split");
    for (rank, begin, end) in parts {
        let agent = Agent::start(false);
        let mut peer = agent.peer();
        let file = format!("--filename={}", scratch.0.join("a").display());
        let order = order(&["--name=a", "--size=33m", "--bs=1m", "--rw=randwrite", &file]);
        let jobs = peer.checked(rank, JobOrder { data: HostsData::Split, ..order });
        let [target] = &jobs.targets[..] else { panic!("{jobs:?}") };
        let range = (Bytes::from_mib(begin), Bytes::from_mib(end));
        assert_eq!((target.begin, target.end), range);
        peer.start();
        let (data, ended) = peer.results();
        assert_eq!(ended.status, Some(0));
        assert_eq!(data[0].recorder.dirs[Dir::Write].bytes, range.1 - range.0);
        let length = std::fs::metadata(scratch.0.join("a")).unwrap().len();
        assert_eq!(Bytes(length), range.1);
        peer.say(&ToHost::Bye);
        assert_eq!(agent.end().0, AgentEnd::Released);
    }
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    peer.hello(0);
    assert!(matches!(peer.message(), FromHost::Welcome(_)));
    let order = order(&["--name=a", "--size=3k", "--bs=1k", "--ioengine=null"]);
    peer.order(JobOrder { data: HostsData::Split, ..order });
    let FromHost::Refused { text } = peer.message() else { panic!("not refused") };
    assert!(text.contains("too small to give each of the 4 hosts a part of 1024 bytes"), "{text}");
}

#[test]
fn no_order_of_messages_hangs_an_agent() {
    let scratch = Scratch::new("agent-order");
    for seed in 0..60_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut draw = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        let agent = Agent::start(false);
        let peer = agent.peer();
        peer.hello(0);
        for _ in 0..draw(12) {
            let at = Nanos(clock::monotonic()).saturating_add(Nanos::from_millis(draw(20)));
            let file = format!("--filename={}", scratch.0.join("x").display());
            peer.say(&match draw(10) {
                0 => ToHost::Hello(Hello {
                    version: "again".into(),
                    holder: "again".into(),
                    host: "again".into(),
                    rank: HostIndex(9),
                    ranks: NonZeroU32::MIN,
                }),
                1 => ToHost::Probe { sent: at },
                2 | 3 => {
                    ToHost::Job(Box::new(order(&["--name=a", "--size=64k", "--rw=write", &file])))
                }
                4 => ToHost::LayOut,
                5 => ToHost::Start { at },
                6 => ToHost::Stop { why: "a test".into(), signal: Some(15) },
                7 => ToHost::Status,
                8 => ToHost::Heartbeat,
                _ => ToHost::Bye,
            });
            std::thread::sleep(Duration::from_millis(draw(8)));
        }
        peer.tell(Happening::Lost(Loss::Closed { said: String::new() }));
        let (end, _) = agent.end();
        assert!(matches!(end, AgentEnd::Released | AgentEnd::Lost { .. }), "{seed}: {end:?}");
    }
}
