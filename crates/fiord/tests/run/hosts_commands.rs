//! Subcommands on many hosts. The hosts are directories of this machine, as in `hosts`.

use std::time::Duration;

use serde_json::Value;

use crate::fiord::{Place, Ran, end, signal};
use crate::hosts;

/// Runs `fiord sweep` with these hosts.
fn sweep(place: &Place, names: &str, rest: &str) -> Ran {
    place.run(&format!("sweep --eta=always {} {rest}", hosts::options(place, names)))
}

fn points(document: &Value) -> &Vec<Value> {
    document["points"].as_array().unwrap()
}

#[test]
fn a_sweep_measures_each_point_on_all_hosts() {
    let place = hosts::place();
    place.write("j.fio", "[j]\nrw=write\nsize=1m\nfilename=$host.$rank\n");
    let line = "j.fio --set bs=4k,8k --format=json";
    let ran = sweep(&place, "n[1-3]", line).ok_with_progress();
    assert!(ran.err.starts_with("j: 2 points on 3 hosts"), "{ran:?}");
    let document = ran.json();
    assert_eq!(points(&document).len(), 2, "{ran:?}");
    let kept = std::fs::read_to_string(place.path("j.sweep/bs=8k.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let all = kept["client_stats"].as_array().unwrap();
    assert_eq!((all.len(), &all[3]["write"]["io_bytes"]), (4, &Value::from(3 << 20)));
    assert!(place.path("n2/n2.1").exists(), "{kept}");
    // The point has the rate of all hosts together.
    let (sum, point) = (all[3]["write"]["iops"].as_f64(), points(&document)[1]["iops"].as_f64());
    assert!((point.unwrap() / sum.unwrap() - 1.0).abs() < 0.01, "{kept}");

    // Other hosts are another sweep. The same hosts show the results again.
    let again = sweep(&place, "n[1-3]", line).ok_with_progress();
    assert!(again.err.contains("2 already done"), "{again:?}");
    let other = sweep(&place, "n1", line);
    assert!(other.status == Some(1) && other.err.contains("another job"), "{other:?}");
}

#[test]
fn loads_are_shared_by_the_hosts() {
    let place = hosts::place();
    let job = "-- --name=a --ioengine=sim --rw=randread --bs=4k --size=1g --time_based --runtime=1 \
               --iodepth=1 --sim_latency=constant:1ms --sim_channels=1";
    let line = format!("--rate 50%..100%:50% --format=json --dir=d {job}");
    let document = sweep(&place, "n[1-2]", &line).ok_with_progress().json();
    let loads = document["loads"].as_array().unwrap();
    let rate = |i: usize| loads[i]["rate_iops"].as_str().unwrap().parse::<f64>().unwrap();
    // Each of two devices does 1000 IOPS, and half of that is 500 for each.
    assert!((rate(0) - 500.0).abs() <= 5.0 && (rate(1) - 1000.0).abs() <= 10.0, "{document}");
    assert!((loads[0]["iops"].as_f64().unwrap() / 1000.0 - 1.0).abs() < 0.05, "{document}");
}

#[test]
fn a_lost_host_ends_a_sweep_with_its_name_and_the_points_so_far() {
    let place = hosts::place();
    let job = "-- --name=a --ioengine=null --rw=read --size=1m";
    // The script in the place of ssh loses `n2` at the second point.
    let script = std::fs::read_to_string(place.path("ssh")).unwrap();
    let fault = "echo >> \"../$host.runs\"\n[ \"$host\" = n2 ] && [ $(wc -l < ../n2.runs) = 2 ] && exit 3\n";
    place.write("ssh", script.replace("echo $$ > pid\n", fault));
    let ran = sweep(&place, "n[1-3]", &format!("--set bs=4k,8k,16k --dir=d {job}"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("the run at bs=8k failed") && ran.err.contains("host n2"), "{ran:?}");
    assert!(ran.out.contains("4k") && ran.out.contains("not all points are done"), "{ran:?}");
}

#[test]
fn wrong_hosts_of_a_sweep_run_nothing() {
    let place = hosts::place();
    let job = "--set bs=4k,8k --dir=d -- --name=a --ioengine=null --rw=read --size=1m";
    for (hosts, why) in [
        ("--hosts=n[1", "list of hosts n[1"),
        ("--hosts=a --client=b", "cannot be mixed"),
        ("--hosts=a --hosts-data=most", "hosts-data"),
        ("--hosts-data=same", "no host is named"),
        ("--hostsfile=nowhere", "cannot read the list of hosts nowhere"),
    ] {
        let ran = place.run(&format!("sweep {hosts} {job}"));
        assert_eq!(ran.status, Some(1), "{hosts}: {ran:?}");
        assert!(ran.err.contains(why), "{hosts}: {ran:?}");
        assert!(ran.out.is_empty() && !place.path("d").exists(), "{hosts}: {ran:?}");
    }
}

/// Two hosts with a file each.
fn with_files() -> Place {
    let place = hosts::place();
    for host in ["n1", "n2"] {
        std::fs::create_dir_all(place.path(host)).unwrap();
        place.write(&format!("{host}/f"), vec![0; 2 << 20]);
    }
    place
}

fn is_written(place: &Place, host: &str) -> bool {
    std::fs::read(place.path(&format!("{host}/f"))).unwrap().iter().any(|byte| *byte != 0)
}

fn precondition(place: &Place, rest: &str) -> Ran {
    place.run(&format!("precondition {} --state=state f {rest}", hosts::options(place, "n[1-2]")))
}

#[test]
fn precondition_fills_the_devices_of_all_hosts() {
    let place = with_files();
    let ran = precondition(&place, "--dry-run").ok();
    assert!(ran.out.contains("<n1> ") && ran.out.contains("<n2> "), "{ran:?}");
    let ran = precondition(&place, "");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("of 2 hosts will be lost") && ran.err.contains("pass --yes"),
        "{ran:?}"
    );
    assert!(!is_written(&place, "n1") && !is_written(&place, "n2"));
    let ran = precondition(&place, "--yes").ok();
    for host in ["n1", "n2"] {
        assert!(ran.out.contains(&format!("<{host}> f: fully written")), "{ran:?}");
        assert!(is_written(&place, host));
    }
}

#[test]
fn precondition_has_one_document_of_all_hosts() {
    let place = with_files();
    for (options, end) in [("--dry-run", "dry-run"), ("--yes", "written")] {
        let ran = precondition(&place, &format!("{options} --format=json --output=p.json")).ok();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
        let text = std::fs::read_to_string(place.path("p.json")).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let targets = document["targets"].as_array().unwrap();
        let seen: Vec<_> = targets.iter().map(|target| (&target["host"], &target["end"])).collect();
        assert_eq!(serde_json::json!(seen), serde_json::json!([["n1", end], ["n2", end]]));
    }
    assert!(is_written(&place, "n1") && is_written(&place, "n2"));
    let page = place.run("report p.json").ok().out;
    assert!(page.contains("n1: f") && page.contains("n2: f"));
}

#[test]
fn precondition_writes_nothing_if_a_host_cannot() {
    let place = with_files();
    std::fs::remove_file(place.path("n2/f")).unwrap();
    let ran = precondition(&place, "--yes");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("<n2> ") && ran.err.contains("host n2: exit status: 1"), "{ran:?}");
    assert!(!is_written(&place, "n1"));
    let line = format!("precondition {} f --yes", hosts::options(&place, "n1,gone"));
    let ran = place.run(&line);
    assert!(ran.err.contains("<gone> ssh: Could not resolve hostname"), "{ran:?}");
    assert!(!is_written(&place, "n1"));
}

#[test]
fn ctrl_c_stops_precondition_on_all_hosts() {
    let place = with_files();
    let hosts = hosts::options(&place, "n[1-2]");
    let child = place.start(&format!("precondition {hosts} --state=state f --yes --random"));
    for host in ["n1/state", "n2/state"] {
        hosts::wait_for(&place, host);
    }
    signal(&child, "INT");
    let ran = end(child, Duration::from_secs(30));
    assert_eq!(ran.status, Some(128), "{ran:?}");
    for host in ["<n1> f: ", "<n2> f: "] {
        assert_eq!(ran.out.lines().filter(|line| line.starts_with(host)).count(), 1, "{ran:?}");
    }
}
