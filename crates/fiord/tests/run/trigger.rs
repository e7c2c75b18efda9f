//! The trigger that ends a run (`--trigger-file`, `--trigger-timeout`, `--trigger`).

use std::time::Duration;

use crate::fiord::{Place, Ran, end, signal, some_ios};
use crate::fuse::{FOREVER, Served};

/// A job that writes for a minute, and verifies later.
const JOB: &str =
    "--name=a --filename=f --size=64m --bs=4k --rw=write --rate_iops=1000 --verify=crc32c";
/// The job that checks what it wrote.
const CHECK: &str =
    "--name=a --filename=f --size=64m --bs=4k --rw=read --verify=crc32c --verify_state_load=1";
const STATE: &str = "local-a-0-verify.state";
const SOON: Duration = Duration::from_secs(30);

/// Runs fiord with a trigger command, which may contain blanks.
fn with_command(place: &Place, line: &str, command: &str) -> Ran {
    let trigger = format!("--trigger={command}");
    Ran::from(place.command(line).arg(trigger).output().unwrap())
}

/// The verified bytes of a check.
#[track_caller]
fn verified(place: &Place) -> u64 {
    let json = place.run(&format!("{CHECK} --output-format=json")).ok().json();
    json["jobs"][0]["fiord"]["verify"]["verified_bytes"].as_u64().unwrap()
}

#[test]
fn a_timeout_stops_the_jobs_saves_their_states_and_runs_the_command() {
    let place = Place::new();
    let line = format!("{JOB} --trigger-timeout=300ms --output-format=normal,json --output=out");
    let ran = with_command(&place, &line, "echo begin; ls local*; sleep 0.1; echo end");
    // The run waits for the end of the command, whose output is that of the run.
    assert_eq!(ran.ok().out, format!("begin\n{STATE}\nend\n"));
    let out = std::fs::read_to_string(place.path("out")).unwrap();
    let said = "fiord: trigger: the time of --trigger-timeout is over: stopped the jobs, saved 1 verify state, \
                runs `echo begin; ls local*; sleep 0.1; echo end`\n";
    assert!(out.contains(said), "{out}");
    assert!(!out.contains("run-warning"), "{out}");
    let written = verified(&place);
    assert!(written > 0 && written < 64 << 20, "{written}");
    if let Some(fio) = place.fio(CHECK).filter(|fio| fio.out.starts_with("a: ")) {
        // An old fio cannot read the state.
        assert!(fio.status == Some(0) || fio.err.contains("version"), "{fio:?}");
    }
}

#[test]
fn a_file_is_removed_and_ends_all_jobs() {
    let place = Place::new();
    let others = "--name=reads --filename=f --rw=read --time_based --runtime=60 --rate_iops=100 \
                  --name=unverified --filename=g --size=64m --rw=write --rate_iops=100 \
                  --name=unsaved --filename=h --size=64m --rw=randwrite --rate_iops=100 --verify=md5 --verify_state_save=0 \
                  --name=later --stonewall --filename=i --size=1m --rw=write --verify=md5";
    let child = place.start(&format!("{JOB} {others} --trigger-file=stop --output-format=json"));
    some_ios(&child);
    place.write("stop", "now\n");
    let json = end(child, SOON).ok().json();
    assert!(json["jobs"][0]["write"]["total_ios"].as_u64().unwrap() > 0, "{json}");
    let names = place.names();
    let states: Vec<_> = names.iter().filter(|name| name.ends_with("verify.state")).collect();
    assert_eq!(states, [STATE, "local-later-4-verify.state", "local-unsaved-3-verify.state"]);
    assert!(!names.iter().any(|name| name == "stop"), "{names:?}");
    assert!(verified(&place) > 0);
    // The job that did not start has nothing to check.
    let later = "--name=x0 --name=x1 --name=x2 --name=x3 --name=later --filename=i --size=1m --rw=read --verify=md5 \
                 --verify_state_load=1";
    let later = later.replace("--name=x", "--ioengine=null --rw=read --size=4k --name=x");
    let json = place.run(&format!("{later} --ioengine=psync --output-format=json")).ok().json();
    assert_eq!(json["jobs"][4]["fiord"]["verify"]["verified_bytes"], 0);
}

#[test]
fn a_file_that_exists_ends_the_run_at_once() {
    let place = Place::new();
    place.write("stop", "");
    let line = format!("{JOB} --trigger-file=./stop --output-format=json");
    let ran = with_command(&place, &line, "echo out; echo err >&2");
    // Standard output is one document, so the command writes to standard error.
    assert_eq!(ran.json()["jobs"][0]["write"]["total_ios"], 0);
    assert_eq!((ran.status, &*ran.err), (Some(0), "out\nerr\n"));
    assert!(!place.path("stop").exists() && place.path(STATE).exists());
    assert_eq!(verified(&place), 0);
}

#[test]
fn a_command_that_fails_is_a_finding() {
    let place = Place::new();
    let ran = with_command(&place, &format!("{JOB} --trigger-timeout=100ms"), "exit 3");
    let said = "the command of the trigger `exit 3` ended with exit status 3";
    assert!(ran.status == Some(0) && ran.out.contains(said), "{ran:?}");
    // A job without verification has no state.
    let place = Place::new();
    let line = "--name=a --ioengine=null --size=1t --rw=read --trigger-timeout=100ms";
    let ran = with_command(&place, line, "kill -9 $$").ok();
    assert!(ran.out.contains("saved 0 verify states, runs `kill -9 $$`\n"), "{ran:?}");
    assert!(ran.out.contains("`kill -9 $$` ended with killed by signal 9"), "{ran:?}");
    assert_eq!(place.names(), [""; 0]);
}

#[test]
fn a_signal_ends_the_command() {
    let place = Place::new();
    let mut command = place.command(&format!("{JOB} --trigger-timeout=100ms"));
    command.arg("--trigger=touch here; sleep 60");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    while !place.path("here").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "INT");
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert!(!ran.out.contains("the command of the trigger"), "{ran:?}");
}

/// A worker that hangs in a system call does not hinder the trigger.
#[test]
fn the_trigger_works_although_a_device_hangs() {
    let place = Place::new();
    let Some(served) = Served::new(&place, FOREVER) else { return };
    let hung = served.file();
    let hangs = format!("--name=hangs --filename={} --rw=read --size=64k", hung.display());
    let mut command = place.command(&format!("{JOB} {hangs} --trigger-timeout=300ms"));
    command.arg(format!("--trigger=test -s {STATE} && touch here"));
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let began = std::time::Instant::now();
    while !place.path("here").exists() {
        assert!(began.elapsed() < SOON, "the command did not run");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The read ends, and with it the run.
    drop(served);
    let ran = end(child, SOON);
    assert!(ran.out.contains("saved 1 verify state, runs `test -s"), "{ran:?}");
    assert!(verified(&place) > 0);
}

#[test]
fn files_that_a_trigger_would_destroy_are_refused() {
    let place = Place::new();
    place.write("job.fio", "[a]\nioengine=null\nsize=1m\n");
    std::fs::create_dir(place.path("d")).unwrap();
    for (options, said) in [
        ("--trigger-file=job.fio", "this file has 26 bytes, which the trigger would remove"),
        ("--trigger-file=./f", "this is a file of job `a`, and the trigger removes it"),
        ("--trigger-file=d", "this is a directory, which the trigger would remove"),
        ("--trigger-file=/dev/null", "this is a character device, which the trigger would remove"),
        ("--trigger-timeout=1 --aux-path=missing", "`missing` is not a directory"),
        ("--trigger-timeout=abc", "abc"),
        ("--trigger-file=", "To fix: write --trigger-file=FILE"),
        ("--trigger-remote=date", "runs a command on other hosts, and no host is named"),
    ] {
        let ran = place.run(&format!("{JOB} {options}"));
        assert!(ran.status == Some(1) && ran.err.contains(said), "{options}: {ran:?}");
        assert_eq!(place.names(), ["d", "job.fio"]);
    }
    for (options, said) in [
        ("--trigger=date", "`--trigger` has no effect: nothing says when it runs"),
        ("--trigger-file=missing/stop", "the directory `missing` does not exist"),
    ] {
        let ran = place.run(&format!("{options} job.fio")).ok();
        assert!(ran.out.contains(said), "{ran:?}");
    }
}
