//! Tests that findings claim nothing that the record of the run contradicts: random jobs are recorded (`write_iolog`), and
//! each claim about bytes is compared with what the jobs touched.

use std::fs::OpenOptions;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::fiord::Place;

/// Number of random jobs of each kind.
const JOBS: u64 = 110;
const KIB: u64 = 1024;
/// Size of the file of the jobs.
const FILE: u64 = 1024 * KIB;

/// Draws options. The seed is the number of the job, so a job that fails can be run again.
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// A sound job on a simulated device: it reaches its rates, and time ends it after its ramp.
fn simulated(draw: &mut Draw) -> String {
    let mut line = "--ioengine=sim --sim_channels=16 --size=1g --time_based".to_owned();
    let options = [
        &["--sim_latency=constant:2ms", "--sim_latency=lognormal:1ms:0.3"][..],
        &["--rw=read", "--rw=randread", "--rw=write", "--rw=randwrite", "--rw=randrw", "--rw=rw"],
        &["--bs=4k", "--bs=16k", "--bs=128k", "--bssplit=4k/50:16k/50", "--bsrange=4k-64k"],
        &["--iodepth=1", "--iodepth=4", "--iodepth=16"],
        &["--runtime=1", "--runtime=3"],
        &["", "--ramp_time=1", "--ramp_size=1m"],
        &["", "--rate_iops=200", "--rate_iops=100,150", "--thinktime=1ms"],
        &["", "--numjobs=3", "--numjobs=2 --group_reporting"],
        &["", "--random_distribution=zipf:1.2", "--norandommap", "--percentage_random=50"],
        &["", "--unified_rw_reporting=mixed", "--gtod_reduce=1"],
    ];
    for words in options {
        line = format!("{line} {}", draw.of(words));
    }
    // A verify pass needs writes, and its job ends by size, which a ramp may not outlast.
    let verified = "--verify=crc32c --io_size=1m --time_based=0";
    match line.contains("write ") && !line.contains("ramp") && draw.below(2) == 0 {
        true => format!("--name=a {line} {verified}"),
        false => format!("--name=a {line}"),
    }
}

/// One job of a run on a file: its options, without those of its file.
fn section(draw: &mut Draw, name: &str) -> String {
    let mut line = format!("--name={name} --write_iolog=log-{name}");
    let options = [
        &["--rw=read", "--rw=randread", "--rw=write", "--rw=randwrite", "--rw=rw", "--rw=randrw"][..],
        &["--bs=4k", "--bs=16k", "--bs=64k"],
        &["--size=256k", "--size=512k"],
        &["--offset=0", "--offset=256k", "--offset=512k"],
        &["", "", "--io_size=64k", "--io_size=128k", "--io_size=1m"],
        &["", "", "--number_ios=1", "--number_ios=5"],
        &["", "", "--norandommap", "--random_distribution=zipf:1.2"],
        &["", "--end_fsync=1", "--loops=2"],
    ];
    for words in options {
        line = format!("{line} {}", draw.of(words));
    }
    line
}

/// What the file holds behind its first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Data,
    Hole,
    Zeros,
}

/// Creates the file of the jobs. Data reaches up to the returned offset.
fn lay_out(place: &Place, rest: Rest, draw: &mut Draw) -> u64 {
    let held = match rest {
        Rest::Data => FILE,
        _ => (draw.below(12) as u64 + 2) * 64 * KIB,
    };
    let mut open = OpenOptions::new();
    let file = open.write(true).create(true).truncate(true).open(place.path("f")).unwrap();
    file.set_len(FILE).unwrap();
    let data: Vec<u8> = (0..held).map(|n| (n % 251) as u8 + 1).collect();
    file.write_all_at(&data, 0).unwrap();
    if rest == Rest::Zeros {
        file.write_all_at(&vec![0; (FILE - held) as usize], held).unwrap();
    }
    file.sync_all().unwrap();
    held
}

/// The KiB of the file that a job read or wrote, from its record.
fn touched(place: &Place, job: &str, action: &str) -> Vec<bool> {
    let mut kib = vec![false; (FILE / KIB) as usize];
    let log = std::fs::read_to_string(place.path(&format!("log-{job}"))).unwrap();
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        if let [_, _, done, offset, length] = fields[..]
            && done == action
        {
            let [from, length] = [offset, length].map(|text| text.parse::<u64>().unwrap() / KIB);
            kib[from as usize..(from + length) as usize].fill(true);
        }
    }
    kib
}

/// Parses an amount such as `256 KiB` at the beginning of a text, in KiB.
fn amount(text: &str) -> u64 {
    let mut words = text.split([' ', ',', ';', ':']);
    let number: f64 = words.next().unwrap().parse().unwrap();
    match words.next().unwrap() {
        "KiB" => number as u64,
        "MiB" => (number * 1024.0) as u64,
        unit => panic!("{unit} in {text}"),
    }
}

/// The range in KiB of `…the 256 KiB that start at byte 65536`.
fn range(evidence: &str) -> Range<usize> {
    let length = amount(evidence.split(" the ").nth(1).unwrap()) as usize;
    let from: u64 = evidence.rsplit(' ').next().unwrap().parse().unwrap();
    let from = (from / KIB) as usize;
    from..from + length
}

/// The share in the words `25 % of …`.
fn share(what: &str) -> f64 {
    what.split(' ').next().unwrap().parse::<f64>().unwrap() / 100.0
}

/// Compares a finding about bytes with the record. `held`: data reaches up to there, then follows `rest`. Returns whether
/// the finding is such a claim.
fn holds(place: &Place, finding: &Value, (held, rest): (u64, Rest)) -> Result<bool, String> {
    let text = |key: &str| finding[key].as_str().unwrap_or_default();
    let (what, evidence) = (text("what"), text("evidence"));
    let read = || touched(place, text("job"), "read");
    // Share of what the job read that lies behind the data.
    let behind = |kib: &[bool]| {
        let all = kib.iter().filter(|one| **one).count();
        let late = kib[(held / KIB) as usize..].iter().filter(|one| **one).count();
        late as f64 / all.max(1) as f64
    };
    match text("id") {
        "unwritten-data" if rest != Rest::Hole => Err("the file has no holes".into()),
        "unwritten-data" => {
            let (found, claimed) = (behind(&read()), share(what));
            // A claim about all bytes is exact but for the last block; one about random reads is an expectation.
            let near = match what.contains("of the range read from") {
                true => (found - claimed).abs() <= 0.2,
                false => found > 0.0 && (finding["severity"] != "invalid" || found >= 0.2),
            };
            near.then_some(true).ok_or(format!("the job read {found} behind the data"))
        }
        "zero-data" if rest != Rest::Zeros => Err("the file has no zeros".into()),
        "zero-data" => {
            let found = behind(&read());
            (found > 0.25).then_some(true).ok_or(format!("the job read {found} behind the data"))
        }
        "overlapping-writers" => {
            let range = range(evidence);
            let all =
                |job: &str| touched(place, job, "write")[range.clone()].iter().all(|one| *one);
            (all("a") && all("b")).then_some(true).ok_or("a job did not write all of it".into())
        }
        "same-start-offset" => {
            let words = evidence.split(' ').nth(4).unwrap();
            let from = words.parse::<u64>().unwrap() / KIB;
            let length = amount(evidence.split("reads ").nth(1).unwrap());
            let range = from as usize..(from + length) as usize;
            let all = |job: &str| touched(place, job, "read")[range.clone()].iter().all(|one| *one);
            (all("a") && all("b")).then_some(true).ok_or("a job did not read all of it".into())
        }
        _ => Ok(false),
    }
}

/// Returns the findings of a run with JSON output.
fn findings(place: &Place, line: &str) -> Vec<Value> {
    let ran = place.run(&format!("--output-format=json {line}"));
    assert_eq!(ran.status, Some(0), "{line}: {}", ran.err);
    ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default()
}

/// The rate makes the job wait while only bytes can end its ramp. On a virtual clock, the job did not end.
#[test]
fn a_ramp_by_size_ends_under_a_rate() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --size=1g --rw=read --bs=16k --time_based --runtime=3";
    let ran = place.run(&format!("--output-format=json {job} --ramp_size=1m --rate_iops=100"));
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], 300);
}

#[test]
fn sound_jobs_on_a_virtual_clock_have_no_invalid_finding() {
    let place = Place::new();
    for seed in 0..JOBS {
        let line = simulated(&mut Draw::new(seed));
        for finding in findings(&place, &line) {
            assert_ne!(finding["severity"], "invalid", "job {seed}, {line}: {finding}");
        }
    }
}

#[test]
fn findings_about_bytes_are_about_bytes_that_the_job_touched() {
    let place = Place::new();
    let direct = "--filename=f --direct=1 --ioengine=psync --thread";
    lay_out(&place, Rest::Data, &mut Draw::new(0));
    if place.run(&format!("--name=a --rw=read --size=64k {direct}")).status != Some(0) {
        return eprintln!("skipped: no direct I/O on the file system of the tests");
    }
    let mut claims = 0;
    for seed in 0..JOBS {
        let mut draw = Draw::new(seed);
        let rest = [Rest::Data, Rest::Hole, Rest::Zeros][draw.below(3)];
        let held = lay_out(&place, rest, &mut draw);
        for name in ["a", "b"] {
            std::fs::write(place.path(&format!("log-{name}")), "").unwrap();
        }
        let mut line = format!("{direct} {}", section(&mut draw, "a"));
        if draw.below(2) == 0 {
            let order = draw.of(&["", "", "--stonewall", "--wait_for=a"]);
            line = format!("{line} {} {order}", section(&mut draw, "b"));
        }
        for finding in findings(&place, &line) {
            let case = format!("job {seed}, {line}, {rest:?} from {held}: {finding}");
            assert!(rest != Rest::Data || finding["severity"] != "invalid", "{case}");
            match holds(&place, &finding, (held, rest)) {
                Ok(claim) => claims += u32::from(claim),
                Err(why) => panic!("{why}: {case}"),
            }
        }
    }
    assert!(claims >= 10, "{claims} claims in {JOBS} runs");
}
