//! `num_range`: which trims can have several ranges.

use super::*;
use crate::model::*;

#[test]
fn ranges_are_for_trims_by_command() {
    let machine = Fake::empty().namespace("/dev/ng0n1", super::nvme::device(4096, 0));
    let of = |rest: &str| {
        let line = "--name=a --filename=/dev/ng0n1 --ioengine=io_uring_cmd --rw=randtrim --bs=4k";
        run(&machine, &format!("{line} {rest}"))
    };
    let job = of("--num_range=8").unwrap().plan.jobs[0].clone();
    assert_eq!((job.load.trim_ranges, job.target.service), (8, FileService::RoundRobin(8)));
    assert!(!job.load.no_map);
    for sizes in ["--bsrange=4k-16k", "--bssplit=4k/50:16k/50"] {
        let several = |rest: &str| of(&format!("{sizes} {rest}")).unwrap().plan.jobs[0].load.no_map;
        assert!(several("--num_range=8") && !several(""), "{sizes}");
    }
    assert_eq!(of("--num_range=0").unwrap().plan.jobs[0].load.trim_ranges, 1);
    for (rest, what) in [
        ("--num_range=8 --rw=write", "only trims have ranges"),
        ("--num_range=8 --rw=trimwrite", "only trims have ranges"),
        ("--num_range=8 --serialize_overlap=1", "serialize_overlap"),
        ("--num_range=256 --bs=16m", "more than one I/O can have"),
        ("--num_range=8 --ioengine=io_uring --filename=x --size=1m", "one range at a time"),
    ] {
        let errors = of(rest).unwrap_err();
        assert!(errors.iter().any(|e| e.what.contains(what)), "{rest}: {errors:?}");
    }
}
