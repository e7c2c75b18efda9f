//! Tests that sound jobs have no invalid finding, and almost no others.

use std::process::Command;

use crate::examples::VARIABLES;
use crate::fiord::{Place, Ran};
use crate::ground::of_this_machine;

/// Returns sound jobs: direct I/O on written data, flushed writes, rates that the device reaches, and
/// long enough runs on a virtual clock.
fn jobs() -> Vec<String> {
    let sim = "--name=a --ioengine=sim --sim_latency=constant:400us --sim_channels=16 --size=1g \
               --time_based --runtime=2 --bs";
    let mut jobs: Vec<String> = Vec::new();
    for (bs, depth) in [("4k", 1), ("4k", 16), ("16k", 8), ("128k", 4), ("1m", 2)] {
        for rw in ["read", "randread", "write", "randwrite", "randrw"] {
            jobs.push(format!("{sim}={bs} --iodepth={depth} --rw={rw}"));
        }
    }
    for rate in ["--rate_iops=1000", "--rate=4m", "--rate_iops=1100,600"] {
        jobs.push(format!("{sim}=4k --rw=randrw {rate}"));
        jobs.push(format!("{sim}=4k --rw=randrw {rate} --iodepth=4"));
    }
    jobs.push(format!("{sim}=4k --rw=randread --rate_iops=900 --rate_process=poisson"));
    jobs.push(format!("{sim}=4k --rw=randread --thinktime=1ms"));
    jobs.push(format!("{sim}=4k --rw=randrw --rwmixread=70 --numjobs=4 --group_reporting"));
    // This job measures the page cache on purpose.
    let cached = "--name=a --filename=c --size=8m --bs=4k --invalidate=0 --pre_read=1 --loops=2";
    jobs.push(format!("{cached} --rw=randread"));
    jobs.push(format!("{cached} --rw=read"));
    let file = "--name=a --filename=f --size=8m --bs=4k";
    for flush in
        ["--end_fsync=1", "--fsync_on_close=1", "--fdatasync=512", "--fsync=512", "--end_syncfs=1"]
    {
        jobs.push(format!("{file} --rw=write {flush}"));
        jobs.push(format!("{file} --rw=randwrite {flush}"));
    }
    jobs.push(format!("{file} --rw=read"));
    jobs.push(format!("{file} --rw=read --ioengine=libaio --iodepth=8 --direct=1"));
    jobs.push(format!("{file} --rw=randread --ioengine=libaio --iodepth=8 --direct=1"));
    jobs.push(
        "--name=a --size=2m --bs=4k --rw=randread --numjobs=4 --ioengine=psync --group_reporting"
            .into(),
    );
    jobs.push("--name=w --filename=g --size=8m --bs=64k --rw=write --end_fsync=1 --name=r --stonewall --filename=g --size=8m --bs=4k --rw=read --direct=1".into());
    jobs
}

fn run(place: &Place, line: &str) -> Option<Ran> {
    let ran = place.run(&format!("--output-format=json {line}"));
    // A file system without direct I/O refuses the job.
    let refused = line.contains("--direct=1") && ran.status != Some(0);
    assert!(refused || ran.status == Some(0), "{line}: {ran:?}");
    (!refused).then_some(ran)
}

#[test]
fn fifty_sound_jobs_raise_no_alarm() {
    let jobs = jobs();
    assert!(jobs.len() >= 50, "{}", jobs.len());
    let place = Place::new();
    // Read jobs find written files.
    for name in ["c", "f"] {
        let fill = format!("--name=w --rw=write --bs=1m --size=8m --end_fsync=1 --filename={name}");
        place.run(&fill).ok();
    }
    let (mut runs, mut notes) = (0, Vec::new());
    for line in &jobs {
        let Some(ran) = run(&place, line) else { continue };
        runs += 1;
        let found = ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default();
        for finding in &found {
            assert_ne!(finding["severity"], "invalid", "{line}: {found:?}");
            if !of_this_machine(finding) {
                notes.push(format!("{finding}: {line}"));
            }
        }
    }
    assert!(
        notes.len() * 10 <= runs,
        "{} findings in {runs} runs:\n{}",
        notes.len(),
        notes.join("\n")
    );
}

/// Runs `fiord check` on the example jobs without changes.
#[test]
fn the_examples_pass_the_check() {
    let place = Place::new();
    let fill = "--name=w --rw=write --bs=1m --size=8m --end_fsync=1 --filename";
    for name in ["a.dat", "b.dat"] {
        place.run(&format!("{fill}={name}")).ok();
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "fio") {
            continue;
        }
        let mut command: Command = place.command("check --format=json");
        let ran = Ran::from(command.arg(&path).envs(VARIABLES).output().unwrap());
        let document = ran.json();
        // Some examples need a device that this machine does not have, and report that as an error.
        if !document["errors"].as_array().unwrap().is_empty() {
            continue;
        }
        checked += 1;
        let entry = document["findings"].as_array().unwrap().iter();
        let entry: Vec<_> = entry.filter(|f| !of_this_machine(f)).collect();
        assert!(entry.is_empty(), "{}: {entry:?}", path.display());
    }
    assert!(checked >= 5, "{checked}");
}
