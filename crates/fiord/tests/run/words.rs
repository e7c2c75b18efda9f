//! Tests of bytes, I/Os and syncs of every word of `rw` on every engine. They compare with fio if it is
//! installed, and with values that fio was found to report otherwise.

use serde_json::Value;

use crate::engines::file_engines;
use crate::fiord::{Place, Work, work};

/// Engines that work on files, with the queue depths to try.
fn engines_and_depths() -> impl Iterator<Item = (&'static str, u32)> {
    file_engines().flat_map(|engine| {
        let depths: &[u32] = if engine.is_synchronous() { &[1] } else { &[1, 8] };
        depths.iter().map(|depth| (engine.name, *depth))
    })
}

/// Words of `rw`, and how many of the 75 blocks are read, written and trimmed. For a mix, the sum, because
/// the shares are random.
const WORDS: [(&str, Blocks); 11] = [
    ("read", Blocks::Each([75, 0, 0])),
    ("write", Blocks::Each([0, 75, 0])),
    ("randread", Blocks::Each([75, 0, 0])),
    ("randwrite", Blocks::Each([0, 75, 0])),
    ("rw", Blocks::Mixed(75)),
    ("readwrite", Blocks::Mixed(75)),
    ("randrw", Blocks::Mixed(75)),
    ("trim", Blocks::Each([0, 0, 75])),
    ("randtrim", Blocks::Each([0, 0, 75])),
    ("trimwrite", Blocks::Each([0, 75, 75])),
    ("randtrimwrite", Blocks::Each([0, 75, 75])),
];

/// Syncs of the job `write`, which has `fsync=8`: one after each eighth of 75 writes.
const SYNCS: u64 = 9;

#[derive(Debug, Clone, Copy)]
enum Blocks {
    Each([u64; 3]),
    Mixed(u64),
}

fn trims(word: &str) -> bool {
    word.contains("trim")
}

/// Runs all words at once, each on a separate file of 75 blocks.
fn line(engine: &str, depth: u32, filename: &str, wanted: impl Fn(&str) -> bool) -> String {
    let mut line = format!(
        "--output-format=json --ioengine={engine} --iodepth={depth} --bs=4k --size=300k {filename}"
    );
    for (word, _) in WORDS.iter().filter(|(word, _)| wanted(word)) {
        let fsync = if *word == "write" { "--fsync=8" } else { "" };
        line += &format!(" --name={word} --rw={word} {fsync}");
    }
    line
}

/// Syncs of each job. `None` for an older fio, which counts them differently (once per queue slot, and no
/// `fdatasync`).
fn syncs(document: &Value) -> Vec<Option<u64>> {
    let counts = document["fio version"].as_str().unwrap().starts_with("fio-3.42");
    let jobs = document["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["sync"]["total_ios"].as_u64().filter(|_| counts)).collect()
}

/// Checks values that fio was found to report. They hold for both programs.
#[track_caller]
fn facts(what: &str, jobs: &[Work], syncs: &[Option<u64>]) {
    for ((word, error, dirs), syncs) in jobs.iter().zip(syncs) {
        let (_, blocks) = WORDS.iter().find(|(w, _)| w == word).unwrap();
        assert_eq!(*error, 0, "{what} {word}");
        match *blocks {
            Blocks::Each(counts) => {
                assert_eq!(*dirs, counts.map(|n| (n * 4096, n)), "{what} {word}");
                if let Some(syncs) = syncs {
                    let expected = if word == "write" { SYNCS } else { 0 };
                    assert_eq!(*syncs, expected, "{what} {word}: syncs");
                }
            }
            Blocks::Mixed(count) => {
                let bytes: u64 = dirs.iter().map(|d| d.0).sum();
                let ios: u64 = dirs.iter().map(|d| d.1).sum();
                assert_eq!((bytes, ios), (count * 4096, count), "{what} {word}: {dirs:?}");
                // Half of 75, with a standard deviation of 4.3.
                assert!((18..=57).contains(&dirs[0].1), "{what} {word}: {dirs:?}");
            }
        }
    }
}

/// Runs both programs and compares both with the known values.
fn compare(place: &Place, line: &str) {
    let document = place.run(line).ok().json();
    facts(&format!("fiord {line}"), &work(&document), &syncs(&document));
    let Some(fio) = place.fio(line) else {
        println!("no fio on PATH: compared with what it was found to report");
        return;
    };
    let document = fio.json();
    facts(&format!("fio {line}"), &work(&document), &syncs(&document));
}

#[test]
fn every_word_on_every_engine_on_files() {
    // At the same time, because fio sleeps most of the time.
    std::thread::scope(|scope| {
        for (engine, depth) in engines_and_depths() {
            scope.spawn(move || {
                compare(&Place::new(), &line(engine, depth, "", |word| !trims(word)));
            });
        }
    });
}

#[test]
fn every_word_on_the_engine_without_a_device() {
    for depth in [1, 8] {
        compare(&Place::new(), &line("null", depth, "", |_| true));
    }
}

/// Creates a block device of the size of the files, if the machine and the user permit it.
struct Loop(String);

impl Loop {
    fn new(place: &Place) -> Option<Self> {
        place.write("disk.img", vec![0x5a; 300 << 10]);
        let image = place.path("disk.img");
        let made = std::process::Command::new("losetup").args(["-f", "--show"]).arg(image).output();
        match made {
            Ok(out) if out.status.success() => {
                Some(Loop(String::from_utf8_lossy(&out.stdout).trim().to_string()))
            }
            other => {
                println!("no loop device, so no trims on a block device: {other:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn trims_on_a_block_device() {
    let place = Place::new();
    let Some(device) = Loop::new(&place) else { return };
    for (engine, depth) in [("psync", 1), ("pvsync2", 1), ("libaio", 8), ("io_uring", 8)] {
        // With direct I/O, because the page cache would keep trimmed blocks; one after another.
        let place_on = format!("--filename={} --direct=1 --stonewall", device.0);
        compare(&place, &line(engine, depth, &place_on, trims));
    }
}

/// Limits, sizes and patterns, each with the values that fio reports: I/Os and bytes read and written, syncs.
const JOBS: [(&str, [u64; 5]); 26] = [
    ("--rw=read --bs=7k --size=100k", [14, 100_352, 0, 0, 0]),
    ("--rw=randread --size=100k --loops=3", [75, 307_200, 0, 0, 0]),
    ("--rw=randread --size=100k --number_ios=10", [10, 40_960, 0, 0, 0]),
    ("--rw=randread --size=100k --io_size=30k", [8, 32_768, 0, 0, 0]),
    ("--rw=read --size=100k --io_size=300k", [75, 307_200, 0, 0, 0]),
    ("--rw=randread --size=100k --offset=32k", [25, 102_400, 0, 0, 0]),
    ("--rw=read --size=64k --nrfiles=3", [15, 61_440, 0, 0, 0]),
    ("--rw=randread --size=100k --nrfiles=3 --file_service_type=random", [24, 98_304, 0, 0, 0]),
    ("--rw=read --size=10k --nrfiles=3", [0, 0, 0, 0, 0]),
    ("--rw=read:4k --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=read:1k --size=64k", [13, 53_248, 0, 0, 0]),
    ("--rw=read:-4k --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=read:0 --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=read:8g --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=randread:4 --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=randread:4 --rw_sequencer=identical --size=64k", [16, 65_536, 0, 0, 0]),
    ("--rw=write --size=64k --fsync=1", [0, 0, 16, 65_536, 15]),
    ("--rw=write --size=64k --fdatasync=5", [0, 0, 16, 65_536, 3]),
    ("--rw=write --size=64k --end_fsync=1 --fsync_on_close=1", [0, 0, 16, 65_536, 0]),
    ("--rw=write --size=64k --fsync=4 --disable_clat=1", [0, 0, 16, 65_536, 3]),
    ("--rw=write --size=64k --sync_file_range=write:4", [0, 0, 16, 65_536, 3]),
    ("--rw=write --size=64k --file_append=1 --offset=4k", [0, 0, 16, 65_536, 0]),
    ("--rw=randwrite --size=64k --norandommap --loops=2", [0, 0, 32, 131_072, 0]),
    ("--rw=write --bs=16k,8k --size=64k", [0, 0, 8, 65_536, 0]),
    ("--rw=randwrite --size=64k --percentage_random=0", [0, 0, 16, 65_536, 0]),
    ("--rw=randwrite --size=64k --blockalign=8k --io_size=32k", [0, 0, 8, 32_768, 0]),
];

#[test]
fn ends_and_amounts() {
    std::thread::scope(|scope| {
        for jobs in JOBS.chunks(JOBS.len().div_ceil(4)) {
            scope.spawn(move || ends(jobs));
        }
    });
}

fn ends(jobs: &[(&str, [u64; 5])]) {
    for &(job, facts) in jobs {
        let place = Place::new();
        let line = format!("--output-format=json --name=j {job}");
        let check = |program: &str, document: Value| {
            let jobs = work(&document);
            let [read, write, _] = jobs[0].2;
            let syncs = syncs(&document)[0].unwrap_or(facts[4]);
            let found = [read.1, read.0, write.1, write.0, syncs];
            assert_eq!((jobs[0].1, found), (0, facts), "{program} {job}");
        };
        check("fiord", place.run(&line).ok().json());
        if let Some(fio) = Place::new().fio(&line) {
            check("fio", fio.json());
        }
    }
}
