//! `nfs`: files on nfs-ganesha, which runs with an rpcbind of its own.

use std::fmt::Write as _;
use std::process::Command;

use super::body::tests_of;
use super::relay::{Relay, Upstream};
use super::{Relayed, Server, Service, free_port, listens};
use crate::fiord::Place;

/// nfs-ganesha with two exports below the place: `data`, and `fixed`, which is read-only.
struct Ganesha {
    server: Server,
    data: String,
    fixed: String,
    nowhere: String,
}

/// Starts rpcbind, to which nothing outside this mount namespace connects, and nfs-ganesha. rpcbind ends with it: it changes
/// its user, which cancels a signal for the death of its parent, so that it has a namespace of processes that ends.
const START: &str = "mount -t tmpfs none /run && mkdir -p /run/rpcbind /run/ganesha || exit 1
setpriv --pdeathsig KILL unshare -n -p -f --kill-child sh -c 'rpcbind -f -w & wait' &
until [ -S /run/rpcbind.sock ]; do sleep 0.01; done
exec ganesha.nfsd -F -L log -f ganesha.conf -p pid -N NIV_WARN";

fn configuration(directory: &str, nfs: u16, mount: u16) -> String {
    let mut text = format!(
        "NFS_CORE_PARAM {{ Bind_addr = 127.0.0.1; NFS_Port = {nfs}; MNT_Port = {mount}; Enable_NLM = false; \
         Enable_RQUOTA = false; Enable_UDP = false; Protocols = 3,4; }}\n\
         NFSv4 {{ Graceless = true; RecoveryBackend = fs_ng; RecoveryRoot = {directory}/recovery; }}\n\
         NFS_KRB5 {{ Active_krb5 = false; }}\n"
    );
    for (number, name, access) in [(1, "data", "RW"), (2, "fixed", "RO")] {
        let _ = writeln!(
            text,
            "EXPORT {{ Export_Id = {number}; Path = {directory}/{name}; Pseudo = /{name}; Access_Type = {access}; \
             Squash = No_Root_Squash; SecType = sys; Protocols = 3,4; Transports = TCP; FSAL {{ Name = VFS; }} }}"
        );
    }
    text
}

/// Whether a program exists, without running it.
fn exists(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let exists = found.is_ok_and(|output| output.status.success());
    if !exists {
        eprintln!("skipped: {program} is not installed");
    }
    exists
}

impl Service for Ganesha {
    // At a depth above 1, and in passes that verify, fio counts I/Os that did not take place.
    const LOADS_OF_FIO: &'static [&'static str] =
        &["--rw=write", "--rw=read", "--rw=randread --io_size=64k"];

    fn start(place: &Place) -> Option<Self> {
        if !["ganesha.nfsd", "rpcbind", "setpriv", "unshare"].into_iter().all(exists) {
            return None;
        }
        let own =
            Command::new("unshare").args(["-mn", "mount", "-t", "tmpfs", "none", "/run"]).output();
        if !own.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: needs a mount namespace of its own");
            return None;
        }
        if Command::new("sh")
            .args(["-c", "ldconfig -p | grep -q libnfs.so.13"])
            .status()
            .ok()?
            .code()
            != Some(0)
        {
            eprintln!("skipped: libnfs is not installed");
            return None;
        }
        let directory = place.path("").to_string_lossy().trim_end_matches('/').to_owned();
        for name in ["data", "fixed", "recovery"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        place.write("fixed/there", vec![7; 65536]);
        let (nfs, mount) = (free_port(), free_port());
        place.write("ganesha.conf", configuration(&directory, nfs, mount));
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", START]).current_dir(&directory);
        let server = Server::start(&mut command, || listens(nfs) && listens(mount))?;
        let url = |name: &str, nfs: u16, mount: u16| {
            format!(
                "--ioengine=nfs --nfs_url=nfs://127.0.0.1{directory}/{name}?version=3&nfsport={nfs}&mountport={mount}"
            )
        };
        let free = free_port();
        let nowhere = format!("{} --filename=f", url("data", free, free));
        Some(Ganesha {
            server,
            data: url("data", nfs, mount),
            fixed: url("fixed", nfs, mount),
            nowhere,
        })
    }

    fn job(&self) -> String {
        format!("{} --filename=f", self.data)
    }

    fn nowhere(&self) -> String {
        self.nowhere.clone()
    }

    fn contents(&self, place: &Place, _block: usize, len: usize) -> Option<Vec<u8>> {
        let url = self.data.split_once("--nfs_url=").unwrap().1.replace('?', "/f?");
        let Ok(output) = Command::new("nfs-cat").arg(url).output() else {
            // The file that the server keeps.
            let mut bytes = std::fs::read(place.path("data/f")).unwrap();
            bytes.truncate(len);
            return Some(bytes);
        };
        assert!(output.status.success(), "{output:?}");
        Some(output.stdout[..len].to_vec())
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Relayed for Ganesha {
    fn relayed(&self) -> (Relay, String) {
        let port = self.data.split_once("nfsport=").unwrap().1.split('&').next().unwrap();
        let relay = Relay::to(Upstream::Port(port.parse().unwrap()));
        let job = self.job();
        let job = job.replace(&format!("nfsport={port}"), &format!("nfsport={}", relay.port));
        (relay, job)
    }
}

tests_of!(Ganesha);

/// The length of a file that the server keeps, in bytes.
fn length(place: &Place, name: &str) -> u64 {
    std::fs::metadata(place.path(name)).unwrap().len()
}

#[test]
fn a_job_creates_the_files_that_it_names() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    let line =
        format!("--name=a {} --rw=write --bs=4k --size=64k --nrfiles=2 --numjobs=2", ganesha.data);
    place.run(&line).ok();
    for name in ["a.0.0", "a.0.1", "a.1.0", "a.1.1"] {
        assert_eq!(length(&place, &format!("data/{name}")), 32768, "{name}");
    }
}

#[test]
fn a_job_that_also_reads_finds_all_of_its_file() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    let line = format!(
        "--name=a {} --rw=randrw --bs=4k --size=3m --io_size=64k --iodepth=4",
        ganesha.job()
    );
    place.run(&line).ok();
    let bytes = std::fs::read(place.path("data/f")).unwrap();
    assert_eq!(bytes.len(), 3 << 20);
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
}

#[test]
fn a_job_that_only_reads_creates_and_extends_nothing() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    place.write("data/short", vec![7; 65536]);
    for (name, why) in [("missing", "NOENT"), ("short", "has 65536 bytes")] {
        let line =
            format!("--name=a {} --filename={name} --rw=read --bs=4k --size=128k", ganesha.data);
        let ran = place.run(&line);
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(why) && ran.err.contains("To fix: "), "{}", ran.err);
    }
    assert!(!place.path("data/missing").exists());
    assert_eq!(length(&place, "data/short"), 65536);
    // Without a size, the job reads the file.
    let line = format!(
        "--name=a {} --filename=short --rw=read --bs=4k --output-format=json",
        ganesha.data
    );
    assert_eq!(crate::fiord::work(&place.run(&line).ok().json())[0].2[0].1, 16);
}

#[test]
fn an_export_that_is_read_only_refuses_jobs_that_write() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    let job = format!("--name=a {} --filename=there --bs=4k --size=64k", ganesha.fixed);
    place.run(&format!("{job} --rw=read")).ok();
    let ran = place.run(&format!("{job} --rw=write"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("read-only") && ran.err.contains("To fix: "), "{}", ran.err);
}

#[test]
fn an_unknown_export_is_a_clear_error() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    let job = ganesha.job().replace("/data?", "/nosuch?");
    let ran = place.run(&format!("--name=a {job} --rw=write --bs=4k --size=64k"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("cannot mount the export") && ran.err.contains("showmount"),
        "{}",
        ran.err
    );
}

#[test]
fn trims_are_refused() {
    let place = Place::new();
    let url = "--ioengine=nfs --nfs_url=nfs://127.0.0.1/x --endpoint_timeout=1";
    let ran = place.run(&format!("--name=a {url} --rw=trim --bs=4k --size=64k"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("trim"), "{}", ran.err);
}

/// Whether a process works in a directory.
fn is_in_use(directory: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let directories =
        processes.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    directories.into_iter().any(|path| path.starts_with(directory))
}

#[test]
fn no_program_of_the_server_stays() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    assert!(is_in_use(&place.path("")));
    drop(ganesha);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while is_in_use(&place.path("")) {
        assert!(std::time::Instant::now() < until, "a program of the server still runs");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn nfs_4_reads() {
    let place = Place::new();
    let Some(ganesha) = Ganesha::start(&place) else { return };
    place.write("data/f", vec![7; 65536]);
    let directory = place.path("data").to_string_lossy().into_owned();
    let job = ganesha.job().replace(&directory, "/data").replace("version=3", "version=4");
    let line = format!("--name=a {job} --rw=read --bs=4k --iodepth=4 --output-format=json");
    assert_eq!(crate::fiord::work(&place.run(&line).ok().json())[0].2[0].1, 16);
}
