//! Tests of replaying block traces of the kernel (`blktrace`), and of merging them.

use crate::fiord::{Place, work};

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;

const QUEUED: u32 = 1;
const COMPLETED: u32 = 8;

/// A record of device 250:16 at this time (us), with an event, categories, sector and length.
fn record(time: u64, event: u32, categories: u32, sector: u64, bytes: u32) -> Vec<u8> {
    let mut record = Vec::with_capacity(48);
    record.extend(0x6561_7407u32.to_le_bytes());
    record.extend(0u32.to_le_bytes());
    record.extend((time * 1000).to_le_bytes());
    record.extend(sector.to_le_bytes());
    for word in [bytes, categories << 16 | event, 1, 250 << 20 | 16, 0] {
        record.extend(word.to_le_bytes());
    }
    record.extend([0; 4]);
    record
}

const SIM: &str = "--name=a --ioengine=sim --sim_latency=constant:1ms --sim_channels=64 --output-format=json \
                   --replay_redirect=f";

/// fio drops the data of a write with a flush before it. fiord keeps both, in their order.
#[test]
fn writes_keep_their_flushes_and_their_data() {
    let place = Place::new();
    let trace: Vec<u8> = [
        record(5000, QUEUED, WRITE | FLUSH, 0, 4096),
        record(5000, QUEUED, FLUSH, 0, 0),
        record(9000, QUEUED, WRITE | FUA, 8, 4096),
        record(9500, QUEUED, WRITE | FLUSH | FUA, 16, 4096),
        record(15000, QUEUED, READ, 24, 4096),
    ]
    .concat();
    place.write("trace", trace);
    let json =
        place.run(&format!("{SIM} --read_iolog=trace --write_iolog=log --iodepth=8")).ok().json();
    assert_eq!(work(&json)[0].2, [(4096, 1), (3 * 4096, 3), (0, 0)]);
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    let lines: Vec<&str> = log.lines().skip(3).collect();
    // Each flush takes 1 ms, and the write after it waits. Without a flag for FUA, a flush follows the write.
    assert_eq!(
        lines,
        [
            "0 f datasync 0 0",
            "1000 f write 0 4096",
            "1000 f sync 0 0",
            "4000 f write 4096 4096",
            "5000 f datasync 0 0",
            "5000 f datasync 0 0",
            "6000 f write 8192 4096",
            "7000 f datasync 0 0",
            "10000 f read 12288 4096",
            "11000 f close",
        ]
    );
}

/// As in fio, the trace says how deep the queue is, unless the job does.
#[test]
fn the_depth_of_a_trace_is_that_of_the_replay() {
    let place = Place::new();
    let queued = (0..6).map(|i| record(100 * i, QUEUED, READ, 8 * i, 4096));
    let completed = (0..6).map(|i| record(5000 + i, COMPLETED, READ, 8 * i, 4096));
    place.write("trace", queued.chain(completed).flatten().collect::<Vec<u8>>());
    for (options, depth, late) in
        [("", 6, 0), ("--iodepth=2", 2, 1_600_000), ("--iodepth=64", 6, 0)]
    {
        let json = place.run(&format!("{SIM} --read_iolog=trace {options}")).ok().json();
        let replay = &json["jobs"][0]["fiord"]["replay"];
        assert_eq!(
            (&replay["trace_depth"], &replay["depth"]),
            (&6.into(), &depth.into()),
            "{options}"
        );
        assert_eq!(replay["lateness_ns"]["max"], late, "{options}");
    }
}

#[test]
fn the_files_of_all_cpus_are_one_trace() {
    let place = Place::new();
    place.write("sda.blktrace.0", record(0, QUEUED, READ, 0, 4096));
    place.write("sda.blktrace.1", "");
    place.write("sda.blktrace.3", record(500, QUEUED, READ, 8, 4096));
    for name in ["sda", "sda.blktrace.3"] {
        let json = place.run(&format!("{SIM} --read_iolog={name}")).ok().json();
        assert_eq!(work(&json)[0].2[0], (8192, 2), "{name}");
    }
    let line = format!("{SIM} --read_iolog=sda.blktrace.0:sda.blktrace.3 --numjobs=2");
    let json = place.run(&line).ok().json();
    assert!(work(&json).into_iter().all(|job| job.2[0] == (4096, 1)), "{json}");
}

#[test]
fn devices_of_another_machine_need_a_target() {
    let Some(place) = Place::confined(&[]) else { return };
    place.write("trace", record(0, QUEUED, DISCARD | WRITE, 0, 4096));
    let ran = place.run("--name=a --ioengine=psync --read_iolog=trace");
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.err.contains("device 250:16") && ran.err.contains("replay_map=250:16:"),
        "{}",
        ran.err
    );
    let cut = &record(0, QUEUED, READ, 0, 4096)[..40];
    place.write("cut", [&record(0, QUEUED, READ, 0, 4096)[..], cut].concat());
    let ran = place.run(&format!("{SIM} --read_iolog=cut"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("`cut`"), "{}", ran.err);
}

#[test]
fn traces_are_merged_by_time() {
    let place = Place::new();
    let one = [record(1000, QUEUED, READ, 0, 4096), record(5000, QUEUED, READ, 8, 4096)].concat();
    let two = [record(7000, QUEUED, WRITE, 16, 512), record(8000, QUEUED, WRITE, 24, 512)].concat();
    place.write("one", one);
    place.write("two", two);
    let merge = "--read_iolog=one:two --merge_blktrace_file=merged";
    for (options, span, done) in [
        ("", 4_000_000, [(8192, 2), (1024, 2), (0, 0)]),
        ("--merge_blktrace_scalars=50:400", 4_000_000, [(8192, 2), (1024, 2), (0, 0)]),
        ("--merge_blktrace_scalars=50:300", 3_000_000, [(8192, 2), (1024, 2), (0, 0)]),
        ("--merge_blktrace_iters=1:3", 4_000_000, [(8192, 2), (3072, 6), (0, 0)]),
    ] {
        place.write("merged", "what was there before");
        let json = place.run(&format!("{SIM} {merge} {options}")).ok().json();
        assert_eq!(work(&json)[0].2, done, "{options}");
        assert_eq!(json["jobs"][0]["fiord"]["replay"]["recorded_ns"], span, "{options}");
        // The merged trace replays by itself.
        let again = place.run(&format!("{SIM} --read_iolog=merged")).ok().json();
        assert_eq!(work(&again)[0].2, done, "{options}");
    }
    for (options, message) in [
        ("--merge_blktrace_scalars=50", "1 numbers for 2 traces"),
        ("--merge_blktrace_iters=1:1.5", "not a number of iterations"),
    ] {
        let ran = place.run(&format!("{SIM} {merge} {options}"));
        assert_eq!(ran.status, Some(1), "{options}");
        assert!(ran.err.contains(message), "{options}: {}", ran.err);
    }
}
