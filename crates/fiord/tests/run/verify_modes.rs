//! Verification on zones, of trims, and of files that several jobs write in different ways: correct devices produce no
//! report, whatever the options.

use serde_json::Value;

use crate::fiord::Place;

/// Runs jobs that must not report anything, and returns their results.
#[track_caller]
fn jobs(place: &Place, line: &str) -> Vec<Value> {
    let ran = place.run(&format!("{line} --output-format=json"));
    assert_eq!((ran.status, &ran.err[..]), (Some(0), ""), "{line}");
    ran.json()["jobs"].as_array().unwrap().clone()
}

/// I/Os of a direction.
fn ios(job: &Value, dir: &str) -> u64 {
    job[dir]["total_ios"].as_u64().unwrap()
}

/// Bytes written and verified.
fn coverage(job: &Value) -> (u64, u64) {
    let verify = &job["fiord"]["verify"];
    let number = |name: &str| verify[name].as_u64().unwrap_or(0);
    (number("written_bytes"), number("verified_bytes"))
}

/// Options of jobs that write each byte of four zones `passes` times. fio reads each zone back before it resets it.
const ZONED: &[(&str, u64)] = &[
    ("--rw=write", 1),
    ("--rw=write --io_size=2m", 2),
    ("--rw=write --loops=2", 2),
    ("--rw=randwrite", 1),
    ("--rw=randwrite --io_size=3m", 3),
    ("--rw=randwrite --io_size=3m --zone_reset_threshold=.5 --zone_reset_frequency=.1", 3),
    ("--rw=randwrite --norandommap --io_size=3m", 3),
    ("--rw=randwrite --io_size=3m --max_open_zones=2", 3),
];

#[test]
fn zones_are_read_back_before_they_are_reset() {
    let place = Place::new();
    let zones = "--name=v --filename=z --size=1m --zonemode=zbd --zonesize=256k";
    for (options, passes) in ZONED {
        for blocks in ["--bs=16k", "--bsrange=4k-32k"] {
            for rest in ["--verify=crc32c", "--verify=fiord --ioengine=libaio --iodepth=8"] {
                let line = format!("{zones} {options} {blocks} {rest}");
                let job = &jobs(&place, &line)[0];
                let (written, verified) = coverage(job);
                assert!(verified == written && written >= passes << 20, "{line}: {verified}");
                if blocks == "--bs=16k" {
                    assert_eq!((ios(job, "write"), ios(job, "read")), (64 * passes, 64 * passes));
                }
            }
        }
    }
}

#[test]
fn zones_of_odd_blocks_mixes_and_trims_are_verified() {
    let place = Place::new();
    let zones = "--name=v --filename=z --size=1m --zonemode=zbd --zonesize=256k --verify=crc32c";
    for options in [
        "--rw=write --bs=20k --loops=2",
        "--rw=write --bs=20k --zonecapacity=200k --write_zone_remainder=1",
        "--rw=randwrite --bs=12k --io_size=2m --write_zone_remainder=1",
        "--rw=randrw --bs=16k --io_size=3m",
        "--rw=trimwrite --bs=256k --loops=3",
        "--rw=randtrimwrite --bs=256k",
        "--rw=write --bs=16k --do_verify=0",
        "--rw=randwrite --bs=16k --nrfiles=3 --filename_format=z.$filenum --openfiles=1 --size=3m",
    ] {
        let job = &jobs(&place, &format!("{zones} {options}"))[0];
        let (written, verified) = coverage(job);
        assert!(written > 0, "{options}");
        assert_eq!(verified == written, !options.contains("do_verify"), "{options}");
    }
}

#[test]
fn zones_that_an_earlier_run_wrote_are_verified() {
    let place = Place::new();
    let zones = "--name=v --filename=z --size=1m --zonemode=zbd --zonesize=256k --bs=16k \
                 --verify=crc32c";
    jobs(&place, &format!("{zones} --rw=randwrite --do_verify=0"));
    for options in ["--rw=read", "--rw=randwrite --verify_only"] {
        let job = &jobs(&place, &format!("{zones} {options}"))[0];
        assert_eq!((ios(job, "read"), ios(job, "write")), (64, 0), "{options}");
        assert_eq!(coverage(job), (1 << 20, 1 << 20), "{options}");
    }
    let mut bytes = std::fs::read(place.path("z")).unwrap();
    bytes[300_000] ^= 1;
    place.write("z", bytes);
    for options in ["--rw=read", "--rw=randwrite --verify_only"] {
        let ran = place.run(&format!("{zones} {options}"));
        assert!(ran.status == Some(1) && ran.err.contains("offset 294912"), "{ran:?}");
    }
}

/// What another job overwrites is neither verified nor reported.
#[test]
fn jobs_that_write_a_file_in_different_ways_do_not_report_each_other() {
    let place = Place::new();
    for zones in ["", "--zonemode=zbd --zonesize=256k"] {
        let job = |name: &str, rest: &str| {
            format!("--name={name} --filename=f --size=1m {zones} --loops=4 {rest} ")
        };
        let verifies = job("v", "--rw=randwrite --bs=4k --verify=crc32c --ioengine=libaio");
        for others in [
            job("w", "--rw=randwrite --bs=4k"),
            job("w", "--rw=write --bs=20k"),
            job("w", "--rw=randwrite --bs=8k --verify=md5"),
            job("w", "--rw=randwrite --bs=8k --verify=fiord"),
            job("w", "--rw=write --bs=8k --verify=pattern --verify_pattern=0x5a"),
            job("w", "--rw=write --bs=8k --verify=null"),
            job("w", "--rw=randread --bs=8k --verify=crc32c") + &job("x", "--rw=write --bs=4k"),
        ] {
            let line = format!("{verifies} {others}");
            jobs(&place, &line);
            std::fs::remove_file(place.path("f")).unwrap();
        }
    }
}

/// The map of a file lasts as long as the run.
#[test]
fn jobs_that_follow_each_other_know_what_was_overwritten() {
    let place = Place::new();
    let job = |name: &str, rest: &str| format!("--name={name} --filename=f --size=256k {rest} ");
    let first = job("a", "--rw=write --io_size=512k --bs=4k --verify=crc32c");
    for between in ["--rw=write --bs=4k", "--rw=randwrite --bs=6k --norandommap --verify=crc32c"] {
        let line = first.clone()
            + &job("b", &format!("--stonewall {between}"))
            + &job("c", "--stonewall --rw=randwrite --norandommap --bs=4k --verify=crc32c")
            + &job("d", "--rw=randread --bs=4k --verify=crc32c");
        jobs(&place, &line);
    }
}

/// The hottest file starts over, so that its blocks are written many times.
#[test]
fn files_with_skewed_shares_are_verified() {
    let place = Place::new();
    let line = "--name=v --nrfiles=16 --size=1m --bs=4k --file_service_type=zipf:1.2:0 --ioengine=libaio --iodepth=8";
    for options in [
        "--rw=randwrite --verify=md5",
        "--rw=write --verify=crc32c",
        "--rw=randrw --bs=4k,8k --verify=fiord",
    ] {
        let job = &jobs(&place, &format!("{line} {options}"))[0];
        assert!(coverage(job).1 > 0, "{options}");
    }
}

#[test]
fn writes_that_may_overlap_to_files_that_are_opened_one_by_one() {
    let place = Place::new();
    let line =
        "--name=v --nrfiles=4 --filesize=64k --openfiles=1 --verify=crc32c --bs=4k --loops=2";
    for engine in ["psync", "libaio --iodepth=4", "mmap", "io_uring --iodepth=8"] {
        for options in [
            "--rw=randwrite --norandommap",
            "--rw=randwrite --norandommap --number_ios=21",
            "--rw=randrw --random_distribution=zipf:1.1 --file_service_type=random:3",
            "--rw=write --bsrange=4k-8k --numjobs=2 --filename_format=f.$filenum",
        ] {
            for job in jobs(&place, &format!("{line} {options} --ioengine={engine}")) {
                let (written, verified) = coverage(&job);
                assert!(verified > written / 4, "{options}: {verified} of {written}");
            }
        }
    }
}

/// The numbers are those of fio 3.42 on a loop device, except for what is drawn at random.
#[test]
fn trimmed_blocks_must_read_as_zeros() {
    let place = Place::new();
    let job =
        "--name=v --ioengine=sim --sim_store=1 --size=4m --bs=64k --verify=crc32c --trim_backlog=8";
    let run = |options: &str| {
        let jobs = jobs(&place, &format!("{job} {options}"));
        let [reads, writes, trims] = ["read", "write", "trim"].map(|dir| ios(&jobs[0], dir));
        let trimmed = jobs[0]["fiord"]["verify"]["unverified_bytes"]["trimmed"].as_u64();
        (reads, writes, trims, coverage(&jobs[0]).1 >> 16, trimmed.unwrap_or(0) >> 16)
    };
    assert_eq!(run("--rw=write --trim_percentage=100"), (64, 64, 64, 64, 0));
    assert_eq!(run("--rw=write --trim_percentage=100 --trim_verify_zero=0"), (0, 64, 64, 0, 64));
    assert_eq!(run("--rw=write --trim_percentage=100 --trim_backlog_batch=2"), (64, 64, 16, 64, 0));
    assert_eq!(run("--rw=write --trim_percentage=100 --do_verify=0"), (0, 64, 64, 0, 0));
    assert_eq!(run("--rw=write --trim_percentage=100 --experimental_verify=1").2, 0);
    // What has been verified is not trimmed any more.
    assert_eq!(run("--rw=write --trim_percentage=100 --verify_backlog=4"), (64, 64, 0, 64, 0));
    assert_eq!(run("--rw=write --trim_percentage=100 --verify_backlog=16"), (64, 64, 32, 64, 0));
    // A batch that is smaller than the backlog reads the oldest writes, which are trimmed by then.
    let batches =
        "--rw=randwrite --trim_percentage=100 --verify_backlog=16 --verify_backlog_batch=8";
    assert_eq!(run(batches), (64, 64, 64, 64, 0));
    for options in [
        "--rw=write",
        "--rw=randwrite --verify=fiord --loops=2",
        "--rw=randwrite --norandommap --iodepth=8",
        "--rw=randrw --bsrange=4k-64k --iodepth=8",
        "--rw=randwrite --verify=pattern --verify_pattern=0xaa",
    ] {
        let (reads, writes, trims, ..) = run(&format!("{options} --trim_percentage=50"));
        assert!(reads > 32 && trims > writes / 4 && trims < writes, "{options}: {trims}");
    }
    let line = format!("{job} --rw=write --trim_percentage=50 --filename=f --ioengine=psync");
    assert!(place.run(&line).err.contains("only block devices can be trimmed"));
}

#[test]
fn blocks_are_trimmed_and_then_written() {
    let place = Place::new();
    let job = "--name=v --ioengine=sim --sim_store=1 --size=4m --bs=64k";
    for (options, count) in [
        ("--rw=trimwrite --verify=crc32c", 64),
        ("--rw=randtrimwrite --verify=fiord --iodepth=8", 64),
        ("--rw=randtrimwrite --verify=crc32c --number_ios=32", 32),
        ("--rw=trimwrite --verify=md5 --loops=2 --iodepth=4", 128),
        // Each write fills the block that was trimmed.
        ("--rw=trimwrite --verify=crc32c --bs=4k,4k,64k", 64),
        ("--rw=randtrimwrite --verify=crc32c --bs=4k,128k,64k --norandommap", 64),
    ] {
        let jobs = jobs(&place, &format!("{job} {options}"));
        let all = ["write", "trim"].map(|dir| ios(&jobs[0], dir));
        let (written, verified) = coverage(&jobs[0]);
        assert_eq!((all, written), ([count; 2], count << 16), "{options}");
        assert!(verified == written || options.contains("norandommap"), "{options}");
    }
}

/// Bytes 6 and 7 of each sector of `verify=fiord` are its flags.
#[test]
fn sectors_state_whether_their_write_was_durable_when_it_was_acknowledged() {
    let place = Place::new();
    for (options, durable) in [
        ("", 0),
        ("--sync=1", 1),
        ("--sync=dsync --ioengine=libaio --iodepth=4", 1),
        ("--fsync=1", 0),
        ("--sync=1 --ioengine=mmap", 0),
    ] {
        let job = "--name=v --filename=durable --size=64k --bs=4k --rw=randwrite --verify=fiord";
        place.run(&format!("{job} {options}")).ok();
        let data = std::fs::read(place.path("durable")).unwrap();
        let mut flags = data.chunks(512).map(|sector| u16::from_le_bytes([sector[6], sector[7]]));
        assert!(flags.all(|flags| flags == durable), "{options}");
    }
}

/// Blocks that overlap in parts without a header, at any offset, or with a pattern of unknown start.
#[test]
fn blocks_of_any_length_at_any_offset() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=512k";
    for options in [
        "--rw=write --verify=crc32c --bs_unaligned --bsrange=100-9000 --loops=2",
        "--rw=randwrite --verify=crc32c --bs_unaligned --bsrange=1k-16k --norandommap --io_size=1m",
        "--rw=randwrite --verify=md5 --bs=8k --blockalign=16 --ioengine=libaio --iodepth=8",
        "--rw=randrw --verify=pattern --verify_pattern=%o\"abc\" --bsrange=4k-16k --norandommap",
        "--rw=randwrite --verify_pattern=%o\"abc\" --bsrange=4k-16k --norandommap --numjobs=2",
        "--rw=write --verify=crc32c --bs_unaligned --bsrange=100-9000 --verify_backlog=7",
    ] {
        for job in jobs(&place, &format!("{job} {options}")) {
            let (written, verified) = coverage(&job);
            assert!(verified > written / 8, "{options}: {verified} of {written}");
        }
    }
    let other = "--name=w --filename=f --size=512k --rw=randwrite --bs=4k --verify=crc32c";
    for options in ["--rw=randwrite --bs=4k", "--rw=randwrite --bs=8k --blockalign=32 --verify=md5"]
    {
        let line = "--verify=crc32c --bs_unaligned --bsrange=1k-16k --rw=randwrite --loops=3";
        jobs(
            &place,
            &format!("{job} {line} --name=w --filename=f --size=512k --loops=3 {options}"),
        );
    }
    let unaligned = "--rw=randwrite --verify=crc32c --blockalign=16 --bs=8k";
    jobs(&place, &format!("{job} {unaligned} {other}"));
    // A block that was lost is found.
    let line = "--rw=randwrite --verify=crc32c --bs=8k --blockalign=16 --ioengine=sim --sim_store=1 --sim_lost_rate=20";
    let ran = place.run(&format!("{job} {line}"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let ran = place.run("--name=v --filename=g --size=8g --rw=write --verify=md5 --bs_unaligned --bsrange=512-1k --ioengine=sim");
    assert!(ran.err.contains("at most 4194304 records are kept"), "{ran:?}");
}

/// fio's methods do not read back then, as in fio.
#[test]
fn a_job_reads_back_what_it_wrote_after_its_run_time() {
    let place = Place::new();
    for job in [
        "--rw=randwrite --norandommap --time_based",
        "--rw=randwrite --norandommap --time_based --ioengine=libaio --iodepth=8",
        "--rw=write --time_based --rate=20m --ioengine=libaio --iodepth=4",
        "--rw=write --time_based --rate_iops=50",
        "--rw=randrw --bs=4k --time_based --verify_async=1",
        "--rw=randwrite --time_based --nrfiles=4 --openfiles=2 --filename_format=t.$filenum",
        "--rw=write --size=1g --runtime=0.1s --rate=10m --filename=u",
    ] {
        let base = "--name=v --filename=f --size=256k --bs=4k --runtime=0.3s --unlink=1";
        let line = format!("{base} --verify=fiord {job}");
        let job = &jobs(&place, &line)[0];
        let verify = &job["fiord"]["verify"];
        assert!(ios(job, "write") > 0 && coverage(job).1 > 0, "{line}: {verify}");
        let left = verify["unverified_bytes"].as_object().unwrap();
        assert!(left.iter().all(|(why, n)| why == "overwritten" || n == 0), "{line}: {verify}");
        let time = job["write"]["runtime"].as_u64().unwrap();
        assert!(time >= 90, "{line}: {time}");
    }
    let line = "--name=v --ioengine=sim --size=256k --bs=4k --runtime=0.3s --time_based --rw=randwrite \
                --norandommap --verify=fiord --sim_faults=lost:rate=20 --continue_on_error=verify";
    let ran = place.run(&format!("{line} --output-format=json"));
    let job = &ran.json()["jobs"][0];
    assert!(job["fiord"]["verify"]["faults"]["stale"]["extents"].as_u64() > Some(0), "{job}");
    assert_eq!(job["write"]["runtime"], 300, "{line}");
}

/// Jobs that check what an earlier run wrote while other jobs write to the file, with blocks of other sizes.
#[test]
fn data_of_an_earlier_run_that_others_overwrite_meanwhile_is_not_reported() {
    let place = Place::new();
    for zones in ["", "--zonemode=zbd --zonesize=256k"] {
        let job = |name: &str, rest: &str| {
            format!("--name={name} --filename=f --size=1m {zones} {rest} ")
        };
        let check = "--bs=8k --verify=crc32c";
        jobs(&place, &job("w", &format!("{check} --rw=write --do_verify=0")));
        let before = std::fs::read(place.path("f")).unwrap();
        for checks in [
            "--rw=read",
            "--rw=write --verify_only",
            "--rw=randread --verify_async=1 --ioengine=libaio --iodepth=4",
            "--rw=randwrite --verify_only --ioengine=io_uring --iodepth=8",
        ] {
            for other in [
                "--rw=randwrite --bs=4k",
                "--rw=randwrite --bs=4k --verify=md5",
                "--rw=randwrite --bs=12k --verify=fiord",
                "--rw=write --bs=8k --verify=crc32c --do_verify=0",
            ] {
                place.write("f", &before);
                let line = job("r", &format!("{check} {checks}")) + &job("o", other);
                assert_eq!(jobs(&place, &line)[0]["error"], 0);
            }
        }
        std::fs::remove_file(place.path("f")).unwrap();
        if !zones.is_empty() {
            continue;
        }
        // What nothing has overwritten is checked.
        let mut bad = before.clone();
        bad[(1 << 20) - 100] ^= 1;
        place.write("f", &bad);
        let other = "--name=o --filename=f --size=512k --rw=randwrite --bs=4k";
        let line = job("r", &format!("{check} --rw=write --verify_only"));
        let ran = place.run(&format!("{line} {other}"));
        assert!(ran.status == Some(1) && ran.err.contains("offset 1040384"), "{ran:?}");
    }
}

/// A backlog reads the newest data of each block.
#[test]
fn what_a_backlog_has_not_read_before_it_was_overwritten_is_counted_as_overwritten() {
    let place = Place::new();
    let line = "--name=v --filename=f --size=128k --bs=4k --rw=randwrite --norandommap --verify=crc32c \
                --verify_backlog=24 --time_based --runtime=300ms";
    let job = &jobs(&place, line)[0];
    let unverified = &job["fiord"]["verify"]["unverified_bytes"];
    let bytes = |why: &str| unverified[why].as_u64().unwrap_or(0);
    assert!(bytes("overwritten") > 0, "{unverified}");
    // Only the last batch was not read.
    assert!(bytes("runtime-ended") <= 128 << 10, "{unverified}");
}

/// The reads of a backlog take the time of the whole job, as in fio, not that of the last pass.
#[test]
fn reads_of_a_backlog_count_over_the_time_in_which_the_job_writes() {
    let place = Place::new();
    let line = "--name=a --ioengine=sim --rw=write --bs=4k --size=1m --rate_iops=2000 --verify=md5 \
                --output-format=json";
    let rates = |more: &str| {
        let job = place.run(&format!("{line} {more}")).ok().json()["jobs"][0].clone();
        let of = |dir: &str| job[dir]["iops"].as_f64().unwrap();
        (of("read"), of("write"))
    };
    let (reads, writes) = rates("--verify_backlog=16");
    assert!(reads <= writes && reads > 0.8 * writes, "{reads} reads and {writes} writes a second");
    let (reads, writes) = rates("");
    assert!(reads > 2.0 * writes, "{reads} reads and {writes} writes a second");
}

/// A job that only checks data never succeeds in silence if there is no such data.
#[test]
fn a_job_that_checks_nothing_says_so() {
    let place = Place::new();
    let job = "--name=v --ioengine=sim --rw=randread --norandommap --size=256k --verify=md5 --output-format=json";
    let document = place.run(job).ok().json();
    let verify = &document["jobs"][0]["fiord"]["verify"];
    let counts = ["verified_bytes", "written_bytes"].map(|key| verify[key].as_u64());
    assert_eq!(counts, [Some(0), Some(256 << 10)], "{verify}");
    assert_eq!(verify["unverified_bytes"]["never-written"], 256 << 10, "{verify}");
    let findings = document["fiord"]["findings"].as_array().unwrap();
    let own = findings.iter().find(|finding| finding["id"] == "nothing-verified").unwrap();
    assert_eq!(own["severity"], "invalid", "{own}");
    assert_eq!(place.run(&format!("{job} --findings=fatal")).status, Some(253));
    // The file has data, and the run makes it longer.
    place.write("f", vec![0; 1 << 20]);
    let both = "--filename=f --bs=64k --verify=md5 --size=1m --name=w --rw=write --offset=1m --name=v --rw=read";
    let ran = place.run(both);
    assert!(ran.status == Some(1) && ran.err.contains("bad magic"), "{ran:?}");
}
