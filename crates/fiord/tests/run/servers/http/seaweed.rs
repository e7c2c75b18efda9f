//! S3 with SeaweedFS, which checks signatures, and s3cmd as another client.

use std::process::Command;

use super::super::{Server, Service, body, free_port, listens};
use crate::fiord::Place;

struct Seaweed {
    server: Server,
    port: u16,
}

/// The only user.
const USERS: &str = r#"{"identities":[{"name":"a","credentials":[{"accessKey":"ID","secretKey":"KEY"}],
 "actions":["Admin","Read","List","Tagging","Write"]}]}"#;

impl Seaweed {
    /// Runs s3cmd. Returns its output, or `None` if it fails.
    fn s3cmd(&self, place: &Place, args: &[&str]) -> Option<Vec<u8>> {
        let mut s3cmd = place.program_in(&place.path(""), "s3cmd");
        let host = format!("127.0.0.1:{}", self.port);
        s3cmd.args(["--config=/dev/null", "--no-ssl", "--access_key=ID", "--secret_key=KEY"]);
        s3cmd.arg(format!("--host={host}")).arg(format!("--host-bucket={host}"));
        let output = s3cmd.args(args).output().unwrap();
        output.status.success().then_some(output.stdout)
    }

    fn with_key(&self, key: &str) -> String {
        format!(
            "--ioengine=http --http_mode=s3 --http_host=127.0.0.1:{} --http_s3_keyid=ID --http_s3_key={key} \
             --filename=/bucket/dir/x",
            self.port
        )
    }
}

impl Service for Seaweed {
    fn start(place: &Place) -> Option<Self> {
        if Command::new("s3cmd").arg("--version").output().is_err() {
            eprintln!("skipped: s3cmd is not installed");
            return None;
        }
        place.write("users.json", USERS);
        std::fs::create_dir(place.path("data")).unwrap();
        let port = free_port();
        let mut command = Command::new("weed");
        command.arg("server").args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-volume.max=4"]);
        command.args(["-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-s3.iam=false"]);
        command.args(["-s3.port.iceberg=0", "-s3.port.lance=0", &format!("-s3.port={port}")]);
        // Otherwise they are those of each server.
        for name in ["master", "volume", "filer"] {
            command.arg(format!("-{name}.port={}", free_port()));
        }
        for name in ["master", "volume", "filer", "s3"] {
            command.arg(format!("-{name}.port.grpc={}", free_port()));
        }
        command.arg(format!("-s3.config={}", place.path("users.json").display()));
        command.arg(format!("-dir={}", place.path("data").display()));
        let server = Server::start(&mut command, || listens(port))?;
        let seaweed = Seaweed { server, port };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while seaweed.s3cmd(place, &["mb", "s3://bucket"]).is_none() {
            assert!(std::time::Instant::now() < until, "no bucket");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Some(seaweed)
    }

    fn job(&self) -> String {
        self.with_key("KEY")
    }

    fn nowhere(&self) -> String {
        self.job().replace(&format!(":{} ", self.port), &format!(":{} ", free_port()))
    }

    fn contents(&self, place: &Place, block: usize, len: usize) -> Option<Vec<u8>> {
        let copy = place.path("copy");
        let _ = std::fs::remove_dir_all(&copy);
        std::fs::create_dir(&copy).unwrap();
        let into = format!("{}/", copy.display());
        let got = self.s3cmd(place, &["get", "--recursive", "s3://bucket/dir/", &into]);
        assert!(got.is_some(), "s3cmd fails");
        let names = (0..len / block).map(|at| copy.join(format!("x_{}_{block}", at * block)));
        let blocks: Vec<_> = names.map(|name| std::fs::read(name).unwrap()).collect();
        Some(blocks.concat())
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

#[test]
fn fio_reports_the_same_of_the_same_job() {
    body::fio_reports_the_same_of_the_same_job::<Seaweed>();
}

#[test]
fn another_client_reads_what_a_job_wrote() {
    body::another_client_reads_what_a_job_wrote::<Seaweed>();
}

#[test]
fn a_wrong_key_is_a_clear_error() {
    let place = Place::new();
    let Some(seaweed) = Seaweed::start(&place) else { return };
    for (job, status) in [
        (seaweed.with_key("OTHER"), "403 SignatureDoesNotMatch"),
        (seaweed.with_key("KEY").replace("keyid=ID", "keyid=NOBODY"), "403 InvalidAccessKeyId"),
    ] {
        let other = "--name=other --ioengine=null --rw=read --bs=4k --size=1m";
        let ran = place.run(&format!("--name=j {job} --rw=write --bs=4k --size=16k {other}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let texts = ["PUT http://127.0.0.1:", "/bucket/dir/x_0_4096: the server answered", status];
        assert!(texts.iter().all(|text| ran.err.contains(text)), "{}", ran.err);
        assert!(ran.err.contains("To fix: check `http_s3_key") && ran.out.contains("other: "));
        assert!(!ran.err.contains("OTHER"), "{}", ran.err);
    }
}
