//! Groups, instances and the order of jobs.

use fiord_types::{Bytes, JobIndex};

use super::*;

fn groups(line: &str) -> Vec<(String, u32, u32, bool)> {
    jobs(&Fake::empty(), &format!("--size=4k {line}"))
        .iter()
        .map(|j| {
            let id = &j.identity;
            (id.name.clone(), id.group, id.stonewall_group, j.start.stonewall)
        })
        .collect()
}

/// Group numbers as fio 3.42 printed them.
#[test]
fn groups_of_jobs() {
    let got = groups(
        "--numjobs=2 --name=a --stonewall --name=b --new_group --name=c --stonewall --name=d",
    );
    let short: Vec<(&str, u32, u32)> = got.iter().map(|g| (g.0.as_str(), g.1, g.2)).collect();
    assert_eq!(
        short,
        [
            ("a", 0, 0),
            ("a", 0, 0),
            ("b", 1, 0),
            ("b", 1, 0),
            ("c", 2, 1),
            ("c", 2, 1),
            ("d", 2, 1),
            ("d", 2, 1)
        ]
    );
    // Only the first clone waits; the others start together with it.
    let walls: Vec<usize> = (0..got.len()).filter(|i| got[*i].3).collect();
    assert_eq!(walls, [0, 4]);
    let numbers = |line: &str| groups(line).iter().map(|g| g.1).collect::<Vec<_>>();
    assert_eq!(numbers("--stonewall --numjobs=2 --name=a --name=b"), [0, 0, 1, 1]);
    assert_eq!(numbers("--new_group --numjobs=2 --name=a --name=b"), [0, 0, 1, 1]);
    assert_eq!(
        numbers("--group_reporting --numjobs=2 --name=a --name=b --name=c --new_group --name=d"),
        [0, 0, 0, 0, 1, 1, 1, 1]
    );
}

#[test]
fn indexes_and_waiting() {
    let jobs = jobs(
        &Fake::empty(),
        "--size=8k --name=a --numjobs=2 --name=b --wait_for=a --name=c --wait_for=b",
    );
    let ids: Vec<(usize, usize, u32, u32)> = jobs
        .iter()
        .map(|j| {
            let id = &j.identity;
            (id.index.get(), id.section, id.instance, id.instances)
        })
        .collect();
    assert_eq!(ids, [(0, 0, 0, 2), (1, 0, 1, 2), (2, 1, 0, 1), (3, 2, 0, 1)]);
    assert_eq!(jobs[2].start.wait_for, [0, 1].map(JobIndex));
    assert_eq!(jobs[3].start.wait_for, [JobIndex(2)]);
}

#[test]
fn refuses_invalid_wait_for_and_numjobs() {
    let table = [
        ("--name=a --wait_for=b", "which does not exist"),
        ("--name=a --wait_for=none", "which does not exist"),
        ("--name=a --wait_for=b --name=b", "which comes later"),
        ("--name=a --wait_for=a", "names the job itself"),
        ("--name=a --name=a --name=b --wait_for=a", "there are several"),
        ("--name=a --numjobs=0", "starts no job"),
        ("--name=a --numjobs=5000", "maximum number of jobs reached"),
    ];
    for (line, part) in table {
        let what = error(&Fake::empty(), &format!("--size=8k {line}"));
        assert!(what.contains(part), "{line}: {what}");
    }
}

#[test]
fn a_readonly_run_refuses_jobs_that_change_data() {
    for rw in ["write", "randrw", "trim", "trimwrite"] {
        let line = format!("--readonly --name=a --ioengine=null --size=8k --rw={rw}");
        assert!(error(&Fake::empty(), &line).contains("--readonly"), "{rw}");
    }
    // As in fio, also if the job only reads, so that nothing would be trimmed.
    let trims = "--readonly --name=a --ioengine=sim --size=8k --rw=read --verify=md5 --trim_percentage=100 --trim_backlog=1";
    assert!(error(&Fake::empty(), trims).contains("--readonly forbids jobs that trim"));
    let log = "--readonly --name=a --filename=f --rw=read --write_iolog=./f";
    let replaced = error(&Fake::empty().file("f", 8192), log);
    assert!(replaced.contains("the log would replace `f`"), "{replaced}");
    let job = job(&Fake::empty(), "--readonly --name=a --ioengine=null --size=8k --rw=randread");
    assert!(job.target.open.read_only);
}

/// With `--readonly`, fio 3.42 neither creates nor extends a file: the job fails with `ENOENT`, or
/// with `EIO` after the end of the file.
#[test]
fn a_readonly_run_creates_and_extends_no_file() {
    let machine = Fake::empty().file("f", 10_000);
    let line = |rest: &str| format!("--readonly --name=a --rw=read {rest}");
    assert!(
        error(&machine, &line("--filename=g --size=8k")).contains("--readonly does not create it")
    );
    assert!(
        error(&machine, &line("--filename=f --size=64k")).contains("has 10000 of the 65536 bytes")
    );
    assert_eq!(job(&machine, &line("--filename=f --size=8k")).target.files[0].len, Bytes(8192));
    assert_eq!(job(&machine, &line("--filename=f")).target.files[0].len, Bytes(10_000));
}

#[test]
fn seeds() {
    let seeds = |line: &str| -> Vec<u64> {
        jobs(&Fake::empty(), line).iter().map(|j| j.load.seed).collect()
    };
    let line = "--size=8k --rw=randread --name=a --numjobs=2";
    let plain = seeds(line);
    assert_ne!(plain[0], plain[1]);
    assert_eq!(plain, seeds(line));
    assert_eq!(plain, seeds(&format!("{line} --randseed=0x89")));
    assert_ne!(plain, seeds(&format!("{line} --randseed=5")));
    let fresh = format!("{line} --randrepeat=0");
    assert_ne!(plain, seeds(&fresh));
    assert_eq!(seeds(&format!("{fresh} --randseed=5")), seeds(&format!("{line} --randseed=5")));
}

/// As in fio 3.42, the workers of all jobs with an equal set take its CPUs in turn.
#[test]
fn cpus() {
    let cpus = |line: &str| -> Vec<Option<Vec<u32>>> {
        jobs(&Fake::empty(), &format!("--size=4k {line}"))
            .iter()
            .map(|j| j.process.cpus.clone())
            .collect()
    };
    assert_eq!(cpus("--name=a"), [None]);
    assert_eq!(cpus("--cpus_allowed=0,2-3 --name=a"), [Some(vec![0, 2, 3])]);
    assert_eq!(cpus("--cpumask=10 --name=a"), [Some(vec![1, 3])]);
    assert_eq!(cpus("--numa_cpu_nodes=1 --name=a"), [Some(vec![2, 3])]);
    assert_eq!(cpus("--numa_cpu_nodes=all --name=a"), [Some(vec![0, 1, 2, 3])]);
    assert_eq!(cpus("--gtod_cpu=1 --name=a"), [Some(vec![0, 2, 3])]);
    let split =
        "--cpus_allowed=0,1 --cpus_allowed_policy=split --name=a --name=b --name=c --numjobs=2";
    let expected: Vec<_> = [0, 1, 0, 1].map(|c| Some(vec![c])).to_vec();
    assert_eq!(cpus(split), expected);
    for (line, part) in [
        ("--cpus_allowed=99", "CPU 99 is not online"),
        ("--cpumask=0", "no CPU is left"),
        ("--cpus_allowed=1 --gtod_cpu=1", "no CPU is left"),
        ("--numa_cpu_nodes=7", "no NUMA node 7"),
        ("--numa_mem_policy=bind:9", "no NUMA node 9"),
    ] {
        let what = error(&Fake::empty(), &format!("--name=a --size=4k {line}"));
        assert!(what.contains(part), "{line}: {what}");
    }
}
