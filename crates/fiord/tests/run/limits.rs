//! Limits of the process and of its surroundings are errors of the job that meets them.

use crate::fiord::{Place, Ran};

/// Runs with limits, as `ulimit` sets them.
fn limited(place: &Place, ulimit: &str, line: &str) -> Ran {
    let script = format!("ulimit {ulimit} && exec {} {line}", env!("CARGO_BIN_EXE_fiord"));
    Ran::from(place.shell(&script).output().unwrap())
}

#[test]
fn a_file_that_may_not_be_so_large_is_an_error_of_that_write() {
    let place = Place::new();
    for engine in ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "mmap"] {
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
        // A mapping needs the whole file.
        let written = if engine == "mmap" { 0 } else { 512 << 10 };
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
    assert!(ran.err.contains("could not be written to o: File too large"), "{}", ran.err);
}
