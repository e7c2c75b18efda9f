//! Tests of `sprandom` on a file, with independent evidence: the system calls and the bytes.

use std::fs::read;

use crate::coverage::{positioned, traced};
use crate::fiord::{Place, work};

const JOB: &str = "--name=j --filename=f --size=16m --rw=randwrite --bs=4k --sprandom=1 \
                   --spr_num_regions=10 --buffer_pattern=0xa3 --output-format=json";
/// Number of blocks, and number of writes with `spr_op=0.25`.
const BLOCKS: usize = 4096;
const WRITES: usize = 5120;

/// Returns the bytes written, from the report.
fn written(place: &Place, more: &str) -> u64 {
    let ran = place.run(&format!("{JOB} {more}"));
    work(&ran.ok().json())[0].2[1].0
}

#[test]
fn the_whole_file_and_the_spare_capacity_are_written() {
    let place = Place::new();
    for (more, writes) in [
        ("--spr_op=0.25", WRITES),
        ("", 4710),
        ("--spr_op=1 --spr_cs=1", 8192),
        ("--ioengine=io_uring --iodepth=32 --direct=1", 4710),
        ("--ioengine=libaio --iodepth=8 --fsync=64 --loops=2", 2 * 4710),
        ("--time_based --runtime=60", 4710),
        ("--io_size=1m", 4710),
    ] {
        place.write("f", vec![0u8; BLOCKS * 4096]);
        assert_eq!(written(&place, more), 4096 * writes as u64, "{more}");
        assert!(read(place.path("f")).unwrap().iter().all(|b| *b == 0xa3), "{more}");
    }
    assert_eq!(written(&place, "--number_ios=77"), 77 * 4096);
}

/// Checks each region: which writes were the last of their block, and how soon the other blocks were
/// overwritten.
#[test]
fn the_regions_are_left_with_their_share_of_stale_blocks() {
    let place = Place::new();
    place.write("f", vec![0u8; BLOCKS * 4096]);
    let line = format!("{JOB} --ioengine=psync --spr_op=0.25");
    let Some(offsets) = traced(&place, "pwrite64", &line, positioned) else { return };
    assert_eq!(offsets.len(), WRITES);
    let mut last = vec![None; BLOCKS];
    let mut stale = [0usize; 10];
    let region = |i: usize| i * 10 / WRITES;
    for (i, offset) in offsets.iter().enumerate() {
        if let Some(before) = last[(offset / 4096) as usize].replace(i) {
            assert_eq!(region(i), region(before) + 1, "again in the next region");
            stale[region(before)] += 1;
        }
    }
    assert!(last.iter().all(Option::is_some), "every block is written");
    assert_eq!(stale.iter().sum::<usize>(), WRITES - BLOCKS);
    // 1 - v^(1-x) in the middle of a region, of 512 writes; v = 0.62863 is exp(-1.25 (1 - v)).
    for (i, stale) in stale.iter().enumerate().take(9) {
        let curve = 512.0 * (1.0 - 0.62863f64.powf(0.95 - i as f64 / 10.0));
        assert!((*stale as f64 - curve).abs() < 5.0, "region {i}: {stale} for {curve:.1}");
    }
    assert_eq!(stale[9], 0);
}

#[test]
fn what_it_cannot_be_used_with() {
    let Some(place) = Place::confined(&[]) else { return };
    for (more, said) in [
        ("--rw=randread", "random writes"),
        ("--rw=write", "random writes"),
        ("--random_generator=tausworthe", "lfsr"),
        ("--bsrange=4k-16k", "one size"),
        ("--spr_op=0", "above 0"),
        ("--spr_op=1.5", "out of range"),
        ("--spr_op=much", "not a number"),
        ("--spr_num_regions=0", "one region"),
        ("--spr_num_regions=-1", "out of range"),
        ("--spr_cs=16m", "spr_num_regions=1"),
        ("--spr_cs=1g", "larger than the whole drive"),
        ("--zonemode=strided --zonesize=1m", "zonemode"),
    ] {
        let ran = place.run(&format!("{JOB} {more}"));
        assert_eq!(ran.status, Some(1), "{more}: {ran:?}");
        assert!(ran.err.contains(said), "{more}: {ran:?}");
        assert_eq!(place.names(), [""; 0], "{more}: nothing is made");
    }
}
