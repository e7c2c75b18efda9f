//! Tests that a pass visits each block exactly once, with independent evidence: the system calls that
//! `strace` sees, and the bytes in the files afterwards.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::fiord::{Place, work};

const BLOCK: u64 = 4096;

/// Returns the offsets of the I/Os of one block that `strace` saw, in order. `None` if strace is missing or
/// not permitted.
pub(crate) fn traced(
    place: &Place,
    calls: &str,
    line: &str,
    offset: fn(&str) -> Vec<u64>,
) -> Option<Vec<u64>> {
    let mut command = Command::new("strace");
    command.args(["-f", "-v", "-e", &format!("trace={calls}"), "-o", "trace"]);
    command.arg(env!("CARGO_BIN_EXE_fiord")).args(line.split_whitespace());
    let dir = place.path("");
    let ran = command.current_dir(dir).stdin(Stdio::null()).output();
    let trace = std::fs::read_to_string(place.path("trace")).unwrap_or_default();
    if !ran.is_ok_and(|ran| ran.status.success()) || trace.is_empty() {
        println!("strace is missing or may not trace: passed over");
        return None;
    }
    Some(trace.lines().flat_map(offset).collect())
}

/// Parses `pread64(3, "…"..., 4096, 8192) = 4096` and the corresponding write, also if another thread's call
/// interrupts the line in the trace.
pub(crate) fn positioned(line: &str) -> Vec<u64> {
    let call =
        line.contains("pread64(") || line.contains("pwrite64(") || line.contains("64 resumed>");
    let Some((args, rest)) = line.rsplit_once(')') else { return Vec::new() };
    if !call || !rest.trim().ends_with("= 4096") {
        return Vec::new();
    }
    args.rsplit_once(", ").and_then(|(_, offset)| offset.parse().ok()).into_iter().collect()
}

/// Parses every control block of an `io_submit`.
fn submitted(line: &str) -> Vec<u64> {
    let parts = line.split("aio_offset=").skip(1);
    parts.filter_map(|p| p.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
}

#[track_caller]
fn each_once_per_pass(offsets: &[u64], blocks: u64, passes: usize) {
    assert_eq!(offsets.len() as u64, blocks * passes as u64, "{offsets:?}");
    for pass in offsets.chunks(blocks as usize) {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq((0..blocks).map(|i| i * BLOCK)), "{pass:?}");
        assert_ne!(sorted, pass, "it is not random");
    }
}

#[test]
fn system_calls_visit_each_block_once_per_pass() {
    let place = Place::new();
    // The number of blocks is not a power of two.
    place.write("file", vec![0; 4096 * 87]);
    let job = "--name=j --filename=file --bs=4k --loops=2 --output-format=json";
    for (rw, calls) in [("randread", "pread64"), ("randwrite", "pwrite64")] {
        let line = format!("{job} --ioengine=psync --rw={rw}");
        let Some(offsets) = traced(&place, calls, &line, positioned) else { return };
        each_once_per_pass(&offsets, 87, 2);
    }
    let line = format!("{job} --ioengine=libaio --iodepth=8 --rw=randread");
    let offsets = traced(&place, "io_submit", &line, submitted).unwrap();
    // I/Os in flight at the end of a pass may belong to either pass.
    let mut seen = BTreeMap::new();
    offsets.iter().for_each(|o| *seen.entry(o).or_insert(0) += 1);
    assert_eq!((seen.len(), offsets.len()), (87, 174));
    assert!(seen.values().all(|n| *n == 2), "{seen:?}");
}

/// Jobs that write a whole region once: `nrfiles`, total bytes, options.
const WRITERS: [(u64, u64, &str); 8] = [
    (1, 87 * BLOCK, "--rw=randwrite --bs=4k"),
    (1, 87 * BLOCK, "--rw=randwrite --bs=4k --random_generator=lfsr"),
    (1, 331 * 512, "--rw=randwrite --bs=512"),
    (3, 3 * 41 * BLOCK, "--rw=randwrite --bs=4k --file_service_type=random"),
    (5, 5 * 13 * BLOCK, "--rw=randwrite --bs=4k --file_service_type=roundrobin:3"),
    (1, 90 * BLOCK, "--rw=randwrite --bsrange=4k-16k"),
    (2, 120 * BLOCK, "--rw=randwrite --bssplit=4k/50:12k/30:20k/20"),
    (1, 87 * BLOCK, "--rw=write --bsrange=4k-12k"),
];

/// The number of bytes written equals the size, and every block has changed, so each block was written once.
#[test]
fn bytes_are_written_once() {
    for engine in ["psync", "pvsync2", "mmap", "libaio", "io_uring"] {
        for (files, size, options) in WRITERS {
            if engine == "mmap" && options.contains("=512") {
                // fio does not support blocks smaller than a page there.
                continue;
            }
            let place = Place::new();
            let names: Vec<String> = (0..files).map(|i| format!("j.0.{i}")).collect();
            let each = (size / files) as usize;
            names.iter().for_each(|name| place.write(name, vec![0x55; each]));
            let line = format!(
                "--name=j --ioengine={engine} --iodepth=8 --size={size} --nrfiles={files} {options} \
                 --buffer_pattern=0xa3 --output-format=json"
            );
            let written = work(&place.run(&line).ok().json())[0].2[1].0;
            assert_eq!(written, size, "{engine} {options}");
            for name in names {
                let bytes = std::fs::read(place.path(&name)).unwrap();
                assert_eq!(bytes.len(), each, "{engine} {options} {name}");
                let left = bytes.iter().position(|b| *b != 0xa3);
                assert_eq!(left, None, "{engine} {options} {name}: a byte is not written");
            }
        }
    }
}

/// Counts calls that drop cached pages: 1 for each.
fn dropped(line: &str) -> Vec<u64> {
    let drops = line.contains("POSIX_FADV_DONTNEED") || line.contains("BLKFLSBUF");
    if drops { vec![1] } else { Vec::new() }
}

/// fio 3.42 drops the cache as often. With direct I/O, which leaves nothing in the cache, one call is enough.
#[test]
fn cached_pages_are_dropped_before_each_pass() {
    let place = Place::new();
    for name in ["file", "f1", "f2", "f3"] {
        place.write(name, vec![1; 65536]);
    }
    let job = "--name=j --filename=file --size=64k --bs=4k --output-format=json";
    for (options, times) in [
        ("--rw=read --loops=5", 5),
        ("--rw=randread --loops=5 --ioengine=io_uring --iodepth=8", 5),
        ("--rw=randrw --loops=5 --ioengine=libaio --iodepth=4", 5),
        ("--rw=read --loops=5 --ioengine=mmap", 5),
        ("--rw=write --io_size=320k", 5),
        ("--rw=read --loops=5 --invalidate=0", 0),
        ("--rw=randread --loops=5 --norandommap", 1),
        ("--rw=read --loops=5 --filename=f1:f2:f3", 20),
        ("--rw=read --loops=5 --filename=f1:f2:f3 --openfiles=1", 20),
    ] {
        let line = format!("{job} {options}");
        let Some(calls) = traced(&place, "fadvise64,ioctl", &line, dropped) else { return };
        assert_eq!(calls.len(), times, "{options}");
    }
}

/// A small file that is read for some time is read from the disk in each pass.
#[test]
fn timed_reads_drop_the_cache_each_pass() {
    let place = Place::new();
    place.write("file", vec![1; 65536]);
    let line = "--name=j --filename=file --size=64k --bs=4k --rw=read --time_based --runtime=200ms \
                --output-format=json";
    let Some(calls) = traced(&place, "fadvise64", line, dropped) else { return };
    assert!(calls.len() > 10, "{}", calls.len());
}
