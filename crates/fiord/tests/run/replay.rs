//! Tests of `read_iolog` and `write_iolog`. Times are exact on the simulated device.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::Value;

use crate::fiord::{Place, Ran, work};

/// A device of 1 ms per I/O on a virtual clock.
const SIM: &str =
    "--name=a --ioengine=sim --sim_latency=constant:1ms --sim_channels=64 --output-format=json";

/// A log of version 3: I/Os of `f` at these times (us).
fn log(rows: &[(u64, &str)]) -> String {
    let mut text = String::from("fio version 3 iolog\n0 f add\n0 f open\n");
    rows.iter().for_each(|(time, row)| writeln!(text, "{time} f {row}").unwrap());
    text
}

fn replay(place: &Place, options: &str) -> Ran {
    place.run(&format!("{SIM} --read_iolog=log {options}"))
}

#[track_caller]
fn result(ran: Ran) -> Value {
    ran.ok().json()["jobs"][0]["fiord"]["replay"].clone()
}

/// Two requests overlap with a depth of 1: the second one is late by the rest of the first, and those after it are not
/// late at all, because times are absolute.
#[test]
fn a_late_io_does_not_shift_those_after_it() {
    let place = Place::new();
    place.write(
        "log",
        log(&[
            (500, "read 0 4096"),
            (900, "read 8192 4096"),
            (5000, "write 0 512"),
            (9000, "sync 0 0"),
        ]),
    );
    let replay = result(replay(&place, ""));
    assert_eq!(replay["ios"], 4);
    assert_eq!(
        (replay["recorded_ns"].as_u64(), replay["took_ns"].as_u64()),
        (Some(8_500_000), Some(8_500_000))
    );
    let lateness = &replay["lateness_ns"];
    // The second read was due at 400 us, and the first one ended at 1 ms.
    assert_eq!(
        (lateness["max"].as_u64(), lateness["mean"].as_u64()),
        (Some(600_000), Some(150_000))
    );
    assert_eq!((&replay["depth"], &replay["blocked"]), (&1.into(), &1.into()));
}

#[test]
fn a_deep_queue_follows_the_trace() {
    let place = Place::new();
    let rows: Vec<(u64, String)> =
        (0..100).map(|i| (i * 100, format!("write {} 4096", i * 4096))).collect();
    let rows: Vec<(u64, &str)> = rows.iter().map(|(time, row)| (*time, row.as_str())).collect();
    place.write("log", log(&rows));
    let replay = result(replay(&place, "--iodepth=16"));
    assert_eq!(replay["lateness_ns"]["max"], 0, "{replay}");
    assert_eq!((&replay["depth"], &replay["blocked"]), (&10.into(), &0.into()));
}

/// Bursts of 8 I/Os every millisecond, on a device that takes 200 us for each.
#[test]
fn a_replay_that_does_not_follow_its_trace_is_reported() {
    let place = Place::new();
    let rows: Vec<(u64, &str)> = (0..800).map(|i| (i / 8 * 1000, "read 0 4096")).collect();
    place.write("log", log(&rows));
    for (options, late) in [("", true), ("--iodepth=8", false), ("--replay_no_stall=1", false)] {
        let json = replay(&place, &format!("--sim_latency=constant:200us {options}")).ok().json();
        let findings = json["fiord"]["findings"].to_string();
        assert_eq!(findings.contains("replay-late"), late, "{options}: {findings}");
        assert!(!late || findings.contains("set iodepth=4"), "{findings}");
    }
}

#[test]
fn times_are_scaled_or_ignored() {
    let place = Place::new();
    place.write("log", log(&[(0, "read 0 4096"), (40_000, "read 4096 4096")]));
    for (options, took) in [
        ("", 40_000_000),
        ("--replay_time_scale=50", 80_000_000),
        ("--replay_time_scale=200", 20_000_000),
        ("--replay_no_stall=1", 1_000_000),
        ("--thinktime=100ms", 101_000_000),
    ] {
        let replay = result(replay(&place, options));
        assert_eq!(replay["took_ns"], took, "{options}: {replay}");
    }
    // The run time ends a replay.
    let ran = replay(&place, "--runtime=20ms").ok();
    assert_eq!(work(&ran.json())[0].2[0], (4096, 1));
}

/// As fio 3.42: the trace alone decides which I/Os there are, and it is replayed once.
#[test]
fn the_options_of_a_load_do_not_matter() {
    let place = Place::new();
    place.write("log", log(&[(0, "read 0 4096"), (1000, "write 0 8192"), (2000, "read 512 1024")]));
    for options in [
        "",
        "--rw=randwrite --bs=1k --size=1g",
        "--number_ios=1",
        "--io_size=4k",
        "--loops=3",
        "--time_based --runtime=10",
        "--offset=1m --size=1m",
        "--fsync=1 --rate_iops=1",
    ] {
        let ran = replay(&place, options).ok();
        let expected = [(4096 + 1024, 2), (8192, 1), (0, 0)];
        assert_eq!(work(&ran.json())[0].2, expected, "{options}");
    }
}

/// The bytes that a write changes show where it went.
/// Options that choose the next I/O are reported, because a replay does not follow them.
#[test]
fn options_that_choose_the_next_io_are_reported() {
    let place = Place::new();
    place.write("log", log(&[(0, "write 0 4096")]));
    for option in [
        "percentage_random=50",
        "random_distribution=zipf:1.2",
        "random_generator=lfsr",
        "norandommap=1",
        "rw_sequencer=identical",
        "ba=8k",
        "bs_unaligned=1",
        "bs_is_seq_rand=1",
        "offset_align=4k",
        "sprandom=1",
        "file_service_type=random",
        "file_append=1",
        "openfiles=1",
        "sync_file_range=write:2",
        "write_barrier=2",
    ] {
        let json = replay(&place, &format!("--rw=randrw --{option}")).ok().json();
        let (name, _) = option.split_once('=').unwrap();
        let findings = json["fiord"]["findings"].as_array().unwrap();
        let of_it = findings.iter().filter(|found| found["option"] == name);
        let found: Vec<_> = of_it.map(|found| found["what"].as_str().unwrap()).collect();
        let [what] = found[..] else { panic!("{option}: {found:?}") };
        assert!(what.contains("has no effect"), "{option}: {what}");
    }
}

/// A job may have fewer `openfiles` than its trace has files: they all stay open.
#[test]
fn all_files_of_a_trace_are_open() {
    let place = Place::new();
    let log = "fio version 2 iolog\nf add\ng add\nf open\ng open\nf write 0 4096\ng write 0 4096\nf read 0 4096\n";
    place.write("log", log);
    let job = "--name=a --ioengine=psync --read_iolog=log --openfiles=1 --output-format=json";
    let json = place.run(job).ok().json();
    assert_eq!(
        (&json["jobs"][0]["read"]["total_ios"], &json["jobs"][0]["write"]["total_ios"]),
        (&1.into(), &2.into())
    );
}

#[test]
fn offsets_are_divided_rounded_and_redirected() {
    let place = Place::new();
    let zeros = vec![0; 64 << 10];
    place
        .write("log", log(&[(0, "write 0 512"), (10, "write 12288 512"), (20, "write 30000 512")]));
    for (options, places) in [
        ("", [0, 12288, 30000]),
        ("--replay_scale=3", [0, 4096, 10000]),
        ("--replay_scale=3 --replay_align=4k", [0, 4096, 8192]),
        ("--replay_align=512", [0, 12288, 29696]),
    ] {
        for (target, redirect) in
            [("f", ""), ("g", "--replay_redirect=g"), ("h", "--replay_map=f:h")]
        {
            place.write(target, &zeros);
            let line =
                format!("--name=a --buffer_pattern=0x5a --read_iolog=log {redirect} {options}");
            place.run(&line).ok();
            let mut expected = zeros.clone();
            places.into_iter().for_each(|at| expected[at..at + 512].fill(0x5a));
            let found = std::fs::read(place.path(target)).unwrap();
            assert!(found == expected, "{options} {redirect}");
        }
    }
}

#[test]
fn offsets_beyond_the_target_are_refused_or_scaled() {
    let place = Place::new();
    let rows = [
        (0, "write 0 4096"),
        (10_000, "write 32768 4096"),
        (20_000, "read 61440 4096"),
        (30_000, "write 57344 8192"),
    ];
    place.write("log", log(&rows));
    let ran = replay(&place, "--sim_size=32k --write_iolog=out");
    let said = "the trace has I/Os up to offset 65536, and `f` has 32768 bytes";
    assert!(ran.status == Some(1) && ran.err.contains(said), "{ran:?}");
    assert!(
        ran.err.contains("replay_scale=2") && ran.err.contains("replay_beyond=scale"),
        "{ran:?}"
    );
    assert!(!place.path("out").exists(), "no I/O");

    let scaled = |options: &str| {
        let line = format!("--sim_size=32k --replay_beyond=scale --write_iolog=out {options}");
        let ran = replay(&place, &line).ok();
        assert!(ran.out.contains("all its offsets are multiplied by"), "{ran:?}");
        let text = std::fs::read_to_string(place.path("out")).unwrap();
        std::fs::remove_file(place.path("out")).unwrap();
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, _, kind @ ("read" | "write"), offset, len] = fields[..] else { return None };
            Some(format!("{kind} {offset} {len}"))
        };
        text.lines().filter_map(row).collect::<Vec<_>>()
    };
    // The last I/Os end where the target ends, and offsets stay multiples of the block.
    let half = ["write 0 4096", "write 16384 4096", "read 28672 4096", "write 24576 8192"];
    assert_eq!(scaled(""), half);
    place.write(
        "log",
        log(&[(0, "write 0 4096"), (9, "write 40960 4096"), (19, "read 94208 4096")]),
    );
    assert_eq!(scaled(""), ["write 0 4096", "write 12288 4096", "read 28672 4096"]);
}

#[test]
fn kinds_of_io_and_files_are_skipped() {
    let place = Place::new();
    let text = log(&[(0, "read 0 512"), (1, "write 0 512"), (2, "sync 0 0"), (3, "datasync 0 0")])
        + "4 g add\n4 g open\n5 g read 0 1024\n";
    place.write("log", text);
    for (options, reads, writes, all) in [
        ("", 2, 1, 5),
        ("--replay_skip=read", 0, 1, 3),
        ("--replay_skip=write,sync", 2, 0, 2),
        ("--replay_map=g:", 1, 1, 4),
        ("--replay_map=f:,g:x", 1, 0, 1),
    ] {
        let json = replay(&place, options).ok().json();
        let done = work(&json)[0].2;
        assert_eq!((done[0].1, done[1].1), (reads, writes), "{options}");
        let replay = &json["jobs"][0]["fiord"]["replay"];
        assert_eq!(
            (&replay["ios"], &replay["skipped_ios"]),
            (&all.into(), &(5 - all).into()),
            "{options}"
        );
    }
}

/// A file that the trace reads before it has written it exists before the run; a file that it only writes need not.
#[test]
fn missing_files_are_made() {
    let place = Place::new();
    let text = log(&[(0, "write 0 512"), (1, "read 0 512")])
        + "4 g add\n4 g open\n5 g read 4096 4096\n6 g write 8192 512\n";
    place.write("log", text);
    place.run("--name=a --read_iolog=log").ok();
    let len = |name: &str| std::fs::metadata(place.path(name)).unwrap().len();
    assert_eq!((len("f"), len("g")), (512, 8704));
}

/// Writes of a trace are verified, also where they overlap in parts; data of others is found.
#[test]
fn the_writes_of_a_trace_are_verified() {
    let place = Place::new();
    let same = [(0, "write 0 4096"), (1, "write 8192 4096"), (2, "write 4096 4096")];
    let parts =
        [(0, "write 0 8192"), (1, "write 4096 8192"), (2, "write 512 512"), (3, "read 0 512")];
    for (rows, written) in [(&same[..], 12288), (&parts[..], 16896)] {
        place.write("log", log(rows));
        for method in ["crc32c", "md5"] {
            let line = format!("--name=a --read_iolog=log --verify={method} --output-format=json");
            let verify = place.run(&line).ok().json()["jobs"][0]["fiord"]["verify"].clone();
            assert_eq!(verify["written_bytes"], written, "{method}: {verify}");
            let overwritten = verify["unverified_bytes"]["overwritten"].as_u64().unwrap_or(0);
            assert_eq!(verify["verified_bytes"], written - overwritten, "{method}: {verify}");
            assert!(overwritten <= 8192 && verify["faults"] == serde_json::json!({}), "{verify}");
        }
    }
    place.write("f", vec![1; 16384]);
    place.write("log", log(&[(0, "read 0 4096")]));
    let ran = place.run("--name=a --read_iolog=log --verify=crc32c");
    assert_eq!(ran.status, Some(1), "{ran:?}");
}

#[test]
fn each_instance_has_its_trace() {
    let place = Place::new();
    place.write("one", log(&[(0, "read 0 4096")]));
    place.write("two", log(&[(0, "write 0 4096"), (1, "write 0 4096")]));
    let ran = place.run(&format!("{SIM} --read_iolog=one:two --numjobs=3")).ok();
    let done: Vec<_> =
        work(&ran.json()).into_iter().map(|(_, _, dirs)| (dirs[0].1, dirs[1].1)).collect();
    // As in fio, the clones follow the first job in descending order.
    assert_eq!(done, [(1, 0), (1, 0), (0, 2)]);
}

#[test]
fn standard_input_fifos_and_sockets_are_read_once() {
    let place = Place::new();
    place.write("log", log(&[(0, "write 0 4096"), (1, "read 0 4096")]));
    let ran = place.script(&format!(
        "{} {SIM} --read_iolog=- < log && mkfifo p && (cat log > p & {} {SIM} --read_iolog=p)",
        env!("CARGO_BIN_EXE_fiord"),
        env!("CARGO_BIN_EXE_fiord")
    ));
    for document in ran.ok().documents() {
        assert_eq!(work(&document)[0].2, [(4096, 1), (4096, 1), (0, 0)]);
    }
    let listener = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    let text = std::fs::read(place.path("log")).unwrap();
    let sender = std::thread::spawn(move || listener.accept().unwrap().0.write_all(&text).unwrap());
    let ran = place.run(&format!("{SIM} --read_iolog=socket")).ok();
    sender.join().unwrap();
    assert_eq!(work(&ran.json())[0].2, [(4096, 1), (4096, 1), (0, 0)]);
}

/// The stream is much longer than what the planner looks at, so its beginning ends within compressed data.
#[test]
fn compressed_traces_are_replayed_from_files_and_streams() {
    const IOS: u64 = 40_000;
    let place = Place::new();
    let mut rows = String::new();
    for n in 0..IOS {
        let block = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        writeln!(rows, "{n},{block},{},4096", if n % 3 == 0 { "W" } else { "R" }).unwrap();
    }
    place.write("log", rows);
    let fiord = env!("CARGO_BIN_EXE_fiord");
    let job = format!("{SIM} --sim_size=16g --replay_redirect=d --replay_no_stall=1 --iodepth=64");
    let ran = place.script(&format!(
        "gzip log && {fiord} {job} --read_iolog=log.gz && {fiord} {job} --read_iolog=- < log.gz"
    ));
    let done = |count: u64| (count * 4096, count);
    let writes = IOS.div_ceil(3);
    let documents = ran.ok().documents();
    assert_eq!(documents.len(), 2);
    for document in documents {
        assert_eq!(work(&document)[0].2, [done(IOS - writes), done(writes), (0, 0)]);
    }
    let whole = std::fs::read(place.path("log.gz")).unwrap();
    place.write("log.gz", &whole[..whole.len() / 2]);
    let ran = place.run(&format!("{job} --read_iolog=log.gz"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("To fix: copy the complete file"), "{}", ran.err);
}

/// What is wrong with a trace, and what the message says.
#[test]
fn wrong_traces_are_refused_before_any_io() {
    let place = Place::new();
    place.write("log", log(&[(0, "read 0 4096"), (9, "jump 0 4096"), (20, "read 0 4096")]));
    let ran = replay(&place, "");
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("line 5") && ran.err.contains("9 f jump 0 4096"), "{}", ran.err);
    assert!(ran.err.contains("replay_invalid=skip"), "{}", ran.err);
    let replay = result(replay(&place, "--replay_invalid=skip"));
    assert_eq!((&replay["ios"], &replay["invalid_lines"]), (&2.into(), &1.into()));
    assert!(replay["first_invalid_line"].as_str().unwrap().contains("jump"), "{replay}");
    for (name, text, message) in [
        ("empty", "", "empty"),
        ("header", "fio version 3 iolog\n", "no I/O"),
        ("old", "fio version 1 iolog\n", "version"),
        ("other", "hello\n", "unknown trace format"),
        ("far", "fio version 3 iolog\n0 f add\n0 f read 9223372036854775807 4096\n", "2^63"),
        ("cut", "fio version 3 iolog\n0 f add\n0 f read 0", "line 3"),
    ] {
        place.write(name, text);
        let ran = place.run(&format!("{SIM} --read_iolog={name}"));
        assert_eq!(ran.status, Some(1), "{name}");
        assert!(ran.err.contains(message), "{name}: {}", ran.err);
    }
    let ran = place.run(&format!("{SIM} --read_iolog=none"));
    assert!(ran.err.contains("cannot read the trace `none`"), "{}", ran.err);
    let ran = place.run(&format!("{SIM} --read_iolog=."));
    assert!(ran.err.contains("it is a directory"), "{}", ran.err);
}

#[test]
fn a_stream_that_becomes_invalid_ends_the_job() {
    let place = Place::new();
    place.write("log", log(&[(0, "write 0 4096"), (9, "jump")]));
    let ran = place.script(&format!("{} {SIM} --read_iolog=- < log", env!("CARGO_BIN_EXE_fiord")));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("line 5"), "{ran:?}");
    assert_eq!(work(&ran.json())[0].2[1].1, 1);
}

/// The log of a job, replayed, makes the I/Os of the job.
#[test]
fn a_log_replays_as_it_was_recorded() {
    let place = Place::new();
    for options in ["", "--write_iolog_at=completion"] {
        let _ = std::fs::remove_file(place.path("log"));
        let job = format!(
            "{SIM} --filename=f --size=1m --rw=randrw --bs=4k,8k --fdatasync=10 --iodepth=8 --write_iolog=log {options}"
        );
        let recorded = place.run(&job).ok().json();
        let copy =
            place.run(&format!("{SIM} --iodepth=8 --read_iolog=log --write_iolog=copy")).ok();
        assert_eq!(work(&recorded)[0].2, work(&copy.json())[0].2, "{options}");
        let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
        let (log, copy) = (read("log"), read("copy"));
        let ios = |text: &str| -> Vec<String> {
            let fields = text.lines().skip(1).map(|line| line.split(' ').skip(1).take(4));
            let mut lines: Vec<_> =
                fields.map(|fields| fields.collect::<Vec<_>>().join(" ")).collect();
            lines.sort();
            lines
        };
        assert_eq!(ios(&log), ios(&copy), "{options}");
        if options.is_empty() {
            assert!(log.starts_with("fio version 3 iolog\n0 f add\n0 f open\n0 f "), "{log}");
            assert!(log.ends_with(" f close\n"), "{log}");
            assert_eq!(log, copy);
        } else {
            let line = log.lines().nth(5).unwrap();
            let fields: Vec<&str> = line.split(' ').collect();
            assert_eq!((fields.len(), fields[5]), (7, "1000000"), "{line}");
        }
        let _ = std::fs::remove_file(place.path("copy"));
    }
}

#[test]
fn many_jobs_share_a_log() {
    let place = Place::new();
    let job = "--ioengine=null --size=8m --bs=4k --write_iolog=log --numjobs=4 --filename=f --rw=randwrite";
    place.run(&format!("--name=a {job} --name=b {job}")).ok();
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count("version"), count(" add"), count(" write ")), (1, 1, 8 * 2048));
    let times: Vec<u64> =
        log.lines().skip(1).map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    let back = times.windows(2).filter(|pair| pair[0] > pair[1] + 1000).count();
    // A job that loses its CPU between its clock and the log writes its line later.
    assert!(back < times.len() / 100, "{back} times went backwards");
    let ran = place
        .run("--name=c --ioengine=null --read_iolog=log --replay_no_stall=1 --output-format=json")
        .ok();
    assert_eq!(work(&ran.json())[0].2[1].1, 8 * 2048);
}

#[test]
fn writes_in_flight_that_overlap_are_reported() {
    let place = Place::new();
    let job = format!(
        "{SIM} --filename=f --size=16k --bs=4k --rw=randwrite --norandommap --io_size=1m --iodepth=8"
    );
    let found = |line: &str| {
        let json = place.run(line).ok().json();
        json["fiord"]["findings"].to_string().contains("iolog: overlap")
    };
    assert!(found(&format!("{job} --write_iolog=log")));
    assert!(!found(&format!("{job} --write_iolog=log --serialize_overlap=1")));
}

#[test]
fn a_log_that_cannot_be_written_ends_the_job() {
    let place = Place::new();
    let ran = place.run(&format!("{SIM} --filename=f --size=1m --rw=write --write_iolog=none/log"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("write_iolog failed on none/log"), "{}", ran.err);
    let ran =
        place.run(&format!("{SIM} --filename=f --size=1m --rw=write --write_iolog=/dev/full"));
    assert!(ran.err.contains("could not write the log of I/Os"), "{ran:?}");
}

/// fio replays what fiord has recorded, and fiord what fio has.
#[test]
fn fio_and_fiord_replay_each_others_logs() {
    let place = Place::new();
    let job = "--name=a --filename=f --size=256k --rw=randrw --bs=4k,8k --fsync=8 --write_iolog=log --output-format=json";
    let replay = "--name=b --read_iolog=log --replay_no_stall=1 --output-format=json";
    let Some(recorded) = place.fio(job) else { return };
    assert_eq!(recorded.status, Some(0), "{recorded:?}");
    let done = |ran: &Ran| work(&ran.json())[0].2;
    let ours = place.run(replay).ok();
    assert_eq!(done(&ours)[..2], done(&recorded)[..2]);
    std::fs::remove_file(place.path("log")).unwrap();
    let recorded = place.run(job).ok();
    let theirs = place.fio(replay).unwrap();
    assert_eq!(theirs.status, Some(0), "{theirs:?}");
    assert_eq!(done(&theirs)[..2], done(&recorded)[..2]);
}
