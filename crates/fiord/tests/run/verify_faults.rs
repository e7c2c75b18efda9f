//! Each fault that the simulated device injects is reported as its own class and no other, at the place where it was
//! injected.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran};

/// Writes 64 blocks twice, and reads them back after each time.
const TWICE: &str = "--ioengine=sim --size=256k --bs=4k --rw=write --loops=2 --filename=f --name=a \
                     --continue_on_error=verify --output-format=json";

/// Faults with the class that they must get. Write 85 is the second write of block 20; reads from 65 on belong to the
/// second pass.
const FAULTS: [(&str, &str); 21] = [
    ("misdirected_write:op=85:by=-4k", "misdirected"),
    ("misdirected_write:op=85:by=-80k", "misdirected"),
    ("misdirected_read:op=85", "misdirected"),
    ("stale_read:op=85", "stale"),
    ("lost:op=85", "stale"),
    ("lost_after_flush:op=85", "stale"),
    ("torn:op=85:sector=0", "stale"),
    ("torn:op=85:sector=1", "torn"),
    ("torn:op=85:sector=7", "torn"),
    ("torn:op=85:sector=3:unit=200", "torn"),
    ("bit_flip:op=85", "bit-flips"),
    ("bit_flip:op=85:bits=40", "bit-flips"),
    ("bit_flip:op=85:dir=read", "bit-flips"),
    ("shifted:op=85", "shifted"),
    ("shifted:op=85:by=-24", "shifted"),
    ("shifted:op=85:by=700", "shifted"),
    ("shifted:op=85:dir=read", "shifted"),
    ("zeroed:op=85", "blank"),
    ("zeroed:op=85:dir=read", "blank"),
    ("ones:op=85", "blank"),
    ("swapped:op=85", "swapped"),
];

/// The part of the target from which the extents of a report must come: the I/Os of the injected faults, and the other
/// places that they affected.
fn places(injected: &Value) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    for fault in injected["list"].as_array().unwrap() {
        let len = fault["length"].as_u64().unwrap();
        for key in ["offset", "other_offset"] {
            all.extend(fault[key].as_u64().map(|offset| (offset, offset + len)));
        }
    }
    all
}

/// Checks that a job reports exactly this class, within the places of the injected faults.
fn expect(place: &Place, line: &str, class: &str) {
    let ran = place.run(line);
    assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
    let document = ran.json();
    let own = &document["jobs"][0]["fiord"];
    assert_eq!(document["jobs"][0]["error"], 84, "{line}: {own}");
    let classes: BTreeSet<&String> = own["verify"]["faults"].as_object().unwrap().keys().collect();
    assert!(classes.iter().eq([class].iter()), "{line}: {class} was found as {own}");
    let places = places(&own["injected_faults"]);
    for extent in own["verify"]["extents"].as_array().unwrap() {
        let (start, len) = (extent["offset"].as_u64().unwrap(), extent["length"].as_u64().unwrap());
        let inside = places.iter().any(|(from, to)| *from <= start && start + len <= *to);
        assert!(inside, "{line}: {extent} is not in {places:?}");
    }
}

#[test]
fn each_fault_is_reported_as_its_class_and_no_other() {
    let place = Place::new();
    for method in [
        "fiord",
        "crc32c",
        "sha256",
        "crc64 --verify_interval=512",
        "fiord --verify_async=1",
        "sha256 --verify_async=2",
    ] {
        for depth in [1, 4, 32] {
            for (fault, class) in FAULTS {
                let line =
                    format!("{TWICE} --verify={method} --iodepth={depth} --sim_faults={fault}");
                expect(&place, &line, class);
            }
        }
    }
}

/// A backlog is read back while the job writes, and a fault is found then. A misdirected write to a block that has been
/// read back already is not found there, so it is not among these.
#[test]
fn a_backlog_finds_each_fault() {
    let place = Place::new();
    let found = |fault: &str| {
        !["misdirected_write", "swapped", "lost_after"].iter().any(|one| fault.starts_with(one))
    };
    for method in ["fiord", "crc32c"] {
        for backlog in [
            "--verify_backlog=16 --iodepth=1",
            "--verify_backlog=24 --iodepth=8",
            "--verify_backlog=16 --iodepth=4 --verify_async=2",
        ] {
            for (fault, class) in FAULTS.into_iter().filter(|(fault, _)| found(fault)) {
                let line = format!("{TWICE} --verify={method} {backlog} --sim_faults={fault}");
                expect(&place, &line, class);
            }
        }
    }
}

/// Writes that are lost because no flush followed them leave older data.
#[test]
fn a_crash_makes_what_was_not_flushed_stale() {
    let place = Place::new();
    for depth in [1, 4, 32] {
        for crash in ["op=200", "op=200:survive=50"] {
            let line =
                format!("{TWICE} --verify=fiord --iodepth={depth} --fsync=16 --sim_crash={crash}");
            let own = place.run(&line).json()["jobs"][0]["fiord"].clone();
            let lost = &own["injected_faults"]["list"][0]["length"];
            assert_eq!(own["verify"]["faults"]["stale"]["bytes"], *lost, "{line}: {own}");
            assert_eq!(own["verify"]["faults"].as_object().unwrap().len(), 1, "{line}: {own}");
        }
    }
}

/// A later job of the run finds the fault: it reads what the first job wrote.
#[test]
fn another_job_of_the_run_finds_the_fault() {
    let place = Place::new();
    for (fault, class) in [("bit_flip:op=21", "bit-flips"), ("zeroed:op=21", "blank")] {
        let line = format!(
            "--ioengine=sim --size=256k --bs=4k --rw=write --verify=crc32c --filename=f --sim_store=1 \
             --output-format=json --name=w --do_verify=0 --sim_faults={fault} \
             --name=r --stonewall --verify_only=1 --continue_on_error=verify"
        );
        let document = place.run(&line).json();
        let own = &document["jobs"][1]["fiord"]["verify"];
        let classes: Vec<&String> = own["faults"].as_object().unwrap().keys().collect();
        assert_eq!(classes, [class], "{own}");
        assert_eq!(own["extents"][0]["offset"], 20 * 4096, "{own}");
    }
}

const BLOCK: usize = 4096;
/// The size of a target that has 64 blocks.
const SIZE: usize = 64 * BLOCK;
/// The block that [`DAMAGES`] change.
const BAD: std::ops::Range<usize> = 20 * BLOCK..21 * BLOCK;

/// A change of what a target contains. Gets what an earlier run wrote there, too.
type Damage = fn(&mut [u8], &[u8]);

/// Damages with the class that they must get.
const DAMAGES: [(&str, Damage); 7] = [
    ("bit-flips", |new, _| new[BAD.start + 1000] ^= 0x10),
    ("blank", |new, _| new[BAD].fill(0)),
    ("misdirected", |new, _| new.copy_within(BAD.start - BLOCK..BAD.start, BAD.start)),
    ("swapped", |new, _| new[BAD.start - BLOCK..BAD.end].rotate_left(BLOCK)),
    ("shifted", |new, _| new[BAD].rotate_right(24)),
    ("torn", |new, old| {
        let tail = BAD.start + 1536..BAD.end;
        new[tail.clone()].copy_from_slice(&old[tail]);
    }),
    ("unrecognized", |new, _| {
        new[BAD].iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 7 + i / 251) as u8);
    }),
];

/// Writes to `target`, whose bytes are in the file `f`, changes them, and verifies in another run.
fn damage(place: &Place, target: &str, method: &str) {
    let job = format!(
        "--size=256k --bs=4k --rw=write --filename={target} --name=a --verify={method} --direct=1"
    );
    place.run(&format!("{job} --do_verify=0 --randseed=1")).ok();
    let old = std::fs::read(place.path("f")).unwrap();
    place.run(&format!("{job} --do_verify=0 --randseed=2")).ok();
    let good = std::fs::read(place.path("f")).unwrap();
    assert_ne!(old, good);
    let check = format!(
        "{job} --randseed=2 --verify_only=1 --continue_on_error=verify --output-format=json"
    );
    let clean = place.run(&check).ok().json();
    assert_eq!(clean["jobs"][0]["error"], 0);
    for (class, damage) in DAMAGES {
        let mut bad = good.clone();
        damage(&mut bad, &old);
        place.write("f", &bad);
        let document = place.run(&check).json();
        let own = &document["jobs"][0]["fiord"]["verify"];
        let classes: Vec<&String> = own["faults"].as_object().unwrap().keys().collect();
        assert_eq!(classes, [class], "{method} on {target}: {own}");
        let start = own["extents"][0]["offset"].as_u64().unwrap() as usize;
        assert!((BAD.start - BLOCK..BAD.end).contains(&start), "{own}");
    }
}

#[test]
fn damage_to_a_file_is_reported_as_its_class() {
    for method in ["crc32c", "sha256", "fiord"] {
        let place = Place::new();
        damage(&place, "f", method);
    }
}

#[test]
fn a_pattern_is_compared_by_methods_without_a_digest() {
    for method in ["meta", "pattern_hdr", "pattern"] {
        let place = Place::new();
        let job = format!(
            "--name=a --filename=f --size=256k --bs=4k --rw=write --verify={method} --verify_pattern=0x1122%o"
        );
        place.run(&format!("{job} --do_verify=0")).ok();
        let check = format!("{job} --verify_only=1 --output-format=json");
        place.run(&check).ok();
        let mut data = std::fs::read(place.path("f")).unwrap();
        data[BAD.start + 2000] ^= 0x10;
        place.write("f", &data);
        let ran = place.run(&check);
        let own = &ran.json()["jobs"][0]["fiord"]["verify"];
        assert!(
            ran.status == Some(1) && own["faults"]["bit-flips"]["extents"] == 1,
            "{method}: {own}"
        );
        if let Some(fio) = place.fio(&check).filter(|fio| fio.out.contains("fio-3.42")) {
            assert_eq!(fio.status, Some(1), "{method}: {fio:?}");
        }
    }
}

#[test]
fn a_block_of_another_file_is_found_in_a_later_run() {
    let place = Place::new();
    let job = |file: &str, more: &str| {
        format!("--name=a --filename={file} --size=256k --bs=4k --rw=write --verify=fiord {more}")
    };
    place.run(&job("other", "--do_verify=0")).ok();
    place.run(&job("f", "--do_verify=0")).ok();
    let mut data = std::fs::read(place.path("f")).unwrap();
    let other = std::fs::read(place.path("other")).unwrap();
    data[BAD].copy_from_slice(&other[BAD]);
    place.write("f", &data);
    let check = "--verify_only=1 --continue_on_error=verify --output-format=json";
    let document = place.run(&job("f", check)).json();
    let faults = &document["jobs"][0]["fiord"]["verify"]["faults"];
    assert_eq!(faults["other-target"]["bytes"], BAD.len(), "{faults}");
    let reads =
        format!("{} --continue_on_error=verify --output-format=json", job("f", "--rw=randread"));
    let faults = &place.run(&reads).json()["jobs"][0]["fiord"]["verify"]["faults"];
    assert_eq!(faults["other-target"]["bytes"], BAD.len(), "{faults}");
    // A copy states another path, and all of it the same one.
    place.write("copy", &other);
    assert_eq!(place.run(&job("copy", check)).ok().json()["jobs"][0]["error"], 0);
}

/// A loop device, detached when it is dropped.
struct Loop(String);

impl Loop {
    /// Attaches a file. `None` without the right or the means to do so.
    fn attach(place: &Place, file: &str) -> Option<Loop> {
        let output = Command::new("losetup").args(["-f", "--show"]).arg(place.path(file)).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(Loop(String::from_utf8(output.stdout).ok()?.trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn damage_below_a_loop_device_is_reported_as_its_class() {
    for method in ["crc32c", "fiord"] {
        let place = Place::new();
        place.write("f", vec![0; 64 * BLOCK]);
        let Some(device) = Loop::attach(&place, "f") else {
            eprintln!("skipped: no loop device can be attached here");
            return;
        };
        damage(&place, &device.0, method);
    }
}

/// Waits until `is` is true of the file `f`, at most `time`. Returns its bytes.
fn wait_for(place: &Place, time: Duration, is: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let begin = Instant::now();
    while begin.elapsed() < time {
        let bytes = std::fs::read(place.path("f")).unwrap();
        if is(&bytes) {
            return Some(bytes);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// The job pauses after each lap. In the second pause, the file below the device gets a block of the first lap.
#[test]
fn an_older_block_below_a_loop_device_is_stale() {
    let place = Place::new();
    // A test that is late tries again with a longer pause.
    let found = [300, 1500, 6000].into_iter().any(|pause| {
        place.write("f", vec![0; SIZE]);
        let Some(device) = Loop::attach(&place, "f") else {
            eprintln!("skipped: no loop device can be attached here");
            return true;
        };
        let (in_time, ran) = make_stale(&place, &device.0, pause);
        if in_time {
            let own = &ran.json()["jobs"][0]["fiord"]["verify"];
            let classes: Vec<&String> = own["faults"].as_object().unwrap().keys().collect();
            assert_eq!(classes, ["stale"], "{own}");
            assert_eq!(own["extents"][0]["offset"], BAD.start, "{own}");
        }
        in_time
    });
    assert!(found, "the test was too late in every pause");
}

/// Runs a job on a device with pauses of this many milliseconds. In the second one, puts a block of the first lap into the
/// file below the device. Returns whether it was in time.
fn make_stale(place: &Place, device: &str, pause: u64) -> (bool, Ran) {
    let last = SIZE - BLOCK..SIZE;
    let line = format!(
        "--name=a --filename={device} --size={SIZE} --bs={BLOCK} --rw=write --verify=fiord --direct=1 --io_size={} \
         --thinktime={pause}ms --thinktime_blocks={} --continue_on_error=verify --output-format=json",
        2 * SIZE + BLOCK,
        SIZE / BLOCK,
    );
    let time = Duration::from_millis(10 * pause + 10_000);
    std::thread::scope(|scope| {
        let job = scope.spawn(|| place.run(&line));
        let first = wait_for(place, time, |now| now[last.clone()].iter().any(|byte| *byte != 0));
        let second = first.as_ref().and_then(|first| {
            wait_for(place, time, |now| now[last.clone()] != first[last.clone()])
        });
        let (Some(first), Some(second)) = (first, second) else {
            return (false, job.join().unwrap());
        };
        let file = std::fs::File::options().write(true).open(place.path("f")).unwrap();
        file.write_all_at(&first[BAD], BAD.start as u64).unwrap();
        let now = std::fs::read(place.path("f")).unwrap();
        // The first block is the one that the job writes after the pause.
        let in_time = now[..BLOCK] == second[..BLOCK] && first[BAD] != second[BAD];
        (in_time, job.join().unwrap())
    })
}

/// One byte of the map counts 251 generations of a block.
#[test]
fn a_block_that_is_stale_by_251_generations_is_found() {
    let place = Place::new();
    for (lost, more) in [(250, ""), (251, ""), (502, "--iodepth=4"), (2510, "--verify_async=1")] {
        // The first write is torn after its end, so it is stored.
        let line = format!(
            "--name=s --ioengine=sim --size=4k --bs=4k --rw=randwrite --norandommap --verify=fiord \
             --io_size={} --sim_faults=torn:op=1:sector=8,lost:rate=100:count={lost} \
             --continue_on_error=verify --output-format=json {more}",
            4096 * (lost + 1),
        );
        let ran = place.run(&line);
        let own = &ran.json()["jobs"][0]["fiord"]["verify"];
        assert_eq!(own["faults"]["stale"]["extents"], 1, "{line}: {own}");
        assert_eq!(own["extents"][0]["generations"], lost, "{line}: {own}");
    }
}

/// The map of a job says which write each block must contain. An intact block of an earlier write is bad, whatever the
/// method, and all outputs say so.
#[test]
fn blocks_that_are_stale_by_the_map_are_bad_extents_with_each_method() {
    let place = Place::new();
    let line = |verify: &str, more: &str| {
        format!(
            "--name=a --ioengine=sim --sim_lost_rate=10 --rw=randwrite --norandommap --bs=4k --size=256k --io_size=4m \
             --iodepth=4 --continue_on_error=verify --output-format=json --verify={verify} {more}"
        )
    };
    let extents = |line: &str| {
        let ran = place.run(line);
        assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
        let document = ran.json();
        let job = document["jobs"][0].clone();
        assert_eq!(job["error"], 84, "{line}");
        let verify = &job["fiord"]["verify"];
        let classes: Vec<&String> = verify["faults"].as_object().unwrap().keys().collect();
        assert_eq!(classes, ["stale"], "{line}: {verify}");
        let places = verify["extents"].as_array().unwrap().iter();
        places.map(|one| (one["offset"].clone(), one["length"].clone())).collect::<Vec<_>>()
    };
    let expected = extents(&line("fiord", ""));
    assert!(expected.len() > 2, "{expected:?}");
    for verify in [
        "md5",
        "crc7",
        "crc32c --verify_async=2",
        "sha3-256 --verify_interval=1k",
        "xxhash --verify_offset=1k",
        "meta",
        "pattern_hdr --verify_pattern=0x1122%o",
        "md5 --verify_pattern=0x11",
        "crc64 --bsrange=4k-4k --bs_unaligned=1",
    ] {
        assert_eq!(extents(&line(verify, "")), expected, "{verify}");
    }
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let outputs = "--output-format=normal --output=text --html=page.html --verify_extents=list";
    place.run(&line("md5", outputs));
    let lines = read("list").lines().filter(|line| line.contains(" stale")).count();
    assert_eq!(lines, expected.len());
    let text = read("text");
    assert!(text.contains(&format!("bad extents: {lines} stale")), "{text}");
    assert!(read("page.html").contains("stale: "));
}

/// A write that is torn between two intervals, whose blocks were written before.
#[test]
fn a_tear_between_intact_intervals_is_found_by_the_map() {
    let place = Place::new();
    for verify in ["fiord", "crc32c --verify_interval=512"] {
        let line = format!(
            "--name=a --ioengine=sim --size=64k --bs=4k --rw=randwrite --norandommap --io_size=1m --verify={verify} \
             --sim_faults=torn:rate=10:sector=3 --continue_on_error=verify --output-format=json"
        );
        let own = place.run(&line).json()["jobs"][0]["fiord"]["verify"].clone();
        let classes: Vec<&String> = own["faults"].as_object().unwrap().keys().collect();
        assert_eq!(classes, ["torn"], "{line}: {own}");
    }
}
