//! Jobs that talk to other hosts of a run (`peer`).

use serde_json::Value;

use crate::fiord::{Place, Ran};
use crate::{hosts, networks, ports};

/// Runs a line with the hosts of `hosts`.
fn run(place: &Place, names: &str, rest: &str) -> Ran {
    place.run(&format!("{} {rest} --output-format=json", hosts::options(place, names)))
}

/// Host, job, bytes written and bytes read of each job.
fn ends(document: &Value) -> Vec<(String, u64, u64)> {
    let jobs = document["client_stats"].as_array().unwrap();
    let one = |job: &Value| {
        let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
        let bytes = |dir: &str| job[dir]["io_bytes"].as_u64().unwrap();
        (format!("{} {}", text("hostname"), text("jobname")), bytes("write"), bytes("read"))
    };
    jobs.iter().map(one).collect()
}

#[test]
fn all_hosts_send_to_the_first_without_a_job_for_it() {
    let place = hosts::place();
    let job = format!(
        "--name=a --ioengine=net --rw=write --bs=64k --size=4m --peer=first --hostname=127.0.0.1 --port={}",
        ports::free(4)
    );
    let document =
        run(&place, "n[1-3]", &format!("{job} --numjobs=2 --group_reporting")).ok().json();
    let mib = |n: u64| n << 20;
    let found = ends(&document);
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    let expected = ["n1 a_from_n2", "n2 a_to_n1", "n3 a_to_n1", "n3 All clients"];
    assert_eq!(names, expected, "{document}");
    assert_eq!((found[0].1, found[0].2), (0, mib(16)));
    assert_eq!((found[1].1, found[2].1), (mib(8), mib(8)));
    assert_eq!((found[3].1, found[3].2), (mib(16), mib(16)));
}

/// A second job that reads from the first host, or writes to it. It begins after `seconds`, which differ by host.
fn second_job(rw: &str, seconds: &str, port: u16) -> String {
    format!(
        "--name=a --ioengine=null --rw=read --size=1g --time_based --runtime={seconds} --name=b --stonewall \
         --ioengine=net --rw={rw} --bs=64k --size=1m --peer=first --hostname=127.0.0.1 --port={port}"
    )
}

/// Otherwise both ends of a connection could wait for blocks of the other one.
#[test]
fn jobs_of_two_runs_with_one_port_do_not_meet() {
    let (one, other) = (hosts::place(), hosts::place());
    let port = ports::free(1);
    // n1 waits from the first to the fourth second, m2 connects from the second one on, and m1 waits from the sixth one on.
    let early = format!("{} --output-format=json", second_job("write", "1+$rank*3", port));
    let early = hosts::started(&one, "n[1-2]", &early);
    let late = run(&other, "m[1-2]", &second_job("read", "6-$rank*4", port)).ok().json();
    let early = Ran::from(early.wait_with_output().unwrap()).ok().json();
    let found = [early, late].map(|document| ends(&document).swap_remove(1));
    let expected = [("n1 b_from_n2".into(), 0, 1 << 20), ("m1 b_to_m2".into(), 1 << 20, 0)];
    assert_eq!(found, expected);
}

#[test]
fn a_second_job_waits_for_its_peer() {
    let place = hosts::place();
    // The second job of n2 begins a second before that of n1, which listens.
    let line = second_job("read", "2-$rank", ports::free(1));
    let document = run(&place, "n[1-2]", &line).ok().json();
    let found = ends(&document);
    assert_eq!(found[1], ("n1 b_to_n2".into(), 1 << 20, 0), "{document}");
    assert_eq!(found[3], ("n2 b_from_n1".into(), 0, 1 << 20), "{document}");
}

#[test]
fn wrong_peers_are_reported_before_any_host_is_reached() {
    let place = hosts::place();
    let job = "--name=a --ioengine=net --rw=write --size=1m";
    let ran = place.run(&format!("{job} --peer=next"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("this run has only one host"), "{ran:?}");
    assert!(ran.err.contains("To fix: name hosts"), "{ran:?}");
    for (hosts, peer, why) in [
        ("n1", "next", "needs two hosts"),
        ("n[1-3]", "pair", "even number of hosts"),
        ("n[1-3]", "n4", "`peer=n4` is not a host of this run"),
    ] {
        let ran = run(&place, hosts, &format!("{job} --peer={peer}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
        assert!(!place.path("n1").exists());
    }
}

#[test]
fn rings_pairs_and_all_hosts_between_machines() {
    let place = Place::new();
    place.write("policy", "network = yes\n");
    let global = "[global]\nioengine=net\nbs=16k\nsize=2m\n";
    place.write("next", format!("{global}[a]\nrw=write\npeer=next\n"));
    place.write("pair", format!("{global}[a]\nrw=read\npeer=pair\npingpong\n"));
    place.write(
        "all",
        format!("{global}[a]\nrw=write\npeer=all\n[b]\nstonewall\nrw=read\npeer=10.77.0.3\n"),
    );
    // Datagrams can be lost.
    place.write("udp", "[a]\nioengine=net\nprotocol=udp\nbs=1k\nsize=1m\nrw=write\npeer=next\nrate=1m\nruntime=1\n");
    let script = r#"SECURITY="--insecure --policy=$PWD/policy"
for i in $(seq "$HOSTS"); do serve "h$i"; done
for job in next pair all udp; do
  timeout 20 "$FIORD" --insecure $(clients) $job --output-format=json >$job.json || exit 1
done"#;
    let Some(ran) = networks::run(&place, 4, script) else { return };
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let ends = |name: &str| {
        let text = std::fs::read_to_string(place.path(&format!("{name}.json"))).unwrap();
        ends(&serde_json::from_str(&text).unwrap())
    };
    let host = |n: usize| format!("10.77.0.{n}");
    const SIZE: u64 = 2 << 20;
    let next = ends("next");
    assert_eq!(next.len(), 9, "{next:?}");
    for n in 1..=4 {
        let (before, behind) = (host((n + 2) % 4 + 1), host(n % 4 + 1));
        let to = (format!("{} a_to_{behind}", host(n)), SIZE, 0);
        let from = (format!("{} a_from_{before}", host(n)), 0, SIZE);
        assert!(next.contains(&to) && next.contains(&from), "{next:?}");
    }
    let pair = ends("pair");
    assert_eq!(pair[0].0, "10.77.0.1 a_from_10.77.0.2");
    assert_eq!((pair[1].0.as_str(), pair.len()), ("10.77.0.2 a_to_10.77.0.1", 5), "{pair:?}");
    let all = ends("all");
    // 4 hosts have 3 peers each, in both roles; then 3 hosts read from the third.
    assert_eq!(all.len(), 24 + 6 + 1, "{all:?}");
    assert_eq!((all[30].1, all[30].2), (15 * SIZE, 15 * SIZE));
    let udp = ends("udp");
    assert_eq!(udp.len(), 9);
    assert!(udp.iter().all(|(_, wrote, read)| wrote + read > 0), "{udp:?}");
}
