//! Verification: `verify` and its options.

use fiord_formats::verify::method::Method;
use fiord_formats::verify::state::VerifyState;
use fiord_types::Bytes;

use super::*;
use crate::model::*;

/// The verification of the job of a command line on a machine without files.
fn verify(line: &str) -> VerifyPlan {
    let machine = Fake::empty().file("a.0.0", 1 << 20);
    let job = job(&machine, &format!("--name=a --size=1m {line}"));
    job.verify.unwrap_or_else(|| panic!("{line} verifies nothing"))
}

fn refused(line: &str) -> String {
    error(&Fake::empty(), &format!("--name=a --size=1m {line}"))
}

#[test]
fn methods() {
    let verifies = |line: &str| {
        job(&Fake::empty(), &format!("--name=a --size=1m --rw=write {line}")).verify.is_some()
    };
    assert!(!verifies(""));
    assert!(!verifies("--verify=0"));
    assert!(!verifies("--verify=crc32c --rw=trim --ioengine=null"));
    for (word, method) in [
        ("crc32c", Method::Crc32c),
        ("crc32c-intel", Method::Crc32c),
        ("sha3-224", Method::Sha3224),
        ("pattern", Method::Pattern),
        ("null", Method::Null),
    ] {
        let plan = verify(&format!("--rw=write --verify={word} --verify_pattern=0xff"));
        assert_eq!(plan.method, VerifyMethod::Fio(method), "{word}");
    }
    let implied = verify("--rw=write --verify_pattern=0xff%o --verify_pattern_interval=4k");
    assert_eq!(implied.method, VerifyMethod::Fio(Method::PatternHdr));
    assert_eq!(implied.pattern.unwrap().interval, Some(Bytes(4096)));
    let fiord = verify("--rw=write --verify=fiord");
    assert_eq!((fiord.method, fiord.interval), (VerifyMethod::Fiord, Some(Bytes(512))));
}

#[test]
fn passes() {
    let pass = |line: &str| verify(&format!("--verify=md5 {line}")).pass;
    assert_eq!(pass("--rw=write"), VerifyPass::AfterWrites);
    assert_eq!(pass("--rw=randrw --do_verify=1"), VerifyPass::AfterWrites);
    assert_eq!(pass("--rw=randrw --do_verify=0"), VerifyPass::WritesOnly);
    assert_eq!(pass("--rw=write --verify_only"), VerifyPass::Only);
    assert_eq!(pass("--rw=randread"), VerifyPass::Reads);
}

#[test]
fn intervals() {
    let interval = |line: &str| verify(&format!("--verify=md5 --rw=write {line}")).interval;
    assert_eq!(interval(""), Some(Bytes(4096)));
    assert_eq!(interval("--verify_interval=512"), Some(Bytes(512)));
    assert_eq!(interval("--verify_interval=64k"), Some(Bytes(4096)));
    assert_eq!(interval("--bsrange=4k-6k"), Some(Bytes(2048)));
    assert_eq!(interval("--bsrange=4k-6k --bs_unaligned"), None);
}

#[test]
fn what_fails_before_the_first_io() {
    for (line, what) in [
        ("--verify=md5 --bs=96 --verify_offset=64", "do not fit at offset 64"),
        ("--verify=sha512 --bs=128", "no room for the header"),
        ("--verify=sha512 --verify_interval=128", "no room for the header"),
        ("--verify=md5 --verify_offset=60", "do not fit at offset 60"),
        ("--verify=md5 --verify_offset=4095", "do not fit at offset 4095"),
        ("--verify_pattern=0x010203040506070809 --bs=8 --verify=pattern", "longer than the block"),
        ("--verify=fiord --bs=100", "whole sectors of 512 bytes"),
        ("--verify=md5 --verify_only --do_verify=0", "without anything to do"),
        ("--verify_only", "needs `verify`"),
        ("--verify=pattern", "the job has none"),
        ("--verify=pattern_hdr", "the job has none"),
        ("--verify=pattern --verify_pattern='none'", "cannot be read"),
        ("--verify=md5 --verify_async=1 --verify_async_cpus=0-9", "CPU 4 is not online"),
    ] {
        let found = refused(&format!("--rw=write {line}"));
        assert!(found.contains(what), "{line}: {found}");
    }
}

#[test]
fn tracking() {
    let tracking = |line: &str| verify(&format!("--verify=md5 --ioengine=sim {line}")).tracking;
    let map = |granule| Tracking::Map { granule: Bytes(granule) };
    assert_eq!(tracking("--rw=write"), Tracking::Replay);
    assert_eq!(tracking("--rw=write --bsrange=4k-64k"), map(4096));
    assert_eq!(tracking("--rw=randwrite"), Tracking::Replay);
    assert_eq!(tracking("--rw=randrw --bs=8k"), Tracking::Replay);
    assert_eq!(tracking("--rw=randwrite --norandommap"), map(4096));
    assert_eq!(tracking("--rw=randwrite --bsrange=4k-64k"), map(4096));
    assert_eq!(tracking("--rw=randwrite --bssplit=6k/50:8k/50"), map(2048));
    assert_eq!(tracking("--rw=write --time_based --runtime=3"), Tracking::Replay);
    assert_eq!(tracking("--rw=write --io_size=2m"), map(4096));
    assert_eq!(tracking("--rw=write:8k --bs=64k"), Tracking::Replay);
    assert_eq!(tracking("--rw=write:8k --bs=64k --io_size=1m"), map(8192));
    assert_eq!(tracking("--rw=write:8k --bs=64k --time_based --runtime=3"), map(8192));
    assert_eq!(tracking("--rw=write:8k --bs=64k --loops=2"), map(8192));
    assert_eq!(tracking("--rw=write:-8k --bs=64k"), map(8192));
    // The files end within a hole, and start over.
    assert_eq!(tracking("--rw=write:8k --bs=4k --nrfiles=3"), map(4096));
    assert_eq!(tracking("--rw=randwrite --nrfiles=4 --file_service_type=zipf:1.2"), map(4096));
    assert_eq!(tracking("--rw=trimwrite --offset=1k"), map(1024));
    assert_eq!(tracking("--rw=write --bsrange=1k-3k --bs_unaligned"), Tracking::Records);
}

/// fio has one header in each block, and the two programs can check each other's blocks.
#[test]
fn blocks_with_holes_between_them_have_one_header_each() {
    for rw in ["write:8k", "read:8k", "write:8k --verify_only"] {
        let line = format!("--name=a --size=1m --bs=64k --filename=f --verify=crc64 --rw={rw}");
        let jobs = jobs(&Fake::empty().file("f", 1 << 20), &line);
        let interval = jobs[0].verify.as_ref().unwrap().interval;
        assert_eq!(interval, Some(Bytes(64 << 10)), "{rw}");
    }
}

/// Jobs that use one file at the same time agree on one map.
#[test]
fn jobs_with_one_target_share_a_map() {
    let line = "--size=1m --rw=write --verify=md5 --name=a --filename=f --bs=8k --name=b \
                --filename=f --bs=6k --name=c --filename=g";
    let jobs = jobs(&Fake::empty(), line);
    let tracking = |index: usize| jobs[index].verify.as_ref().unwrap().tracking;
    let map = Tracking::Map { granule: Bytes(2048) };
    assert_eq!([tracking(0), tracking(1), tracking(2)], [map, map, Tracking::Replay]);
    for order in ["--stonewall", "--wait_for=w"] {
        let line = format!(
            "--size=1m --verify=md5 --filename=f --name=w --rw=write --do_verify=0 --name=r --rw=read {order}"
        );
        for job in super::jobs(&Fake::empty(), &line) {
            assert_eq!(job.verify.unwrap().tracking, Tracking::Replay, "{order}");
        }
    }
}

/// A job that writes a file while a map of it is in use keeps the map up to date, even if it verifies nothing.
#[test]
fn jobs_that_overwrite_verified_blocks_say_so() {
    let tracked = |line: &str| {
        let line = format!("--size=1m --filename=f --bs=4k {line}");
        let jobs = jobs(&Fake::empty().file("f", 1 << 20), &line);
        let one = |job: &JobPlan| (job.mapped_format().is_some(), job.informs_maps);
        jobs.iter().map(one).collect::<Vec<_>>()
    };
    let (map, informs, neither) = ((true, false), (false, true), (false, false));
    const VERIFIES: &str = "--name=v --rw=write --verify=md5";
    const SKEWED: &str = "--name=s --rw=randwrite --norandommap --verify=md5";
    for (line, expected) in [
        (format!("{VERIFIES} --name=w --rw=write"), vec![map, informs]),
        (format!("{VERIFIES} --name=w --rw=trim --ioengine=sim"), vec![map, informs]),
        (format!("{VERIFIES} --name=w --rw=read"), vec![neither, neither]),
        (format!("{VERIFIES} --name=w --rw=write --stonewall"), vec![neither, neither]),
        (format!("{SKEWED} --name=w --rw=write --stonewall"), vec![map, neither]),
        (format!("--name=w --rw=write {SKEWED} --stonewall"), vec![neither, map]),
        (
            format!(
                "{SKEWED} --name=w --rw=write --stonewall {VERIFIES} --stonewall {SKEWED} --stonewall"
            ),
            vec![map, informs, map, map],
        ),
    ] {
        assert_eq!(tracked(&line), expected, "{line}");
    }
}

#[test]
fn granules_of_zones() {
    let granule = |line: &str| {
        let line = format!("--verify=md5 --rw=write --zonemode=zbd --zonesize=256k {line}");
        match verify(&line).tracking {
            Tracking::Map { granule } => granule.0,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(granule("--bs=64k"), 64 << 10);
    assert_eq!(granule("--bs=60k"), 4096);
    assert_eq!(granule("--bs=64k --zonecapacity=200k"), 64 << 10);
    assert_eq!(granule("--bs=64k --zonecapacity=200k --write_zone_remainder=1"), 8192);
}

/// Which fields of a header fio 3.42 compared with those of the write: each line is an experiment in which another
/// job overwrote the blocks before they were read back.
#[test]
fn defaults_of_the_checked_fields() {
    const AIO: &str = "--iodepth=8 --ioengine=libaio";
    let (both, seed, number, none) = ((true, true), (true, false), (false, true), (false, false));
    for (line, expected) in [
        ("--rw=write", both),
        ("--rw=randwrite --iodepth=8 --ioengine=libaio", both),
        ("--rw=rw --experimental_verify=1", both),
        ("--rw=randwrite --random_distribution=zipf", both),
        ("--rw=randwrite --percentage_random=50", both),
        ("--rw=randwrite:1", both),
        ("--rw=write --io_size=512k", both),
        ("--rw=write --ba=8k", both),
        ("--rw=write --loops=2 --number_ios=20", both),
        ("--rw=write --bssplit=4k/100", both),
        ("--rw=read", none),
        ("--rw=read --verify_header_seed=1 --verify_write_sequence=1", seed),
        ("--rw=write --verify_only", none),
        ("--rw=write --verify_only --verify_write_sequence=1", number),
        ("--rw=write --verify_only --verify_header_seed=1", seed),
        ("--rw=randwrite --norandommap", number),
        ("--rw=randwrite --norandommap --iodepth=8", number),
        ("--rw=randwrite --norandommap AIO", none),
        ("--rw=write --norandommap AIO", none),
        ("--rw=randwrite --ba=8k", number),
        ("--rw=randwrite --ba=8k AIO", none),
        ("--rw=randwrite --softrandommap=1 AIO", number),
        ("--rw=randwrite --norandommap --verify_header_seed=1 --verify_write_sequence=1 AIO", both),
        ("--rw=write:4k", number),
        ("--rw=randwrite:8 AIO", number),
        ("--rw=write --io_size=2m", number),
        ("--rw=write --verify_backlog=16", number),
        ("--rw=write --verify_backlog=0", both),
        ("--rw=write --bsrange=4k-8k --verify_write_sequence=1", seed),
        ("--rw=write --bs=8k,4k", seed),
        ("--rw=write --bs=4k,4k,8k", seed),
        ("--rw=write --time_based --runtime=1 --verify_backlog=16 --verify_header_seed=1", seed),
        ("--rw=randwrite --norandommap --experimental_verify=1", none),
        ("--rw=write --io_size=2m --experimental_verify=1", none),
        ("--rw=write --io_size=2m --experimental_verify=1 --verify_write_sequence=1", number),
        ("--rw=randwrite --softrandommap=1 --experimental_verify=1", none),
    ] {
        let plan = verify(&format!("--verify=meta --direct=1 {}", line.replace("AIO", AIO)));
        assert_eq!((plan.checks_seed, plan.checks_number), expected, "{line}");
    }
}

/// fio fills the blocks with the pattern and does not check it.
#[test]
fn a_pattern_without_checks_is_a_content() {
    for (line, verifies) in [("--verify=0", false), ("--verify=null", true)] {
        let line = format!("--name=a --size=1m --rw=write --verify_pattern=0xff {line}");
        let job = job(&Fake::empty(), &line);
        assert!(matches!(job.content, ContentPlan::Pattern(_)), "{line}: {:?}", job.content);
        assert_eq!(job.verify.is_some(), verifies, "{line}");
    }
}

/// A job that checks earlier data never makes the file that it checks.
#[test]
fn missing_files_are_refused() {
    for line in ["--rw=write --verify_only", "--rw=randread"] {
        let line = format!("--name=a --filename=f --size=1m --verify=md5 {line}");
        assert!(error(&Fake::empty(), &line).contains("does not exist"), "{line}");
        let short = error(&Fake::empty().file("f", 4096), &line);
        assert!(short.contains("has 4096 bytes, and the job verifies 1048576"), "{line}: {short}");
        job(&Fake::empty().file("f", 1 << 20), &line);
        let written = "--name=w --filename=f --size=1m --rw=write --verify=md5 --do_verify=0";
        jobs(&Fake::empty(), &format!("{written} {line} --stonewall"));
    }
}

/// Another job must write all of the part that is missing, and begin before the job that checks it has ended.
#[test]
fn a_missing_part_that_no_job_writes_is_refused() {
    let read =
        |from: &str| format!("--name=v --filename=f --rw=read --verify=md5 --size=1m {from}");
    let write =
        |from: &str| format!("--name=w --filename=f --rw=write --verify=md5 --size=1m {from}");
    let empty = Fake::empty();
    let half = Fake::empty().file("f", 1 << 20);
    for (machine, line, gap) in [
        (&empty, format!("{} {}", read(""), write("--offset=1m")), "from offset 0 on"),
        (&empty, format!("{} {}", write("--offset=1m"), read("")), "from offset 0 on"),
        (&empty, format!("{} {}", read("--offset=512k"), write("")), "from offset 1048576 on"),
        (
            &half,
            format!("{} {}", write("--offset=1536k"), read("--size=2m")),
            "from offset 1048576 on",
        ),
        (&empty, format!("{} {}", read(""), write("--stonewall")), "from offset 0 on"),
        (&empty, format!("{} {}", read(""), write("--wait_for=v")), "from offset 0 on"),
    ] {
        let error = error(machine, &line);
        assert!(
            error.contains("no job that starts before this job ends") && error.contains(gap),
            "{line}: {error}"
        );
    }
    for line in [
        format!("{} {}", read(""), write("")),
        format!("{} {} {}", read("--size=2m"), write(""), write("--offset=1m")),
        format!("{} {}", write("--numjobs=2 --offset_increment=1m"), read("--size=2m")),
    ] {
        jobs(&empty, &line);
    }
    jobs(&half, &format!("{} {}", write("--offset=1m"), read("--size=2m")));
}

/// A state of the job `a`, the first of its run.
fn state() -> VerifyState {
    VerifyState {
        number: 30,
        index: 0,
        flag: 0,
        generators: [0; 48],
        name: b"a".to_vec(),
        incomplete: vec![None],
    }
}

#[test]
fn a_state_must_belong_to_its_job() {
    let machine =
        |bytes: &[u8]| Fake::empty().file("f", 1 << 20).file_of("./local-a-0-verify.state", bytes);
    let line = |more: &str| {
        format!("--name=a --filename=f --size=1m --verify=md5 --verify_state_load=1 {more}")
    };
    for rw in ["--rw=read", "--rw=write --verify_only"] {
        let good = machine(&state().write().unwrap());
        let verify = job(&good, &line(rw)).verify.unwrap();
        assert_eq!((verify.pass, verify.state), (VerifyPass::Only, Some(state())), "{rw}");
    }
    let good = state().write().unwrap();
    let other = |change: fn(&mut VerifyState)| {
        let mut state = state();
        change(&mut state);
        state.write().unwrap()
    };
    let mut damaged = good.clone();
    damaged[50] ^= 1;
    for (bytes, more, what) in [
        (Vec::new(), "--rw=read", "state has 0 bytes"),
        (good[..100].to_vec(), "--rw=read", "is truncated"),
        (damaged, "--rw=read", "bad checksum"),
        ([8; 200].to_vec(), "--rw=read", "version"),
        (other(|state| state.name = b"b".to_vec()), "--rw=read", "belongs to the job `b`"),
        (other(|state| state.index = 3), "--rw=read", "belongs to job 3 of its run"),
        (good.clone(), "--rw=randread", "fio wrote it"),
        (good.clone(), "--rw=write", "would destroy the data"),
        (good.clone(), "--rw=write --do_verify=0", "would destroy the data"),
        (
            good.clone(),
            "--rw=write:4k --verify_only --verify_policy=fsynced",
            "after the last flush",
        ),
    ] {
        let found = error(&machine(&bytes), &line(more));
        assert!(found.contains(what), "{more}: {found}");
    }
    let missing = error(&Fake::empty().file("f", 1 << 20), &line("--rw=read"));
    assert!(missing.contains("`local-a-0-verify.state` cannot be used"), "{missing}");
    // A random order does not matter if all blocks were written.
    job(&machine(&other(|state| state.number = 256)), &line("--rw=randread"));
    // Where nothing is verified, nothing is loaded.
    jobs(&Fake::empty(), "--name=a --size=1m --verify_state_load=1 --rw=read");
}

#[test]
fn jobs_that_share_blocks_need_states_without_open_ends() {
    let machine = |open: bool| {
        let state = |index: u64| {
            let incomplete = vec![(open && index == 1).then_some(7)];
            VerifyState { index, incomplete, ..state() }.write().unwrap()
        };
        Fake::empty()
            .file("f", 1 << 20)
            .file_of("./local-a-0-verify.state", &state(0))
            .file_of("./local-a-1-verify.state", &state(1))
    };
    let line = "--name=a --filename=f --size=512k --rw=read --verify=md5 --verify_state_load=1 --numjobs=2";
    jobs(&machine(false), line);
    assert!(error(&machine(true), line).contains("may not have completed its writes"));
    jobs(&machine(true), &format!("{line} --offset_increment=512k"));
}

#[test]
fn journals() {
    let journal = |line: &str| {
        let line =
            format!("--name=a --filename=f --size=1m --verify=fiord --verify_journal=j {line}");
        job(&Fake::empty().file("f", 1 << 20), &line).journal
    };
    let plain = journal("--rw=randwrite --bs=4k").unwrap();
    assert_eq!(plain.file, std::path::Path::new("j"));
    assert_eq!((plain.block, plain.sector), (Bytes(4096), Bytes(512)));
    assert!(!plain.durable_writes && !plain.sectors_may_tear);
    assert_eq!(journal("--rw=write --bsrange=1k-8k").unwrap().block, Bytes(1024));
    assert!(journal("--rw=write --sync=1").unwrap().durable_writes);
    let mapped = journal("--rw=write --sync=1 --ioengine=mmap").unwrap();
    assert!(mapped.sectors_may_tear && !mapped.durable_writes, "O_SYNC does not concern mappings");
    // Jobs that write nothing need no journal.
    assert_eq!(journal("--rw=randread"), None);
    assert_eq!(journal("--rw=write --verify_only"), None);

    let both = "--filename=f --size=1m --verify=fiord --verify_journal=j --rw=write --name=a --bs=8k --name=b --bs=12k";
    let blocks = jobs(&Fake::empty(), both).into_iter().map(|job| job.journal.unwrap().block);
    assert_eq!(blocks.collect::<Vec<_>>(), [Bytes(4096); 2]);
}

/// A journal has all targets of its jobs, one after another.
#[test]
fn a_journal_of_several_targets() {
    let journals = |line: &str| -> Vec<_> {
        let line = format!("--rw=write --bs=12k --verify=fiord --verify_journal=j {line}");
        let plans = jobs(&Fake::empty().disk("/dev/d", 8 << 20), &line);
        plans.into_iter().map(|job| job.journal.unwrap()).collect()
    };
    let [one] = &journals("--name=a --nrfiles=3 --size=360k")[..] else { panic!() };
    assert_eq!(one.target_of_file, [0, 1, 2]);
    let bases: Vec<u64> = one.targets.iter().map(|target| target.base.0).collect();
    // Each has 120 KiB, and is followed by a block.
    assert_eq!(bases, [0, 132 << 10, 264 << 10]);

    let both = "--name=a --filename=f:/dev/d --size=2m --name=b --filename=/dev/d --offset=4m --size=1m --name=c --filename=g --size=1m";
    let [a, b, c] = &journals(&format!("--size=1m {both}"))[..] else { panic!() };
    assert!(a.targets == b.targets && a.targets == c.targets && a.targets.len() == 3);
    assert_eq!(
        [&a.target_of_file[..], &b.target_of_file, &c.target_of_file],
        [&[0, 1][..], &[1], &[2]]
    );
    let bases: Vec<u64> = a.targets.iter().map(|target| target.base.0).collect();
    assert!(bases[1] > 1 << 20 && bases[2] > bases[1] + (5 << 20), "{bases:?}");
    assert!(bases.iter().all(|base| base.is_multiple_of(a.block.0)), "{bases:?}");
}

#[test]
fn impossible_journals_are_refused() {
    let journal = "--verify=fiord --verify_journal=j";
    for (line, expected) in [
        (
            "--rw=write --verify=crc32c --verify_journal=j",
            "blocks that say which write they belong to",
        ),
        (
            "--rw=write --nrfiles=300 --verify=fiord --verify_journal=j",
            "at most 256 targets, and this one would have 300",
        ),
        ("--rw=write --unlink=1 --verify=fiord --verify_journal=j", "removes the file"),
        (
            "--rw=write --ioengine=sim --verify=fiord --verify_journal=j",
            "keeps its data after a crash",
        ),
        ("--rw=write --filename=j --verify=fiord --verify_journal=j", "is the target of the job"),
        (
            &*format!("--filename=f --rw=write --ioengine=mmap --numjobs=2 {journal}"),
            "cannot share the journal of its target",
        ),
        (
            &*format!("--filename=f --rw=write {journal} --name=b --filename=f --rw=write"),
            "another job writes to the target and does not record it",
        ),
        (
            &*format!(
                "--filename=f --rw=write {journal} --name=b --filename=f --rw=write --verify=fiord --verify_journal=k"
            ),
            "another job writes to the target and does not record it",
        ),
    ] {
        let machine = Fake::empty().disk("/dev/d", 1 << 20);
        let found = error(&machine, &format!("--size=1m --name=a {line}"));
        assert!(found.contains(expected), "{line}: {found}");
    }
    // The second job begins when the first one has ended.
    let line = "--filename=f --size=1m --rw=write --verify=fiord --name=a --verify_journal=j --name=b --stonewall";
    jobs(&Fake::empty(), line);
}

#[test]
fn a_simulated_device_that_stores_nothing_cannot_be_verified() {
    let line = "--name=a --filename=f --size=1m --ioengine=sim --rw=write --verify=crc32c";
    let found = error(&Fake::empty(), &format!("{line} --sim_store=0"));
    assert!(found.contains("`sim_store=0` stores no data that `verify` could check"), "{found}");
    let stores = |line: &str| {
        let job = job(&Fake::empty(), line);
        let store = |(name, value): &(String, String)| name == "sim_store" && value == "1";
        job.engine.simulated().unwrap().options.iter().any(store)
    };
    assert!(stores(line));
    assert!(!stores(&format!("{line} --do_verify=0")));
    assert!(stores(&format!(
        "{line} --do_verify=0 --name=b --filename=f --ioengine=sim --rw=read --verify=crc32c --size=1m"
    )));
    assert!(!stores(&line.replace("--verify=crc32c", "")));
}
