//! What large runs take of the machine's memory and time.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran, work};

/// Runs to the end: the document, and the most memory that was resident, in bytes.
///
/// The kernel's mark of the highest is read over and over, so that the last reading is one of the
/// run's last moments.
fn watched(place: &Place, line: &str) -> (Value, u64) {
    // To a file: nobody empties a pipe meanwhile.
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
    // Under 2 s when built for speed and alone; a debug build shares its CPUs with other tests.
    assert!(from.elapsed() < Duration::from_secs(20), "{:?}", from.elapsed());
    assert!(bytes < 200 << 20, "{bytes}");
    assert_eq!(work(&document)[0].2[0].1, 16 * 1000);
    println!("{:?}, {} KiB", from.elapsed(), bytes >> 10);
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
