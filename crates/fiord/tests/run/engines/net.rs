//! `net`: both ends in one run, peers of the test's own, fio as the peer, and wrong input. Everything
//! listens on loopback addresses only.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran, signal, under_way, work};
use crate::ports;

/// What each end sends before it closes a connection, as fio does.
const CLOSE: &[u8] = b"knil\x89\0\0\0";
/// What a sender of datagrams sends first, as fio does.
const OPEN: &[u8] = b"link\0\0\0\x98";

/// A port that nothing uses.
fn port() -> u16 {
    ports::free(1)
}

/// A job file with a receiver and a sender.
fn job_file(common: &str, receiver: &str, sender: &str) -> String {
    let lines = |options: &str| options.replace(' ', "\n");
    format!(
        "[global]\nioengine=net\n{}\n[receiver]\nrw=read\n{}\n[sender]\nrw=write\n{}\n",
        lines(common),
        lines(receiver),
        lines(sender)
    )
}

/// Runs a receiver and a sender in one run.
fn pair(place: &Place, common: &str, receiver: &str, sender: &str) -> Ran {
    place.write("pair", job_file(common, receiver, sender));
    place.run("--output-format=json pair")
}

/// Bytes read by the jobs that read, and written by those that write; requires success.
#[track_caller]
fn moved(ran: &Ran) -> (u64, u64) {
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let jobs = work(&ran.json());
    assert!(jobs.iter().all(|(_, error, _)| *error == 0), "{jobs:?}");
    let sum = |dir: usize| jobs.iter().map(|(_, _, dirs)| dirs[dir].0).sum();
    (sum(0), sum(1))
}

fn tcp(place: &Place, common: &str, receiver: &str, sender: &str) -> Ran {
    let common = format!("bs=4k size=1m port={} {common}", port());
    let receiver = format!("listen hostname=127.0.0.1 {receiver}");
    pair(place, &common, &receiver, &format!("hostname=127.0.0.1 {sender}"))
}

#[test]
fn both_ends_in_one_run_move_every_byte() {
    let place = Place::new();
    const ALL: (u64, u64) = (1 << 20, 1 << 20);
    assert_eq!(moved(&tcp(&place, "", "", "")), ALL);
    assert_eq!(moved(&tcp(&place, "nodelay=1 window_size=64k mss=1000", "", "")), ALL);
    assert_eq!(moved(&tcp(&place, "pingpong", "", "")), ALL);
    assert_eq!(moved(&tcp(&place, "", "bs=64k", "bs=1k")), ALL, "different block sizes");
    assert_eq!(
        moved(&tcp(&place, "openfiles=1 nrfiles=2 file_service_type=sequential", "", "")),
        ALL
    );
    let unix = "bs=64k size=1m protocol=unix filename=socket";
    assert_eq!(moved(&pair(&place, unix, "", "")), ALL);
    assert!(!place.path("socket").exists(), "the receiver removes its socket");
    let v6 = format!("bs=4k size=1m port={} protocol=tcpv6 hostname=::1", port());
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(moved(&pair(&place, &v6, "listen", "")), ALL);
        let udp = format!("bs=1k size=64k port={} protocol=udpv6 hostname=::1 pingpong", port());
        assert_eq!(moved(&pair(&place, &udp, "", "")), (64 << 10, 64 << 10));
    }
    let udp = format!("bs=1k size=64k port={} protocol=udp hostname=127.0.0.1", port());
    assert_eq!(moved(&pair(&place, &format!("{udp} pingpong"), "", "")), (64 << 10, 64 << 10));
    // Slow enough that no buffer overflows.
    assert_eq!(moved(&pair(&place, &udp, "", "rate=640k")), (64 << 10, 64 << 10));
}

/// Both receivers join the group. The one that answers each block paces the sender. `tests/vm/net-groups.sh` has
/// groups of IPv6, which the loopback interface does not carry.
#[test]
fn every_member_of_a_group_receives_every_block() {
    let place = Place::new();
    let job = format!(
        "[global]\nioengine=net\nprotocol=udp\nhostname=239.255.70.1\ninterface=127.0.0.1\nport={}\nttl=0\n\
         bs=1k\nsize=64k\n[answers]\nrw=read\npingpong\n[listens]\nrw=read\n[sender]\nrw=write\npingpong\n",
        port()
    );
    place.write("group", job);
    let ran = place.run("--output-format=json group");
    assert_eq!(moved(&ran), (128 << 10, 64 << 10));
}

#[test]
fn splice_moves_every_byte_unchanged() {
    let place = Place::new();
    const ALL: (u64, u64) = (1 << 20, 1 << 20);
    for options in ["", "bs=1m", "bs=3000", "pingpong", "window_size=16k bs=256k"] {
        let common = format!("ioengine=netsplice {options}");
        let (read, written) = moved(&tcp(&place, &common, "", ""));
        assert!(read == written && read > 1_040_000, "{options}: {read} {written}");
    }
    assert_eq!(moved(&tcp(&place, "", "ioengine=netsplice", "")), ALL, "with net at the other end");
    let unix = "bs=64k size=1m protocol=unix filename=socket ioengine=netsplice";
    assert_eq!(moved(&pair(&place, unix, "", "")), ALL);

    let (at, peer) = receiver();
    let line = format!("--name=a --ioengine=netsplice --rw=write --hostname=127.0.0.1 --port={at}");
    let calls = place.program_in(&place.path(""), "strace");
    let traced = strace(calls, &format!("{line} --bs=64k --size=640k --buffer_pattern=0x5a"));
    let all = peer.join().unwrap();
    assert_eq!(all.len(), (640 << 10) + CLOSE.len());
    assert!(all[..640 << 10].iter().all(|byte| *byte == 0x5a) && all.ends_with(CLOSE));
    if let Some(trace) = traced {
        assert!(trace.contains("vmsplice(") && trace.contains(" splice("), "{trace}");
        assert_eq!(trace.matches("sendto(").count(), 1, "only the last message: {trace}");
    }
    let udp =
        place.run("--name=a --ioengine=netsplice --protocol=udp --rw=read --port=9 --size=4k");
    assert!(udp.status == Some(1) && udp.err.contains("cannot splice datagrams"), "{udp:?}");
}

/// Receives all that the first peer sends. Returns its port, and the thread that returns the bytes.
fn receiver() -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = std::thread::spawn(move || {
        let mut all = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
        all
    });
    (port, peer)
}

/// Runs fiord under strace and returns its calls on sockets and pipes; without strace, runs fiord alone.
fn strace(mut command: std::process::Command, line: &str) -> Option<String> {
    let fiord = env!("CARGO_BIN_EXE_fiord");
    command.args(["-f", "-q", "-e", "trace=splice,vmsplice,sendto,recvfrom", fiord]);
    match command.args(line.split_whitespace()).output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(String::from_utf8_lossy(&output.stderr).into_owned())
        }
        Err(_) => {
            let status = std::process::Command::new(fiord).args(line.split_whitespace()).status();
            assert!(status.unwrap().success());
            None
        }
    }
}

#[test]
fn many_connections() {
    let place = Place::new();
    let three = tcp(&place, "numjobs=3", "", "");
    assert_eq!(moved(&three), (3 << 20, 3 << 20));
    let document = tcp(&place, "nrfiles=3", "", "").ok().json();
    for job in document["jobs"].as_array().unwrap() {
        let network = &job["fiord"]["network"];
        assert_eq!(network["count"], 3, "{network}");
        let list = network["list"].as_array().unwrap();
        assert!(list.iter().all(|one| one["loopback"] == 1 && one["tcp"].is_object()), "{list:?}");
    }
    let unix = "bs=4k size=64k protocol=unix filename=socket numjobs=2";
    assert_eq!(moved(&pair(&place, unix, "", "")), (128 << 10, 128 << 10));
}

#[test]
fn either_end_may_listen() {
    let place = Place::new();
    let common = format!("bs=4k size=64k port={} hostname=127.0.0.1", port());
    place.write("pair", job_file(&common, "", "listen"));
    assert_eq!(moved(&place.run("--output-format=json pair")), (64 << 10, 64 << 10));
}

#[test]
fn rates_are_in_bits_as_fio_prints_them() {
    let place = Place::new();
    place.write(
        "pair",
        job_file(
            &format!("bs=4k size=64k port={}", port()),
            "listen hostname=127.0.0.1",
            "hostname=127.0.0.1",
        ),
    );
    let out = place.run("pair").ok().out;
    assert!(out.contains("it/s (") && !out.contains("MiB/s ("), "{out}");
}

#[test]
fn what_a_sender_puts_on_the_wire() {
    let place = Place::new();
    let (at, peer) = receiver();
    let line = format!("--name=a --ioengine=net --rw=write --hostname=127.0.0.1 --port={at}");
    place.run(&format!("{line} --bs=4k --size=40k --buffer_pattern=0x5a")).ok();
    let all = peer.join().unwrap();
    assert_eq!(all.len(), (40 << 10) + CLOSE.len());
    assert!(all[..40 << 10].iter().all(|byte| *byte == 0x5a) && all.ends_with(CLOSE));

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let at = socket.local_addr().unwrap().port();
    let peer = std::thread::spawn(move || {
        let (mut all, mut data) = (Vec::new(), [0; 2048]);
        while all.last().is_none_or(|last: &Vec<u8>| last != CLOSE) {
            let (bytes, from) = socket.recv_from(&mut data).unwrap();
            all.push(data[..bytes].to_vec());
            if data[..bytes] == *CLOSE {
                socket.send_to(CLOSE, from).unwrap();
            }
        }
        all
    });
    let line = format!(
        "--name=a --ioengine=net --protocol=udp --rw=write --hostname=127.0.0.1 --port={at}"
    );
    place.run(&format!("{line} --bs=1k --size=3k")).ok();
    let lengths: Vec<usize> = peer.join().unwrap().iter().map(Vec::len).collect();
    assert_eq!(lengths, [OPEN.len(), 1024, 1024, 1024, CLOSE.len()]);
}

/// Runs a receiver of 40 KiB, to which the test sends these bytes.
fn receive(place: &Place, bytes: &[u8], options: &str) -> Ran {
    let at = port();
    let line = format!(
        "--output-format=json --name=a --ioengine=net --rw=read --listen --hostname=127.0.0.1 \
         --port={at} --bs=4k --size=40k {options}"
    );
    let receiver = place.start(&line);
    let mut peer = connect(at);
    peer.write_all(bytes).unwrap();
    drop(peer);
    Ran::from(receiver.wait_with_output().unwrap())
}

/// Connects to a job that will listen soon.
fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other.unwrap(),
        }
    }
}

#[test]
fn a_sender_that_ends_early_ends_the_receiver() {
    let place = Place::new();
    let mut bytes = vec![7; 20 << 10];
    bytes.extend(CLOSE);
    assert_eq!(moved(&receive(&place, &bytes, "")), (20 << 10, 0), "it announced its end");
    bytes.splice(0..0, [7; 100]);
    assert_eq!(moved(&receive(&place, &bytes, "")), (20 << 10, 0), "in the middle of a block");

    let gone = receive(&place, &[7; 20 << 10], "");
    assert_eq!(gone.status, Some(1), "{gone:?}");
    let jobs = work(&gone.json());
    assert_eq!((jobs[0].1, jobs[0].2[0].0), (104, 20 << 10), "ECONNRESET, with what arrived");
    assert!(gone.err.contains("without announcing its end. To fix:"), "{}", gone.err);
}

#[test]
fn a_receiver_that_ends_early_ends_the_sender() {
    let place = Place::new();
    let ran = tcp(&place, "", "size=64k", "size=64m");
    let (read, written) = moved(&ran);
    assert!(read == 64 << 10 && (64 << 10..64 << 20).contains(&written), "{read} {written}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().port();
    let peer = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let line = format!("--name=a --ioengine=net --rw=write --hostname=127.0.0.1 --port={at}");
    let ran = place.run(&format!("{line} --bs=64k --size=64m --output-format=json"));
    peer.join().unwrap();
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("To fix: check whether its program"), "{}", ran.err);
}

/// The error of the first job, and whether the second one, which reads a file, did its work.
fn beside_another(place: &Place, options: &str) -> (i64, String, bool) {
    let line = format!(
        "--output-format=json --name=a --ioengine=net --bs=4k --size=40k {options} --name=b \
         --ioengine=null --rw=read --size=40k"
    );
    let ran = place.run(&line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let jobs = work(&ran.json());
    (jobs[0].1, ran.err, jobs[1].1 == 0 && jobs[1].2[0].0 == 40 << 10)
}

#[test]
fn wrong_peers_end_one_job_and_not_the_others() {
    let place = Place::new();
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let used = used.local_addr().map(|at| (used, at.port())).unwrap();
    let free = port();
    for (options, errno, phrase) in [
        (
            "--rw=write --hostname=no.such.host.invalid --port=9".into(),
            22,
            "cannot resolve the host",
        ),
        ("--rw=write --hostname=::1 --port=9".into(), 22, "tcpv6"),
        (
            format!("--rw=read --listen --hostname=127.0.0.1 --port={}", used.1),
            98,
            "another `port`",
        ),
        ("--rw=read --listen --hostname=192.0.2.1 --port=9".into(), 99, "leave `hostname` out"),
        (format!("--rw=write --hostname=127.0.0.1 --port={free}"), 111, "start the job that waits"),
        (
            format!("--rw=write --protocol=udp --hostname=127.0.0.1 --port={free}"),
            111,
            "start the receiver first",
        ),
        ("--rw=write --protocol=unix --filename=none".into(), 2, "start the job that waits"),
        ("--rw=read --protocol=unix --filename=/".into(), 98, "name another socket"),
    ] {
        let (error, text, other) = beside_another(&place, &options);
        assert!(error == errno && text.contains(phrase) && other, "{options}: {error}: {text}");
        assert!(text.contains("To fix:"), "{text}");
    }
    let long = format!("--rw=read --protocol=unix --filename={}", "x".repeat(120));
    assert!(beside_another(&place, &long).1.contains("at most 107 bytes"));
}

#[test]
fn a_signal_ends_a_job_that_waits_at_once() {
    let place = Place::new();
    for options in [
        format!("--rw=read --listen --hostname=127.0.0.1 --port={}", port()),
        format!("--rw=read --protocol=udp --hostname=127.0.0.1 --port={}", port()),
        "--rw=read --protocol=unix --filename=socket".into(),
    ] {
        let line = format!("--name=a --ioengine=net --bs=4k --size=40k {options}");
        let waiting = place.start(&line);
        under_way(&waiting);
        std::thread::sleep(Duration::from_millis(50));
        let sent = Instant::now();
        signal(&waiting, "INT");
        let ran = Ran::from(waiting.wait_with_output().unwrap());
        assert!(sent.elapsed() < Duration::from_secs(10), "{options}: {ran:?}");
        assert!(!ran.err.contains("hangs"), "{ran:?}");
    }
}

#[test]
fn the_run_time_ends_a_job_whose_peer_is_silent() {
    let place = Place::new();
    let at = port();
    let line = format!(
        "--output-format=json --name=a --ioengine=net --rw=read --listen --hostname=127.0.0.1 \
         --port={at} --bs=4k --size=40k --runtime=300ms"
    );
    let receiver = place.start(&line);
    let mut peer = connect(at);
    peer.write_all(&[7; 5000]).unwrap();
    let ran = Ran::from(receiver.wait_with_output().unwrap());
    drop(peer);
    assert_eq!(moved(&ran), (4096, 0));
    let ms = ran.json()["jobs"][0]["job_runtime"].as_u64().unwrap();
    assert!((300..20_000).contains(&ms), "{ms}");
}

/// Runs fio and fiord against each other in a network namespace, because fio listens on all addresses.
fn with_fio(place: &Place, receiver: &str, sender: &str) -> Option<[Value; 2]> {
    let script = format!(
        "command -v fio >/dev/null || exit 77
         unshare --net true || exit 77
         unshare --net --pid --fork --kill-child sh -c '
             ip link set lo up
             {receiver} --output=r --output-format=json &
             for i in $(seq 1000); do
                 grep -q : /proc/net/tcp6 /proc/net/udp; grep -q \":2694 \" /proc/net/tcp /proc/net/udp && break
                 sleep 0.01
             done
             {sender} --output=s --output-format=json
             wait'"
    );
    let ran = place.script(&script);
    if ran.status == Some(77) {
        println!("skipped: fio and root are needed");
        return None;
    }
    assert_eq!(ran.status, Some(0), "{ran:?}");
    Some(["r", "s"].map(|name| {
        let text = std::fs::read_to_string(place.path(name)).unwrap();
        serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
    }))
}

#[test]
fn fio_and_fiord_understand_each_other() {
    let place = Place::new();
    let fiord = env!("CARGO_BIN_EXE_fiord");
    // 9876 is 2694 in hexadecimal.
    for options in ["", "--pingpong", "--protocol=udp --pingpong", "--nodelay=1 --window_size=64k"]
    {
        let common = format!("--name=a --ioengine=net --bs=1k --size=64k --port=9876 {options}");
        let listen = if options.contains("udp") { "" } else { "--listen" };
        for (receiver, sender) in [("fio --thread", fiord), (fiord, "fio --thread")] {
            let receiver = format!("{receiver} {common} --rw=read {listen}");
            let sender = format!("{sender} {common} --rw=write --hostname=127.0.0.1");
            let Some([read, written]) = with_fio(&place, &receiver, &sender) else { return };
            let (read, written) = (&work(&read)[0], &work(&written)[0]);
            assert_eq!((read.1, written.1), (0, 0), "{receiver}");
            assert_eq!((read.2[0].0, written.2[1].0), (64 << 10, 64 << 10), "{receiver}");
        }
    }
}
