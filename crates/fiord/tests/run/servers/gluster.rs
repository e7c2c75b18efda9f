//! `gfapi` and `gfapi_async` against a volume that `cargo xtask servers --only gluster` starts.

use std::path::PathBuf;
use std::process::Child;

use super::{Frozen, Service, body, external, fio_verifies};
use crate::fiord::{Place, some_work};

/// A file of a volume.
struct Volume<const ASYNC: bool> {
    server: String,
    volume: String,
    /// The directory in which the server stores the files.
    brick: PathBuf,
    /// The process that serves the brick.
    process: u32,
    name: String,
}

impl<const ASYNC: bool> Volume<ASYNC> {
    fn engine() -> &'static str {
        if ASYNC { "gfapi_async" } else { "gfapi" }
    }
}

impl<const ASYNC: bool> Service for Volume<ASYNC> {
    // The library gives a brick up between half of the timeout and the timeout.
    const PATIENCE: (u64, u64) = (6, 3);
    const UNCACHED: &str = "--direct=1";

    fn start(place: &Place) -> Option<Self> {
        let names = ["SERVER", "VOLUME", "BRICK", "PROCESS"];
        let names = names.map(|name| format!("FIORD_TEST_GLUSTER_{name}"));
        let [server, volume, brick, process] =
            external(names.each_ref().map(String::as_str), "gluster")?;
        let place = place.path("x").parent()?.file_name()?.to_string_lossy().into_owned();
        let name = format!("{}-{place}", Self::engine());
        let process = process.parse().unwrap();
        Some(Volume { server, volume, brick: brick.into(), process, name })
    }

    fn job(&self) -> String {
        let Volume { server, volume, name, .. } = self;
        format!(
            "--ioengine={} --brick={server} --volume={volume} --filename={name}",
            Self::engine()
        )
    }

    fn nowhere(&self) -> String {
        format!("--ioengine={} --brick={} --volume=none", Self::engine(), self.server)
    }

    /// The server stores each file as a file.
    fn contents(&self, _place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let mut bytes = std::fs::read(self.brick.join(&self.name)).unwrap();
        bytes.truncate(len);
        Some(bytes)
    }

    /// The library connects within the first second.
    fn freeze(&mut self, job: &Child) -> Frozen {
        some_work(job.id());
        Frozen::new(self.process)
    }
}

#[test]
fn fio_reports_the_same_of_the_same_job() {
    body::fio_reports_the_same_of_the_same_job::<Volume<false>>();
    body::fio_reports_the_same_of_the_same_job::<Volume<true>>();
}

#[test]
fn another_client_reads_what_a_job_wrote() {
    body::another_client_reads_what_a_job_wrote::<Volume<false>>();
    body::another_client_reads_what_a_job_wrote::<Volume<true>>();
}

#[test]
fn the_threads_of_the_library_use_the_cpus_of_the_job() {
    body::the_threads_of_the_library_use_the_cpus_of_the_job::<Volume<false>>("glfs_epoll");
    body::the_threads_of_the_library_use_the_cpus_of_the_job::<Volume<true>>("glfs_epoll");
}

#[test]
fn every_block_is_moved_once() {
    body::every_block_is_moved_once::<Volume<false>>();
    body::every_block_is_moved_once::<Volume<true>>();
}

#[test]
fn a_volume_that_does_not_exist_is_a_clear_error() {
    body::a_server_that_does_not_exist_ends_its_job_only::<Volume<false>>();
    body::a_server_that_does_not_exist_ends_its_job_only::<Volume<true>>();
}

#[test]
fn files_are_laid_out_before_they_are_read() {
    let place = Place::new();
    let Some(volume) = Volume::<true>::start(&place) else { return };
    place.run(&format!("--name=j {} --rw=read --bs=4k --size=256k", volume.job())).ok();
    let bytes = volume.contents(&place, 4096, 1 << 20).unwrap();
    assert_eq!(bytes.len(), 256 << 10);
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
    let line = format!("--name=j {} --rw=read --size=256k --filename=none/x", volume.job());
    let ran = place.run(&line);
    assert!(ran.err.contains("`none/x` on the volume") && ran.err.contains("To fix: "), "{ran:?}");
}

#[test]
fn a_brick_that_stops_answering_ends_its_job_only() {
    body::a_server_that_stops_answering_ends_its_job_only::<Volume<false>>();
    body::a_server_that_stops_answering_ends_its_job_only::<Volume<true>>();
}

#[test]
fn requests_that_are_open_when_a_job_ends_have_their_whole_timeout() {
    body::requests_that_are_open_when_a_job_ends_have_their_whole_timeout::<Volume<false>>();
    body::requests_that_are_open_when_a_job_ends_have_their_whole_timeout::<Volume<true>>();
}

/// A call of `gfapi` cannot be interrupted.
#[test]
fn ctrl_c_does_not_wait_for_the_brick() {
    body::ctrl_c_does_not_wait_for_the_server::<Volume<true>>();
}

#[test]
fn fio_and_fiord_verify_what_the_other_wrote() {
    let place = Place::new();
    let Some(volume) = Volume::<false>::start(&place) else { return };
    let line = |rest: &str| {
        format!("--name=j {} --bs=4k --size=256k --verify=crc32c {rest}", volume.job())
    };
    let Some(fio) = place.fio(&line("--rw=randwrite --do_verify=0")) else {
        eprintln!("skipped: fio is not installed");
        return;
    };
    if fio.status != Some(0) {
        eprintln!("not possible here: this fio has no engine for GlusterFS: {}", fio.err);
        return;
    }
    place.run(&line("--rw=randread")).ok();
    if !fio_verifies(&place) {
        return;
    }
    place.run(&line("--rw=randwrite --do_verify=0 --randseed=5")).ok();
    let read = place.fio(&line("--rw=randread --randseed=5")).unwrap();
    assert_eq!(read.status, Some(0), "{read:?}");
}
