//! Tests of `merge_blktrace_file` and `--merge-blktrace-only`.

use std::process::Command;

use crate::fiord::Place;

/// Categories and events of the kernel's header linux/blktrace_api.h.
const QUEUED_READ: u32 = 1 << 20 | 1 << 16 | 1;
const QUEUED_WRITE: u32 = 1 << 20 | 1 << 17 | 1;

/// A record of a block trace.
fn record(time: u64, sector: u64, action: u32, device: u32) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(0x6561_7407u32.to_le_bytes());
    out.extend(9u32.to_le_bytes());
    out.extend(time.to_le_bytes());
    out.extend(sector.to_le_bytes());
    for number in [4096, action, 42, device, 0, 0] {
        out.extend(u32::to_le_bytes(number));
    }
    out
}

fn traces(place: &Place) {
    let (first, second) = (8 << 20 | 16, 8 << 20 | 32);
    let a = [record(5_000_000, 8, QUEUED_READ, first), record(9_000_000, 16, QUEUED_WRITE, first)];
    let b = [
        record(700_000_000, 24, QUEUED_READ, second),
        record(701_000_000, 32, QUEUED_WRITE, second),
    ];
    place.write("a.bin", a.concat());
    // The files of two CPUs.
    place.write("b.blktrace.0", &b[1]);
    place.write("b.blktrace.1", &b[0]);
}

/// Number, time and sector of each record.
fn records(place: &Place, name: &str) -> Vec<(u32, u64, u64)> {
    let bytes = std::fs::read(place.path(name)).unwrap();
    let records = bytes.chunks_exact(48).map(|record| {
        let number = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        ((number(0) >> 32) as u32, number(8), number(16))
    });
    records.collect()
}

const SCALED: &str = "--merge_blktrace_scalars=50:100 --merge_blktrace_iters=2:1";

#[test]
fn traces_are_merged_by_time_and_replayed() {
    let place = Place::new();
    traces(&place);
    let merge = "--name=a --ioengine=null --read_iolog=a.bin:b --merge_blktrace_file=merged.bin";
    let ran = place.run(&format!("{merge} {SCALED} --merge-blktrace-only")).ok();
    assert_eq!(ran.out, "");
    let expected = [
        (1, 0, 8),
        (2, 0, 24),
        (3, 1_000_000, 32),
        (4, 2_000_000, 16),
        (5, 2_000_000, 8),
        (6, 4_000_000, 16),
    ];
    assert_eq!(records(&place, "merged.bin"), expected);

    std::fs::copy(place.path("merged.bin"), place.path("all.blktrace.0")).unwrap();
    let mut blkparse = Command::new("blkparse");
    blkparse.args(["-q", "-i", "all"]).current_dir(place.path("."));
    if let Ok(parsed) = blkparse.output() {
        let text = String::from_utf8_lossy(&parsed.stdout).into_owned();
        assert_eq!(text.lines().filter(|line| line.contains(" Q ")).count(), 6, "{text}");
    }

    // A run writes the file, too, and replays it.
    std::fs::remove_file(place.path("merged.bin")).unwrap();
    let options = "--replay_redirect=f --replay_no_stall=1 --output-format=json";
    let ran = place.run(&format!("{merge} {SCALED} {options}")).ok();
    assert_eq!(ran.json()["jobs"][0]["fiord"]["replay"]["ios"], 6);
    assert_eq!(records(&place, "merged.bin"), expected);
}

#[test]
fn wrong_merges_are_refused() {
    let place = Place::new();
    traces(&place);
    place.write("log", "fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 4096\n");
    place.write("cut.bin", &record(1, 8, QUEUED_READ, 1)[..40]);
    for (options, message) in [
        ("--read_iolog=a.bin --merge_blktrace_file=a.bin", "one of the traces"),
        ("--read_iolog=a.bin --merge_blktrace_file=/dev/null", "not a regular file"),
        ("--read_iolog=a.bin:log --merge_blktrace_file=m", "log: the record at byte 0"),
        (
            "--read_iolog=a.bin:cut.bin --merge_blktrace_file=m",
            "cut.bin: the trace ends within the record",
        ),
        ("--read_iolog=a.bin:none --merge_blktrace_file=m", "`none`"),
        ("--merge_blktrace_file=m", "no job merges"),
        ("--rw=read --size=1m", "no job merges"),
        (
            "--read_iolog=a.bin --merge_blktrace_file=m --merge_blktrace_iters=1.5",
            "not a number of iterations",
        ),
        ("--read_iolog=a.bin --merge_blktrace_file=m --merge_blktrace_scalars=0", "0 %"),
        (
            "--read_iolog=a.bin --merge_blktrace_file=m --merge_blktrace_iters=1:2",
            "2 numbers for 1",
        ),
    ] {
        let ran = place.run(&format!("--name=a --ioengine=null {options} --merge-blktrace-only"));
        assert!(ran.err.contains(message), "{options}: {}", ran.err);
        assert_eq!(ran.out, "", "{options}");
        assert!(!place.path("m").exists(), "{options}");
    }
    assert_eq!(std::fs::read(place.path("a.bin")).unwrap().len(), 96);
}
