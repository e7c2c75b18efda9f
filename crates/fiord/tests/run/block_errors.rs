//! How many trims blocks survive (`block_error_percentiles`).

use crate::fiord::Place;

const JOB: &str = "--name=a --ioengine=sim --bs=4k --size=64k --continue_on_error=all --block_error_percentiles=1";

#[test]
fn reports_count_blocks_by_state_and_trims_before_the_first_error() {
    let place = Place::new();
    // Of 16 blocks, two fail in the first loop: their trims fail, or the writes after them.
    let line = format!("{JOB} --rw=trimwrite --loops=3 --sim_errors=EIO@8k-16k");
    let out = place.run(&line).ok().out;
    let section = out.split_once("  block lifetime percentiles :\n").unwrap().1;
    let states = section.lines().find(|line| line.starts_with("   |        states")).unwrap();
    let failed = states.contains("trim failure=2") || states.contains("write failure=2");
    assert!(failed && states.contains("unwritten=0, trimmed=0, written=14"), "{out}");
    assert!(section.starts_with("   |  1.00th=[    "), "{out}");
    let json = place.run(&format!("{line} --output-format=json")).ok().json();
    let blocks = &json["jobs"][0]["fiord"]["block_errors"];
    assert_eq!(blocks["states"]["written"], 14);
    let failures = blocks["trims_before_error"].as_object().unwrap();
    assert_eq!(failures.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 2);
    assert_eq!(blocks["percentile"].as_object().unwrap().len(), 17);
    // Without errors there are no percentiles. Jobs of a group add up.
    let line = format!("{JOB} --rw=trim --io_size=32k --numjobs=2 --group_reporting");
    let out = place.run(&line).ok().out;
    let said = "  block lifetime percentiles :\n   |        states               : unwritten=16, trimmed=16, written=0, \
                trim failure=0, write failure=0\n";
    assert!(out.contains(said), "{out}");
}

#[test]
fn jobs_whose_blocks_cannot_be_followed_are_refused() {
    let place = Place::new();
    for (options, said) in [
        (
            "--rw=trim --nrfiles=2",
            "only available with a single file per job, but 2 files provided",
        ),
        ("--rw=trim --size=1t", "cannot calculate block histogram with 268435456 trim blocks"),
    ] {
        let ran = place.run(&format!("{JOB} {options}"));
        assert!(ran.status == Some(1) && ran.err.contains(said), "{options}: {ran:?}");
    }
    // As in fio, a job without trims has no blocks.
    let out = place.run(&format!("{JOB} --rw=write")).ok().out;
    let said = "   |        states               : unwritten=0, trimmed=0, written=0, trim failure=0, write failure=0\n";
    assert!(out.contains(said) && out.contains("no-effect"), "{out}");
}
