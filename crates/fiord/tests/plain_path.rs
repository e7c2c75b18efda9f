//! Tests of the plain path: between its first and its last I/O, a job's thread makes the system calls of its
//! I/Os and no others.
//!
//! strace writes the calls of each thread to a separate file, so the periodic calls of the monitor do not
//! count as costs of an I/O.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The system calls that do I/O.
const IO: [&str; 6] =
    ["pread64", "pwrite64", "io_uring_enter", "io_submit", "io_getevents", "io_pgetevents"];

/// Number of passes over the file of 1024 blocks.
const PASSES: usize = 8;

/// Number of calls, by name.
type Calls = BTreeMap<String, usize>;

/// A temporary directory, removed when it is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = path.join(format!("plain-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether strace is installed and permitted to trace.
fn can_trace() -> bool {
    let result = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let can = result.is_ok_and(|status| status.success());
    if !can {
        println!("passed over: strace is not installed, or may not trace here");
    }
    can
}

/// Runs a job and returns the calls that its I/O thread made from its first I/O to its last.
fn calls(place: &Place, options: &[&str]) -> Calls {
    let output = Command::new("strace")
        .args(["-ff", "-qq", "-e", "signal=none", "-o", "calls"])
        .arg(env!("CARGO_BIN_EXE_fiord"))
        .args(["--name=plain", "--filename=plain.dat", "--size=4m", "--bs=4k", "--invalidate=0"])
        .arg(format!("--loops={PASSES}"))
        .args(options)
        .current_dir(&place.0)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {errors}");
    let files = std::fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap());
    files
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("calls."))
        .map(|entry| between(&std::fs::read_to_string(entry.path()).unwrap()))
        .max_by_key(|(io, _)| *io)
        .map(|(_, calls)| calls)
        .unwrap()
}

/// Returns the calls in a thread's trace from its first I/O to its last, and how many of them do I/O. Another
/// thread lays out the file. A wait that ends because its time is over does not count: on a busy machine, an I/O takes longer
/// than the job may wait before it looks around.
fn between(trace: &str) -> (usize, Calls) {
    let names = trace.lines().filter(|line| !line.contains("= -1 ETIME "));
    let names = names.filter_map(|line| Some(line.split_once('(')?.0));
    let names: Vec<&str> = names.collect();
    let is_io = |name: &&str| IO.contains(name);
    let first = names.iter().position(is_io).unwrap_or(0);
    let last = names.iter().rposition(is_io).map_or(0, |last| last + 1);
    let mut calls = Calls::new();
    for name in &names[first..last] {
        *calls.entry(name.to_string()).or_default() += 1;
    }
    (names.iter().filter(|name| is_io(name)).count(), calls)
}

/// Runs a job and requires that each of its I/Os takes at most `per_io` calls.
fn check(name: &str, options: &[&str], per_io: f64) {
    if !can_trace() {
        return;
    }
    let place = Place::new(name);
    let calls = calls(&place, options);
    let io: usize = calls.iter().filter(|(name, _)| IO.contains(&name.as_str())).map(|c| c.1).sum();
    let others: Vec<_> = calls.iter().filter(|(name, _)| !IO.contains(&name.as_str())).collect();
    assert!(others.is_empty(), "{name}: beside its I/O the thread calls {others:?}");
    let ios = (PASSES * 1024) as f64;
    assert!(io > 0 && io as f64 <= ios * per_io, "{name}: {io} calls for {ios} I/Os");
}

#[test]
fn psync_reads() {
    check("psync-read", &["--ioengine=psync", "--rw=randread"], 1.0);
}

#[test]
fn psync_writes() {
    check("psync-write", &["--ioengine=psync", "--rw=randwrite"], 1.0);
}

/// Skipped where the kernel has no io_uring or forbids it.
#[test]
fn io_uring_reads_and_writes() {
    let place = Place::new("io_uring-probe");
    let probe = Command::new(env!("CARGO_BIN_EXE_fiord"))
        .args(["--name=probe", "--ioengine=io_uring", "--size=4k", "--filename=probe.dat"])
        .current_dir(&place.0)
        .output()
        .unwrap();
    if !probe.status.success() {
        println!("passed over: no io_uring here");
        return;
    }
    // All blocks are in the page cache: each call completes as many I/Os as the queue depth, and the end of a
    // pass costs a few more calls.
    let deep = ["--ioengine=io_uring", "--iodepth=32"];
    check("io_uring-read", &[&deep[..], &["--rw=randread"]].concat(), 1.0 / 8.0);
    check("io_uring-write", &[&deep[..], &["--rw=randwrite"]].concat(), 1.0);
    // One call per I/O, except in sampled rounds, which submit in a separate call.
    check("io_uring-one", &["--ioengine=io_uring", "--rw=randread"], 1.02);
}

#[test]
fn libaio_reads() {
    // Buffered I/O takes about one call for two I/Os.
    let deep = ["--ioengine=libaio", "--iodepth=32", "--rw=randread"];
    check("libaio-read", &deep, 0.6);
}
