//! Runs on many hosts. The hosts are directories of this machine: a script takes the place of ssh.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran, end, signal, some_work};
pub(crate) use crate::ssh::{options, place};

const SOON: Duration = Duration::from_secs(30);

/// The command line of a run on these hosts.
pub(crate) fn line(place: &Place, hosts: &str, rest: &str) -> String {
    format!("{} {rest}", options(place, hosts))
}

pub(crate) fn started(place: &Place, hosts: &str, rest: &str) -> Child {
    place.start(&line(place, hosts, rest))
}

pub(crate) fn run(place: &Place, hosts: &str, rest: &str) -> Ran {
    end(started(place, hosts, rest), SOON)
}

/// Waits until a file of the test exists.
#[track_caller]
pub(crate) fn wait_for(place: &Place, name: &str) {
    let until = Instant::now() + SOON;
    while !place.path(name).exists() {
        assert!(Instant::now() < until, "{name} does not exist");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until the jobs of these hosts have begun and done some work.
fn work_on(place: &Place, hosts: &[&str]) {
    for host in hosts {
        wait_for(place, &format!("{host}/begun"));
    }
    for host in hosts {
        let pid = std::fs::read_to_string(place.path(&format!("{host}/pid"))).unwrap();
        some_work(pid.trim().parse().unwrap());
    }
}

/// Job and host of each entry.
fn names(document: &Value) -> Vec<(&str, &str)> {
    let clients = document["client_stats"].as_array().unwrap();
    fn text<'a>(job: &'a Value, key: &str) -> &'a str {
        job[key].as_str().unwrap_or_default()
    }
    clients.iter().map(|job| (text(job, "jobname"), text(job, "hostname"))).collect()
}

#[test]
fn jobs_run_on_all_hosts_and_are_added() {
    let place = place();
    let jobs = "--output-format=json --name=a --rw=write --bs=4k --size=64k --filename=f-$host-$rank-$ranks";
    let ran = run(&place, "n[1-3]", jobs).ok();
    let document = ran.json();
    assert_eq!(names(&document), [("a", "n1"), ("a", "n2"), ("a", "n3"), ("All clients", "n3")]);
    let clients = document["client_stats"].as_array().unwrap();
    assert!(clients[..3].iter().all(|job| job["write"]["io_bytes"] == 65536), "{ran:?}");
    assert_eq!(clients[3]["write"]["io_bytes"], 3 * 65536);
    assert_eq!(std::fs::metadata(place.path("n2/f-n2-1-3")).unwrap().len(), 65536);
}

#[test]
fn job_files_are_read_here_and_logs_come_back() {
    let place = place();
    place.write("shared.inc", "ioengine=null\nsize=1m\n");
    place.write(
        "a.fio",
        "[global]\ninclude shared.inc\n[a]\nrw=read\nbs=${BLOCK}\nwrite_iops_log=x\n",
    );
    let mut command = place.command(&line(&place, "p,q", "a.fio"));
    let ran = Ran::from(command.env("BLOCK", "8k").output().unwrap()).ok();
    assert!(ran.out.contains("All clients: (groupid=0, jobs=2)"), "{ran:?}");
    assert!(ran.out.contains("bs=(R) 8192B-8192B"), "{ran:?}");
    let log = |host: &str| std::fs::read_to_string(place.path(&format!("x_iops.1.log.{host}")));
    assert!(log("p").unwrap().lines().count() > 0);
    assert!(log("q").is_ok());
}

#[test]
fn a_log_that_does_not_fit_on_the_disk_here_stays_on_its_host() {
    let place = place();
    // A disk that is full.
    std::os::unix::fs::symlink("/dev/full", place.path("x_bw.1.log.p")).unwrap();
    let jobs = "--output-format=json --name=a --ioengine=null --rw=read --size=1m --write_bw_log=x";
    let ran = run(&place, "p,q", jobs);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot write the log of host p to x_bw.1.log.p"), "{ran:?}");
    let copy = ran.err.split("where it is ").nth(1).and_then(|rest| rest.split(',').next());
    let copy = std::path::Path::new(copy.unwrap_or_else(|| panic!("{ran:?}")));
    assert!(copy.starts_with(place.path("p")), "{ran:?}");
    assert!(std::fs::read_to_string(copy).unwrap().lines().count() > 0, "{ran:?}");
    assert!(ran.json()["fiord"]["hosts"][0]["errors"][0].as_str().unwrap().contains("copy it"));
    // The other one has arrived, and its host has no copy.
    assert!(std::fs::metadata(place.path("x_bw.1.log.q")).unwrap().len() > 0);
    assert_eq!(std::fs::read_dir(place.path("q")).unwrap().count(), 1);
}

#[test]
fn the_live_line_shows_all_hosts() {
    let place = place();
    let jobs = "--eta=always --eta-interval=2s --name=a --ioengine=null --rate_iops=1000 --rw=read --size=1g \
                --time_based --runtime=4";
    let ran = run(&place, "n[1-3]", jobs).ok();
    let counts = ran.out.split("Jobs: ").skip(1).filter_map(|rest| rest.split(' ').next());
    let counts: Vec<&str> = counts.collect();
    assert!(!counts.is_empty() && counts.iter().all(|count| ["0", "3"].contains(count)), "{ran:?}");
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let place = place();
    let jobs = "--output-format=json --name=a --ioengine=null --rw=read --size=1m";
    let ran = run(&place, "n1,gone", jobs);
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert!(ran.err.contains("host gone"), "{ran:?}");
    assert!(ran.err.contains("Could not resolve hostname gone"), "{ran:?}");
    ran.json();

    let ran = run(&place, "n1,gone", &format!("--on-lost=continue {jobs}"));
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert_eq!(names(&ran.json()), [("a", "n1")]);
}

#[test]
fn a_host_that_dies_is_named_and_the_others_report() {
    let place = place();
    let jobs = "--output-format=json --name=a --ioengine=null --rw=read --size=1g --time_based --runtime=30 \
                --write_bw_log=begun --log_avg_msec=100 --exec_prerun=>begun";
    let child = started(&place, "n1,n2", jobs);
    work_on(&place, &["n1", "n2"]);
    let pid = std::fs::read_to_string(place.path("n2/pid")).unwrap();
    let begun = Instant::now();
    let killed = std::process::Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap();
    assert!(killed.success());
    let ran = end(child, SOON);
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert!(ran.err.contains("host n2"), "{ran:?}");
    let document = ran.json();
    let clients = document["client_stats"].as_array().unwrap();
    assert!(clients[0]["read"]["io_bytes"].as_u64().unwrap() > 0, "{ran:?}");
}

#[test]
fn a_host_that_is_shut_down_makes_the_totals_partial() {
    let place = place();
    let jobs = "--output-format=json --name=a --ioengine=null --rw=read --size=1g --time_based --runtime=30 \
                --rate_iops=100 --exec_prerun=>begun";
    let child = started(&place, "n1,n2", jobs);
    wait_for(&place, "n1/begun");
    wait_for(&place, "n2/begun");
    std::thread::sleep(Duration::from_millis(700));
    let pid = std::fs::read_to_string(place.path("n2/pid")).unwrap();
    let stopped = std::process::Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap();
    assert!(stopped.success());
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert!(ran.err.contains("host n2") && ran.err.contains("signal 15 on this host"), "{ran:?}");
    let document = ran.json();
    assert_eq!(document["fiord"]["partial"], 1, "{document}");
}

#[test]
fn ctrl_c_ends_the_jobs_of_all_hosts_within_a_second() {
    let place = place();
    let jobs = "--output-format=json --name=a --ioengine=null --rw=read --size=1g --time_based --runtime=30 \
                --exec_prerun=>begun --write_bw_log=begun";
    let child = started(&place, "n1,n2", jobs);
    work_on(&place, &["n1", "n2"]);
    let begun = Instant::now();
    signal(&child, "INT");
    let ran = end(child, SOON);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert!(ran.err.contains("fiord: terminating on signal 2"), "{ran:?}");
    let document = ran.json();
    let clients = document["client_stats"].as_array().unwrap();
    assert_eq!(clients.len(), 3, "{ran:?}");
    assert!(clients.iter().all(|job| job["read"]["io_bytes"].as_u64().unwrap() > 0), "{ran:?}");
}

#[test]
fn results_so_far_come_from_all_hosts() {
    let place = place();
    let jobs = "--output-format=json --status-interval=400ms --name=a --ioengine=null --rw=read --size=1g \
                --time_based --runtime=1";
    let ran = run(&place, "n1,n2", jobs).ok();
    let documents = ran.documents();
    assert!(documents.len() >= 2, "{ran:?}");
    assert_eq!(names(&documents[0]), [("a", "n1"), ("a", "n2")]);
    let bytes =
        |document: &Value| document["client_stats"][0]["read"]["io_bytes"].as_u64().unwrap();
    assert!(0 < bytes(&documents[0]) && bytes(&documents[0]) < bytes(documents.last().unwrap()));
}

#[test]
fn wrong_jobs_are_reported_before_any_host_is_reached() {
    let place = place();
    let ran = run(&place, "n1", "--name=a --rw=reed --size=1m");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("reed"), "{ran:?}");
    assert!(!place.path("n1").exists());
    let ran = run(&place, "n[1", "--name=a --rw=read --size=1m");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("list of hosts n[1"), "{ran:?}");
}

#[test]
fn a_wrong_job_file_is_underlined_where_the_user_typed_it() {
    let place = place();
    // An error shows the command line, and cuts a long one.
    let line = "--hosts=n1 --ssh=./ssh --eta=never nofile.fio";
    let ran = place.run(line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let shown = ran.err.lines().find(|text| text.contains(line)).expect("the typed line");
    let marks = ran.err.lines().find(|text| text.ends_with('^')).expect("the marks");
    assert_eq!(shown.find("nofile.fio"), marks.find('^'), "{ran:?}");
    assert_eq!(shown.len(), marks.len(), "{ran:?}");
}

#[test]
fn jobs_that_a_host_refuses_are_no_lost_host() {
    let place = place();
    let shared = place.path("shared").display().to_string();
    let jobs = format!("--output-format=json --name=a --rw=write --size=64k --filename={shared}");
    let ran = run(&place, "n1,n2", &jobs);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("host n2: while its jobs were checked: it would write"), "{ran:?}");
    let document = ran.json();
    assert_eq!(document["fiord"]["refused"], 1, "{ran:?}");
    assert!(document["fiord"]["findings"].is_null(), "{ran:?}");
    assert!(!place.path("shared").exists());

    // A host that cannot lay out its files is not lost either, and the user can do without it.
    place.write("n2/in_the_way", "");
    let file = place.path("$host/in_the_way/x").display().to_string();
    let jobs = format!("--output-format=json --name=a --rw=write --size=64k --filename={file}");
    let ran = run(&place, "n1,n2", &jobs);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("host n2"), "{ran:?}");
    assert_eq!(ran.json()["fiord"]["hosts"][1]["refused"], 1, "{ran:?}");
}

#[test]
fn hosts_that_are_to_share_a_target_are_no_finding() {
    let place = place();
    let shared = place.path("shared").display().to_string();
    let jobs = format!("--output-format=json --name=a --rw=write --size=64k --filename={shared}");
    let ran = run(&place, "n1,n2", &format!("--hosts-data=same {jobs}")).ok();
    assert!(!ran.out.contains("shared-target"), "{ran:?}");
    let reads = jobs.replace("rw=write", "rw=read");
    let ran = run(&place, "n1,n2", &reads).ok();
    assert!(ran.out.contains("shared-target"), "{ran:?}");
}

#[test]
fn logs_that_cannot_come_back_are_refused_before_a_host_is_reached() {
    let place = place();
    let jobs = "--name=a --ioengine=null --rw=read --size=64k";
    let ran = run(&place, "a,a", &format!("{jobs} --write_iops_log=x"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("`write_iops_log`: the hosts \"a\" (number 1) and \"a\" (number 2)"),
        "{ran:?}"
    );
    assert!(ran.err.contains("To fix: name each host once"), "{ran:?}");
    assert!(!place.path("a").exists());
    // Names that contain the rank differ.
    run(&place, "a,a", &format!("{jobs} --write_iops_log=x-$rank")).ok();
    assert!(place.path("x-0_iops.1.log.a").exists() && place.path("x-1_iops.1.log.a").exists());

    std::fs::create_dir_all(place.path("b/logs")).unwrap();
    place.write("file", "");
    for (directory, why) in [("logs", "No such file or directory"), ("file", "Not a directory")] {
        let ran = run(&place, "b", &format!("{jobs} --write_bw_log={directory}/x"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let said = format!("written to the directory `{directory}` of this machine: {why}");
        assert!(ran.err.contains(&said), "{ran:?}");
    }
    std::fs::create_dir_all(place.path("logs")).unwrap();
    run(&place, "b", &format!("{jobs} --write_bw_log=logs/x")).ok();
    let logs = std::fs::read_dir(place.path("logs")).unwrap();
    let logs: Vec<_> = logs.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(logs, ["x_bw.1.log.b"]);
}

#[test]
fn files_that_only_are_created_are_no_failure() {
    let place = place();
    let jobs = "--output-format=json --name=a --rw=read --size=64k --filename=f --create_only=1";
    let ran = run(&place, "a,b", jobs).ok();
    assert_eq!(ran.json()["client_stats"][0]["error"], 0, "{ran:?}");
    for host in ["a", "b"] {
        assert_eq!(std::fs::metadata(place.path(&format!("{host}/f"))).unwrap().len(), 65536);
    }
    // Other jobs run as without it.
    let both = jobs.replace("--name", "--name=z --ioengine=null --rw=read --size=1m --name");
    let document = run(&place, "a,b", &both).ok().json();
    assert_eq!(document["client_stats"][0]["read"]["io_bytes"], 1 << 20, "{document}");
}

#[test]
fn a_lost_host_counts_more_than_ctrl_c() {
    let place = place();
    let jobs = "--on-lost=continue --output-format=json --name=a --ioengine=null --rw=read --size=1g \
                --time_based --runtime=30 --exec_prerun=>begun";
    let child = started(&place, "n1,gone", jobs);
    wait_for(&place, "n1/begun");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(249), "{ran:?}");
    assert!(
        ran.err.contains("host gone") && ran.err.contains("terminating on signal 2"),
        "{ran:?}"
    );
    ran.json();
}
