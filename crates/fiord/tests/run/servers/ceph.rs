//! `rados` and `rbd` against a Ceph cluster that `cargo xtask servers --only ceph` starts.

use std::process::{Child, Command};
use std::time::Duration;

use super::{Frozen, Service, body, external, fio_verifies};
use crate::fiord::{Place, end};

/// A cluster, and an image or object of this test.
struct Cluster {
    pool: String,
    osd: u32,
    /// The image or object.
    name: String,
}

impl Cluster {
    /// The cluster that the environment names. `None`, with a message: there is none.
    fn find(place: &Place) -> Option<Self> {
        let [pool, osd] = external(["FIORD_TEST_CEPH_POOL", "FIORD_TEST_CEPH_OSD"], "ceph")?;
        let name = place.path("x").parent()?.file_name()?.to_string_lossy().into_owned();
        Some(Cluster { pool, osd: osd.parse().unwrap(), name })
    }

    fn rbd() -> Option<(Place, Self)> {
        let place = Place::new();
        let cluster = Cluster::find(&place)?;
        let image = format!("{}/{}", cluster.pool, cluster.name);
        call("rbd", &["create", &image, "--size", &format!("{}B", body::SIZE)]);
        Some((place, cluster))
    }
}

/// Runs a program of Ceph. Returns its output.
#[track_caller]
fn call(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

struct Image(Cluster);

impl Service for Image {
    fn start(place: &Place) -> Option<Self> {
        let cluster = Cluster::find(place)?;
        let image = format!("{}/{}", cluster.pool, cluster.name);
        call("rbd", &["create", &image, "--size", &format!("{}B", body::SIZE)]);
        Some(Image(cluster))
    }

    fn job(&self) -> String {
        let Cluster { pool, name, .. } = &self.0;
        format!("--ioengine=rbd --clientname=admin --pool={pool} --rbdname={name}")
    }

    fn nowhere(&self) -> String {
        format!("--ioengine=rbd --pool={} --rbdname=none", self.0.pool)
    }

    fn contents(&self, place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let file = place.path("export");
        let _ = std::fs::remove_file(&file);
        let image = format!("{}/{}", self.0.pool, self.0.name);
        call("rbd", &["export", &image, &file.display().to_string()]);
        let mut bytes = std::fs::read(file).unwrap();
        bytes.truncate(len);
        Some(bytes)
    }

    fn freeze(&mut self, _job: &Child) -> Frozen {
        Frozen::new(self.0.osd)
    }
}

struct Object(Cluster);

impl Service for Object {
    fn start(place: &Place) -> Option<Self> {
        Cluster::find(place).map(Object)
    }

    fn job(&self) -> String {
        let Cluster { pool, name, .. } = &self.0;
        format!(
            "--ioengine=rados --clientname=admin --conf={} --pool={pool} --filename={name}",
            conf()
        )
    }

    fn nowhere(&self) -> String {
        format!("--ioengine=rados --conf={} --pool=none", conf())
    }

    fn contents(&self, place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let file = place.path("object");
        call("rados", &["-p", &self.0.pool, "get", &self.0.name, &file.display().to_string()]);
        let mut bytes = std::fs::read(file).unwrap();
        bytes.truncate(len);
        Some(bytes)
    }

    fn freeze(&mut self, _job: &Child) -> Frozen {
        Frozen::new(self.0.osd)
    }
}

fn conf() -> String {
    std::env::var("CEPH_CONF").unwrap_or_default()
}

#[test]
fn fio_reports_the_same_of_the_same_job() {
    body::fio_reports_the_same_of_the_same_job::<Image>();
    body::fio_reports_the_same_of_the_same_job::<Object>();
}

#[test]
fn another_client_reads_what_a_job_wrote() {
    body::another_client_reads_what_a_job_wrote::<Image>();
    body::another_client_reads_what_a_job_wrote::<Object>();
}

#[test]
fn the_threads_of_the_library_use_the_cpus_of_the_job() {
    body::the_threads_of_the_library_use_the_cpus_of_the_job::<Image>("msgr-worker");
    body::the_threads_of_the_library_use_the_cpus_of_the_job::<Object>("msgr-worker");
}

#[test]
fn every_block_is_moved_once() {
    body::every_block_is_moved_once::<Image>();
    body::every_block_is_moved_once::<Object>();
}

#[test]
fn a_target_that_does_not_exist_is_a_clear_error() {
    body::a_server_that_does_not_exist_ends_its_job_only::<Image>();
    body::a_server_that_does_not_exist_ends_its_job_only::<Object>();
}

#[test]
fn wrong_options_are_named() {
    let Some((place, Cluster { pool, name, .. })) = Cluster::rbd() else { return };
    let rbd =
        format!("--name=j --ioengine=rbd --pool={pool} --rbdname={name} --rw=read --size=64k");
    let rados =
        format!("--name=j --ioengine=rados --conf={} --pool={pool} --rw=read --size=64k", conf());
    for (line, expected) in [
        (format!("{rbd} --rbdname=none"), "cannot open the image `none`"),
        (format!("{rbd} --pool=none"), "cannot open the pool `none`"),
        (format!("{rbd} --clientname=nobody"), "the cluster refuses client.nobody"),
        (format!("{rbd} --rbd_encryption_format=luks3"), "is not a format"),
        (
            format!("{rbd} --rbd_encryption_format=luks2 --rbd_encryption_passphrase=x"),
            "cannot open the encryption of the image",
        ),
        (format!("{rados} --conf=/none"), "cannot read the configuration of Ceph, `/none`"),
        (
            format!("{rados} --filename=no-such-object --touch_objects=0"),
            "failed: No such file or directory (ENOENT). To fix: write the object first",
        ),
    ] {
        let ran = place.run(&line);
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(expected) && ran.err.contains("To fix: "), "{line}: {}", ran.err);
    }
}

#[test]
fn a_monitor_that_does_not_exist_is_noticed_in_time() {
    let place = Place::new();
    let Some(Cluster { pool, .. }) = Cluster::find(&place) else { return };
    let other = std::fs::read_to_string(conf()).unwrap();
    let other = other.replace(":3300", ":1").replace(":6789", ":2");
    place.write("other.conf", other);
    let line = format!(
        "--name=j --ioengine=rados --conf=other.conf --pool={pool} --rw=read --size=64k --endpoint_timeout=2"
    );
    let ran = end(place.start(&line), Duration::from_secs(100));
    assert!(ran.err.contains("no monitor answered within 2 s. To fix: "), "{ran:?}");
}

#[test]
fn an_encrypted_image_is_read_with_its_passphrase() {
    let Some((place, Cluster { pool, name, .. })) = Cluster::rbd() else { return };
    place.write("phrase", "open sesame");
    let image = format!("{pool}/{name}");
    call("rbd", &["resize", &image, "--size", "64M"]);
    let phrase = place.path("phrase").display().to_string();
    call("rbd", &["encryption", "format", &image, "luks2", &phrase]);
    let job = |phrase: &str| {
        format!(
            "[j]\nioengine=rbd\npool={pool}\nrbdname={name}\nrw=write\nbs=64k\nsize=256k\nverify=crc32c\n\
             rbd_encryption_format=luks2\nrbd_encryption_passphrase={phrase}\n"
        )
    };
    place.write("job", job("open sesame"));
    place.run("job").ok();
    place.write("job", job("something else"));
    let ran = place.run("job");
    assert!(ran.err.contains("To fix: check `rbd_encryption_passphrase`"), "{ran:?}");
    assert!(!ran.err.contains("something else"), "{ran:?}");
}

#[test]
fn an_osd_that_stops_answering_ends_its_jobs_only() {
    body::a_server_that_stops_answering_ends_its_job_only::<Image>();
    body::a_server_that_stops_answering_ends_its_job_only::<Object>();
}

#[test]
fn requests_that_are_open_when_a_job_ends_have_their_whole_timeout() {
    body::requests_that_are_open_when_a_job_ends_have_their_whole_timeout::<Image>();
    body::requests_that_are_open_when_a_job_ends_have_their_whole_timeout::<Object>();
}

#[test]
fn ctrl_c_does_not_wait_for_the_osd() {
    body::ctrl_c_does_not_wait_for_the_server::<Image>();
    body::ctrl_c_does_not_wait_for_the_server::<Object>();
}

#[test]
fn trims_of_objects_read_as_zeros() {
    let place = Place::new();
    let Some(object) = Object::start(&place) else { return };
    let line = format!("--name=j {} --bs=4k --size=64k", object.job());
    place.run(&format!("{line} --rw=write --buffer_pattern=0x11")).ok();
    place.run(&format!("{line} --rw=trim --offset=16k --size=16k")).ok();
    let bytes = object.contents(&place, 4096, 64 << 10).unwrap();
    assert!(bytes[16 << 10..32 << 10].iter().all(|byte| *byte == 0));
    assert!(bytes[..16 << 10].iter().chain(&bytes[32 << 10..]).all(|byte| *byte == 0x11));
}

#[test]
fn fio_and_fiord_verify_what_the_other_wrote() {
    let Some((place, cluster)) = Cluster::rbd() else { return };
    let jobs = [Image(Cluster { name: cluster.name.clone(), ..cluster }).job(), {
        let Some(object) = Object::start(&place) else { return };
        object.job()
    }];
    for job in jobs {
        let line = |rest: &str| {
            format!("--name=j {job} --bs=4k --size=256k --iodepth=4 --verify=crc32c {rest}")
        };
        let Some(fio) = place.fio(&line("--rw=randwrite --do_verify=0")) else {
            eprintln!("skipped: fio is not installed");
            return;
        };
        if fio.status != Some(0) {
            eprintln!("not possible here: this fio has no engine for Ceph: {}", fio.err);
            return;
        }
        place.run(&line("--rw=randread")).ok();
        if !fio_verifies(&place) {
            continue;
        }
        place.run(&line("--rw=randwrite --do_verify=0 --randseed=5")).ok();
        let read = place.fio(&line("--rw=randread --randseed=5")).unwrap();
        assert_eq!(read.status, Some(0), "{read:?}");
    }
}
