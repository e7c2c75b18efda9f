//! Tests that limits of the process and its surroundings cause errors of the job that reaches them.

use std::net::TcpListener;
use std::time::Duration;

use fiord_job::option::engine::{EngineAccess, EngineDef};

use crate::engines::file_engines;
use crate::fiord::{Place, Ran, end, under_way, work};

/// Runs fiord with limits, as `ulimit` sets them.
fn limited(place: &Place, ulimit: &str, line: &str) -> Ran {
    let script = format!("ulimit {ulimit} && exec {} {line}", env!("CARGO_BIN_EXE_fiord"));
    Ran::from(place.shell(&script).output().unwrap())
}

#[test]
fn a_file_that_may_not_be_so_large_is_an_error_of_that_write() {
    let place = Place::new();
    for EngineDef { name: engine, access, .. } in file_engines() {
        let line = format!(
            "--name=a --filename=f --size=1m --rw=write --bs=64k --ioengine={engine} \
             --fallocate=none --output-format=json"
        );
        let ran = limited(&place, "-f 512", &line);
        assert_eq!(ran.status, Some(1), "{engine}: {ran:?}");
        assert!(ran.err.contains("err=27/file:f"), "{engine}: {}", ran.err);
        assert!(ran.err.contains("ulimit -f"), "{engine}: {}", ran.err);
        let job = &ran.json()["jobs"][0];
        assert_eq!(job["error"], 27);
        // A mapping needs address space for the whole file.
        let written = if *access == EngineAccess::Mapping { 0 } else { 512 << 10 };
        assert_eq!(job["write"]["io_bytes"], written, "{engine}");
        let _ = std::fs::remove_file(place.path("f"));
    }
}

#[test]
fn so_is_a_layout_and_a_result_that_may_not_be_so_large() {
    let place = Place::new();
    for job in ["--rw=read", "--rw=read --fallocate=none", "--rw=write"] {
        let line = format!("--name=a --filename=f --size=1m --bs=64k --ioengine=psync {job}");
        let ran = limited(&place, "-f 512", &line);
        assert_eq!(ran.status, Some(1), "{job}: {ran:?}");
        assert!(ran.err.contains("err=27/file:f"), "{job}: {}", ran.err);
        let _ = std::fs::remove_file(place.path("f"));
    }
    let line = "--name=a --size=1m --rw=read --ioengine=null --output=o --output-format=json";
    let ran = limited(&place, "-f 1", line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot write the results to o: File too large"), "{}", ran.err);
}

#[test]
fn buffers_in_a_file_that_becomes_shorter_fail_their_job_alone() {
    let place = Place::new();
    for (mem, engine, rw) in [
        ("mmapshared", "psync", "write"),
        ("mmapshared", "null", "write"),
        ("mmap", "psync", "randread"),
        ("mmap", "io_uring", "write"),
        ("mmaphuge", "libaio", "write"),
        ("mmapshared", "psync --io_submit_mode=offload --iodepth=4 --rate_iops=2000", "write"),
    ] {
        let line = format!(
            "--name=a --filename=f --size=1m --bs=64k --rw={rw} --ioengine={engine} --mem={mem}:b \
             --refill_buffers --time_based --runtime=60 --exitall --output-format=json \
             --name=b --filename=g --size=1m --bs=64k --rw=write --time_based --runtime=60"
        );
        let child = place.start(&line);
        under_way(&child);
        std::fs::File::options().write(true).open(place.path("b")).unwrap().set_len(0).unwrap();
        let ran = end(child, Duration::from_secs(20));
        assert_eq!(ran.status, Some(1), "{mem} {engine} {rw}: {ran:?}");
        assert!(ran.err.contains("err=14/file:"), "{}", ran.err);
        assert!(ran.err.contains("the file of `mem` became shorter"), "{}", ran.err);
        let jobs = work(&ran.json());
        assert_eq!((jobs[0].1, jobs[1].1), (14, 0));
        assert!(jobs[1].2[1].1 > 0, "the other one works");
        for name in ["b", "f"] {
            let _ = std::fs::remove_file(place.path(name));
        }
    }
}

#[test]
fn memory_that_is_not_there_is_an_error_that_names_the_limit() {
    let place = Place::new();
    let job = "--name=a --ioengine=null --size=1m --rw=read --output-format=json";
    for (options, jobs, what) in [
        ("--numjobs=300", 300, "start of the job's thread"),
        ("--bs=1m --iodepth=4096", 1, "I/O buffers"),
        ("--bs=1m --iodepth=4096 --mem=mmapshared", 1, "I/O buffers"),
    ] {
        let ran = limited(&place, "-v 100000", &format!("{job} {options}"));
        assert!(matches!(ran.status, Some(1..=127)), "{options}: {:?} {}", ran.status, ran.err);
        for words in [what, "err=12/", "RLIMIT_AS", "To fix: raise it (ulimit -v unlimited)"] {
            assert!(ran.err.contains(words), "{words}: {}", ran.err);
        }
        assert_eq!(work(&ran.json()).len(), jobs, "{options}");
    }
}

#[test]
fn threads_that_are_not_there_are_an_error_that_names_the_limit() {
    let place = Place::new();
    let script = format!(
        "ulimit -u 40 && exec setpriv --reuid=65534 --clear-groups {} --name=a --ioengine=null \
         --size=1m --rw=read --numjobs=100 --output-format=json",
        env!("CARGO_BIN_EXE_fiord")
    );
    let ran = Ran::from(place.shell(&script).output().unwrap());
    if ran.err.contains("setpriv") || ran.err.contains("Permission denied") {
        return eprintln!("skipped: needs root, setpriv and a program that others may run");
    }
    assert!(matches!(ran.status, Some(1..=127)), "{ran:?}");
    assert!(ran.err.contains("RLIMIT_NPROC") && ran.err.contains("ulimit -u"), "{}", ran.err);
    assert_eq!(work(&ran.json()).len(), 100);
}

/// Each engine opens something of its own for each job: a file, a ring, a pipe, a connection.
#[test]
fn descriptors_that_are_not_there_are_an_error_that_names_the_limit() {
    let place = Place::new();
    // Connections to it are made, and nothing answers.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let http = format!(
        "--ioengine=http --http_host={} --filename=/f --endpoint_timeout=1s",
        server.local_addr().unwrap()
    );
    for job in [
        "--ioengine=psync --filename=f",
        "--ioengine=libaio --filename=f",
        "--ioengine=io_uring --filename=f",
        "--ioengine=splice --filename=f",
        "--ioengine=exec --program=true --runtime=100ms --time_based",
        &http,
    ] {
        let line = format!(
            "--name=a {job} --rw=read --bs=4k --size=4k --numjobs=60 --output=o --output-format=json"
        );
        let ran = limited(&place, "-n 40", &line);
        if ran.err.contains("io_uring_disabled") {
            return eprintln!("skipped: io_uring is not allowed here");
        }
        assert!(matches!(ran.status, Some(1..=127)), "{job}: {:?} {}", ran.status, ran.err);
        let about = ran.err.lines().filter(|line| line.contains("(EMFILE)"));
        let about: Vec<&str> = about.collect();
        assert!(!about.is_empty(), "{job}: {}", ran.err);
        for line in about {
            assert!(line.ends_with("To fix: raise the nofile limit (ulimit -n)"), "{job}: {line}");
            assert_eq!(line.matches("To fix:").count(), 1, "{job}: {line}");
        }
    }
}
