//! Tests of where I/O goes: distributions, zones, skewed files.

use crate::fiord::Place;

const RANDOM: &str =
    "--output-format=json --name=a --filename=f --ioengine=null --rw=randread --bs=4k --size=1g";

#[test]
fn every_distribution_does_all_its_ios() {
    let place = Place::new();
    for distribution in [
        "zipf:1.2",
        "zipf:0.8:0.25",
        "pareto:0.2",
        "normal:10:0.5",
        "zoned:60/10:30/20:10/70",
        "zoned_abs:60/100m:40/200m",
        "sequence:2,0,1",
    ] {
        let ran = place.run(&format!("{RANDOM} --random_distribution={distribution}"));
        assert_eq!(ran.status, Some(0), "{distribution}: {ran:?}");
        assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], 262_144, "{distribution}");
    }
    let ran = place.run(&format!(
        "{RANDOM} --filename=a:b:c --file_service_type=gauss:10 --random_distribution=zipf:1.2"
    ));
    assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], 262_144);
}

#[test]
fn strides_move_what_they_are_asked_for() {
    let place = Place::new();
    for (words, ios) in [
        ("--rw=read --zonerange=16k --zonesize=8k", 16),
        ("--rw=write --zonerange=16k --zonesize=8k --zoneskip=4k", 7),
        ("--rw=randread --zonesize=16k --zoneskip=1z", 16),
        ("--rw=randrw --zonesize=8k --zoneskip=25%", 16),
    ] {
        let ran = place.run(&format!(
            "--output-format=json --name=a --filename=f --ioengine=null --bs=4k --size=64k \
             --zonemode=strided {words}"
        ));
        let report = ran.json();
        let job = &report["jobs"][0];
        let count = |dir: &str| job[dir]["total_ios"].as_u64().unwrap_or(0);
        assert_eq!(count("read") + count("write"), ios, "{words}: {ran:?}");
    }
}

/// On a real file, the written bytes are where the zones are.
#[test]
fn strides_leave_out_what_lies_between() {
    let place = Place::new();
    place.write("f", vec![0; 64 << 10]);
    let ran = place.run(
        "--name=a --filename=f --rw=write --bs=4k --size=64k --io_size=32k --zonemode=strided \
         --zonesize=8k --zoneskip=8k --buffer_pattern=0x5a --ioengine=psync",
    );
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let bytes = std::fs::read(place.path("f")).unwrap();
    for (block, bytes) in bytes.chunks(4096).enumerate() {
        let written = if block % 4 < 2 { 0x5a } else { 0 };
        assert!(bytes.iter().all(|b| *b == written), "block {block}");
    }
}

#[test]
fn what_cannot_be_is_said_with_its_place() {
    let Some(place) = Place::confined(&[]) else { return };
    for (option, message) in [
        ("random_distribution=zipf:1", "zipf theta must be different than 1.0"),
        ("random_distribution=zoned:50/50:40/50", "add up to 100"),
        ("random_distribution=sequence:999999999", "out of bounds"),
        ("file_service_type=pareto:2", "pareto input out of range"),
        ("zonesize=8k", "--zonemode=none and --zonesize are not compatible"),
    ] {
        place.write(
            "x.fio",
            format!("[a]\nioengine=null\nfilename=f\nrw=randread\nsize=1g\n{option}\n"),
        );
        let ran = place.run("x.fio");
        assert_eq!(ran.status, Some(1), "{option}: {ran:?}");
        assert!(ran.err.contains(message) && ran.err.contains("x.fio:6"), "{}", ran.err);
    }
}

#[test]
fn skew_shows_shares_of_a_distribution_and_of_a_job_file() {
    let place = Place::new();
    let ran = place.run("skew --distribution=pareto:0.8 --size=1t --bs=4k");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.out.contains("  20.00 %    204.80 GiB         80.00 %"), "{}", ran.out);
    assert!(ran.out.contains("100 % |"), "{}", ran.out);
    place.write("x.fio", "[a]\nfilename=f\nioengine=null\nrw=randrw\nsize=1g\nrandom_distribution=zoned:60/10:40/90\n");
    let report = place.run("skew x.fio --format=json").json();
    assert_eq!(report["skew"].as_array().unwrap().len(), 2);
    let tenth = &report["skew"][0]["hottest_data"][5];
    assert_eq!(tenth["data_percent"], 10.0);
    assert!((tenth["io_percent"].as_f64().unwrap() - 60.0).abs() < 1e-6, "{tenth}");
    for wrong in [
        "skew",
        "skew --distribution=zipf:1",
        "skew no-such.fio",
        "skew --distribution=zipf:1.2 --size=0",
    ] {
        let ran = place.run(wrong);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{wrong}: {ran:?}");
        assert!(!ran.err.is_empty());
    }
}

/// Emulated zones in a file: blocks and zone resets as fio 3.42 counts them.
#[test]
fn emulated_zones_are_written_in_order_and_reset_when_full() {
    let place = Place::new();
    for (words, reads, writes, resets) in [
        ("--rw=write --size=16m --zonecapacity=768k", 0, 192, Some(0)),
        ("--rw=write --size=16m --zonecapacity=768k --io_size=32m", 0, 512, Some(27)),
        ("--rw=randwrite --size=8z --offset=2z", 0, 128, Some(0)),
        ("--rw=randwrite --size=16m --io_size=32m", 0, 512, Some(16)),
        ("--rw=write --size=4m --bs=100k", 0, 40, Some(0)),
        ("--rw=write --size=4m --bs=100k --write_zone_remainder=1", 0, 44, Some(0)),
        (
            "--rw=write --size=16m --zone_reset_threshold=0.5 --zone_reset_frequency=0.1",
            0,
            256,
            Some(12),
        ),
        ("--rw=read --size=16m --read_beyond_wp=1", 256, 0, None),
        ("--rw=write --size=4m --io_size=8m --ioengine=libaio --iodepth=8", 0, 128, Some(4)),
        ("--rw=randwrite --size=8m --io_size=16m --ioengine=io_uring --iodepth=8", 0, 256, Some(8)),
    ] {
        let ran = place.run(&format!(
            "--output-format=json --name=a --filename=f --zonemode=zbd --zonesize=1m --bs=64k {words}"
        ));
        let report = ran.json();
        let job = &report["jobs"][0];
        assert_eq!(job["read"]["total_ios"], reads, "{words}: {ran:?}");
        assert_eq!(job["write"]["total_ios"], writes, "{words}: {ran:?}");
        assert_eq!(job["zone_resets"].as_u64(), resets, "{words}");
    }
}

#[test]
fn jobs_share_the_zones_of_a_file() {
    let place = Place::new();
    let zones = "--filename=f --zonemode=zbd --zonesize=1m --bs=64k --size=4m";
    let ran = place.run(&format!(
        "--output-format=json {zones} --name=w --rw=write --io_size=1280k \
         --name=r --stonewall --rw=read --name=t --stonewall --rw=randtrim --bs=1m"
    ));
    let report = ran.json();
    let ios = |job: usize, dir: &str| report["jobs"][job][dir]["total_ios"].as_u64().unwrap();
    assert_eq!((ios(0, "write"), ios(1, "read")), (20, 20), "what was written is read: {ran:?}");
    assert_eq!(report["jobs"][2]["zone_resets"], 2, "two zones held data");
}
