//! `sprandom`: its options, the amount that it writes, and options that contradict it.

use fiord_types::Bytes;

use super::{Fake, error, job, run};
use crate::SpRandom;

const MIB: u64 = 1 << 20;
const JOB: &str = "--name=a --filename=/f --size=64m --rw=randwrite --bs=4k --sprandom=1";

fn machine() -> Fake {
    Fake::empty().file("/f", 64 * MIB)
}

/// The expected values are the numbers of I/Os of fio 3.42 for the same jobs.
#[test]
fn writes_as_much_as_fits_the_physical_capacity() {
    let writes = |more: &str| {
        let job = job(&machine(), &format!("{JOB} {more}"));
        assert_eq!(job.end.bytes % Bytes(4096), Bytes::ZERO);
        job.end.bytes / 4096
    };
    assert_eq!(writes(""), Bytes(18_841));
    assert_eq!(writes("--spr_op=0.05"), Bytes(17_203));
    assert_eq!(writes("--spr_op=0.25"), Bytes(20_480));
    assert_eq!(writes("--spr_op=0.5"), Bytes(24_576));
    assert_eq!(writes("--spr_op=0.99"), Bytes(32_604));
    assert_eq!(writes("--spr_op=1"), Bytes(32_768));
    assert_eq!(writes("--size=67100000"), Bytes(18_839));
    assert_eq!(writes("--offset=1m --size=63m"), Bytes(63 * 256 * 115 / 100));
    assert_eq!(writes("--loops=2"), Bytes(18_841), "of each");
    let two = job(&machine(), &format!("{JOB} --filename=/f:/g"));
    assert_eq!(two.end.bytes / 4096, Bytes(2 * 9420));
}

#[test]
fn options_of_sprandom_are_in_the_plan() {
    let plan = |more: &str| job(&machine(), &format!("{JOB} {more}")).load.sprandom;
    let usual = SpRandom { regions: 100, spare: 0.15, late: false };
    assert_eq!(plan(""), Some(usual));
    assert_eq!(plan("--sprandom=0"), None);
    assert_eq!(plan("--spr_num_regions=7"), Some(SpRandom { regions: 7, ..usual }));
    assert_eq!(
        plan("--spr_op=0.07 --spr_cs=1"),
        Some(SpRandom { spare: 0.07, late: true, ..usual })
    );
    assert_eq!(plan("--random_generator=lfsr --norandommap --randrepeat=0"), Some(usual));
    assert_eq!(plan("--rw=randrw --zonemode=none --percentage_random=100"), Some(usual));
    assert_eq!(plan("--ba=4k"), Some(usual));
    let timed = job(&machine(), &format!("{JOB} --time_based --runtime=1h"));
    assert!(!timed.end.time_based && timed.end.runtime.is_some());
}

#[test]
fn refuses_options_that_contradict_sprandom() {
    let wrong = |more: &str| error(&machine(), &format!("{JOB} {more}"));
    for (more, what) in [
        ("--rw=write", "`sprandom` is for random writes"),
        ("--rw=randread", "`sprandom` is for random writes"),
        ("--rw=randtrim", "`sprandom` is for random writes"),
        ("--random_generator=tausworthe", "requires `random_generator=lfsr`"),
        ("--random_generator=tausworthe64", "requires `random_generator=lfsr`"),
        ("--norandommap=0", "requires `norandommap=1`"),
        ("--spr_num_regions=0", "at least one region"),
        ("--spr_op=0", "above 0"),
        ("--bsrange=4k-16k", "of one size"),
        ("--bssplit=4k/50:8k/50", "of one size"),
        ("--rw=randrw --bs=4k,8k", "of one size"),
        ("--ba=8k", "adjacent blocks"),
        ("--random_distribution=zipf", "spreads its writes by itself"),
        ("--percentage_random=50", "no sequential part"),
        ("--rw=randwrite:8", "draws a new offset"),
        ("--zonemode=strided --zonesize=1m", "the whole drive"),
        ("--fill_device=1", "before it begins"),
        ("--spr_cs=1m", "larger than a region of /f, which has 771727"),
        ("--spr_cs=1g", "larger than a region"),
    ] {
        let said = wrong(more);
        assert!(said.contains(what), "{more}: {said}");
    }
    let resolved = run(&machine(), &format!("{JOB} --spr_cs=1m")).unwrap_err();
    assert_eq!(resolved[0].help, ["To fix: use `spr_num_regions=73` or fewer"]);
    assert!(run(&machine(), &format!("{JOB} --spr_cs=1m --spr_num_regions=73")).is_ok());
}

#[test]
fn warns_of_doubtful_combinations() {
    let warnings = |line: &str| {
        let resolved = run(&machine(), line).unwrap();
        resolved.warnings.into_iter().map(|w| w.what).collect::<Vec<_>>().join("\n")
    };
    for (more, what) in [
        ("--rw=randrw", "reads take a share"),
        ("--io_size=1m", "`io_size` has no effect"),
        ("--time_based --runtime=3", "`time_based` has no effect"),
        ("--numjobs=2", "each of the 2 jobs writes the whole drive"),
    ] {
        let said = warnings(&format!("{JOB} {more}"));
        assert!(said.contains(what), "{more}: {said}");
    }
    assert_eq!(warnings(JOB), "");
    assert_eq!(warnings(&format!("{JOB} --size=32m --numjobs=2 --offset_increment=32m")), "");
    let plain = "--name=a --filename=/f --size=64m --rw=randwrite --spr_op=0.2";
    assert!(warnings(plain).contains("no effect without `sprandom`"));
}
