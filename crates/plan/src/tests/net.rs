//! The peers of `net` and what streams cannot do.

use std::path::Path;

use fiord_types::Bytes;

use super::*;
use crate::model::*;

fn line(rest: &str) -> String {
    format!("--name=a --ioengine=net --size=1m {rest}")
}

fn addresses(rest: &str) -> Vec<Vec<String>> {
    let jobs = jobs(&Fake::empty(), &line(rest));
    let path = |file: &FilePlan| file.path.display().to_string();
    assert!(jobs.iter().flat_map(|job| &job.target.files).all(|f| f.kind == FileKind::Endpoint));
    jobs.iter().map(|job| job.target.files.iter().map(path).collect()).collect()
}

fn plan(rest: &str) -> NetPlan {
    match job(&Fake::empty(), &line(rest)).engine {
        EnginePlan::Net(plan) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_instance_has_a_port_of_its_own() {
    let sender = "--rw=write --hostname=server --port=8888";
    assert_eq!(addresses(sender), [["server:8888"]]);
    let three = addresses(&format!("{sender} --numjobs=3"));
    assert_eq!(three, [["server:8888"], ["server:8890"], ["server:8889"]]);
    assert_eq!(addresses("--rw=write --hostname=::1 --port=1 --protocol=tcpv6"), [["[::1]:1"]]);
    assert_eq!(addresses("--rw=read --listen --port=80"), [["0.0.0.0:80"]]);
    assert_eq!(addresses("--rw=read --listen --port=80 --protocol=tcpv6"), [["[::]:80"]]);
    assert_eq!(addresses("--rw=read --protocol=udp --port=80"), [["0.0.0.0:80"]]);
    let two = addresses("--rw=write --hostname=h --port=80 --nrfiles=2");
    assert_eq!(two, [["h:80", "h:80"]]);
    let named = addresses("--rw=write --hostname=h --filename=b:c --port=80");
    assert_eq!(named, [["b:80", "c:80"]], "filename comes before hostname, as in fio");
    let unix = addresses("--rw=write --protocol=unix --hostname=/s --numjobs=2");
    assert_eq!(unix, [["/s"], ["/s.1"]]);
    let vsock = job(&Fake::empty(), &line("--rw=write --protocol=vsock --hostname=2 --port=70"));
    assert_eq!(vsock.target.files[0].path, Path::new("2:70"));
}

#[test]
fn which_end_waits() {
    assert!(plan("--rw=read --listen --port=80").waits);
    assert!(plan("--rw=write --listen --port=80").waits, "a listener may send");
    assert!(!plan("--rw=read --hostname=h --port=80").waits);
    assert!(plan("--rw=read --protocol=udp --port=80").waits);
    assert!(!plan("--rw=write --protocol=udp --port=80 --hostname=h").waits);
    assert!(plan("--rw=read --protocol=unix --filename=/s").waits);
    assert!(!plan("--rw=write --protocol=unix --filename=/s").waits);
}

#[test]
fn options_reach_the_plan() {
    let sender = "--rw=write --hostname=h --port=80";
    assert!(plan(sender).continuous && !plan(&format!("{sender} --pingpong")).continuous);
    assert!(!plan(&format!("{sender} --rate=1m")).continuous);
    let all = plan(&format!("{sender} --nodelay=1 --window_size=64k --mss=1400 --pingpong"));
    assert!(all.nodelay && all.pingpong);
    assert_eq!((all.window, all.segment), (Some(Bytes::from_kib(64)), Some(Bytes(1400))));
    let udp = plan(
        "--rw=write --protocol=udp --port=9 --hostname=239.1.1.1 --ttl=7 --interface=10.0.0.1",
    );
    assert_eq!((udp.ttl.hops(), udp.interface), (7, Some("10.0.0.1".parse().unwrap())));
}

#[test]
fn what_no_network_can_do_is_refused() {
    let sender = "--hostname=h --port=80";
    for (rest, phrase) in [
        (format!("--rw=randwrite {sender}"), "network IO can't be random"),
        (format!("--rw=rw {sender}"), "either sends or receives"),
        (format!("--rw=trim {sender}"), "cannot trim"),
        (format!("--rw=write --verify=md5 {sender}"), "cannot verify"),
        (format!("--rw=write --io_submit_mode=offload {sender}"), "share a connection"),
        ("--rw=write --port=80".into(), "connect with no host to connect to"),
        ("--rw=write --hostname=h".into(), "network IO requires port"),
        ("--rw=read --listen --protocol=udp --port=80".into(), "listen only valid for TCP"),
        ("--rw=write --listen --protocol=unix --filename=/s".into(), "listens"),
        ("--rw=write --protocol=unix".into(), "UNIX sockets need host/filename"),
        ("--rw=write --protocol=unix --filename=/s --port=80".into(), "port not valid with unix"),
        ("--rw=write --protocol=vsock --hostname=h --port=80".into(), "is a number, not `h`"),
        (format!("--rw=write --protocol=udp --bs=64k {sender}"), "at most 65507 bytes"),
        (format!("--rw=write --protocol=udp --interface=eth0 {sender}"), "interface not valid"),
        (format!("--rw=write --protocol=udp --ttl=256 {sender}"), "value out of range"),
        ("--rw=write --hostname=h --port=65535 --numjobs=2".into(), "above 65535"),
    ] {
        let what = error(&Fake::empty(), &line(&rest));
        assert!(what.contains(phrase), "{rest}: {what}");
    }
    let none = error(&Fake::empty(), "--name=a --ioengine=net --rw=read --listen --port=80");
    assert!(none.contains("you need to specify size="), "{none}");
    let deep = run(&Fake::empty(), &line(&format!("--rw=write {sender} --iodepth=4"))).unwrap();
    assert!(deep.warnings.iter().any(|w| w.what.contains("capped at 1")), "{:?}", deep.warnings);
}
