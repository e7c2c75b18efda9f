//! `ioengine=libblkio`: files through its `io_uring` driver, and vhost-user servers.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::calls::counted;
use crate::fiord::{Place, Ran, end, under_way, work};

const FILE: &str =
    "--name=j --ioengine=libblkio --libblkio_driver=io_uring --libblkio_path=target --bs=4k";
const SERVER: &str = "--name=j --ioengine=libblkio --libblkio_driver=virtio-blk-vhost-user \
                      --libblkio_path=sock --bs=4k";

/// A directory with a target of 256 KiB.
fn place() -> Place {
    let place = Place::new();
    place.write("target", vec![1; 256 << 10]);
    place
}

/// A vhost-user server for the target of a place.
struct Server(Child);

impl Server {
    /// Starts `qemu-storage-daemon`. `None`, with a message: it is not installed.
    fn start(place: &Place, options: &str) -> Option<Self> {
        let disk = place.path("target");
        let socket = place.path("sock");
        let _ = std::fs::remove_file(&socket);
        let blockdev =
            format!("driver=file,node-name=disk,filename={},discard=unmap", disk.display());
        let export = format!(
            "type=vhost-user-blk,id=e,node-name=disk,addr.type=unix,addr.path={}{options}",
            socket.display()
        );
        let mut command = Command::new("qemu-storage-daemon");
        command.args(["--blockdev", &blockdev, "--export", &export]);
        let Ok(child) = command.spawn() else {
            eprintln!("skipped: qemu-storage-daemon is not installed");
            return None;
        };
        let server = Server(child);
        let until = Instant::now() + Duration::from_secs(30);
        while !socket.exists() {
            assert!(Instant::now() < until, "the server does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// I/Os of each direction of all jobs.
fn ios(ran: &Ran) -> [u64; 3] {
    let jobs = work(&ran.json());
    [0, 1, 2].map(|dir| jobs.iter().map(|job| job.2[dir].1).sum())
}

fn json(place: &Place, line: &str) -> Ran {
    place.run(&format!("{line} --output-format=json")).ok()
}

#[test]
fn each_block_of_a_file_is_moved_once() {
    let place = place();
    for (options, expected) in [
        ("--rw=randread --iodepth=8", [64, 0, 0]),
        ("--rw=write --iodepth=8 --fsync=8", [0, 64, 0]),
        ("--rw=randwrite --iodepth=8 --verify=crc32c", [64, 64, 0]),
        ("--rw=randwrite --iodepth=8 --verify=crc32c --direct=1 --verify_async=1", [64, 64, 0]),
        ("--rw=randread --libblkio_wait_mode=eventfd --iodepth=4", [64, 0, 0]),
        ("--rw=randread --libblkio_wait_mode=loop --libblkio_vectored", [64, 0, 0]),
        ("--rw=randread --iodepth=32 --libblkio_num_entries=4", [64, 0, 0]),
        ("--rw=randread --libblkio_force_enable_completion_eventfd --mem=mmap", [64, 0, 0]),
        ("--rw=randtrim --libblkio_write_zeroes_on_trim", [0, 0, 64]),
    ] {
        let ran = json(&place, &format!("{FILE} {options}"));
        assert_eq!(ios(&ran), expected, "{options}");
    }
    assert!(std::fs::read(place.path("target")).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn the_driver_uses_the_file_that_fiord_opened() {
    let place = place();
    let line = format!("{FILE} --rw=randread --iodepth=4 --direct=1");
    let Some(counts) = counted(&place, "io_uring_register,pread64", &line) else { return };
    assert_eq!(counts.get("pread64"), None, "{counts:?}");
    // The driver registers the descriptor with its ring.
    assert_eq!(counts.get("io_uring_register"), Some(&1), "{counts:?}");
}

#[test]
fn what_is_wrong_is_a_clear_error() {
    let place = place();
    for (line, what) in [
        (
            "--libblkio_path=none",
            "`none` does not exist, and `ioengine=libblkio` does not create files",
        ),
        ("--libblkio_driver=floppy", "invalid value `floppy` for libblkio_driver"),
        (
            "--libblkio_driver=virtio-blk-vhost-user --libblkio_path=none",
            "cannot connect: No such file",
        ),
        ("--libblkio_driver=virtio-blk-vfio-pci --libblkio_path=none", "cannot connect"),
        ("--libblkio_driver=virtio-blk-vhost-vdpa --libblkio_path=none", "cannot connect"),
        ("--libblkio_driver=nvme-io_uring", "`ioengine=libblkio` sends NVMe commands"),
        ("--libblkio_pre_start_props=floppy=1", "cannot set the property `floppy` to `1`"),
        ("--hipri", "Poll queues not supported. To fix: leave out `hipri`"),
        ("--rw=trim", "only block devices can be trimmed"),
    ] {
        let ran = place.run(&format!("{FILE} {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains(what), "{line}: {ran:?}");
    }
    assert_eq!(place.names(), ["target"]);
}

#[test]
fn a_job_that_fails_does_not_end_the_others() {
    let place = place();
    let other = FILE.replace("--name=j", "--name=k");
    let wrong = "--rw=randread --libblkio_pre_start_props=floppy=1";
    let line = format!("{FILE} {wrong} {other} --rw=randread --output-format=json");
    let ran = place.run(&line);
    let jobs = work(&ran.json());
    assert_eq!((ran.status, jobs[0].2[0].1), (Some(1), 0), "{ran:?}");
    assert_eq!(jobs[1].2[0].1, 64, "{ran:?}");
}

#[test]
fn each_block_of_a_server_is_moved_once() {
    let place = place();
    let Some(_server) = Server::start(&place, ",writable=on,num-queues=2") else { return };
    for (options, expected) in [
        ("--rw=randread --iodepth=8", [64, 0, 0]),
        ("--rw=randwrite --iodepth=8 --verify=crc32c --fsync=8", [64, 64, 0]),
        ("--rw=write --sync=1 --libblkio_vectored", [0, 64, 0]),
        ("--rw=randread --libblkio_wait_mode=eventfd --iodepth=4", [64, 0, 0]),
        ("--rw=randread --iodepth=32 --libblkio_queue_size=16", [64, 0, 0]),
        ("--rw=randread --hipri --size=16k", [4, 0, 0]),
        ("--rw=randread --numjobs=2 --thread", [128, 0, 0]),
        ("--rw=randread --numjobs=3 --thread --stonewall", [192, 0, 0]),
        ("--rw=randread --mem=mmapshared:buffers", [64, 0, 0]),
        ("--rw=randtrim --libblkio_write_zeroes_on_trim", [0, 0, 64]),
        ("--rw=write --size=64k", [0, 16, 0]),
        ("--rw=trim --size=64k", [0, 0, 16]),
    ] {
        let stonewalled = options.contains("--stonewall");
        let line = match stonewalled {
            false => format!("{SERVER} {options}"),
            true => ["j", "k", "l"]
                .map(|name| {
                    let job = SERVER.replace("--name=j", &format!("--name={name}"));
                    format!("{job} --rw=randread --stonewall")
                })
                .join(" "),
        };
        let ran = json(&place, &line);
        assert_eq!(ios(&ran), expected, "{options}");
    }
    assert!(std::fs::read(place.path("target")).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_server_with_too_few_queues_or_without_writes_is_reported() {
    let place = place();
    let Some(mut server) = Server::start(&place, "") else { return };
    assert_eq!(ios(&json(&place, &format!("{SERVER} --rw=randread"))), [64, 0, 0]);
    for (options, what) in [
        ("--rw=write", "Device is read-only. To fix: use `rw=read` or `rw=randread`"),
        (
            "--rw=randread --numjobs=2 --thread --runtime=300ms --time_based",
            "has 1 queues, and all of them are in use",
        ),
        ("--rw=randread --bs=100", "needs multiples of its block size of 512 bytes"),
        ("--rw=randread --libblkio_pre_connect_props=floppy=1", "cannot set the property `floppy`"),
        ("--rw=randread --mem=malloc", "shares the buffers with another process as a file"),
    ] {
        let ran = place.run(&format!("{SERVER} {options}"));
        assert_eq!(ran.status, Some(1), "{options}: {ran:?}");
        assert!(format!("{}{}", ran.out, ran.err).contains(what), "{options}: {ran:?}");
    }
    let child = place.start(&format!("{SERVER} --rw=randread --runtime=60s --time_based"));
    under_way(&child);
    server.end();
    let ran = end(child, Duration::from_secs(30));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(format!("{}{}", ran.out, ran.err).contains("sock` has disappeared"), "{ran:?}");
}
