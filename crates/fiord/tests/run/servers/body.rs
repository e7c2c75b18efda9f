//! Tests that all engines share which connect to servers with storage.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::relay::Relay;
use super::{Relayed, Service, fio_has, fio_verifies};
use crate::fiord::{Place, Ran, end, signal, under_way, until, work};

/// The size of the target, in bytes.
pub(crate) const SIZE: usize = 1 << 20;

/// How long a run may take that ends by itself, on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// Another job, which does not use the server.
const OTHER: &str =
    "--name=other --ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=1";

/// The tests of one engine.
macro_rules! tests_of {
    ($service:ty) => {
        mod shared {
            use super::*;
            use $crate::servers::body;

            #[test]
            fn another_client_reads_what_a_job_wrote() {
                body::another_client_reads_what_a_job_wrote::<$service>();
            }
            #[test]
            fn fio_reports_the_same_of_the_same_job() {
                body::fio_reports_the_same_of_the_same_job::<$service>();
            }
            #[test]
            fn what_fio_wrote_verifies_and_the_other_way_round() {
                body::what_fio_wrote_verifies_and_the_other_way_round::<$service>();
            }
            #[test]
            fn every_block_is_moved_once() {
                body::every_block_is_moved_once::<$service>();
            }
            #[test]
            fn a_job_that_its_run_time_ends_succeeds() {
                body::a_job_that_its_run_time_ends_succeeds::<$service>();
            }
            #[test]
            fn a_server_that_does_not_exist_ends_its_job_only() {
                body::a_server_that_does_not_exist_ends_its_job_only::<$service>();
            }
            #[test]
            fn a_server_that_is_killed_ends_its_job_only() {
                body::a_server_that_is_killed_ends_its_job_only::<$service>();
            }
            #[test]
            fn a_server_that_stops_answering_ends_its_job_only() {
                body::a_server_that_stops_answering_ends_its_job_only::<$service>();
            }
            #[test]
            fn requests_that_are_open_when_a_job_ends_have_their_whole_timeout() {
                body::requests_that_are_open_when_a_job_ends_have_their_whole_timeout::<$service>();
            }
            #[test]
            fn a_lost_connection_is_made_again_if_the_job_goes_on() {
                body::a_lost_connection_is_made_again_if_the_job_goes_on::<$service>();
            }
            #[test]
            fn a_connection_that_cannot_be_made_again_ends_its_job_only() {
                body::a_connection_that_cannot_be_made_again_ends_its_job_only::<$service>();
            }
            #[test]
            fn ctrl_c_does_not_wait_for_the_server() {
                body::ctrl_c_does_not_wait_for_the_server::<$service>();
            }
        }
    };
}
pub(crate) use tests_of;

fn ios(ran: &Ran) -> [u64; 3] {
    work(&ran.json())[0].2.map(|dir| dir.1)
}

pub(crate) fn another_client_reads_what_a_job_wrote<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    for (block, depth) in [(4096, 1), (65536, 8)] {
        let line = format!(
            "--name=j {} --rw=randwrite --bs={block} --size=256k --iodepth={depth} --buffer_pattern=0x{block:08x} \
             --end_fsync=1",
            service.job()
        );
        place.run(&line).ok();
        let Some(bytes) = service.contents(&place, block, 256 << 10) else { return };
        assert_eq!(bytes.len(), 256 << 10, "{line}");
        let pattern = (block as u32).to_be_bytes();
        assert!(bytes.chunks(4).all(|c| c == pattern), "{line}: {:x?}", &bytes[..16]);
    }
}

/// The bytes, I/Os and errors in the report of a job are those that fio reports, and the reports have the same structure.
pub(crate) fn fio_reports_the_same_of_the_same_job<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    let job = service.job();
    if !fio_has(&place, engine(&job)) {
        return;
    }
    for load in S::LOADS_OF_FIO {
        let line = format!("--name=j {job} --bs=4k --size=256k --output-format=json {load}");
        let theirs = place.fio(&line).unwrap();
        assert_eq!(theirs.status, Some(0), "{line}: {theirs:?}");
        let ours = place.run(&line).ok();
        let parsed = theirs.json();
        assert_eq!(work(&ours.json()), work(&parsed), "{line}");
        // Other versions have other members.
        if parsed["fio version"] == "fio-3.42" {
            // fio prints notes before the document.
            let document = &theirs.out[theirs.out.find('{').unwrap_or(0)..];
            let difference = fiord_golden::json::shape(document, &ours.out);
            assert_eq!(difference, Ok(()), "{line}");
        }
    }
}

pub(crate) fn what_fio_wrote_verifies_and_the_other_way_round<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    let job = service.job();
    if !fio_has(&place, engine(&job)) {
        return;
    }
    let job = format!("--name=j {job} --bs=4k --size=256k --verify=crc32c");
    let wrote = place.fio(&format!("{job} --rw=write --do_verify=0")).unwrap();
    assert_eq!(wrote.status, Some(0), "{wrote:?}");
    place.run(&format!("{job} --rw=read --iodepth=8")).ok();
    if !fio_verifies(&place) {
        return;
    }
    place.run(&format!("{job} --rw=randwrite --iodepth=8 --do_verify=0")).ok();
    let ran = place.fio(&format!("{job} --rw=read")).unwrap();
    assert!(ran.status == Some(0) && !ran.out.contains("verify:"), "{ran:?}");
}

/// The engine that the options of a job name.
fn engine(job: &str) -> &str {
    job.split(' ').find_map(|word| word.strip_prefix("--ioengine=")).unwrap()
}

pub(crate) fn every_block_is_moved_once<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    for (options, expected) in [
        ("--rw=write", [0, 64, 0]),
        ("--rw=randwrite --iodepth=8 --verify=crc32c", [64, 64, 0]),
        ("--rw=read --verify=crc32c", [64, 0, 0]),
        ("--rw=randread --iodepth=16", [64, 0, 0]),
        ("--rw=read --offset=64k --size=64k --iodepth=4", [16, 0, 0]),
        ("--rw=write --iodepth=4 --fsync=8", [0, 64, 0]),
        ("--rw=randread --iodepth=4 --numjobs=2 --group_reporting", [128, 0, 0]),
    ] {
        let line = format!(
            "--name=j {} --bs=4k --size=256k --output-format=json {options}",
            service.job()
        );
        assert_eq!(ios(&place.run(&line).ok()), expected, "{options}");
    }
    let line = format!(
        "--name=j {} --bs=4k --size=256k --rw=randrw --iodepth=16 --output-format=json",
        service.job()
    );
    assert_eq!(ios(&place.run(&line).ok()).iter().sum::<u64>(), 64);
}

/// Many requests are in flight at the end, and a server of files has data to write when they are closed.
pub(crate) fn a_job_that_its_run_time_ends_succeeds<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    // On a slow machine, a timed job does not write all blocks that the job after it reads.
    let job =
        format!("--name=j {} --bs=4k --size=256k --iodepth=16 --output-format=json", service.job());
    place.run(&format!("{job} --rw=write")).ok();
    for rw in ["randwrite", "randread"] {
        let line = format!("{job} --rw={rw} --time_based --runtime=300ms");
        assert!(ios(&place.run(&line).ok()).iter().sum::<u64>() > 0);
    }
}

pub(crate) fn a_server_that_does_not_exist_ends_its_job_only<S: Service>() {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    let line = format!(
        "--output-format=json --name=j {} --bs=4k --size=256k --rw=read --endpoint_timeout=5 {OTHER}",
        service.nowhere()
    );
    let ran = end(place.start(&line), LONG);
    assert_ne!(only_one_failed(&ran), 0, "{ran:?}");
}

/// Starts a job on the server and another one, waits until they run, lets `what` happen, and returns how they ended.
fn disturbed<S: Service, T>(timeout: u64, what: impl Fn(&mut S, &Child) -> T) -> Option<Ran> {
    let place = Place::new();
    let mut service = S::start(&place)?;
    let fill = format!("--name=j {} --bs=4k --size=256k --rw=write", service.job());
    place.run(&fill).ok();
    let line = format!(
        "--output-format=json --name=j {} --bs=4k --size=256k --rw=randread --iodepth=4 --time_based \
         --runtime=300 --endpoint_timeout={timeout} {} {OTHER}",
        service.job(),
        S::UNCACHED
    );
    let child = place.start(&line);
    under_way(&child);
    let _held = what(&mut service, &child);
    Some(end(child, LONG))
}

/// Checks that the job on the server failed and the other one did not. Returns the errno of the first.
fn only_one_failed(ran: &Ran) -> i64 {
    let jobs = work(&ran.json());
    assert_eq!((jobs[1].0.as_str(), jobs[1].1), ("other", 0), "{ran:?}");
    assert!(jobs[1].2[0].1 > 0, "{ran:?}");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("To fix: "), "{}", ran.err);
    jobs[0].1
}

pub(crate) fn a_server_that_is_killed_ends_its_job_only<S: Service>() {
    let Some(ran) = disturbed::<S, _>(5, |service, _| service.server().kill()) else { return };
    assert_ne!(only_one_failed(&ran), 0, "{ran:?}");
}

pub(crate) fn a_server_that_stops_answering_ends_its_job_only<S: Service>() {
    if !S::HAS_TIMEOUT {
        return;
    }
    let (timeout, least) = S::PATIENCE;
    let Some(ran) = disturbed::<S, _>(timeout, S::freeze) else { return };
    const ETIMEDOUT: i64 = 110;
    assert_eq!(only_one_failed(&ran), ETIMEDOUT, "{ran:?}");
    assert!(ran.err.contains("no answer to the read of 4096 bytes at offset"), "{}", ran.err);
    let within = ran.err.split("within ").nth(1).and_then(|text| text.split(' ').next());
    let within = within.and_then(|seconds| seconds.parse::<f64>().ok());
    let possible = least as f64..=timeout as f64;
    assert!(within.is_some_and(|seconds| possible.contains(&seconds)), "{}", ran.err);
    unanswered(&ran.json(), least * 1_000_000_000);
}

/// The end of a job for another reason than a signal: requests that the server does not answer are errors.
pub(crate) fn requests_that_are_open_when_a_job_ends_have_their_whole_timeout<S: Service>() {
    if !S::HAS_TIMEOUT {
        return;
    }
    let place = Place::new();
    let Some(mut service) = S::start(&place) else { return };
    let fill = format!("--name=j {} --bs=4k --size=256k --rw=write", service.job());
    place.run(&fill).ok();
    place.write("wait", "while ! test -e go; do sleep 0.1; done\n");
    let (timeout, least) = S::PATIENCE;
    let line = format!(
        "--output-format=json --name=j {} --bs=4k --size=256k --rw=randread --iodepth=4 --time_based \
         --runtime=300 --endpoint_timeout={} {} --name=other --ioengine=exec --program=/bin/sh --arguments=wait \
         --exitall",
        service.job(),
        2 * timeout,
        S::UNCACHED
    );
    let child = place.start(&line);
    under_way(&child);
    let _frozen = service.freeze(&child);
    place.write("go", "");
    let ran = end(child, LONG);
    const ETIMEDOUT: i64 = 110;
    let json = ran.json();
    assert_eq!((ran.status, work(&json)[0].1), (Some(1), ETIMEDOUT), "{ran:?}");
    unanswered(&json, 2 * least * 1_000_000_000);
}

/// Checks that a report tells of requests without an answer, whose waits of at least `waited` ns are in the latencies.
/// Returns the number of these requests.
#[track_caller]
pub(crate) fn unanswered(json: &Value, waited: u64) -> u64 {
    let job = &json["jobs"][0];
    let count = job["fiord"]["requests"]["unanswered"].as_u64().unwrap();
    let (read, latency) = (&job["read"], &job["read"]["clat_ns"]);
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(count > 0 && number(&latency["max"]) >= waited, "{count} {latency}");
    assert_eq!(number(&latency["N"]), number(&read["total_ios"]), "{read}");
    let findings = json["fiord"]["findings"].as_array().unwrap();
    assert!(findings.iter().any(|found| found["id"] == "unanswered-requests"), "{findings:?}");
    count
}

/// Starts a job that continues after errors, whose connection a relay can cut, and another one. Waits until they run.
fn through_relay<S: Relayed>(place: &Place) -> Option<(S, Relay, Child)> {
    let service = S::start(place)?;
    place.run(&format!("--name=j {} --bs=4k --size=256k --rw=write", service.job())).ok();
    let (relay, job) = service.relayed();
    let line = format!(
        "--output-format=json --name=j {job} --bs=4k --size=256k --rw=randread --iodepth=4 --time_based \
         --runtime=300 --continue_on_error=all --endpoint_timeout=20 {OTHER}"
    );
    let child = place.start(&line);
    under_way(&child);
    until("the job connects", || relay.accepted() >= 2);
    let before = relay.answered();
    until("the job reads", || relay.answered() > before + (64 << 10));
    Some((service, relay, child))
}

pub(crate) fn a_lost_connection_is_made_again_if_the_job_goes_on<S: Relayed>() {
    const CUTS: u64 = 3;
    let place = Place::new();
    let Some((_service, relay, mut child)) = through_relay::<S>(&place) else { return };
    let before = relay.accepted();
    for cut in 1..=CUTS {
        relay.cut();
        // A cut during the handshake of a new connection ends the job.
        let (connections, answered) = (before + cut as u32, relay.answered());
        let goes_on =
            || relay.accepted() >= connections && relay.answered() > answered + (64 << 10);
        until("the job continues", || goes_on() || child.try_wait().unwrap().is_some());
    }
    if child.try_wait().unwrap().is_none() {
        signal(&child, "INT");
    }
    let ran = end(child, LONG);
    // Ctrl-C ended the run. Only I/Os that were in flight at a cut failed.
    assert_eq!(ran.status, Some(128), "{ran:?}");
    let json = ran.json();
    let job = &json["jobs"][0];
    let failed = job["total_err"].as_u64().unwrap_or(0);
    assert!(failed <= 4 * CUTS, "{failed} errors: {ran:?}");
    assert!(job["read"]["total_ios"].as_u64() > Some(40), "{ran:?}");
    assert_eq!(json["jobs"][1]["error"], 0, "{ran:?}");
}

pub(crate) fn a_connection_that_cannot_be_made_again_ends_its_job_only<S: Relayed>() {
    if !S::ENDS_WITHOUT_SERVER {
        return;
    }
    let place = Place::new();
    let Some((_service, relay, child)) = through_relay::<S>(&place) else { return };
    let closed = Instant::now();
    relay.close();
    let ran = end(child, LONG);
    assert_ne!(only_one_failed(&ran), 0, "{ran:?}");
    assert!(closed.elapsed() < Duration::from_secs(20), "longer than the timeout: {ran:?}");
}

pub(crate) fn ctrl_c_does_not_wait_for_the_server<S: Service>() {
    let place = Place::new();
    let Some(mut service) = S::start(&place) else { return };
    let fill = format!("--name=j {} --bs=4k --size=256k --rw=write", service.job());
    place.run(&fill).ok();
    let line = format!(
        "--name=j {} --bs=4k --size=256k --rw=randread --iodepth=4 --time_based --runtime=300 \
         --endpoint_timeout=250",
        service.job()
    );
    let child = place.start(&line);
    under_way(&child);
    let _frozen = service.freeze(&child);
    signal(&child, "INT");
    // Much less than the timeout, and much more than a busy machine needs.
    let ran = end(child, LONG);
    assert!(ran.out.contains("IOPS="), "{ran:?}");
}

/// `threads`: the beginning of the names of the threads that the library starts for a connection.
pub(crate) fn the_threads_of_the_library_use_the_cpus_of_the_job<S: Service>(threads: &str) {
    let place = Place::new();
    let Some(service) = S::start(&place) else { return };
    let job = format!("--name=j {} --bs=4k --size=256k --cpus_allowed=0", service.job());
    let child = place.start(&format!("{job} --rw=write --time_based --runtime=300"));
    let begin = Instant::now();
    while cpus_of(&child, threads).iter().all(|cpus| cpus != "0") {
        let found = cpus_of(&child, threads);
        assert!(begin.elapsed() < LONG, "{found:?} instead of CPU 0");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "INT");
    assert_eq!(end(child, LONG).status, Some(128));
}

/// The CPUs that each thread of a process may use whose name begins with `threads`.
fn cpus_of(child: &Child, threads: &str) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten();
    let cpus = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let field =
            |name| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        let named = field("Name")?.starts_with(threads);
        named.then(|| field("Cpus_allowed_list").unwrap_or_default().to_owned())
    };
    tasks.flatten().filter_map(cpus).collect()
}
