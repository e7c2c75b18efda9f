//! Runs on the processes of a parallel job (`--ranks`). The processes are on this machine; the test takes the place of the
//! launcher.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::fiord::{Place, Ran, end, signal};

const SOON: Duration = Duration::from_secs(60);

/// A parallel job.
struct Launched {
    place: Place,
    ranks: usize,
    rendezvous: String,
}

impl Launched {
    fn new(ranks: usize) -> Launched {
        // The port is free again when the listener is dropped.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let rendezvous = listener.local_addr().unwrap().to_string();
        Launched { place: Place::new(), ranks, rendezvous }
    }

    fn start(&self, rank: usize, line: &str) -> Child {
        let mut command: Command = self.place.command(line);
        command.env("FIORD_RANK", rank.to_string()).env("FIORD_RANKS", self.ranks.to_string());
        command.env("FIORD_RENDEZVOUS", &self.rendezvous);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs all ranks. The last one comes first, and rank 0 last.
    fn run(&self, line: &str) -> Vec<Ran> {
        let children: Vec<Child> =
            (0..self.ranks).rev().map(|rank| self.start(rank, line)).collect();
        let mut ended: Vec<Ran> = children.into_iter().map(|child| end(child, SOON)).collect();
        ended.reverse();
        ended
    }
}

#[test]
fn all_ranks_run_the_jobs_and_rank_0_reports() {
    let job = Launched::new(3);
    let line = "--ranks --output-format=json --name=a --rw=write --bs=4k --size=64k --filename=f-$rank-$ranks";
    let ran = job.run(line);
    let document = ran[0].json();
    let clients = document["client_stats"].as_array().unwrap();
    let own = fiord_sys::host::name();
    let names: Vec<&str> = clients.iter().map(|job| job["hostname"].as_str().unwrap()).collect();
    assert_eq!(names[..3], [0, 1, 2].map(|rank| format!("{own}.{rank}")), "{ran:?}");
    assert_eq!(clients[3]["write"]["io_bytes"], 3 * 65536);
    for rank in 0..3 {
        assert_eq!(ran[rank].status, Some(0), "{ran:?}");
        assert!(job.place.path(&format!("f-{rank}-3")).exists());
    }
    assert!(ran[1..].iter().all(|ran| ran.out.is_empty() && ran.err.is_empty()), "{ran:?}");
}

#[test]
fn ranks_can_share_a_key() {
    let job = Launched::new(2);
    job.place.run("keys create --shared --keys=k").ok();
    let ran = job.run("--ranks --keys=k --minimal --name=a --ioengine=null --rw=read --size=4k");
    assert!(ran.iter().all(|ran| ran.status == Some(0) && ran.err.is_empty()), "{ran:?}");
    assert_eq!(ran[0].out.lines().filter(|line| line.starts_with("3;fio")).count(), 3, "{ran:?}");
}

#[test]
fn a_rank_that_dies_is_a_lost_host() {
    let job = Launched::new(2);
    let line = "--ranks --output-format=json --on-lost=continue --name=a --ioengine=null --rw=read --size=1g \
                --time_based --runtime=3";
    let other = job.start(1, line);
    let first = job.start(0, line);
    // Both ranks are there when the jobs run.
    std::thread::sleep(Duration::from_millis(1500));
    signal(&other, "KILL");
    let ran = end(first, SOON);
    assert_eq!(ran.status, Some(249), "{ran:?}");
    let host = &ran.json()["fiord"]["hosts"][1];
    assert!(host["failure"].as_str().is_some_and(|why| !why.is_empty()), "{ran:?}");
    end(other, SOON);
}

#[test]
fn mistakes_are_named() {
    let job = Launched::new(1);
    let ran = job.place.run("--ranks --name=a --ioengine=null --rw=read --size=4k");
    assert!(ran.err.contains("no launcher says which rank this process is. To fix: "), "{ran:?}");
    let elsewhere = Launched { ranks: 2, rendezvous: "192.0.2.1".into(), ..job };
    let home = elsewhere.place.path("home");
    let mut command =
        elsewhere.place.command("--ranks --name=a --ioengine=null --rw=read --size=4k");
    command.env("FIORD_RANK", "1").env("FIORD_RANKS", "2").env("FIORD_RENDEZVOUS", "192.0.2.1");
    let ran = Ran::from(command.env("HOME", home).env_remove("XDG_CONFIG_HOME").output().unwrap());
    assert!(ran.err.contains("there is no key. To fix: run `fiord keys create`"), "{ran:?}");
}

#[test]
fn all_ranks_end_when_rank_0_refuses_the_jobs() {
    let job = Launched::new(3);
    job.place.write("a.fio", "[a]\nrw=reed\nioengine=null\nsize=1m\n");
    let begun = Instant::now();
    let ran = job.run("--ranks a.fio");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(ran.iter().all(|ran| ran.status == Some(1) && ran.out.is_empty()), "{ran:?}");
    assert!(ran[0].err.contains("a.fio:2"), "{ran:?}");
    for other in &ran[1..] {
        assert!(
            other.err.starts_with("fiord: --ranks: rank 0: it does not run the jobs: "),
            "{ran:?}"
        );
        assert!(other.err.contains("reed"), "{ran:?}");
    }
    // Results that cannot be written, and a command line that asks for something else.
    let ran = job.run("--ranks --output=none/x --name=a --ioengine=null --size=1m");
    assert!(ran.iter().all(|ran| ran.status == Some(1)), "{ran:?}");
    assert!(ran[1].err.contains("none/x"), "{ran:?}");
    let ran = job.run("--ranks --parse-only --name=a --ioengine=null --size=1m");
    assert!(ran.iter().all(|ran| ran.status == Some(0) && ran.err.is_empty()), "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
