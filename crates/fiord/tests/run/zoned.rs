//! Tests of `zonemode=zbd` on emulated zones: a job writes all the bytes that it asks for.

use std::fmt::Write;

use serde_json::Value;

use crate::fiord::{Place, work};

/// Writes one job file with many sections, each with its own file, and runs them all at once.
#[track_caller]
fn run(place: &Place, sections: &[String]) -> Value {
    let mut text = "[global]\nzonemode=zbd\ncreate_serialize=0\nthread\n".to_owned();
    for (i, section) in sections.iter().enumerate() {
        let lines = section.replace(' ', "\n");
        write!(text, "[j{i}]\nfilename=f{i}\n{lines}\n").unwrap();
    }
    place.write("zoned.fio", text);
    place.run("--output-format=json zoned.fio").ok().json()
}

/// Returns the bytes read and written by the clones of each section.
fn bytes(document: &Value, sections: usize) -> Vec<u64> {
    let mut sums = vec![0; sections];
    for (name, error, dirs) in work(document) {
        assert_eq!(error, 0, "{name}");
        sums[name[1..].parse::<usize>().unwrap()] += dirs.iter().map(|dir| dir.0).sum::<u64>();
    }
    sums
}

/// If a block fits a zone only in part, the other offsets in the zone can still be drawn.
#[test]
fn random_writes_of_several_sizes_write_every_byte() {
    let engines = ["null", "libaio", "psync"];
    let section = |seed: usize| {
        let sizes = ["bsrange=4k-64k", "bssplit=4k/40:12k/30:64k/30"][seed % 2];
        let engine = engines[seed % 3];
        format!(
            "rw=randwrite {sizes} size=256k zonesize=64k ioengine={engine} iodepth=64 \
             randseed={seed}"
        )
    };
    let sections: Vec<String> = (0..90).map(section).collect();
    let place = Place::new();
    let done = bytes(&run(&place, &sections), sections.len());
    let short: Vec<_> = sections.iter().zip(&done).filter(|(_, n)| **n != 256 << 10).collect();
    assert!(short.is_empty(), "{short:#?}");
    place.write("zones", vec![0; 256 << 10]);
    let line = "--name=a --output-format=json --filename=zones --zonemode=zbd --rw=randwrite \
                --bsrange=4k-64k --size=256k --zonesize=64k --ioengine=libaio --iodepth=64";
    let Some(fio) = place.fio(line) else { return };
    assert_eq!(work(&fio.ok().json())[0].2[1].0, 256 << 10);
}

/// Every third write finds its zone half full, whichever job filled it.
#[test]
fn jobs_that_share_a_zone_reset_it_as_often_as_one_would() {
    let section = "rw=write bs=256k size=1m loops=2 numjobs=2 zonesize=1m zone_reset_frequency=1 \
                   zone_reset_threshold=.5 ioengine=";
    let sections: Vec<String> =
        (0..40).map(|i| format!("{section}{}", ["null", "psync"][i % 2])).collect();
    let document = run(&Place::new(), &sections);
    assert!(bytes(&document, 40).iter().all(|n| *n == 4 << 20));
    let mut resets = [0; 40];
    for job in document["jobs"].as_array().unwrap() {
        let section: usize = job["jobname"].as_str().unwrap()[1..].parse().unwrap();
        resets[section] += job["zone_resets"].as_u64().unwrap();
    }
    assert_eq!(resets, [7; 40]);
}

/// Sequential jobs that share zones fill them for each other, and each writes as much as it does alone.
#[test]
fn sequential_jobs_on_the_same_zones_each_write_what_one_writes_alone() {
    let cases = [
        ("bs=4k zonesize=64k", 256),
        ("bs=4k zonesize=64k zonecapacity=48k", 192),
        ("bs=24k zonesize=64k", 192),
        ("bs=24k zonesize=64k loops=2", 384),
        ("bs=24k zonesize=64k write_zone_remainder=1", 256),
        ("bs=24k zonesize=64k nrfiles=2 size=512k filename_format=$jobname.$filenum", 384),
    ];
    let section = |(options, _): &(&str, u64), jobs: u32| {
        format!("rw=write size=256k ioengine=psync numjobs={jobs} {options}")
    };
    let sections: Vec<String> =
        cases.iter().flat_map(|case| [1, 2, 3].map(|jobs| section(case, jobs))).collect();
    let done = bytes(&run(&Place::new(), &sections), sections.len());
    for (case, done) in cases.iter().zip(done.chunks(3)) {
        // The writes of a zone differ in size: which job makes the short ones depends on who comes first, and a job whose last
        // write is a long one writes up to 8 KiB more.
        let spare = if case.0.contains("remainder") { 8 } else { 0 };
        for (jobs, done) in (1..).zip(done) {
            let least = (jobs * case.1) << 10;
            let most = least + (((jobs - 1) * jobs * spare) << 10);
            assert!((least..=most).contains(done), "{} with {jobs} jobs: {done}", case.0);
        }
    }
}

/// A sequential job continues at the write pointer of a zone and ends with the zone: it does not reset zones
/// that it has just written.
#[test]
fn a_zone_that_is_written_in_part_is_filled_and_not_reset() {
    let place = Place::new();
    let zones = "--zonemode=zbd --zonesize=256k --filename=f --rw=write --bs=64k --ioengine=psync";
    let line = format!(
        "--output-format=json --name=a {zones} --size=512k --io_size=128k --name=b --stonewall {zones} \
         --size=512k"
    );
    let document = place.run(&line).ok().json();
    let written = |job: usize| document["jobs"][job]["write"]["io_kbytes"].as_u64();
    assert_eq!((written(0), written(1)), (Some(128), Some(384)));
    assert_eq!(document["jobs"][1]["zone_resets"].as_u64().unwrap_or(0), 0, "{document}");
}

/// A run reads what an earlier run wrote to emulated zones of a file.
#[test]
fn emulated_zones_of_a_file_keep_what_was_written() {
    let place = Place::new();
    let zones = "--name=a --filename=f --zonemode=zbd --zonesize=64k --size=256k --bs=4k \
                 --output-format=json";
    let read = |line: &str| read_by(&place.run(&format!("{zones} {line}")).ok().json())[0] >> 10;
    place.run(&format!("{zones} --rw=write --io_size=100k")).ok();
    assert_eq!(read("--rw=read"), 100, "one zone and a part of another one");
    assert_eq!(read("--rw=randread --number_ios=8"), 32);
    assert_eq!(read("--rw=read --zonecapacity=48k"), 84);
    assert_eq!(read("--rw=read --offset=128k --size=128k"), 0);
    let again = place.run(&format!("{zones} --rw=write")).ok().json();
    assert_eq!(again["jobs"][0]["zone_resets"], 0, "a run that writes begins with empty zones");
    assert_eq!(read("--rw=read"), 256);
}

/// Random writes that are verified keep what they have written: they fill all zones, and reset none. As in fio.
#[test]
fn random_writes_that_are_verified_fill_all_zones_and_reset_none() {
    let place = Place::new();
    place.write("f", vec![0; 256 << 10]);
    let zones = "--name=a --filename=f --zonemode=zbd --zonesize=64k --zonecapacity=48k --size=256k --bs=4k \
                 --output-format=json";
    for (line, kib, resets) in [
        ("--rw=randwrite --verify=md5 --ioengine=libaio --iodepth=8 --thread", 192, 0),
        ("--rw=randwrite --verify=md5 --norandommap --ioengine=psync --thread", 192, 0),
        ("--rw=randwrite --verify=md5 --max_open_zones=2 --ioengine=psync --thread", 192, 0),
        ("--rw=randwrite --verify=md5 --loops=2 --ioengine=psync --thread", 384, 4),
    ] {
        let line = format!("{zones} {line}");
        let document = place.run(&line).ok().json();
        let job = &document["jobs"][0];
        assert_eq!(job["zone_resets"], resets, "{line}");
        let [reads, writes, _] = work(&document)[0].2;
        assert_eq!(writes, (kib << 10, kib / 4), "{line}");
        // With `loops`, it also reads a zone back before it resets it.
        assert!(reads == writes || line.contains("loops") && reads > writes, "{line}: {reads:?}");
        let Some(fio) = place.fio(&line) else { continue };
        assert_eq!(work(&fio.ok().json())[0].2[1].0, kib << 10, "{line}");
    }
}

/// As in fio: `read_beyond_wp` reads all of each zone, and a range of block sizes may be larger than a zone.
#[test]
fn reads_go_beyond_the_capacity_and_blocks_are_cut_to_it() {
    let place = Place::new();
    place.write("f", vec![1; 256 << 10]);
    let zones = "--name=a --filename=f --zonemode=zbd --zonesize=64k --zonecapacity=48k --size=256k \
                 --output-format=json --ioengine=psync --thread";
    for (line, moved) in [
        ("--rw=read --bs=4k --read_beyond_wp=1", [256, 0]),
        ("--rw=read --bs=12k --read_beyond_wp=1", [252, 0]),
        ("--rw=randread --bs=4k --read_beyond_wp=1", [256, 0]),
        ("--rw=write --bsrange=4k-64k", [0, 192]),
        ("--rw=randwrite --bsrange=4k-64k", [0, 256]),
        ("--rw=write --bssplit=4k/50:64k/50", [0, 192]),
    ] {
        let line = format!("{zones} {line}");
        let dirs = &work(&place.run(&line).ok().json())[0].2;
        assert_eq!([dirs[0].0 >> 10, dirs[1].0 >> 10], moved, "{line}");
        let Some(fio) = place.fio(&line) else { continue };
        let dirs = &work(&fio.ok().json())[0].2;
        assert_eq!([dirs[0].0 >> 10, dirs[1].0 >> 10], moved, "fio {line}");
    }
    let ran = place.run(&format!("{zones} --rw=write --bs=64k"));
    assert!(ran.err.contains("I/O buflen exceeds zone size"), "{}", ran.err);
}

/// A writer on the same zones must not end a reader.
#[test]
fn zones_without_data_are_a_finding_and_no_error() {
    let place = Place::new();
    let holes = std::fs::File::create(place.path("f")).unwrap();
    holes.set_len(256 << 10).unwrap();
    let zones = "--zonemode=zbd --zonesize=64k --size=256k --bs=4k --output-format=json";
    for target in ["--ioengine=null", "--filename=f"] {
        for rw in ["read", "randread", "randread --time_based --runtime=60", "read --loops=3"] {
            let ran = place.run(&format!("--name=a {zones} {target} --rw={rw}")).ok();
            let document = ran.json();
            assert_eq!((read_by(&document)[0], ran.err.as_str()), (0, ""), "{target} {rw}");
            let found = document["fiord"]["findings"].as_array().unwrap();
            assert!(found.iter().any(|finding| finding["id"] == "empty-zones"), "{found:?}");
            assert!(found.iter().all(|finding| finding["id"] != "unwritten-data"), "{found:?}");
        }
    }
    let beside =
        "--filename=z --runtime=300ms --time_based --name=r --rw=randread --name=w --rw=write";
    let document = place.run(&format!("{zones} --ioengine=null {beside}")).ok().json();
    assert!(read_by(&document)[0] > 0, "the reader waits for the writer");
}

/// Returns the bytes read by each job.
fn read_by(document: &Value) -> Vec<u64> {
    work(document).into_iter().map(|(_, _, dirs)| dirs[0].0).collect()
}

/// Returns pseudorandom numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % n
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A section, and the minimum and maximum of bytes that one of its clones moves.
fn drawn(draw: &mut Draw) -> (String, u64, u64, u64) {
    let (sizes, min, max) = draw.of(&[
        ("bs=4k", 4, 4),
        ("bs=12k", 12, 12),
        ("bs=24k", 24, 24),
        ("bsrange=4k-32k", 4, 32),
        ("bsrange=8k-48k", 8, 48),
        ("bssplit=4k/50:20k/25:32k/25", 4, 32),
        ("bssplit=8k/50:12k/50", 8, 12),
    ]);
    let (zone, capacity) = draw.of(&[(64, 64), (64, 48), (128, 128), (256, 200)]);
    let zones = 1 + draw.below(6);
    let size = zone * zones;
    let (rw, random) = draw.of(&[("write", false), ("randwrite", true), ("randrw", true)]);
    let loops = 1 + draw.below(3);
    let jobs = 1 + draw.below(3);
    let mut section = format!(
        "rw={rw} {sizes} zonesize={zone}k zonecapacity={capacity}k size={size}k loops={loops} \
         numjobs={jobs} ioengine={} iodepth={} randseed={}",
        draw.of(&["null", "psync", "libaio"]),
        draw.of(&[1, 4, 32]),
        draw.below(1 << 30),
    );
    if draw.below(3) == 0 {
        let (threshold, every) = (draw.of(&[".2", ".5", ".9"]), draw.of(&["1", ".3"]));
        write!(section, " zone_reset_threshold={threshold} zone_reset_frequency={every}").unwrap();
    }
    let lap = match random {
        true => size / min * min,
        false => zones * (capacity / min * min),
    };
    let (mut least, mut most) = (loops * lap, loops * size + max - 1);
    if draw.below(4) == 0 {
        // As in fio: after the passes that `loops` requests, another pass begins while `io_size` leaves room
        // for the largest block.
        let io_size = zone * (1 + draw.below(12));
        write!(section, " io_size={io_size}k").unwrap();
        most = loops * io_size + max - 1;
        least = (loops * lap.min(io_size)).max(if io_size > size { io_size - max } else { 0 });
    }
    (section, jobs, least << 10, most << 10)
}

#[test]
fn zoned_jobs_move_the_bytes_that_they_promise() {
    for seed in 0..3 {
        let mut draw = Draw(seed);
        let cases: Vec<_> = (0..40).map(|_| drawn(&mut draw)).collect();
        let sections: Vec<String> = cases.iter().map(|case| case.0.clone()).collect();
        let done = bytes(&run(&Place::new(), &sections), sections.len());
        for ((section, jobs, least, most), done) in cases.iter().zip(done) {
            let (least, most) = (jobs * least, jobs * most);
            assert!((least..=most).contains(&done), "{section}: {done} of {least} to {most}");
        }
    }
}
