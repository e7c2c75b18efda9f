//! Verification: what fiord and fio write for each other, corrupted files, and what a run reports about them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::fiord::{Place, Ran};

/// Data that fio wrote, in `compat/verify/`, with the options that it was written with. fio 3.33 wrote those from
/// before 3.41, fio 3.42 the others.
const RECORDED: &[(&str, &str)] = &[
    ("md5", "--verify=md5 --verify_interval=512"),
    ("crc64", "--verify=crc64 --verify_interval=512"),
    ("crc32", "--verify=crc32 --verify_interval=512"),
    ("crc32c", "--verify=crc32c --verify_interval=512"),
    ("crc16", "--verify=crc16 --verify_interval=512"),
    ("crc7", "--verify=crc7 --verify_interval=512"),
    ("sha256", "--verify=sha256 --verify_interval=512"),
    ("sha512", "--verify=sha512 --verify_interval=512"),
    ("sha3-224", "--verify=sha3-224 --verify_interval=512"),
    ("sha3-256", "--verify=sha3-256 --verify_interval=512"),
    ("sha3-384", "--verify=sha3-384 --verify_interval=512"),
    ("sha3-512", "--verify=sha3-512 --verify_interval=512"),
    ("xxhash", "--verify=xxhash --verify_interval=512"),
    ("sha1", "--verify=sha1 --verify_interval=512"),
    ("meta", "--verify=meta --verify_interval=512"),
    ("offset", "--verify=crc32c --verify_interval=1k --verify_offset=600"),
    ("pattern", "--verify=pattern --verify_pattern=%o\"ab\"0x1234"),
    ("pattern_hdr", "--verify=pattern_hdr --verify_pattern=0x00ff --verify_interval=512"),
    ("pattern_interval", "--verify=md5 --verify_pattern=%o --verify_pattern_interval=512"),
    ("before-3.41", "--verify=sha1 --verify_interval=512"),
    ("offset-before-3.41", "--verify=crc32c --verify_interval=1k --verify_offset=600"),
];

/// Options with which each program verifies what the other one wrote.
const SHARED: &[&str] = &[
    "--verify=crc32c --bs=4k",
    "--verify=crc64 --bs=4k --ioengine=io_uring --iodepth=32 --direct=1",
    "--verify=crc32c --bs=16k --verify_interval=4k --ioengine=libaio --iodepth=8",
    "--verify=md5 --bsrange=4k-32k --verify_interval=1k",
    "--verify=sha256 --bs=4k --verify_interval=1k --verify_offset=512",
    "--verify=sha512 --bssplit=4k/50:8k/50",
    "--verify=xxhash --verify_pattern=0xdeadbeef --bs=8k",
    "--verify=pattern_hdr --verify_pattern=%o --bs=4k --verify_pattern_interval=512",
    "--verify=pattern --verify_pattern=%o\"xyz\"0x12 --bs=8k",
    "--verify_pattern=0x5a --bs=4k",
];

fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/verify").join(name);
    std::fs::read(path).unwrap()
}

/// Changes a byte of a file.
fn corrupt(place: &Place, name: &str, at: usize) {
    let mut bytes = std::fs::read(place.path(name)).unwrap();
    bytes[at] ^= 0x10;
    place.write(name, bytes);
}

#[test]
fn data_that_fio_wrote_is_verified() {
    let place = Place::new();
    for (name, options) in RECORDED {
        place.write(name, recorded(name));
        for rw in ["read", "randwrite --verify_only"] {
            let line = format!("--name=v --filename={name} --size=4k --bs=2k --rw={rw} {options}");
            place.run(&line).ok();
        }
        assert_eq!(std::fs::read(place.path(name)).unwrap(), recorded(name), "{name}");
        corrupt(&place, name, 1000);
        let line = format!("--name=v --filename={name} --size=4k --bs=2k --rw=read {options}");
        let ran = place.run(&line);
        // Without a digest the body is not checked.
        assert_eq!(ran.status, Some(i32::from(*name != "meta")), "{name}: {ran:?}");
    }
}

/// fio, if one is installed whose headers have the present format.
fn fio(place: &Place, line: &str) -> Option<Ran> {
    let version = place.fio("--version")?.out;
    let mut numbers = version.trim().strip_prefix("fio-")?.split(['.', '-']);
    let mut number = || numbers.next()?.parse::<u32>().ok();
    let headers = (number()?, number()?) >= (3, 41);
    headers.then(|| place.fio(line)).flatten()
}

#[test]
fn fiord_and_fio_verify_what_the_other_one_wrote() {
    let place = Place::new();
    for options in SHARED {
        for rw in ["write", "randwrite"] {
            let one_size = options.contains("--bs=");
            if rw == "randwrite" && !one_size {
                continue;
            }
            let job = format!("--name=v --filename=f --size=256k {options} --rw={rw}");
            place.run(&job).ok();
            place.run(&format!("{job} --verify_only")).ok();
            let read = format!("--name=v --filename=f --size=256k {options} --rw=read");
            // Blocks of several sizes are read back as they were written only with the same random numbers.
            if one_size {
                place.run(&read).ok();
                if let Some(ran) = fio(&place, &read) {
                    assert_eq!(ran.status, Some(0), "{options}: {ran:?}");
                }
            }
            let Some(ran) = fio(&place, &job) else { continue };
            assert_eq!(ran.status, Some(0), "{options}: {ran:?}");
            if one_size {
                place.run(&format!("{job} --verify_only")).ok();
                place.run(&read).ok();
            }
        }
    }
}

#[test]
fn a_bad_block_ends_the_job_with_error_84() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=64k --bs=16k --verify=crc32c --verify_interval=4k";
    place.run(&format!("{job} --rw=write")).ok();
    for at in [5000, 9000, 40000] {
        corrupt(&place, "f", at);
    }
    let read = format!("{job} --rw=read --output-format=json");
    // Each bad interval of the block is reported, then the job ends.
    for (option, messages, ios) in
        [("", 2, 1), ("--verify_fatal=1", 1, 1), ("--ioengine=libaio --iodepth=4", 3, 4)]
    {
        let ran = place.run(&format!("{read} {option}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert_eq!(ran.err.matches("verify=crc32c failed on f at").count(), messages, "{ran:?}");
        assert!(ran.err.contains("at offset 4096, length 4096: bad digest"), "{ran:?}");
        let job = &ran.json()["jobs"][0];
        assert_eq!(
            (job["error"].as_i64(), job["read"]["total_ios"].as_i64()),
            (Some(84), Some(ios))
        );
    }
    // What the job has not read when it ends is not the fault of `runtime`.
    let line =
        format!("{job} --rw=write --size=1m --ioengine=sim --sim_store=1 --sim_lost_rate=50");
    for rest in ["", "--continue_on_error=verify --verify_fatal=1"] {
        let ran = place.run(&format!("{line} {rest} --output-format=json"));
        let verify = ran.json()["jobs"][0]["fiord"]["verify"].clone();
        let left = &verify["unverified_bytes"];
        assert!(left["job-failed"].as_u64() > Some(0), "{verify}");
        assert!(left["runtime-ended"].is_null(), "{verify}");
    }
    let ran = place.run(&format!("{read} --continue_on_error=verify"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let job = &ran.json()["jobs"][0];
    assert_eq!((job["error"].as_i64(), job["total_err"].as_i64()), (Some(84), Some(2)), "{job}");
    assert_eq!(job["first_error"].as_i64(), Some(84));
    let ran = place.run(&format!("{read} --continue_on_error=verify --verify_fatal=1"));
    let job = &ran.json()["jobs"][0];
    assert_eq!((ran.status, job["total_err"].as_i64()), (Some(0), Some(1)), "{job}");
}

#[test]
fn bad_blocks_are_saved() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=64k --bs=4k --verify=sha1 --verify_dump=1";
    place.run(&format!("{job} --rw=write")).ok();
    let good = std::fs::read(place.path("f")).unwrap();
    corrupt(&place, "f", 5000);
    corrupt(&place, "f", 12288);
    std::fs::create_dir(place.path("aux")).unwrap();
    let ran = place.run(&format!("{job} --rw=read --continue_on_error=verify --aux-path=aux"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let saved = |name: &str| std::fs::read(place.path("aux").join(name)).unwrap();
    assert_eq!(saved("f.4096.expected"), good[4096..8192]);
    assert_eq!(saved("f.4096.received")[904], good[5000] ^ 0x10);
    assert_eq!(saved("f.12288.hdr_fail")[0], good[12288] ^ 0x10);
    assert!(ran.err.contains("received data saved to aux/f.4096.received"), "{ran:?}");
    assert_eq!(std::fs::read_dir(place.path("aux")).unwrap().count(), 3);
}

#[test]
fn reads_of_the_verify_pass_count_as_reads_and_each_direction_has_its_time() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=1m --bs=4k --rw=write --verify=crc32c --rate=4m";
    let ran = place.run(&format!("{job} --output-format=json")).ok();
    let job = &ran.json()["jobs"][0];
    let number = |dir: &str, key: &str| job[dir][key].as_i64().unwrap();
    assert_eq!((number("read", "total_ios"), number("write", "total_ios")), (256, 256));
    assert!((200..400).contains(&number("write", "runtime")), "{job}");
    assert!((1..150).contains(&number("read", "runtime")), "{job}");
    assert_eq!(
        number("sync", "total_ios"),
        0,
        "the flush before the pass is not a sync of the job"
    );
}

#[test]
fn files_that_are_opened_one_by_one_are_read_back_one_by_one() {
    let place = Place::new();
    for options in ["", "--openfiles=1 --file_service_type=sequential", "--openfiles=2"] {
        for engine in ["psync", "libaio --iodepth=4", "mmap", "io_uring --iodepth=8", "sync"] {
            let job = "--name=v --nrfiles=4 --filesize=64k --rw=write --verify=crc32c --loops=2";
            let line = format!("{job} --ioengine={engine} {options} --output-format=json");
            let json = place.run(&line).ok().json();
            assert_eq!(json["jobs"][0]["read"]["total_ios"], 128, "{line}");
        }
    }
}

/// The lines have the layout of fio, which programs read.
#[test]
fn checksums_are_measured() {
    let Some(place) = Place::confined(&[]) else { return };
    let ran = place.run("--crctest=crc32c,sha3-256");
    assert_eq!((ran.status, &ran.err[..]), (Some(0), ""), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    for (line, name) in lines.into_iter().zip(["crc32c:\t\t", "sha3-256:\t"]) {
        let speed = line.strip_prefix(name).and_then(|rest| rest.strip_suffix(" MiB/sec"));
        let speed: f64 = speed.unwrap_or_else(|| panic!("{line:?}")).trim().parse().unwrap();
        assert!(speed > 0.0, "{line}");
    }
    let ran = place.run("--crctest=md5,foo");
    assert_eq!((ran.status, &ran.out[..]), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("unknown checksum `foo`") && ran.err.contains("sha512"), "{ran:?}");
}

/// Draws items of lists.
struct Draws(u64);

impl Draws {
    fn of(&mut self, list: &[&'static str]) -> &'static str {
        let Draws(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(*state >> 33) as usize % list.len()]
    }

    /// Options that a job has for itself, whatever its target is.
    fn job(&mut self) -> String {
        let rw = self.of(&[
            "--rw=write",
            "--rw=randwrite",
            "--rw=randrw",
            "--rw=rw",
            "--rw=write:4k",
            "--rw=randwrite:4",
            "--rw=trimwrite",
            "--rw=randtrimwrite",
        ]);
        let blocks = self.of(&[
            "--bs=4k",
            "--bs=1k",
            "--bs=16k",
            "--bsrange=1k-8k",
            "--bssplit=4k/60:8k/20:16k/20",
            "--bs_unaligned --bsrange=600-5000",
        ]);
        let verify = self.of(&[
            "--verify=crc32c",
            "--verify=md5",
            "--verify=fiord",
            "--verify=fiord",
            "--verify=meta",
            "--verify=xxhash --verify_interval=512",
            "--verify=crc32c --verify_interval=1k --verify_offset=256",
            "--verify=pattern --verify_pattern=%o\"ab\"",
            "--verify_pattern=0x11223344",
        ]);
        let order = self.of(&[
            "",
            "",
            "--norandommap",
            "--random_distribution=zipf:1.2",
            "--percentage_random=50",
            "--blockalign=512",
        ]);
        let amount =
            self.of(&["", "", "--loops=3", "--io_size=1m", "--time_based --runtime=100ms"]);
        let rest = self.of(&[
            "",
            "",
            "--randrepeat=0",
            "--serialize_overlap=1",
            "--rate=8m",
            "--thinktime=50us",
            "--do_verify=0",
            "--openfiles=1",
            "--verify_header_seed=1 --verify_write_sequence=1",
            "--experimental_verify=1",
            "--verify_fatal=1",
        ]);
        [rw, blocks, verify, order, amount, rest].join(" ")
    }

    /// A whole command line.
    fn line(&mut self) -> String {
        let engine = self.of(&[
            "--ioengine=psync",
            "--ioengine=libaio",
            "--ioengine=io_uring",
            "--ioengine=mmap",
            "--ioengine=sim --sim_store=1",
            "--ioengine=sim --sim_store=1",
        ]);
        let depth = self.of(&["", "--iodepth=2", "--iodepth=16"]);
        let target = self.of(&[
            "--filename=f",
            "--filename=f",
            "--nrfiles=3 --filename_format=n.$filenum",
            "--filename=a:b",
        ]);
        let zones = self.of(&[
            "",
            "",
            "--zonemode=zbd --zonesize=64k",
            "--zonemode=zbd --zonesize=64k --max_open_zones=2",
            "--zonemode=zbd --zonesize=128k --zone_reset_threshold=.5 --zone_reset_frequency=.2",
            "--zonemode=strided --zonesize=32k --zonerange=64k",
        ]);
        let shared = [engine, target, zones].join(" ");
        let trims = self.of(&[
            "",
            "",
            "--trim_percentage=30 --trim_backlog=8",
            "--trim_percentage=60 --trim_backlog=4 --trim_backlog_batch=2",
            "--trim_percentage=50 --trim_backlog=8 --trim_verify_zero=0",
        ]);
        let trims = if engine.contains("sim") { trims } else { "" };
        let own = [
            self.of(&["", "", "", "--numjobs=3"]),
            self.of(&[
                "",
                "",
                "--verify_backlog=7",
                "--verify_backlog=16 --verify_backlog_batch=5",
            ]),
            self.of(&["", "", "", "--verify_async=1", "--verify_async=3"]),
            self.of(&["", "", "", "--verify_journal=journal"]),
        ];
        let size = self.of(&["--size=256k", "--size=256k", "--size=384k"]);
        let first = self.job();
        let mut line =
            format!("--name=v {shared} {size} {depth} {trims} {} {first}", own.join(" "));
        // Another job on the same files, with or without `verify`.
        if self.of(&["", "", "other"]) == "other" {
            let others = self.job();
            let others = match self.of(&["", "plain", "reads"]) {
                "plain" => others.split(" --verify").next().unwrap_or_default().to_owned(),
                "reads" => format!("{others} --rw=randread"),
                _ => others,
            };
            line = format!("{line} --name=w {shared} --size=256k {others}");
        }
        line
    }
}

/// Draws options of jobs that verify. No device fails, so no job reports anything.
#[test]
fn without_faults_no_combination_of_options_reports_a_bad_block() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let jobs = number("FIORD_VERIFY_JOBS").unwrap_or(60);
    let mut draws = Draws(number("FIORD_VERIFY_SEED").unwrap_or(1));
    let mut ran = 0;
    let mut place = Place::new();
    for i in 0..jobs {
        if i % 20 == 0 {
            // A job that only reads may meet data of another format.
            place = Place::new();
        }
        let line = draws.line();
        if line.contains("--rw=randread") {
            place = Place::new();
        }
        let result = place.run(&line);
        if result.status != Some(0) && result.err.contains("-->") {
            // A combination that is refused.
            continue;
        }
        assert_eq!((result.status, result.err.as_str()), (Some(0), ""), "{line}\n{result:?}");
        ran += 1;
    }
    assert!(ran > jobs / 4, "{ran} of {jobs} jobs ran");
}

/// The numbers of reads and writes are those of fio 3.42.
#[test]
fn a_backlog_is_verified_between_the_writes() {
    let place = Place::new();
    for (options, expected) in [
        ("--rw=write --verify_backlog=16", (64, 64)),
        ("--rw=write --verify_backlog=16 --verify_backlog_batch=4", (64, 64)),
        ("--rw=write --verify_backlog=16 --verify_backlog_batch=40", (64, 64)),
        ("--rw=write --verify_backlog=10 --loops=2", (128, 128)),
        ("--rw=write --verify_backlog=10 --io_size=100k", (25, 25)),
        ("--rw=write --verify_backlog=10 --do_verify=0", (0, 64)),
        ("--rw=write --verify_backlog=10 --ioengine=libaio --iodepth=8", (64, 64)),
        ("--rw=write --verify_backlog=10 --time_based --runtime=100ms --rate_iops=200", (20, 20)),
    ] {
        let line = format!("--name=v --filename=f --size=256k --bs=4k --verify=crc32c {options}");
        let json = place.run(&format!("{line} --output-format=json")).ok().json();
        let ios = |dir: &str| json["jobs"][0][dir]["total_ios"].as_i64().unwrap();
        if options.contains("time_based") {
            let (reads, writes) = (ios("read"), ios("write"));
            assert!(reads > 0 && reads % 10 == 0 && writes - reads < 20, "{reads} of {writes}");
        } else {
            assert_eq!((ios("read"), ios("write")), expected, "{options}");
        }
    }
}

/// The job closes files between the reads of its backlog. The numbers of reads and writes are those of fio 3.42.
#[test]
fn a_backlog_of_closed_files_is_verified() {
    let place = Place::new();
    let job = "--name=v --nrfiles=4 --size=256k --bs=4k --rw=write --verify=md5 --verify_backlog=4";
    for (options, expected) in [
        ("--openfiles=1", 64),
        ("--openfiles=2", 64),
        ("--openfiles=1 --file_service_type=random", 64),
        ("--openfiles=2 --ioengine=libaio --iodepth=8 --verify_backlog_batch=9", 64),
        ("--openfiles=2 --verify_async=2 --loops=2", 128),
        ("--openfiles=1 --verify=fiord --rw=randwrite --ioengine=io_uring --iodepth=4", 64),
        ("--openfiles=1 --ioengine=mmap", 64),
    ] {
        let json = place.run(&format!("{job} {options} --output-format=json")).ok().json();
        let job = &json["jobs"][0];
        let ios = |dir: &str| job[dir]["total_ios"].as_i64().unwrap();
        assert_eq!((ios("read"), ios("write")), (expected, expected), "{options}");
        assert_eq!(job["fiord"]["verify"]["verified_bytes"], expected << 12, "{options}");
    }
    let mixed =
        "--openfiles=1 --rw=randrw --norandommap --io_size=1m --ioengine=libaio --iodepth=8";
    place.run(&format!("{job} {mixed}")).ok();
    let fault = "--openfiles=2 --ioengine=sim --sim_store=1 --sim_lost_rate=20";
    let ran = place.run(&format!("{job} {fault}"));
    assert!(ran.status == Some(1) && ran.err.contains("verify"), "{ran:?}");
    // Blocks are trimmed although their file has been closed.
    let trims = "--openfiles=1 --ioengine=sim --sim_store=1 --trim_backlog=8 --trim_percentage=50";
    let json = place.run(&format!("{job} --verify_backlog=0 {trims} --output-format=json"));
    assert!(json.ok().json()["jobs"][0]["trim"]["total_ios"].as_u64() > Some(8));
}

/// Threads that check what was read change no result.
#[test]
fn threads_check_as_the_job_itself_does() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=256k --bs=4k --verify=sha256 --output-format=json";
    place.run(&format!("{job} --rw=write")).ok();
    for at in [5000, 9000, 40000] {
        corrupt(&place, "f", at);
    }
    let read = format!("{job} --rw=read --continue_on_error=verify --verify_dump=1");
    for engine in [
        "psync",
        "sync --iodepth=4",
        "mmap",
        "libaio --iodepth=1",
        "libaio --iodepth=16",
        "io_uring --iodepth=4",
        "psync --iodepth=4 --io_submit_mode=offload",
        "vsync",
    ] {
        for threads in ["", "--verify_async=1", "--verify_async=3 --verify_async_cpus=0"] {
            let line = format!("{read} --ioengine={engine} {threads}");
            let ran = place.run(&line);
            assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
            let json = ran.json();
            let job = &json["jobs"][0];
            assert_eq!(job["total_err"], 3, "{line}: {job}");
            assert_eq!(
                (&job["error"], &job["read"]["total_ios"]),
                (&84.into(), &64.into()),
                "{line}"
            );
            let verify = &job["fiord"]["verify"];
            assert_eq!(verify["faults"]["bit-flips"]["bytes"], 3 * 4096, "{line}: {verify}");
            assert_eq!(verify["verified_bytes"], 256 << 10, "{line}: {verify}");
            assert_eq!(
                ran.err.matches("verify=sha256 failed on f at").count(),
                3,
                "{line}: {ran:?}"
            );
            for offset in [4096, 8192, 36864] {
                std::fs::remove_file(place.path(&format!("f.{offset}.received"))).unwrap();
            }
        }
        let ran = place.run(&format!("{job} --rw=read --ioengine={engine} --verify_async=1"));
        assert_eq!((ran.status, ran.json()["jobs"][0]["error"].as_i64()), (Some(1), Some(84)));
    }
}

/// A job whose threads have work left ends at its run time, and when it is interrupted.
#[test]
fn threads_end_with_their_job() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=4m --verify=sha512 --verify_async=2";
    place.run(&format!("{job} --rw=write --bs=64k")).ok();
    let read = format!("{job} --rw=read --bs=64k --time_based");
    for engine in ["psync", "io_uring --iodepth=16"] {
        let line = format!("{read} --ioengine={engine} --runtime=200ms --output-format=json");
        let json = place.run(&line).ok().json();
        let job = &json["jobs"][0];
        let bytes = job["read"]["io_bytes"].as_u64();
        assert_eq!(job["fiord"]["verify"]["verified_bytes"].as_u64(), bytes, "{line}");
        let child = place.start(&format!("{read} --ioengine={engine} --runtime=60"));
        std::thread::sleep(Duration::from_millis(300));
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.code().is_some(), "{output:?}");
    }
}

#[test]
fn jobs_that_share_a_file_do_not_disturb_each_other() {
    let place = Place::new();
    let shared =
        "--name=a --filename=f --size=1m --bs=4k --verify=crc32c --ioengine=libaio --iodepth=8";
    for line in [
        format!("{shared} --rw=randwrite --norandommap --numjobs=4 --loops=2"),
        format!(
            "{shared} --rw=randwrite --name=b --filename=f --size=1m --rw=randread --verify=crc32c --loops=4"
        ),
        format!(
            "{shared} --rw=write --do_verify=0 --name=b --stonewall --filename=f --size=1m --bs=4k --rw=randread --verify=crc32c"
        ),
        format!(
            "{shared} --rw=randrw --bs=16k --name=b --filename=f --size=1m --bs=4k --rw=randwrite --verify=crc32c"
        ),
    ] {
        place.run(&line).ok();
    }
}

#[test]
fn a_stale_block_is_recognized_however_often_it_was_written() {
    let place = Place::new();
    for method in ["crc32c", "fiord"] {
        let job = format!("--name=v --filename=f --size=64k --bs=4k --rw=write --verify={method}");
        place.run(&format!("{job} --loops=2")).ok();
        let lost = format!(
            "{job} --io_size=256k --ioengine=sim --sim_store=1 --sim_lost_rate=20 --continue_on_error=verify"
        );
        let ran = place.run(&format!("{lost} --output-format=json"));
        assert_eq!(ran.json()["jobs"][0]["error"].as_i64(), Some(84), "{ran:?}");
    }
}

#[test]
fn the_state_of_the_writes_is_saved() {
    let place = Place::new();
    let job = "--name=a/b --filename=f --size=64k --bs=4k --rw=write --verify=crc32c --loops=2";
    place.run(&format!("{job} --ioengine=libaio --iodepth=4 --numjobs=2")).ok();
    for index in 0..2u64 {
        let state = std::fs::read(place.path(&format!("local-a.b-{index}-verify.state"))).unwrap();
        let number = |at: usize| u64::from_le_bytes(state[at..at + 8].try_into().unwrap());
        assert_eq!((number(0), number(24), number(32), number(40)), (7, 4, 32, index));
        assert_eq!((state.len(), number(168)), (168 + 4 * 8, u64::MAX));
    }
    std::fs::remove_file(place.path("local-a.b-0-verify.state")).unwrap();
    place.run(&format!("{job} --verify_state_save=0")).ok();
    place.run(&format!("{job} --verify_only")).ok();
    assert!(!place.path("local-a.b-0-verify.state").exists());
}
