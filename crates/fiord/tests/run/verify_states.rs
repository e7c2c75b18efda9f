//! Saved states (`verify_state_save`, `verify_state_load`): those of fiord and fio, in both directions.

use std::path::Path;

use crate::fiord::{Place, Ran};

const JOB: &str = "--name=v --filename=f --size=256k --bs=4k --verify=crc32c";
const STATE: &str = "local-v-0-verify.state";

/// fio, if one is installed that reads version 7 of a state.
fn fio(place: &Place, line: &str) -> Option<Ran> {
    let version = place.fio("--version")?.out;
    let mut numbers = version.trim().strip_prefix("fio-")?.split(['.', '-']);
    let mut number = || numbers.next()?.parse::<u32>().ok();
    let reads = (number()?, number()?) >= (3, 42);
    reads.then(|| place.fio(line)).flatten()
}

/// Runs a job, and returns the reads and the verified bytes of its first job.
#[track_caller]
fn verified(place: &Place, line: &str) -> (u64, u64) {
    let json = place.run(&format!("{line} --output-format=json")).ok().json();
    let job = &json["jobs"][0];
    let verified = job["fiord"]["verify"]["verified_bytes"].as_u64().unwrap();
    (job["read"]["total_ios"].as_u64().unwrap(), verified)
}

/// Changes the payload of a state, and its checksum.
fn change(path: &Path, version: u64, change: impl Fn(&mut Vec<u8>)) {
    let mut state = std::fs::read(path).unwrap();
    let mut payload = state.split_off(24);
    change(&mut payload);
    let mut crc = u32::MAX;
    for byte in &payload {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 > 0 { 0x82f6_3b78 } else { 0 };
        }
    }
    let header = [version, payload.len() as u64, u64::from(crc)];
    let header = header.iter().flat_map(|word| word.to_le_bytes());
    std::fs::write(path, header.chain(payload).collect::<Vec<u8>>()).unwrap();
}

/// Replaces the entries of a state.
fn entries(path: &Path, list: &[u64]) {
    change(path, 7, |payload| {
        payload.truncate(144);
        payload[..4].copy_from_slice(&(list.len() as u32).to_le_bytes());
        payload.extend(list.iter().flat_map(|entry| entry.to_le_bytes()));
    });
}

fn damage(place: &Place, block: usize) {
    let mut bytes = std::fs::read(place.path("f")).unwrap();
    bytes[block * 4096..][..4096].fill(7);
    place.write("f", bytes);
}

#[test]
fn a_job_verifies_what_its_state_lists() {
    for (write, check) in [
        ("--rw=write", "--rw=read"),
        ("--rw=write", "--rw=write --verify_only --ioengine=libaio --iodepth=8"),
        ("--rw=randwrite --ioengine=libaio --iodepth=8", "--rw=randread"),
        ("--rw=randwrite --norandommap", "--rw=randwrite --norandommap --verify_only"),
        ("--rw=write --verify=fiord", "--rw=read --verify=fiord --ioengine=io_uring --iodepth=4"),
    ] {
        let place = Place::new();
        place.run(&format!("{JOB} {write} --number_ios=30 --do_verify=0")).ok();
        // What was never written is not checked.
        place.write("f", {
            let mut bytes = std::fs::read(place.path("f")).unwrap();
            bytes.resize(256 << 10, 0);
            bytes
        });
        // A random write can overwrite an earlier one.
        let blocks = if check.contains("norandommap") { 24 } else { 30 };
        assert_eq!(
            verified(&place, &format!("{JOB} {check} --verify_state_load=1")),
            (blocks, blocks << 12)
        );
        assert!(place.path(STATE).exists());
        let ran = place.run(&format!("{JOB} {check} --bs=8k --verify_state_load=1"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains("wrote other blocks, or in another order"), "{ran:?}");
    }
}

#[test]
fn writes_that_may_be_incomplete_are_not_checked() {
    let place = Place::new();
    place.run(&format!("{JOB} --rw=write --loops=2 --do_verify=0")).ok();
    // Write 74 is the second one of block 10.
    entries(&place.path(STATE), &[74, u64::MAX, 120]);
    damage(&place, 10);
    damage(&place, 56);
    let check = format!("{JOB} --rw=write --loops=2 --verify_only --verify_state_load=1");
    // The second loop has overwritten what the first one wrote.
    assert_eq!(verified(&place, &check), (62, 62 << 12));
    damage(&place, 11);
    let ran = place.run(&check);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("failed on f at offset 45056"), "{ran:?}");
}

#[test]
fn only_writes_before_the_last_flush_are_in_the_state() {
    for (options, number) in [
        ("--fsync=7", 28),
        ("--fdatasync=7", 28),
        ("--sync_file_range=write:7", 0),
        ("--fsync=7 --end_fsync=1", 30),
        ("--sync=1", 30),
        ("", 0),
        ("--fsync=7 --ioengine=libaio --iodepth=8", 28),
    ] {
        let place = Place::new();
        let write =
            format!("{JOB} --rw=write --number_ios=30 --do_verify=0 --verify_policy=fsynced");
        place.run(&format!("{write} {options}")).ok();
        let state = std::fs::read(place.path(STATE)).unwrap();
        let found = u64::from_le_bytes(state[32..40].try_into().unwrap());
        assert!(found <= number && found + 8 > number, "{options}: {found}");
        if number > 0 && !options.contains("libaio") {
            assert_eq!(found, number, "{options}");
        }
        place.write("f", {
            let mut bytes = std::fs::read(place.path("f")).unwrap();
            bytes.resize(256 << 10, 0);
            bytes
        });
        let check = format!("{JOB} --rw=read --verify_policy=fsynced --verify_state_load=1");
        assert_eq!(verified(&place, &check).0, found, "{options}");
    }
}

#[test]
fn each_clone_has_its_state() {
    let place = Place::new();
    std::fs::create_dir(place.path("aux")).unwrap();
    let job = "--name=a/b --size=64k --bs=4k --verify=crc32c --aux-path=aux --numjobs=3 --name=c \
               --size=64k --bs=4k --verify=crc32c";
    let job = |more: &str| job.replace("--verify=", &format!("{more} --verify="));
    place.run(&job("--rw=write --number_ios=5 --do_verify=0")).ok();
    let ran =
        place.run(&job("--rw=write --verify_only --verify_state_load=1 --output-format=json"));
    let json = ran.ok().json();
    for index in 0..4 {
        assert_eq!(json["jobs"][index]["read"]["total_ios"], 5, "{json}");
    }
    std::fs::remove_file(place.path("aux/local-a.b-1-verify.state")).unwrap();
    let before = place.names();
    let ran = place.run(&job("--rw=write --verify_only --verify_state_load=1"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("`aux/local-a.b-1-verify.state` cannot be used"), "{ran:?}");
    assert_eq!(place.names(), before);
}

#[test]
fn states_of_fio_and_fiord() {
    let place = Place::new();
    let write = format!("{JOB} --rw=write --number_ios=30 --do_verify=0");
    for (depth, engine) in [(1, "psync"), (4, "libaio")] {
        let engine = format!("--ioengine={engine} --iodepth={depth}");
        // fio verifies up to the state of fiord.
        place.run(&format!("{write} {engine}")).ok();
        let check = format!("{JOB} --rw=read --verify_state_load=1 {engine}");
        let Some(ran) = fio(&place, &format!("{check} --output-format=json")) else { return };
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.out.contains("Stop verify because seq 30 >= 30"), "{ran:?}");
        // fiord verifies up to the state of fio, of each version.
        let ran = fio(&place, &format!("{write} {engine}")).unwrap();
        assert_eq!(ran.status, Some(0), "{ran:?}");
        for version in 5..=7 {
            change(&place.path(STATE), version, |_| {});
            assert_eq!(verified(&place, &check), (30, 30 << 12));
            let only = format!("{JOB} --rw=write --verify_only --verify_state_load=1 {engine}");
            assert_eq!(verified(&place, &only), (30, 30 << 12));
        }
        entries(&place.path(STATE), &[3, 17]);
        assert_eq!(verified(&place, &check), (28, 28 << 12));
    }
}

/// The places of writes depended on the zones, so the job reads what the zones contain. Each block states its write.
#[test]
fn a_job_on_zones_verifies_the_complete_writes_of_its_state() {
    let place = Place::new();
    for method in ["crc32c", "fiord", "md5 --verify_interval=1k --verify_offset=512"] {
        let zones = format!(
            "--name=v --filename=f --size=1m --zonemode=zbd --zonesize=256k --bs=16k --rw=randwrite \
             --verify={method}"
        );
        let check = format!("{zones} --verify_only --verify_state_load=1");
        place.run(&format!("{zones} --number_ios=30 --do_verify=0")).ok();
        assert_eq!(verified(&place, &check), (30, 30 << 14), "{method}");
        // Writes 4, and 20 and the later ones, may be incomplete.
        entries(&place.path(STATE), &[4, u64::MAX]);
        change(&place.path(STATE), 7, |payload| {
            payload[8..16].copy_from_slice(&20u64.to_le_bytes())
        });
        for more in ["", "--verify_async=1 --ioengine=libaio --iodepth=4"] {
            assert_eq!(verified(&place, &format!("{check} {more}")), (30, 19 << 14), "{method}");
        }
        // A part of such a write.
        let bytes = std::fs::read(place.path("f")).unwrap();
        let written = bytes.chunks(1024).position(|part| part.iter().any(|byte| *byte != 0));
        let block = written.unwrap() / 16;
        let mut torn = bytes.clone();
        torn[block << 14..][..8192].fill(0);
        place.write("f", &torn);
        let (_, left) = verified(&place, &check);
        assert!(left <= 19 << 14, "{method}: {left}");
        // The body of a complete write.
        let header = if method.contains("offset") { 512 } else { 0 };
        let number = |block: usize| {
            let at = (block << 14) + header + 32;
            u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
        };
        let complete = (0..64).find(|&block: &usize| {
            let used = bytes[block << 14..][..16 << 10].iter().any(|byte| *byte != 0);
            used && number(block) < 20 && number(block) != 4
        });
        let mut bad = bytes.clone();
        bad[(complete.unwrap() << 14) + 300] ^= 1;
        place.write("f", &bad);
        let ran = place.run(&check);
        assert!(ran.status == Some(1) && ran.err.contains("failed on f"), "{method}: {ran:?}");
        std::fs::remove_file(place.path("f")).unwrap();
    }
    let zones = "--name=v --filename=f --size=1m --zonemode=zbd --zonesize=256k --bs=16k --rw=write \
                 --verify=pattern --verify_pattern=0x55";
    place.run(&format!("{zones} --do_verify=0")).ok();
    let check = format!("{zones} --verify_only --verify_state_load=1");
    assert_eq!(verified(&place, &check), (64, 1 << 20));
    entries(&place.path(STATE), &[4]);
    let ran = place.run(&check);
    assert!(ran.status == Some(1) && ran.err.contains("do not say which write"), "{ran:?}");
}

/// An earlier run that wrote blocks more than once: only what it wrote last is there.
#[test]
fn what_an_earlier_run_overwrote_is_not_expected() {
    let place = Place::new();
    let line = "--name=x --filename=t --size=256k --bs=4k --verify=crc32c --output-format=json";
    for (options, blocks) in [
        ("--rw=write --io_size=512k", Some(64)),
        ("--rw=write --io_size=600k", Some(64)),
        ("--rw=write --loops=3", Some(64)),
        ("--rw=randwrite --loops=2", Some(64)),
        ("--rw=randwrite --io_size=512k --norandommap", None),
        ("--rw=randwrite --io_size=1m --random_distribution=zipf:1.2", None),
        ("--rw=rw --io_size=512k", None),
        ("--rw=randrw --io_size=512k --norandommap", None),
        ("--rw=write --io_size=512k --filename=u", Some(64)),
        // The job has the file twice.
        ("--rw=write --io_size=512k --filename=t", None),
        ("--rw=randwrite --io_size=512k --bsrange=4k-16k", None),
    ] {
        place.run(&format!("{line} {options} --do_verify=0")).ok();
        for checks in
            ["", "--verify_write_sequence=1 --verify_header_seed=1", "--time_based --runtime=9"]
        {
            let verify = format!("{line} {options} --verify_only {checks}");
            let job = place.run(&verify).ok().json()["jobs"][0].clone();
            assert_eq!(job["fiord"]["verify"]["bad"], serde_json::Value::Null, "{verify}");
            let reads = job["read"]["total_ios"].as_u64().unwrap();
            assert!(blocks.map_or(reads > 0, |blocks| reads == blocks), "{verify}: {reads}");
            assert!(job["write"]["total_ios"].as_u64().unwrap() >= reads, "{verify}");
            assert_eq!(job["write"]["io_bytes"], 0, "{verify}");
        }
        if options.starts_with("--rw=write") {
            // Write 0 of another run is not the last one of its block.
            place.run(&format!("{line} {options} --number_ios=1 --loops=1 --do_verify=0")).ok();
            let ran =
                place.run(&format!("{line} {options} --verify_only --verify_write_sequence=1"));
            assert_eq!(ran.status, Some(1), "{options}");
        }
    }
}
