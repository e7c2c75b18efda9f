//! Verification on many hosts: states and journals that the coordinator keeps, and triggers.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fiord::{Place, end, until};
use crate::hosts::{place, run, started, wait_for};

const SOON: Duration = Duration::from_secs(30);

/// A job that writes until it is stopped.
const LONG: &str = "--eta=never --name=a --filename=f --rw=randwrite --bs=4k --size=8m --verify=crc32c --do_verify=0 \
                    --time_based --runtime=60 --rate_iops=500 --exec_prerun=>begun";

fn touch(place: &Place, name: &str) {
    std::fs::write(place.path(name), "").unwrap();
}

#[test]
fn verify_states_are_kept_here_and_go_back_to_their_hosts() {
    let place = place();
    let job = "--name=a/b --filename=f --size=64k --verify=md5";
    run(&place, "n1,n2", &format!("{job} --rw=randwrite --do_verify=0")).ok();
    for host in ["n1", "n2"] {
        assert!(place.path(&format!("{host}-a.b-0-verify.state")).exists());
        assert!(!place.path(&format!("{host}/local-a.b-0-verify.state")).exists());
    }
    let check = format!("{job} --rw=randwrite --verify_only --verify_state_load=1");
    let ran = run(&place, "n1,n2", &check).ok();
    assert!(ran.out.contains("65536 of 65536 bytes written were verified"), "{ran:?}");
    std::fs::remove_file(place.path("n2-a.b-0-verify.state")).unwrap();
    let ran = run(&place, "n1,n2", &check);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("the --aux-path of the coordinator contains no file whose name"),
        "{ran:?}"
    );
    assert!(ran.err.contains("host n2") && !ran.err.contains("host n1:"), "{ran:?}");
}

#[test]
fn a_trigger_stops_all_hosts_saves_their_states_and_runs_commands_here_and_there() {
    let place = place();
    let commands = ["--trigger-file=now", "--trigger=ls>here", "--trigger-remote=>there"];
    let child = started(&place, "n1,n2", &format!("{} {LONG}", commands.join(" ")));
    wait_for(&place, "n1/begun");
    wait_for(&place, "n2/begun");
    std::thread::sleep(Duration::from_millis(700));
    let begun = Instant::now();
    touch(&place, "now");
    let ran = end(child, SOON).ok();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let told =
        "trigger: the coordinator fired it: stopped the jobs, saved 1 verify state, runs `>there`";
    assert_eq!(ran.out.matches(told).count(), 2, "{ran:?}");
    assert!(!place.path("now").exists());
    // The states were here before the command ran.
    let here = std::fs::read_to_string(place.path("here")).unwrap();
    for host in ["n1", "n2"] {
        assert!(here.contains(&format!("{host}-a-0-verify.state")), "{here}");
        assert!(place.path(&format!("{host}/there")).exists());
    }
    let check = "--name=a --filename=f --rw=randwrite --bs=4k --size=8m --verify=crc32c";
    run(&place, "n1,n2", &format!("{check} --verify_only --verify_state_load=1")).ok();
}

#[test]
fn a_trigger_has_a_time_and_its_mistakes_are_named() {
    let place = place();
    let begun = Instant::now();
    let ran = run(&place, "n1", &format!("--trigger-timeout=300ms --trigger=false {LONG}"));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.err.contains("the command of the trigger `false` ended with"), "{ran:?}");
    assert!(place.path("n1-a-0-verify.state").exists());
    let wrong = |options: &str| {
        let ran = run(&place, "n1", &format!("{options} --name=a --size=4k --ioengine=null"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        ran.err
    };
    assert!(wrong("--trigger-remote=true").contains("nothing says when it runs"));
    assert!(wrong("--no-exec --trigger-timeout=1 --trigger=true").contains("--no-exec"));
    assert!(wrong("--trigger-timeout=1 --aux-path=none").contains("`none` is not a directory"));
    place.write("full", "x");
    assert!(wrong("--trigger-file=full").contains("which the trigger would remove"));
}

#[test]
fn a_server_runs_the_command_of_a_trigger_only_if_its_policy_says_so() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("at")).unwrap();
    place.write("open", format!("exec = yes\ndirectory = {}\n", place.path("at").display()));
    let job = "--name=a --filename=at/f --rw=write --bs=4k --size=64k --verify=crc32c --do_verify=0 --time_based \
               --runtime=60 --rate_iops=100 --trigger-timeout=300ms --trigger-remote=>at/there";
    for (policy, status) in [("", 1), ("--policy=open", 0)] {
        let mut server = place.command(&format!("--server=sock:s{status} {policy}"));
        let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(&place, &format!("s{status}"));
        let ran = end(place.start(&format!("--client=sock:s{status} {job}")), SOON);
        let _ = server.kill();
        let _ = server.wait();
        assert_eq!(ran.status, Some(status), "{ran:?}");
        assert_eq!(place.path("at/there").exists(), status == 0, "{ran:?}");
        let refusal = "exec = yes";
        assert_eq!(ran.err.contains(refusal), status == 1, "{ran:?}");
    }
}

#[test]
fn the_journal_of_a_host_survives_the_host() {
    let place = place();
    let job = "--eta=never --name=a --filename=f --rw=randwrite --norandommap --bs=4k --size=4m --fsync=16 --verify=fiord \
               --verify_journal=j --do_verify=0 --time_based --runtime=60 --exec_prerun=>begun";
    let child = started(&place, "n1,n2", job);
    wait_for(&place, "n2/begun");
    let knows_flushes = |host: &str| {
        let check = place.run(&format!("verify --journal=j.{host} {host}/f"));
        check.out.contains("journal: run ") && !check.out.contains("no flushed write")
    };
    until("both hosts flush", || knows_flushes("n1") && knows_flushes("n2"));
    let pid = std::fs::read_to_string(place.path("n2/pid")).unwrap();
    std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert!(!place.path("n1/j").exists() && !place.path("n2/j").exists());
    for host in ["n1", "n2"] {
        let check = place.run(&format!("verify --journal=j.{host} {host}/f"));
        assert_eq!(check.status, Some(0), "{check:?}");
        // The journal knows writes that were flushed.
        assert!(check.out.contains("flushed"), "{check:?}");
    }
    // Data that is lost is noticed.
    std::fs::write(place.path("n2/f"), vec![0; 4 << 20]).unwrap();
    let check = place.run("verify --journal=j.n2 n2/f");
    assert_eq!(check.status, Some(250), "{check:?}");
}

#[test]
fn a_journal_that_the_coordinator_cannot_write_ends_the_job() {
    let place = place();
    let job = "--name=a --filename=f --rw=write --bs=4k --size=64k --verify=fiord --verify_journal=none/j --do_verify=0";
    let ran = run(&place, "n1", job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("the coordinator could not write none/j.n1"), "{ran:?}");
}

#[test]
fn all_hosts_check_their_targets_with_the_journals_of_the_coordinator() {
    let place = place();
    let job = "--name=a --filename=f --rw=randwrite --bs=4k --size=256k --fsync=1 --verify=fiord --do_verify=0 \
               --verify_journal=j";
    run(&place, "n1,n2", job).ok();
    let check = |names: &str, rest: &str| {
        let hosts = crate::hosts::options(&place, names);
        place.run(&format!("verify {hosts} --journal=j {rest}"))
    };
    let ran = check("n1,n2", "f").ok();
    let right = "> f: everything that it had flushed is there\n";
    for host in ["n1", "n2"] {
        assert!(ran.out.contains(&format!("<{host}{right}")), "{ran:?}");
    }
    assert!(ran.out.rfind("<n1>") < ran.out.find("<n2>"), "{ran:?}");

    // The data of one host are lost.
    std::fs::write(place.path("n2/f"), vec![0; 256 << 10]).unwrap();
    let ran = check("n1,n2", "f --same-target");
    assert_eq!((ran.status, ran.err.as_str()), (Some(250), ""), "{ran:?}");
    assert!(ran.out.contains("<n2> f: LOST data") && ran.out.contains(&format!("<n1{right}")));
    let document = check("n1,n2", "f --same-target --format=json").json();
    let verdict = |host: &str| document["hosts"][host]["verdict"].as_str().unwrap();
    assert_eq!((verdict("n1"), verdict("n2")), ("ok", "lost"), "{document}");

    // A host that cannot check its target, one without a journal, and options for one machine.
    std::fs::remove_file(place.path("n2/f")).unwrap();
    let ran = check("n1,n2", "f");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.out.contains("<n1> f: everything") && ran.err.contains("<n2> "), "{ran:?}");
    assert!(ran.err.contains("host n2: exit status: 1"), "{ran:?}");
    for (names, rest, why) in [
        ("n3", "f", "j.n3, the journal of the host n3"),
        ("n1", "f --extents=e", "--extents cannot be used with --hosts"),
        ("n1", "f --later=j", "--later cannot be used with --hosts"),
    ] {
        let ran = check(names, rest);
        assert!(ran.status == Some(1) && ran.err.contains(why) && ran.out.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_check_ends_with_the_coordinator() {
    let place = Place::new();
    let job = "--name=a --filename=f --rw=randwrite --bs=4k --size=64k --fsync=1 --verify=fiord --do_verify=0 \
               --verify_journal=j";
    place.run(job).ok();
    let journal = std::fs::read(place.path("j")).unwrap();
    let mut check =
        place.command(&format!("verify --journal=j.n1 --journal-input={} f", journal.len()));
    let mut child =
        check.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&journal[..journal.len() / 2]).unwrap();
    drop(input);
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("bytes of the journal came from the coordinator"), "{ran:?}");
}
