//! Tests of `fiord powercut` on files. Commands stand in for power cuts; `tests/vm/powercut-*.sh` cut the power.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran, end, signal};
use crate::ground::Loop;

/// A directory with the target `t` of 4 MiB.
fn place() -> Place {
    let place = Place::new();
    place.write("t", vec![0u8; 4 << 20]);
    place
}

/// Options of two short rounds.
const TWO: &str = "--after=1s..1300ms --rounds=2 --linger=10ms";
/// Options of a round that lasts until the test ends it.
const LONG: &str = "--after=100 --rounds=1 --cut=kill";

/// Runs `fiord powercut t` in the directory `d`. `more` is a list, because commands contain spaces.
fn powercut(place: &Place, line: &str, more: &[&str]) -> Ran {
    Ran::from(command(place, line, more).output().unwrap())
}

fn command(place: &Place, line: &str, more: &[&str]) -> Command {
    let line = format!("powercut t --dir=d --yes --seed=5 {line}");
    let mut command = place.command(&line);
    command.args(more);
    command
}

fn resume(place: &Place, more: &str) -> Ran {
    place.run(&format!("powercut --resume=d/powercut.json {more}"))
}

/// Waits until the writer has announced writes in the journal of a round.
#[track_caller]
fn writes(place: &Place, round: u32) {
    let journal = place.path(&format!("d/round-{round:04}.journal"));
    let from = Instant::now();
    while std::fs::metadata(&journal).map_or(0, |file| file.len()) < 128 << 10 {
        assert!(from.elapsed() < Duration::from_secs(60), "the writer does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process number of the writer, from the state.
fn writer(place: &Place) -> String {
    let text = std::fs::read_to_string(place.path("d/powercut.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    state["phase"]["writing"]["writer"].to_string()
}

fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // A zombie has ended.
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_killed_writer_loses_nothing() {
    let place = place();
    let ran = powercut(&place, TWO, &["--cut=kill", "--format=json"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = ran.json();
    assert_eq!(document["verdicts"]["passed"], 2, "{ran:?}");
    for round in document["rounds"].as_array().unwrap() {
        assert!(round["writes_flushed"].as_u64().unwrap() > 0, "{round}");
        assert!(
            round["writes_issued"].as_u64() >= round["writes_acknowledged"].as_u64(),
            "{round}"
        );
        assert_eq!(round["blocks_corrupt"], 0, "{round}");
    }
    assert_ne!(document["rounds"][0]["after_ns"], document["rounds"][1]["after_ns"]);
    let table = resume(&place, "");
    assert!(
        table.out.contains("2 of 2 rounds: 2 passed; seed 5\nThe power was not cut"),
        "{table:?}"
    );
}

#[test]
fn an_older_copy_has_lost_flushed_data() {
    let place = place();
    place.write("old", vec![0u8; 4 << 20]);
    let ran = powercut(&place, TWO, &["--cut=true", "--restore=cp old t", "--stop"]);
    assert_eq!(ran.status, Some(250), "{ran:?}");
    assert!(ran.out.contains("\n1 of 2 rounds: 0 passed, 1 lost; seed 5\n"), "{}", ran.out);
    let report: Value =
        serde_json::from_slice(&std::fs::read(place.path("d/round-0001.json")).unwrap()).unwrap();
    assert_eq!(
        (&report["verdict"], &report["blocks_corrupt"]),
        (&"lost".into(), &0.into()),
        "{report}"
    );
    assert!(
        place.path("d/round-0001.journal").exists() && place.path("d/round-0001.extents").exists()
    );
}

#[test]
fn the_user_s_load_is_written_to_the_target() {
    let place = place();
    let job =
        ["--cut=kill", "--format=json", "--", "--name=a", "--rw=write", "--bs=8k", "--fsync=3"];
    let ran = powercut(&place, TWO, &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(place.names(), ["d", "t"]);
    let without = ["--cut=kill", "--restart", "--", "--name=a", "--rw=write", "--bs=8k"];
    let ran = powercut(&place, TWO, &without);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("2 untested") && ran.out.contains("To fix: flush more often"),
        "{ran:?}"
    );
}

#[test]
fn a_target_that_does_not_return_is_checked_later() {
    let place = place();
    let line = "--after=1s --rounds=1 --linger=10ms --restore=true --wait=300ms";
    let ran = powercut(&place, line, &["--cut=mv t away"]);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("is not back 1 s after its power was restored: there is no file"),
        "{ran:?}"
    );
    assert!(ran.err.contains("run `fiord powercut --resume=d/powercut.json`"), "{ran:?}");
    std::fs::rename(place.path("away"), place.path("t")).unwrap();
    let ran = resume(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.contains("1 of 1 rounds: 1 passed"), "{ran:?}");
}

#[test]
fn ctrl_c_ends_the_writer_and_the_round_is_repeated() {
    let place = place();
    let mut line = command(&place, LONG, &[]);
    line.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = line.spawn().unwrap();
    writes(&place, 1);
    let writer = writer(&place);
    assert!(runs(&writer));
    signal(&child, "INT");
    let ran = end(child, Duration::from_secs(60));
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert!(
        ran.err.contains("stopped; to continue, run `fiord powercut --resume=d/powercut.json`"),
        "{ran:?}"
    );
    assert!(!runs(&writer) && !place.path("d/round-0001.journal").exists());
    let refused = resume(&place, "");
    assert!(refused.err.contains("pass --yes to confirm"), "{refused:?}");
}

#[test]
fn ctrl_c_after_the_cut_restores_the_power() {
    let place = place();
    let line = "--after=1s --rounds=1 --linger=100 --wait=60";
    let commands = ["--cut=mv t away", "--restore=mv away t; echo on >restored"];
    let mut line = command(&place, line, &commands);
    line.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = line.spawn().unwrap();
    let from = Instant::now();
    while !place.path("away").exists() {
        assert!(from.elapsed() < Duration::from_secs(60), "the power is not cut");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    let ran = end(child, Duration::from_secs(60));
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert_eq!(std::fs::read(place.path("restored")).unwrap(), b"on\n");
    // The cut is not lost: the round is checked, and its power is restored again.
    place.write("restored", "");
    std::fs::rename(place.path("t"), place.path("away")).unwrap();
    let ran = resume(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.contains("1 of 1 rounds: 1 passed"), "{ran:?}");
}

#[test]
fn a_killed_powercut_resumes_with_the_check() {
    let place = place();
    let mut line = command(&place, LONG, &[]);
    let mut child = line.stderr(std::process::Stdio::null()).spawn().unwrap();
    writes(&place, 1);
    let writer = writer(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    // Nothing else would end the writer, which writes to the target without a limit.
    let from = Instant::now();
    while runs(&writer) {
        assert!(from.elapsed() < Duration::from_secs(60), "the writer goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran = resume(&place, "--format=json");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = ran.json();
    assert_eq!(
        (&document["rounds_done"], &document["rounds"][0]["cut"]),
        (&1.into(), &"kill".into())
    );
}

#[test]
fn a_loop_device_whose_file_is_an_older_copy() {
    let place = Place::new();
    let Some(disk) = Loop::new(&place, 4 << 20) else { return };
    place.write("old", vec![0u8; 4 << 20]);
    let run = |restore: &str, dir: &str| {
        let line = format!("powercut {} {dir} --cut=true --yes {TWO} --stop", disk.path());
        Ran::from(place.command(&line).arg(restore).output().unwrap())
    };
    let ran = run("--restore=dd if=old of=image conv=notrunc bs=1M", "--dir=older");
    assert_eq!(ran.status, Some(250), "{ran:?}");
    assert!(ran.out.contains("1 of 2 rounds: 0 passed, 1 lost"), "{ran:?}");
    let ran = run("--restore=true", "--dir=right");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.contains("2 of 2 rounds: 2 passed"), "{ran:?}");
}
