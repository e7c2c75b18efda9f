//! Crash consistency: jobs with `verify_journal` that are killed, and targets that lost data.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, Ran};
use crate::ground::Loop;

const JOB: &str = "--name=a --filename=t --size=2m --rw=randwrite --bs=4k --verify=fiord --verify_journal=j \
                   --do_verify=0 --time_based --runtime=60 --norandommap --eta=never";

/// Jobs that are killed while they write.
const KILLED: &[&str] = &[
    "--ioengine=psync --fsync=16",
    "--ioengine=io_uring --iodepth=32 --fsync=64",
    "--ioengine=libaio --iodepth=16 --direct=1 --sync=dsync",
    "--ioengine=io_uring --iodepth=8 --numjobs=3 --bsrange=4k-64k --fdatasync=20",
    "--ioengine=mmap --fsync=16",
    "--rw=write --bs=128k --fsync=4 --numjobs=2",
    "--do_verify=1 --verify_backlog=64 --verify_async=1 --fsync=16 --ioengine=io_uring --iodepth=4",
    "--rw=randrw --bssplit=4k/50:8k/50 --fsync=8 --norandommap=0",
];

/// Jobs with several targets, which are killed while they write.
const SEVERAL: &[&str] = &[
    "--nrfiles=3 --filename_format=t.$filenum --ioengine=psync --fsync=16",
    "--nrfiles=4 --filename_format=t.$filenum --openfiles=2 --ioengine=io_uring --iodepth=8 --fsync=32",
    "--filename=t1:t2 --ioengine=libaio --iodepth=4 --fdatasync=8 --name=b --filename=t3 --rw=write --bs=8k --fsync=4",
    "--filename=t1 --fsync=8 --numjobs=2 --name=b --filename=t2 --bs=12k --size=1200k --fsync=8",
];

fn check(place: &Place, options: &str) -> (Ran, Value) {
    let ran = place.run(&format!("verify --journal=j --format=json {options}"));
    let value = serde_json::from_str(&ran.out).unwrap_or(Value::Null);
    (ran, value)
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value}"))
}

/// Waits until the journal has this many bytes.
fn wait_for_journal(place: &Place, bytes: u64) {
    let since = Instant::now();
    while place.path("j").metadata().map_or(0, |found| found.len()) < bytes {
        assert!(since.elapsed() < Duration::from_secs(60), "the journal does not grow");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A kernel keeps what a killed program has written, so it is a correct device.
#[test]
fn a_killed_job_has_lost_nothing() {
    let mut flushed = 0;
    for (i, options) in (0u64..).zip(KILLED.iter().chain(SEVERAL)) {
        let place = Place::new();
        let job = match options.contains("--name=b") {
            // These options are in each job.
            true => JOB.replace("--name=a --filename=t ", "") + " --name=a",
            false => JOB.to_owned(),
        };
        let job = if options.contains("nrfiles") { job.replace("--filename=t ", "") } else { job };
        let mut child = place.start(&format!("{job} {options}"));
        wait_for_journal(&place, 4096 * (20 + i * 7));
        // A moment that no code of fiord determines.
        std::thread::sleep(Duration::from_micros(
            Instant::now().elapsed().as_nanos() as u64 * 7 % 9000,
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        let (ran, value) = check(&place, "");
        assert_eq!(ran.status, Some(0), "{options}: {ran:?}");
        assert_eq!(value["verdict"], "ok");
        assert!(number(&value, "writes_issued") > 0, "{options}: {value}");
        flushed += number(&value, "writes_flushed");
    }
    assert!(flushed > 0);
}

#[test]
fn an_interrupted_job_leaves_a_complete_journal() {
    let place = Place::new();
    let child = place.start(&format!("{JOB} --fsync=8 --end_fsync=1"));
    wait_for_journal(&place, 4096 * 20);
    place.script(&format!("kill -INT {}", child.id())).ok();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(128), "{ran:?}");
    let (ran, value) = check(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(value["journal_end"], "complete");
    let issued = number(&value, "writes_issued");
    // The last flush covers all writes.
    assert_eq!(
        (number(&value, "writes_acknowledged"), number(&value, "writes_flushed")),
        (issued, issued)
    );
}

/// Runs a job with these options, which writes its 16 blocks again and again, and returns the target in the midst
/// of the run and at its end.
fn early_and_late(place: &Place, options: &str) -> (Vec<u8>, Vec<u8>) {
    let line = format!(
        "--name=a --filename=t --size=64k --rw=write --bs=4k --verify=fiord --verify_journal=j --do_verify=0 \
         --loops=40 --thinktime=500 --thinktime_blocks=1 {options}"
    );
    let mut child = place.start(&line);
    wait_for_journal(place, 4096 * 12);
    let early = loop {
        let early = std::fs::read(place.path("t")).unwrap();
        let whole = |block: &[u8]| {
            block[..4] == *b"FRDS"
                && block.chunks(512).all(|sector| sector[32..40] == block[32..40])
        };
        if early.len() == 65536 && early.chunks(4096).all(whole) {
            break early;
        }
    };
    assert!(child.wait().unwrap().success());
    (early, std::fs::read(place.path("t")).unwrap())
}

#[test]
fn older_data_in_place_of_flushed_data_is_lost() {
    let place = Place::new();
    let (early, late) = early_and_late(&place, "--fsync=1");
    let (ran, value) = check(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!((number(&value, "blocks_checked"), number(&value, "blocks_flushed")), (16, 16));

    // The drive went back to an older state as a whole.
    place.write("t", &early);
    let (ran, value) = check(&place, "--extents=list");
    assert_eq!(ran.status, Some(250), "{ran:?}");
    assert_eq!((value["verdict"].as_str(), number(&value, "blocks_lost")), (Some("lost"), 16));
    assert_eq!((number(&value, "blocks_out_of_order"), number(&value, "blocks_corrupt")), (0, 0));
    assert_eq!(value["extents"][0]["promise"], "flushed");
    let list = std::fs::read_to_string(place.path("list")).unwrap();
    assert!(list.contains("t: offset 0, length 65536, stale"), "{list}");

    // One write is missing, and later ones are there.
    let mut mixed = late.clone();
    mixed[4096..8192].copy_from_slice(&early[4096..8192]);
    place.write("t", &mixed);
    let (ran, value) = check(&place, "");
    assert_eq!((ran.status, number(&value, "blocks_lost")), (Some(250), 1), "{ran:?}");
    assert_eq!(number(&value, "blocks_out_of_order"), 1);
    assert_eq!(value["faults"]["stale"]["extents"], 1);
    let text = place.run("verify --journal=j");
    assert!(
        text.status == Some(250) && text.out.contains("LOST data that it had acknowledged"),
        "{text:?}"
    );

    // A part of it is missing; a bit is wrong; the file is short.
    mixed[4096..6144].copy_from_slice(&late[4096..6144]);
    place.write("t", &mixed);
    assert_eq!(number(&check(&place, "").1, "blocks_lost"), 1);
    let mut flipped = late.clone();
    flipped[9000] ^= 2;
    place.write("t", &flipped);
    let (ran, value) = check(&place, "");
    assert_eq!((ran.status, value["verdict"].as_str()), (Some(250), Some("corrupt")), "{ran:?}");
    assert_eq!(value["extents"][0]["class"], "bit-flips");
    place.write("t", &late[..60_000]);
    let (ran, value) = check(&place, "");
    assert_eq!((ran.status, value["verdict"].as_str()), (Some(250), Some("lost")), "{ran:?}");
}

#[test]
fn older_data_in_place_of_data_that_was_not_flushed_is_allowed() {
    let place = Place::new();
    let (early, late) = early_and_late(&place, "");
    let mut mixed = late;
    mixed[..4096].copy_from_slice(&early[..4096]);
    mixed[8192..10240].copy_from_slice(&early[8192..10240]);
    place.write("t", &mixed);
    let (ran, value) = check(&place, "");
    assert_eq!((ran.status, number(&value, "blocks_torn")), (Some(0), 1), "{ran:?}");
    let text = place.run("verify --journal=j").ok().out;
    assert!(text.contains("the journal contains no flushed write"), "{text}");
    // The drive promises to write 4096 bytes as a whole.
    let (ran, value) = check(&place, "--atomic-unit=4096");
    assert_eq!((ran.status, number(&value, "blocks_corrupt")), (Some(250), 1), "{ran:?}");
    assert_eq!(value["extents"][0]["class"], "torn");
}

#[test]
fn targets_and_journals_that_cannot_be_checked() {
    let place = Place::new();
    place.run("--name=a --filename=t --size=64k --rw=write --bs=4k --verify=fiord --verify_journal=j --fsync=4");
    place.run("--name=a --filename=u --size=64k --rw=write --bs=4k --verify=fiord");
    let refused = |line: &str, message: &str| {
        let ran = place.run(line);
        let whole = ran.status == Some(1) && ran.out.is_empty() && ran.err.contains(message);
        assert!(whole, "{line}: {ran:?}");
    };
    refused("verify --journal=j u", "u contains no data of the run of this journal");
    refused("verify --journal=j none", "there is no file none");
    refused("verify --journal=none", "there is no file none");
    refused("verify --journal=t", "t: it is not a journal of fiord");
    refused("verify --journal=j .", ". is neither a block device nor a regular file");
    refused(
        "verify --journal=j --extents=t",
        "it is the target, the journal, or not a regular file",
    );
    refused("verify", "--journal <FILE>");
    assert_eq!(place.run("verify --journal=j u --same-target").status, Some(250));
    // A copy is as good as the target.
    std::fs::copy(place.path("t"), place.path("copy")).unwrap();
    place.run("verify --journal=j copy").ok();
    std::fs::remove_file(place.path("t")).unwrap();
    refused("verify --journal=j", "there is no file");
}

#[test]
fn a_file_that_is_not_a_journal_is_not_overwritten() {
    let place = Place::new();
    let line =
        "--name=a --filename=t --size=64k --rw=write --bs=4k --verify=fiord --verify_journal=j";
    for (contents, refused) in
        [("precious data", true), ("", false), ("FRDJRNL1 an old one", false)]
    {
        place.write("j", contents);
        place.write("t", "");
        let ran = place.run(line);
        assert_eq!(ran.status, Some(i32::from(refused)), "{contents}: {ran:?}");
        if refused {
            let said = "it exists and is not a journal, so its contents would be lost. To fix:";
            assert!(ran.err.contains(said), "{ran:?}");
            assert_eq!(std::fs::read(place.path("j")).unwrap(), contents.as_bytes());
            assert!(std::fs::read(place.path("t")).unwrap().iter().all(|byte| *byte == 0));
        }
    }
}

/// A journal can be cut anywhere. If it lacks announcements of writes that are on the target, the check says so.
#[test]
fn a_journal_that_is_cut_is_never_taken_for_a_loss() {
    let place = Place::new();
    let line = "--name=a --filename=t --size=256k --rw=randwrite --bs=4k --verify=fiord --verify_journal=j";
    place.run(&format!("{line} --do_verify=0 --fsync=4 --thinktime=300 --thinktime_blocks=4")).ok();
    let journal = std::fs::read(place.path("j")).unwrap();
    let (mut right, mut torn) = (0, 0);
    for cut in (0..journal.len())
        .step_by(journal.len() / 60 + 1)
        .chain(journal.len() - 40..journal.len() - 36)
    {
        place.write("j", &journal[..cut]);
        let (ran, value) = check(&place, "");
        let expected = if cut < 4096 { "it is not a journal" } else { "does not announce" };
        match ran.status {
            Some(0) => right += 1,
            Some(1) => assert!(ran.err.contains(expected), "{cut}: {ran:?}"),
            _ => panic!("{cut}: {ran:?}"),
        }
        torn += usize::from(value["journal_end"] == "torn");
    }
    assert!(right > 10 && torn > 10, "{right} {torn}");
}

#[test]
fn a_journal_that_cannot_be_written_fails_the_job() {
    let place = Place::new();
    // The target is below the limit, and the journal is not.
    let ran = place.script(&format!(
        "ulimit -f 64; {} {JOB} --size=32k --fsync=1",
        env!("CARGO_BIN_EXE_fiord")
    ));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let message =
        "could not write the journal: File too large (EFBIG). No further write was issued";
    assert!(ran.err.contains(message), "{ran:?}");
    let (ran, _) = check(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");

    let refused = |file: &str, message: &str| {
        let ran = place.run(&format!(
            "--name=a --filename=t --size=64k --rw=write --verify=fiord --verify_journal={file}"
        ));
        assert!(ran.status == Some(1) && ran.err.contains(message), "{file}: {ran:?}");
    };
    refused("missing/j", "could not create the journal");
    refused("/dev/null", "it is neither a regular file nor a block device");
    refused("./t", "it is the target of the job");
}

/// A journal whose disk is full ends the job, and says what was written up to there.
#[test]
fn a_full_disk_under_the_journal_fails_the_job() {
    let Some(place) = Place::confined(&[]) else { return };
    std::fs::create_dir(place.path("small")).unwrap();
    place.script("mount -t tmpfs -o size=256k small small").ok();
    for options in ["--fsync=1", "--fsync=8 --ioengine=io_uring --iodepth=16 --numjobs=2"] {
        let line = JOB.replace("--verify_journal=j", "--verify_journal=small/j");
        let ran = place.run(&format!("{line} {options}"));
        // The number of jobs that failed.
        assert_eq!(ran.status, Some(1 + i32::from(options.contains("numjobs"))), "{ran:?}");
        let message = "could not write the journal: No space left on device (ENOSPC). No further write was issued, \
                       and the journal is valid up to here. To fix: free space on its disk";
        assert!(ran.err.contains(message), "{ran:?}");
        let ran = place.run("verify --journal=small/j --format=json");
        let value: Value = serde_json::from_str(&ran.out).unwrap_or(Value::Null);
        assert_eq!((ran.status, value["verdict"].as_str()), (Some(0), Some("ok")), "{ran:?}");
        assert!(number(&value, "writes_announced") > 0, "{value}");
    }
    // Not even the header fits.
    place.script("rm small/j; dd if=/dev/zero of=small/fill bs=4k 2>/dev/null; true").ok();
    let ran = place
        .run("--name=a --filename=u --size=64k --rw=write --verify=fiord --verify_journal=small/j");
    assert!(ran.status == Some(1) && ran.err.contains("could not create the journal"), "{ran:?}");
}

#[test]
fn a_journal_on_the_disk_of_its_target_has_a_warning() {
    let Some(place) = Place::confined(&[]) else { return };
    std::fs::create_dir(place.path("other")).unwrap();
    place.script("mount -t tmpfs -o size=1m other other").ok();
    let warning = "is on the disk of its target";
    let line = "--name=a --filename=t --size=64k --rw=write --bs=4k --verify=fiord --fsync=4";
    for (journal, warns) in [("j", true), ("other/j", false)] {
        let ran = place.run(&format!("{line} --verify_journal={journal}"));
        assert_eq!((ran.status, &ran.err[..]), (Some(0), ""), "{ran:?}");
        assert_eq!(ran.out.contains(warning), warns, "{journal}: {ran:?}");
        assert_eq!(ran.out.contains("To fix: set verify_journal to a file on another disk"), warns);
    }
}

/// Each target of a journal has its own flushes, and is compared with its own writes.
#[test]
fn a_journal_of_several_targets() {
    let place = Place::new();
    let line = "--verify=fiord --verify_journal=j --do_verify=0 --rw=write --bs=4k --size=64k --name=a --filename=t:u --end_fsync=1 \
                --name=b --filename=w";
    place.run(line).ok();
    let (ran, value) = check(&place, "");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!((number(&value, "blocks_checked"), number(&value, "blocks_flushed")), (32, 16));
    assert!(value["target"].as_str().unwrap().ends_with("/w"), "{value}");
    // What job b wrote was not flushed; data of another target is in its place all the same.
    let [t, u] = ["t", "u"].map(|name| std::fs::read(place.path(name)).unwrap());
    let blank = vec![0; 65536];
    for (name, data, lost, corrupt) in [
        ("w", &blank, 0, 0),
        ("u", &blank, u.len() as u64 / 4096, 0),
        ("t", &u, 0, t.len() as u64 / 4096),
    ] {
        let before = std::fs::read(place.path(name)).unwrap();
        place.write(name, &data[..before.len()]);
        let (_, value) = check(&place, "");
        let found = (number(&value, "blocks_lost"), number(&value, "blocks_corrupt"));
        assert_eq!(found, (lost, corrupt), "{name}: {value}");
        place.write(name, before);
    }
    // The targets have other names now.
    for (old, new) in [("t", "1"), ("u", "2"), ("w", "3")] {
        std::fs::rename(place.path(old), place.path(new)).unwrap();
    }
    assert_eq!(check(&place, "1 2 3").0.status, Some(0));
    let ran = check(&place, "1 2").0;
    assert!(ran.status == Some(1) && ran.err.contains("the journal has 3 targets"), "{ran:?}");
    let ran = check(&place, "2 1 3").0;
    assert!(ran.status == Some(1) && ran.err.contains("contains no data of the run"), "{ran:?}");
}

/// What a later run has written says nothing about an earlier one.
#[test]
fn blocks_that_a_later_run_has_overwritten_are_not_checked() {
    let place = Place::new();
    let job = "--name=a --filename=t --rw=write --bs=4k --verify=fiord --do_verify=0 --fsync=1 --overwrite=1";
    place.run(&format!("{job} --size=128k --verify_journal=j")).ok();
    place.run(&format!("{job} --size=40k --offset=24k --verify_journal=k")).ok();
    assert_eq!(number(&check(&place, "").1, "blocks_lost"), 10);
    let (ran, value) = check(&place, "--later=k");
    assert_eq!((ran.status, number(&value, "blocks_checked")), (Some(0), 22), "{ran:?}");
    let mut bytes = std::fs::read(place.path("t")).unwrap();
    bytes[4096 * 20..4096 * 21].fill(0);
    place.write("t", bytes);
    assert_eq!(number(&check(&place, "--later=k").1, "blocks_lost"), 1);
    place.run("--name=a --filename=u --size=64k --rw=write --verify=fiord --verify_journal=l").ok();
    let ran = check(&place, "--later=l").0;
    assert!(ran.status == Some(1) && ran.err.contains("does not belong to a target"), "{ran:?}");
}

/// A trimmed block may contain anything until it is written again.
#[test]
fn a_killed_job_that_trims_has_lost_nothing() {
    let place = Place::new();
    for (i, options) in [
        "--rw=randtrimwrite --ioengine=psync --fsync=8",
        "--rw=randwrite --trim_percentage=30 --trim_backlog=16 --ioengine=libaio --iodepth=8 --fsync=16",
        "--rw=trimwrite --ioengine=io_uring --iodepth=4 --sync=dsync",
    ]
    .into_iter()
    .enumerate()
    {
        let Some(device) = Loop::new(&place, 2 << 20).and_then(Loop::direct) else { return };
        let job = JOB.replace("--filename=t ", &format!("--filename={} ", device.path()));
        let mut child = place.start(&format!("{job} --direct=1 --allow_mounted_write=1 {options}"));
        // Behind the announcements.
        wait_for_journal(&place, 4096 * (70 + i as u64 * 9));
        child.kill().unwrap();
        child.wait().unwrap();
        let (ran, value) = check(&place, "");
        assert_eq!((ran.status, value["verdict"].as_str()), (Some(0), Some("ok")), "{options}: {ran:?}");
        assert!(number(&value, "trims") > 0 && number(&value, "writes_issued") > 0, "{value}");
        std::fs::remove_file(place.path("j")).unwrap();
    }
}
