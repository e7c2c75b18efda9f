//! Tests of the order of jobs, observed from outside.

use std::time::{Duration, Instant};

use crate::engines::file_engines;
use crate::fiord::{Place, work};

const TIMED: &str = "--ioengine=null --rw=read --bs=4k --size=1g --time_based";

#[test]
fn stonewalls_and_waits_run_one_after_another() {
    let place = Place::new();
    for last in ["--stonewall", "--wait_for=a"] {
        let line = format!("{TIMED} --runtime=300ms --name=a --name=b {last} --output-format=json");
        let from = Instant::now();
        let ran = place.run(&line).ok();
        assert!(from.elapsed() >= Duration::from_millis(600), "{last}");
        let document = ran.json();
        let start = |i: usize| document["jobs"][i]["job_start"].as_u64().unwrap();
        assert!(start(1) >= start(0) + 300, "{last}: {} {}", start(0), start(1));
    }
}

/// As in fio 3.42, the clones of `numjobs` wait together for the jobs before them, and run together.
#[test]
fn clones_behind_a_stonewall_begin_together() {
    let place = Place::new();
    for wall in ["--stonewall", "--wait_for_previous", "--new_group --stonewall"] {
        let line = format!(
            "{TIMED} --runtime=200ms --name=a --name=b {wall} --numjobs=3 --name=c --output-format=json"
        );
        let document = place.run(&line).ok().json();
        let of = |key: &str| -> Vec<u64> {
            (0..5).map(|i| document["jobs"][i][key].as_u64().unwrap()).collect()
        };
        assert_eq!(of("groupid"), [0, 1, 1, 1, 1], "{wall}");
        let starts = of("job_start");
        assert!(starts[1] >= starts[0] + 200, "{wall}: {starts:?}");
        assert!(starts[1..].iter().all(|s| s.abs_diff(starts[1]) <= 5), "{wall}: {starts:?}");
    }
}

#[test]
fn jobs_of_a_group_begin_together() {
    let place = Place::new();
    let line = format!("{TIMED} --runtime=300ms --numjobs=8 --name=a --output-format=json");
    let document = place.run(&line).ok().json();
    let starts: Vec<u64> =
        (0..8).map(|i| document["jobs"][i]["job_start"].as_u64().unwrap()).collect();
    let spread = starts.iter().max().unwrap() - starts.iter().min().unwrap();
    assert!(spread <= 2, "{starts:?}");
}

#[test]
fn a_delay_holds_back_one_job() {
    let place = Place::new();
    let line = format!(
        "{TIMED} --runtime=300ms --name=a --name=b --startdelay=400ms --output-format=json"
    );
    let document = place.run(&line).ok().json();
    let start = |i: usize| document["jobs"][i]["job_start"].as_u64().unwrap();
    let later = start(1) - start(0);
    // The first job may have waited for a CPU.
    assert!((200..5000).contains(&later), "{later}");
}

#[test]
fn exitall_ends_the_group() {
    let place = Place::new();
    let line = format!(
        "{TIMED} --exitall --name=a --runtime=300ms --name=b --runtime=60 --output-format=json"
    );
    let from = Instant::now();
    let jobs = work(&place.run(&line).ok().json());
    assert!(from.elapsed() < Duration::from_secs(20));
    assert!(jobs.iter().all(|job| job.2[0].1 > 0));
}

#[test]
fn ramp_time_is_not_measured() {
    let place = Place::new();
    let line = format!("{TIMED} --runtime=400ms --ramp_time=400ms --name=a --output-format=json");
    let from = Instant::now();
    let document = place.run(&line).ok().json();
    assert!(from.elapsed() >= Duration::from_millis(800));
    let ms = document["jobs"][0]["read"]["runtime"].as_u64().unwrap();
    assert!((390..2000).contains(&ms), "{ms}");
}

/// Jobs that lock the files they share do all their work, whichever job holds which lock.
#[test]
fn jobs_that_lock_files_take_turns() {
    let place = Place::new();
    for engine in file_engines().map(|engine| engine.name).chain(["null"]) {
        for lock in ["exclusive", "readwrite"] {
            let line = format!(
                "--ioengine={engine} --iodepth=8 --filename=f:g --rw=randrw --bs=4k --size=2m --lockfile={lock} \
                 --fsync=64 --name=a --numjobs=3 --output-format=json"
            );
            let jobs = work(&place.run(&line).ok().json());
            assert_eq!(jobs.len(), 3);
            for (_, error, [read, write, _]) in jobs {
                assert_eq!((error, read.0 + write.0), (0, 2 << 20), "{engine} {lock}");
            }
        }
    }
    let ran = place.run("--name=a --ioengine=sim --size=1m --rw=read --lockfile=exclusive");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("lockfile"), "{}", ran.err);
}
