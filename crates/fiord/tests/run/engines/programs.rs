//! `ioengine=exec`, and the policy that forbids programs.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::fiord::{Place, end, signal, under_way};

/// Descendants in the program's group, in other sessions, adopted ones, and one that ignores `SIGTERM`. The
/// argument marks them.
const TREE: &str = "#!/bin/sh\n\
    sleep $1 &\n\
    setsid sleep $1 &\n\
    (setsid sh -c \"sleep $1 & exit\" &)\n\
    (trap '' TERM; setsid sleep $1) &\n\
    sleep $1\n";

/// Processes of the tree.
const PROCESSES: usize = 5;

/// Number of processes with this argument.
fn running(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let sleeps = |line: &Vec<u8>| {
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"sleep") && words.next() == Some(mark.as_bytes())
    };
    arguments.filter(sleeps).count()
}

#[track_caller]
fn wait_for(mark: &str, count: usize) {
    let from = Instant::now();
    while running(mark) != count {
        assert!(from.elapsed() < Duration::from_secs(20), "{} instead of {count}", running(mark));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A place with the tree, and a mark that no other process has.
fn tree(number: u32) -> (Place, String) {
    let place = Place::new();
    place.write("tree.sh", TREE);
    let path = place.path("tree.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    (place, format!("{}.{number}", 100_000 + std::process::id()))
}

#[test]
fn a_program_gets_its_arguments_and_its_output_is_kept() {
    let place = Place::new();
    let job = "[a/b]\nioengine=exec\nprogram=echo\narguments=%n  \"%r s\"\nnumjobs=2\n";
    place.write("j.fio", job);
    let begin = Instant::now();
    let ran = place.run("j.fio").ok();
    assert!(begin.elapsed() < Duration::from_secs(30), "it ends with the program");
    let line = "a/b : program=echo, arguments=a/b \"0 s\"\n\
                a/b : Saving output of echo a/b \"0 s\" : stdout=a_b.stdout stderr=a_b.stderr\n";
    assert!(ran.out.contains(line), "{}", ran.out);
    assert!(!ran.out.contains("read:"), "{}", ran.out);
    // One cycle starts the program, and each later one waits for its end for up to 100 ms: one is enough unless
    // the machine is busy.
    let cycles = ran.out.split("issued rwts: total=").skip(1).map(|rest| {
        let (reads, others) = rest.split_once(',').unwrap();
        assert!(others.starts_with("0,0,0 "), "{}", ran.out);
        reads.parse::<u64>().unwrap()
    });
    assert!(cycles.clone().count() > 0 && cycles.clone().all(|cycles| cycles >= 2), "{}", ran.out);
    for name in ["a_b.stdout", "a_b.1.stdout"] {
        assert_eq!(std::fs::read_to_string(place.path(name)).unwrap(), "a/b \"0 s\"\n");
    }
    let line =
        "--name=a --ioengine=exec --program=echo --arguments=hello%r --std_redirect=0 --runtime=1";
    let ran = place.run(line).ok();
    assert!(ran.out.contains("\nhello1\n") && ran.out.contains("a : Running echo hello1\n"));
}

#[test]
fn all_processes_end_with_the_job() {
    let (place, mark) = tree(1);
    let line = format!(
        "--name=a --ioengine=exec --program=./tree.sh --arguments={mark} --runtime=1 --grace_time=0"
    );
    place.run(&line).ok();
    assert_eq!(running(&mark), 0);
    // The signal ends the job, and the one that ignores SIGTERM is killed after the grace time.
    let line = line.replace("--runtime=1", "--runtime=600");
    let child = place.start(&line);
    under_way(&child);
    wait_for(&mark, PROCESSES);
    signal(&child, "INT");
    end(child, Duration::from_secs(20));
    assert_eq!(running(&mark), 0);
}

#[test]
fn all_processes_end_if_fiord_is_killed() {
    let (place, mark) = tree(2);
    let line =
        format!("--name=a --ioengine=exec --program=./tree.sh --arguments={mark} --runtime=600");
    let child = place.start(&line);
    wait_for(&mark, PROCESSES);
    signal(&child, "KILL");
    end(child, Duration::from_secs(20));
    wait_for(&mark, 0);
}

#[test]
fn the_grace_time_lets_a_program_clean_up() {
    let place = Place::new();
    place.write(
        "clean.sh",
        "#!/bin/sh\ntrap 'sleep 0.2; echo clean; exit' TERM\nsleep 600 &\nwait\n",
    );
    let path = place.path("clean.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let line = "--name=a --ioengine=exec --program=./clean.sh --runtime=1 --grace_time=20";
    place.run(line).ok();
    assert_eq!(std::fs::read_to_string(place.path("a.stdout")).unwrap(), "clean\n");
}

#[test]
fn a_program_that_is_missing_or_fails_is_an_error_of_its_job_alone() {
    let place = Place::new();
    for (program, says) in [
        ("/nonexistent/x", "cannot run `/nonexistent/x`: No such file or directory"),
        ("no-such-program", "To fix: set `program` to the path of an executable file"),
        ("/etc/passwd", "cannot run `/etc/passwd`: Permission denied"),
        ("false", "the program `false` failed: exit status 1; its messages are in a.stderr"),
    ] {
        let line = format!(
            "--name=a --ioengine=exec --program={program} --name=b --ioengine=null --size=64k \
             --output-format=json"
        );
        let ran = place.run(&line);
        assert!(ran.status == Some(1) && ran.err.contains(says), "{program}: {ran:?}");
        assert_eq!(ran.json()["jobs"][1]["read"]["total_ios"], 16, "{program}");
    }
    let ran = place.run("--name=a --ioengine=exec");
    assert!(ran.err.contains("no program is defined"), "{ran:?}");
}

#[test]
fn a_policy_forbids_programs() {
    let place = Place::new();
    let job = "--name=a --ioengine=null --size=4k";
    for (options, what) in [
        ("--name=a --ioengine=exec --program=true", "ioengine=exec"),
        (&format!("{job} --exec_prerun=true"), "`exec_prerun`"),
        (&format!("{job} --exec_postrun=true"), "`exec_postrun`"),
        (&format!("--trigger=true --trigger-timeout=1 {job}"), "`--trigger`"),
    ] {
        let ran = place.run(&format!("--no-exec {options}"));
        let says = format!("{what} is forbidden by --no-exec");
        assert!(ran.status == Some(1) && ran.err.contains(&says), "{options}: {ran:?}");
        assert_eq!(place.names(), Vec::<String>::new());
    }
    place.run(&format!("--no-exec {job}")).ok();
}
