//! `http` against a Swift server that `cargo xtask servers --only swift` starts.

use std::process::{Child, Command};

use super::{Frozen, Service, body, external, fio_has, free_port};
use crate::fiord::{Place, work};

/// A container, and names of objects of this test.
struct Container {
    host: String,
    token: String,
    /// The beginning of the names of the objects.
    path: String,
    proxy: u32,
}

impl Container {
    /// The address of a block.
    fn url(&self, at: usize, block: usize) -> String {
        format!("http://{}{}_{at}_{block}", self.host, self.path)
    }
}

impl Service for Container {
    fn start(place: &Place) -> Option<Self> {
        let names = [
            "FIORD_TEST_SWIFT_HOST",
            "FIORD_TEST_SWIFT_CONTAINER",
            "FIORD_TEST_SWIFT_TOKEN",
            "FIORD_TEST_SWIFT_PROXY",
        ];
        let [host, container, token, proxy] = external(names, "swift")?;
        let name = place.path("x").parent()?.file_name()?.to_string_lossy().into_owned();
        let path = format!("{container}/{name}");
        Some(Container { host, token, path, proxy: proxy.parse().unwrap() })
    }

    fn job(&self) -> String {
        let Container { host, token, path, .. } = self;
        format!(
            "--ioengine=http --http_mode=swift --http_host={host} --http_swift_auth_token={token} --filename={path}"
        )
    }

    fn nowhere(&self) -> String {
        let other = format!("127.0.0.1:{}", free_port());
        self.job().replace(&self.host, &other)
    }

    fn contents(&self, _place: &Place, block: usize, len: usize) -> Option<Vec<u8>> {
        let header = format!("X-Auth-Token: {}", self.token);
        let urls = (0..len / block).map(|at| self.url(at * block, block));
        let output = Command::new("curl").args(["-s", "-f", "-H", &header]).args(urls).output();
        Some(output.unwrap().stdout)
    }

    fn freeze(&mut self, _job: &Child) -> Frozen {
        Frozen::new(self.proxy)
    }
}

#[test]
fn fio_reports_the_same_of_the_same_job() {
    body::fio_reports_the_same_of_the_same_job::<Container>();
}

#[test]
fn another_client_reads_what_a_job_wrote() {
    body::another_client_reads_what_a_job_wrote::<Container>();
}

#[test]
fn every_block_is_moved_once() {
    body::every_block_is_moved_once::<Container>();
}

#[test]
fn a_job_that_its_run_time_ends_succeeds() {
    body::a_job_that_its_run_time_ends_succeeds::<Container>();
}

#[test]
fn a_server_that_does_not_exist_ends_its_job_only() {
    body::a_server_that_does_not_exist_ends_its_job_only::<Container>();
}

#[test]
fn ranges_are_read_heads_have_no_data_and_trims_delete() {
    let place = Place::new();
    let Some(container) = Container::start(&place) else { return };
    let job = format!("--name=j {} --size=64k --output-format=json", container.job());
    let range = "--http_object_mode=range";
    place
        .run(&format!("{job} --rw=write --bs=64k --verify=crc32c --verify_interval=4k {range}"))
        .ok();
    let ran = place.run(&format!("{job} --rw=randread --bs=4k --verify=crc32c {range}")).ok();
    assert_eq!(work(&ran.json())[0].2[0], (65536, 16), "{ran:?}");
    place.run(&format!("{job} --rw=write --bs=4k")).ok();
    place.run(&format!("{job} --rw=read --bs=4k --http_read=head --iodepth=4")).ok();
    place.run(&format!("{job} --rw=trim --bs=4k --iodepth=4")).ok();
    assert_eq!(container.contents(&place, 4096, 64 << 10), Some(Vec::new()));
    let ran = place.run(&format!("{job} --rw=read --bs=4k"));
    assert!(ran.err.contains("the server answered 404"), "{ran:?}");
}

#[test]
fn wrong_tokens_and_containers_are_named() {
    let place = Place::new();
    let Some(container) = Container::start(&place) else { return };
    let job = format!("--name=j {} --rw=write --bs=4k --size=4k", container.job());
    let wrong = job.replace(&container.token, "AUTH_tkS3cr3t");
    let missing = job.replace("/bench/", "/no-such-container/");
    for (line, texts) in [
        (wrong, ["the server answered 401", "To fix: request a new token"]),
        (missing, ["the server answered 404", "To fix: "]),
    ] {
        let ran = place.run(&line);
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(texts.iter().all(|text| ran.err.contains(text)), "{}", ran.err);
        assert!(!format!("{}{}", ran.out, ran.err).contains("S3cr3t"), "{ran:?}");
    }
}

#[test]
fn a_proxy_that_stops_answering_ends_its_job_only() {
    body::a_server_that_stops_answering_ends_its_job_only::<Container>();
}

#[test]
fn fio_and_fiord_verify_what_the_other_wrote() {
    let place = Place::new();
    let Some(container) = Container::start(&place) else { return };
    if !fio_has(&place, "http") {
        return;
    }
    let line = |rest: &str| {
        format!("--name=j {} --bs=4k --size=64k --verify=crc32c {rest}", container.job())
    };
    let wrote = place.fio(&line("--thread --rw=randwrite --do_verify=0")).unwrap();
    assert_eq!(wrote.status, Some(0), "{wrote:?}");
    place.run(&line("--rw=randread --iodepth=4")).ok();
    place.run(&line("--rw=randwrite --do_verify=0 --randseed=5")).ok();
    let read = place.fio(&line("--thread --rw=randread --randseed=5")).unwrap();
    assert_eq!(read.status, Some(0), "{read:?}");
}
