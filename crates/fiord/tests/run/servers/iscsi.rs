//! `libiscsi`: logical units of tgt.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::body::{SIZE, tests_of};
use super::relay::{Relay, Upstream};
use super::{Relayed, Server, Service, free_port, listens};
use crate::fiord::{Place, end, under_way, work};

/// The name of the target.
const TARGET: &str = "iqn.2026-11.fiord:t";

/// tgt with two logical units below the place: `unit1` and `unit2`, of which jobs use the first.
struct Tgt {
    server: Server,
    port: u16,
    /// The number of the socket by which tgt is controlled.
    control: u32,
}

impl Tgt {
    /// Gives tgt an order.
    fn admin(&self, order: &str) -> Output {
        admin(self.control, order)
    }

    /// The name of a logical unit, as `filename` takes it.
    fn unit(&self, lun: u32) -> String {
        format!("iscsi\\://127.0.0.1\\:{}/{}/{lun}", self.port, TARGET.replace(':', "\\:"))
    }

    /// The options of a job on logical units.
    fn on(&self, luns: &[u32]) -> String {
        let units: Vec<_> = luns.iter().map(|lun| self.unit(*lun)).collect();
        format!("--ioengine=libiscsi --filename={}", units.join(":"))
    }
}

/// Where tgtd and tgtadm meet (tgtd(8)): an ordinary user cannot write to the default, which is in `/var/run`.
fn ipc() -> PathBuf {
    std::env::temp_dir().join(format!("fiord-tgt-{}", std::process::id()))
}

fn admin(control: u32, order: &str) -> Output {
    let mut command = Command::new("tgtadm");
    command.env("TGT_IPC_SOCKET", ipc());
    command.args(["-C", &control.to_string(), "--lld", "iscsi"]).args(order.split_whitespace());
    command.output().unwrap()
}

impl Service for Tgt {
    fn start(place: &Place) -> Option<Self> {
        if Command::new("tgtadm").arg("--version").output().is_err() {
            eprintln!("skipped: tgt is not installed");
            return None;
        }
        let installed =
            Command::new("sh").args(["-c", "ldconfig -p | grep -q libiscsi.so.7"]).status();
        if !installed.unwrap().success() {
            eprintln!("skipped: libiscsi is not installed");
            return None;
        }
        let port = free_port();
        // At most 32767. Ports that the kernel chooses differ in this, as they are from one half of all ports.
        let control = u32::from(port % 32768);
        let mut command = Command::new("tgtd");
        command.env("TGT_IPC_SOCKET", ipc());
        command.args([
            "-f",
            "-C",
            &control.to_string(),
            "--iscsi",
            &format!("portal=127.0.0.1:{port}"),
        ]);
        let server = Server::start(&mut command, || {
            listens(port) && admin(control, "--op show --mode sys").status.success()
        })?;
        let tgt = Tgt { server, port, control };
        let mut orders = vec![format!("--op new --mode target --tid 1 -T {TARGET}")];
        for lun in [1, 2] {
            let name = format!("unit{lun}");
            place.write(&name, vec![0; SIZE]);
            let path = place.path(&name);
            orders.push(format!(
                "--op new --mode logicalunit --tid 1 --lun {lun} -b {}",
                path.display()
            ));
        }
        orders.push("--op bind --mode target --tid 1 -I ALL".to_owned());
        for order in orders {
            let done = tgt.admin(&order);
            assert!(done.status.success(), "{order}: {done:?}");
        }
        Some(tgt)
    }

    fn job(&self) -> String {
        self.on(&[1])
    }

    fn nowhere(&self) -> String {
        let port = free_port();
        self.on(&[1]).replace(&format!("\\:{}/", self.port), &format!("\\:{port}/"))
    }

    fn contents(&self, place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let url = self.unit(1).replace('\\', "");
        let copy = place.path("copy");
        let mut command = Command::new("qemu-img");
        command.args(["dd", "-O", "raw", "bs=64k", &format!("if={url}")]);
        command.arg(format!("of={}", copy.display()));
        let mut bytes = match command.output() {
            Ok(output) if output.status.success() => std::fs::read(copy).unwrap(),
            // Without the program or its driver for iSCSI: the file behind the logical unit.
            _ => std::fs::read(place.path("unit1")).unwrap(),
        };
        bytes.truncate(len);
        Some(bytes)
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Relayed for Tgt {
    fn relayed(&self) -> (Relay, String) {
        let relay = Relay::to(Upstream::Port(self.port));
        let job = self.job();
        let job = job.replace(&format!("\\:{}/", self.port), &format!("\\:{}/", relay.port));
        (relay, job)
    }
}

impl Drop for Tgt {
    fn drop(&mut self) {
        // tgt removes its control socket when it ends in this way. One that is stopped does not answer.
        let mut command = Command::new("timeout");
        command.args([
            "5",
            "tgtadm",
            "-C",
            &self.control.to_string(),
            "--op",
            "delete",
            "--mode",
            "system",
        ]);
        command.env("TGT_IPC_SOCKET", ipc());
        let _ = command.output();
        for suffix in ["", ".lock"] {
            let _ = std::fs::remove_file(format!("{}.{}{suffix}", ipc().display(), self.control));
        }
    }
}

tests_of!(Tgt);

#[test]
fn a_job_uses_several_logical_units() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let job = format!("--name=a {} --bs=4k --iodepth=8 --output-format=json", tgt.on(&[1, 2]));
    let done =
        work(&place.run(&format!("{job} --rw=randwrite --verify=crc32c --size=1m")).ok().json());
    assert_eq!(done[0].2.map(|dir| dir.1), [256, 256, 0]);
    for name in ["unit1", "unit2"] {
        assert!(
            std::fs::read(place.path(name)).unwrap()[..65536].iter().any(|byte| *byte != 0),
            "{name}"
        );
    }
}

#[test]
fn the_size_is_that_of_the_logical_unit() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let job = format!("--name=a {} --rw=read --bs=64k --output-format=json", tgt.job());
    assert_eq!(work(&place.run(&job).ok().json())[0].2[0].0, SIZE as u64);
}

#[test]
fn a_job_that_does_not_fit_its_logical_unit_is_a_clear_error() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let job = format!("--name=a {} --bs=4k --output-format=json", tgt.job());
    let ran = place.run(&format!("{job} --rw=read --offset=2m"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let expected = "offset 2097152 is at or past the end of";
    assert!(ran.err.contains(expected) && ran.err.contains("To fix: "), "{}", ran.err);
    // As on a block device, the job uses what is there.
    let ran = place.run(&format!("{job} --rw=read --size=2m")).ok();
    assert_eq!(work(&ran.json())[0].2[0].0, SIZE as u64);
}

/// The logical unit is replaced by a smaller one while the session of a job is lost.
#[test]
fn a_logical_unit_that_became_smaller_ends_its_job() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let (relay, job) = tgt.relayed();
    let line = format!(
        "--name=a {job} --bs=4k --rw=randread --iodepth=4 --time_based --runtime=300 --continue_on_error=all \
         --endpoint_timeout=30"
    );
    let child = place.start(&line);
    under_way(&child);
    relay.hold(true);
    relay.cut();
    place.write("small", vec![0; SIZE / 2]);
    let small = place.path("small");
    for order in [
        "--op delete --mode logicalunit --tid 1 --lun 1".to_owned(),
        format!("--op new --mode logicalunit --tid 1 --lun 1 -b {}", small.display()),
    ] {
        let until = Instant::now() + Duration::from_secs(20);
        // Until tgt has noticed that the session is over, the unit is in use.
        while !tgt.admin(&order).status.success() {
            assert!(Instant::now() < until, "{order}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    relay.hold(false);
    let ran = end(child, Duration::from_secs(60));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let expected = "has 524288 bytes, but the job uses it up to byte 1048576";
    assert!(ran.err.contains(expected) && ran.err.contains("To fix: "), "{}", ran.err);
}

#[test]
fn wrong_names_are_clear_errors() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let job = tgt.job();
    for (job, why) in [
        (tgt.on(&[7]), "iscsi-ls -s"),
        (job.replace("fiord\\:t", "fiord\\:x"), "Target not found"),
        ("--ioengine=libiscsi --filename=foo".to_owned(), "is not the URL of a logical unit"),
        (format!("{job} --bs=700"), "block size"),
    ] {
        let ran = place.run(&format!("--name=a --size=64k --rw=write --bs=4k {job}"));
        assert_eq!(ran.status, Some(1), "{job}: {ran:?}");
        assert!(ran.err.contains(why) && ran.err.contains("To fix: "), "{job}: {}", ran.err);
    }
}

#[test]
fn a_password_is_not_shown() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    for order in [
        "--op new --mode account --user someone --password hidden-word-1",
        "--op bind --mode account --tid 1 --user someone",
    ] {
        assert!(tgt.admin(order).status.success(), "{order}");
    }
    let job = |login: &str| {
        let at = format!("://{login}@");
        let job = tgt.job().replace("\\://", &at.replace(':', "\\:"));
        format!("--name=a {job} --rw=read --bs=4k --size=64k")
    };
    place.run(&job("someone%hidden-word-1")).ok();
    let ran = place.run(&job("someone%hidden-word-2"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot log in") && ran.err.contains("To fix: "), "{}", ran.err);
    let told = ran.err.lines().next().unwrap();
    assert!(!told.contains("hidden-word"), "{told}");
}

#[test]
fn a_write_protected_unit_refuses_jobs_that_write() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let order = "--op update --mode logicalunit --tid 1 --lun 1 --params readonly=1";
    assert!(tgt.admin(order).status.success());
    let job = format!("--name=a {} --bs=4k --size=64k", tgt.job());
    place.run(&format!("{job} --rw=read")).ok();
    let ran = place.run(&format!("{job} --rw=write"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("read-only") && ran.err.contains("To fix: "), "{}", ran.err);
}

#[test]
fn trims_deallocate_or_are_a_clear_error() {
    let place = Place::new();
    let Some(tgt) = Tgt::start(&place) else { return };
    let job = format!("--name=a {} --bs=4k --size=64k --output-format=json", tgt.job());
    let ran = place.run(&format!("{job} --rw=trim"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("thinly provisioned"), "{}", ran.err);
    let order = "--op update --mode logicalunit --tid 1 --lun 1 --params thin_provisioning=1";
    assert!(tgt.admin(order).status.success());
    place.run(&format!("{job} --rw=write")).ok();
    let done = work(&place.run(&format!("{job} --rw=trim --iodepth=4")).ok().json());
    assert_eq!(done[0].2[2].1, 16);
    assert!(std::fs::read(place.path("unit1")).unwrap()[..65536].iter().all(|byte| *byte == 0));
}
