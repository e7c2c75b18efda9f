//! Tests of the memory and time that large runs use.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran, work};

/// Runs to the end and returns the document and the peak of resident memory, in bytes.
///
/// Reads the kernel's high-water mark repeatedly, so that the last reading is from the last moments of the
/// run.
fn watched(place: &Place, line: &str) -> (Value, u64) {
    // To a file, because no thread reads a pipe while the run continues.
    let mut child = place.command(&format!("--output=out {line}")).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let exit = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let kib = mark.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) << 10);
        match child.try_wait().unwrap() {
            Some(exit) => break exit,
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let out = std::fs::read_to_string(place.path("out")).unwrap_or_default();
    let ran = Ran { status: exit.code(), out, err: String::new() }.ok();
    assert!(most > 0, "{status} was never read");
    (ran.json(), most)
}

#[test]
fn a_thousand_jobs_are_quick_and_small() {
    let place = Place::new();
    let line = "--name=a --ioengine=null --rw=randread --bs=4k --size=64k --numjobs=1000 \
                --group_reporting --output-format=json";
    let from = Instant::now();
    let (document, bytes) = watched(&place, line);
    // Less than 2 s in a release build on a quiet machine; a debug build shares its CPUs with other tests.
    assert!(from.elapsed() < Duration::from_secs(20), "{:?}", from.elapsed());
    // 117 MiB in a release build; the frames of a debug build are larger.
    assert!(bytes < 230 << 20, "{bytes}");
    assert_eq!(work(&document)[0].2[0].1, 16 * 1000);
    println!("{:?}, {} KiB", from.elapsed(), bytes >> 10);
}

#[test]
fn thousands_of_sections_are_small() {
    const FEW: u64 = 500;
    const MANY: u64 = 2000;
    let place = Place::new();
    let bytes = |sections: u64| {
        let sections: String = (0..sections).map(|n| format!("[j{n}]\n")).collect();
        place.write("j.fio", format!("[global]\nioengine=null\nsize=4k\n{sections}"));
        watched(&place, "--output-format=json j.fio").1
    };
    let each = bytes(MANY).saturating_sub(bytes(FEW)) / (MANY - FEW);
    println!("{each} bytes for each section");
    // 89 KiB in a debug build, whose frames are larger than those of a release build.
    assert!(each < 110 << 10, "{each} bytes for each section");
}

#[test]
fn four_terabytes_with_a_map_take_no_memory() {
    let place = Place::new();
    let sparse = std::fs::File::create(place.path("sparse")).unwrap();
    if let Err(e) = sparse.set_len(4 << 40) {
        println!("no file of 4 TiB on this file system ({e}): passed over");
        return;
    }
    for engine in ["psync", "io_uring"] {
        let line = format!(
            "--name=a --ioengine={engine} --iodepth=8 --filename=sparse --rw=randread --bs=4k \
             --runtime=400ms --output-format=json"
        );
        let (document, bytes) = watched(&place, &line);
        let (_, error, dirs) = &work(&document)[0];
        assert!(*error == 0 && dirs[0].1 > 0, "{engine}: {error} {dirs:?}");
        assert!(bytes < 32 << 20, "{engine}: {bytes}");
        println!("{engine}: {} I/Os, {} KiB", dirs[0].1, bytes >> 10);
    }
}

/// The memory does not depend on the number of writes, except that a map is in memory where it was changed. So the
/// job with a map writes enough to change nearly all of its pages.
#[test]
fn verification_of_a_tebibyte_in_small_blocks_takes_little_memory() {
    let place = Place::new();
    let jobs = [
        ("--rw=write --verify=fiord --sim_store=1 --number_ios=2000", 64),
        ("--rw=randwrite --verify=crc32c --sim_store=1 --number_ios=2000", 64),
        ("--rw=randwrite --norandommap --verify=fiord --do_verify=0 --number_ios=150000", 320),
    ];
    for (job, mib) in jobs {
        let line = format!(
            "--name=a --ioengine=sim --size=1t --bs=4k {job} --verify_state_save=0 \
             --output-format=json"
        );
        let (document, bytes) = watched(&place, &line);
        let (_, error, dirs) = &work(&document)[0];
        assert!(*error == 0 && dirs[1].1 > 0, "{job}: {error} {dirs:?}");
        assert!(bytes < mib << 20, "{job}: {bytes}");
        println!("{job}: {} MiB", bytes >> 20);
    }
}

/// CPU time of a run in user and kernel mode, in seconds.
fn cpu_seconds(place: &Place, line: &str) -> f64 {
    let script = format!("TIMEFORMAT='%U %S'; time {} {line} >out", env!("CARGO_BIN_EXE_fiord"));
    let ran = place.script(&script);
    assert_eq!(ran.status, Some(0), "{line}: {}", ran.err);
    ran.err.split_whitespace().map(|seconds| seconds.parse::<f64>().unwrap()).sum()
}

/// Runs a job with `few` files and with twice as many. The second run may take at most about 2.5 times the
/// CPU time of the first. Because other programs disturb a run, the best of a few attempts counts.
#[track_caller]
fn is_linear(what: &str, few: usize, seconds: impl Fn(usize) -> f64) {
    /// Clock ticks of the kernel's accounting, and the start of a program.
    const SLACK: f64 = 0.03;
    let mut tried = Vec::new();
    for _ in 0..4 {
        let (once, twice) = (seconds(few), seconds(2 * few));
        if twice <= 2.5 * once + SLACK {
            return;
        }
        tried.push((once, twice));
    }
    panic!("{what}: {few} files and twice as many take {tried:?} seconds of CPU time");
}

/// A temporary directory in memory if possible, because a disk is slow with very many files. Removed when it
/// is dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(place: &Place) -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { place.path("") };
        let path = parent.join(format!("fiord-scale-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_cpu_time_of_files_is_linear_in_their_number() {
    let place = Place::new();
    for jobs in [1, 50] {
        is_linear(&format!("{jobs} jobs that lay out and read files"), 4000, |files| {
            let directory = Directory::new(&place);
            let each = files / jobs;
            let line = format!(
                "--name=a --directory={} --rw=read --bs=4k --filesize=4k --nrfiles={each} \
                 --numjobs={jobs} --openfiles=20 --group_reporting",
                directory.0.display()
            );
            let seconds = cpu_seconds(&place, &line);
            assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), files);
            seconds
        });
    }
    is_linear("jobs that share a list of files", 2000, |files| {
        let directory = Directory::new(&place);
        let globals = "rw=read\nbs=4k\nfilesize=4k\nopenfiles=20";
        let names: Vec<String> = (0..files).map(|n| n.to_string()).collect();
        let (names, directory) = (names.join(":"), directory.0.display());
        let globals = format!("{globals}\ndirectory={directory}\nfilename={names}");
        place.write("j.fio", format!("[global]\n{globals}\n[a]\n[b]\n[c]\n"));
        cpu_seconds(&place, "j.fio")
    });
}

#[test]
fn the_cpu_time_of_choosing_files_is_linear_in_their_number() {
    let place = Place::new();
    for service in ["roundrobin", "random", "zipf:1.2", "pareto:0.2", "normal:20", "sequential"] {
        for (rw, open) in [("randread", 10), ("randwrite", 1)] {
            is_linear(&format!("{service} {rw}"), 4000, |files| {
                let line = format!(
                    "--name=a --ioengine=null --rw={rw} --bs=4k --filesize=8k --nrfiles={files} \
                     --openfiles={} --file_service_type={service}",
                    files / open
                );
                cpu_seconds(&place, &line)
            });
        }
    }
}

#[test]
fn files_are_small() {
    /// The memory of a run varies by about a megabyte: pages of the program that it happens to touch, and
    /// short-lived allocations. With this many files, the variation does not matter.
    const FEW: u64 = 10_000;
    const MANY: u64 = 70_000;
    let place = Place::new();
    let one = "--name=a --ioengine=null --bs=4k --filesize=4k --output-format=json";
    for rw in ["read", "randread", "randrw"] {
        let bytes = |files| watched(&place, &format!("{one} --rw={rw} --nrfiles={files}")).1;
        let each = bytes(MANY).saturating_sub(bytes(FEW)) / (MANY - FEW);
        println!("{rw}: {each} bytes");
        assert!(each < 600, "{rw}: {each} bytes a file");
    }
}
