//! `ioengine=nbd` on nbdkit and qemu-nbd. The tests of TLS are in `tls`.

mod tls;

use std::os::unix::net::UnixStream;
use std::process::Command;

use super::relay::{Relay, Upstream};
use super::{Relayed, Server, Service, body, free_port, listens};
use crate::fiord::{Place, work};

/// nbdkit with a disk in memory, on a Unix socket.
struct Nbdkit {
    server: Server,
    uri: String,
}

impl Nbdkit {
    /// Starts nbdkit with these words after its options.
    fn with(place: &Place, words: &[&str]) -> Option<Self> {
        let socket = place.path("nbd.sock");
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--unix"]).arg(&socket).args(words);
        let server = Server::start(&mut command, || UnixStream::connect(&socket).is_ok())?;
        Some(Nbdkit { server, uri: format!("nbd+unix:///?socket={}", socket.display()) })
    }
}

impl Service for Nbdkit {
    fn start(place: &Place) -> Option<Self> {
        Nbdkit::with(place, &["memory", "1M"])
    }

    fn job(&self) -> String {
        format!("--ioengine=nbd --uri={}", self.uri)
    }

    fn nowhere(&self) -> String {
        format!("--ioengine=nbd --uri=nbd://127.0.0.1:{}", free_port())
    }

    fn contents(&self, place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let copy = place.path("copy");
        let done = Command::new("nbdcopy").arg(&self.uri).arg(&copy).status();
        let Ok(status) = done else {
            eprintln!("skipped: nbdcopy is not installed");
            return None;
        };
        assert!(status.success());
        let mut bytes = std::fs::read(copy).unwrap();
        assert_eq!(bytes.len(), body::SIZE);
        bytes.truncate(len);
        Some(bytes)
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Relayed for Nbdkit {
    fn relayed(&self) -> (Relay, String) {
        let socket = self.uri.split_once("socket=").map_or("", |(_, socket)| socket);
        let relay = Relay::to(Upstream::Socket(socket.into()));
        let job = format!("--ioengine=nbd --uri=nbd://127.0.0.1:{}", relay.port);
        (relay, job)
    }
}

body::tests_of!(Nbdkit);

#[test]
fn the_size_is_that_of_the_export_and_trims_are_zeroes() {
    let place = Place::new();
    let Some(service) = Nbdkit::start(&place) else { return };
    let job = format!("--name=j {} --bs=64k --output-format=json", service.job());
    let ran = place.run(&format!("{job} --rw=write --iodepth=4 --buffer_pattern=0x11")).ok();
    assert_eq!(work(&ran.json())[0].2[1], (1 << 20, 16));
    let ran = place.run(&format!("{job} --rw=randtrim --size=512k")).ok();
    assert_eq!(work(&ran.json())[0].2[2], (512 << 10, 8));
    let Some(bytes) = service.contents(&place, 0, body::SIZE) else { return };
    assert!(bytes[..512 << 10].iter().all(|byte| *byte == 0));
    assert!(bytes[512 << 10..].iter().all(|byte| *byte == 0x11));
}

#[test]
fn what_is_wrong_is_a_clear_error() {
    let place = Place::new();
    let Some(service) = Nbdkit::with(&place, &["--readonly", "memory", "1M"]) else { return };
    let reads = format!("--name=j {} --bs=4k --size=64k", service.job());
    place.run(&format!("{reads} --rw=read")).ok();
    for (line, what) in [
        (format!("{reads} --rw=write"), "the server forbids writes and trims"),
        (format!("{reads} --rw=read --offset=2m"), "offset 2097152 is at or past the end of"),
        ("--name=j --ioengine=nbd --rw=read".into(), "the job sets no `uri`"),
        ("--name=j --ioengine=nbd --rw=read --uri=http://x".into(), "does not begin with `nbd://`"),
        (
            "--name=j --ioengine=nbd --rw=read --uri=nbd://x/?tls-certificates=y".into(),
            "has the parameter `tls-certificates`",
        ),
        (
            "--name=j --ioengine=nbd --rw=read --uri=nbd://x --endpoint_timeout=0".into(),
            "no time to answer",
        ),
    ] {
        let ran = place.run(&line);
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(what) && ran.err.contains("To fix: "), "{line}: {}", ran.err);
    }
}

#[test]
fn errors_of_the_server_are_errors_of_single_ios() {
    let place = Place::new();
    let words = ["--filter=error", "memory", "1M", "error-pread=EIO", "error-pread-rate=100%"];
    let Some(service) = Nbdkit::with(&place, &words) else { return };
    let job = format!("--name=j {} --bs=4k --size=64k --rw=read", service.job());
    let ran = place.run(&format!("{job} --output-format=json"));
    const EIO: i64 = 5;
    assert_eq!((ran.status, work(&ran.json())[0].1), (Some(1), EIO), "{ran:?}");
    let ran = place.run(&format!("{job} --output-format=json --continue_on_error=all"));
    let job = &ran.json()["jobs"][0];
    assert_eq!(
        (job["total_err"].as_u64(), job["first_error"].as_i64()),
        (Some(16), Some(EIO)),
        "{ran:?}"
    );
}

/// A server over TCP with a named export, which serves one client at a time.
#[test]
fn qemu_serves_a_named_export() {
    let place = Place::new();
    place.write("disk", vec![0; body::SIZE]);
    let port = free_port();
    let mut command = Command::new("qemu-nbd");
    command.args(["--format=raw", "--persistent", "--shared=4", "--export-name=disk 1"]);
    command.args(["--bind=127.0.0.1", &format!("--port={port}")]).arg(place.path("disk"));
    let Some(_server) = Server::start(&mut command, || listens(port)) else { return };
    let job = format!("--name=j --ioengine=nbd --uri=nbd://127.0.0.1:{port}/disk%201 --bs=4k");
    let line = format!(
        "{job} --rw=randwrite --iodepth=16 --verify=crc32c --end_fsync=1 --output-format=json"
    );
    let ran = place.run(&line).ok();
    assert_eq!(work(&ran.json())[0].2.map(|dir| dir.1), [256, 256, 0]);
    assert!(std::fs::read(place.path("disk")).unwrap().chunks(4096).all(|block| block[0] != 0));
    let ran = place.run(&job.replace("disk%201", "other"));
    assert!(ran.err.contains("the server has no export `other`"), "{}", ran.err);
}
