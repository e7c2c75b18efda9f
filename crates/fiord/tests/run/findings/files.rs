//! Tests of findings about files: whether they were written, what the page cache holds of them, and
//! which file system holds them.

use std::path::Path;
use std::process::Command;

use crate::findings::{finding, found, json, silent};
use crate::fiord::{Place, work};

/// Returns whether the file system under the test directory knows which blocks were never written.
fn knows_holes(place: &Place) -> bool {
    let mut command = Command::new("stat");
    let asked = command.args(["-f", "-c", "%T", "."]).current_dir(place.path(".")).output();
    let kind = asked.map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    kind.is_ok_and(|kind| ["ext2/ext3", "xfs", "btrfs", "tmpfs"].contains(&kind.trim()))
}

/// Creates a file whose space is allocated but was never written.
fn preallocate(place: &Place, name: &str, size: &str) {
    let mut command = Command::new("fallocate");
    let made = command.args(["-l", size, name]).current_dir(place.path(".")).status();
    assert!(made.unwrap().success());
}

#[test]
fn unwritten_data() {
    let place = Place::new();
    if !knows_holes(&place) {
        return;
    }
    preallocate(&place, "f", "4MiB");
    let job = "--name=a --rw=randread --size=4m --bs=4k --filename=f --number_ios=64";
    let entry = finding(&json(&place, job), "unwritten-data");
    assert_eq!(entry["severity"], "invalid");
    assert_eq!(
        entry["what"],
        "100 % of the range of f from which job a reads at random was never written"
    );
    let fatal = place.run(&format!("--findings=fatal {job}"));
    assert_eq!(fatal.status, Some(253), "{fatal:?}");
    // The remedy.
    place.run("--name=w --rw=write --size=4m --bs=1m --filename=f --end_fsync=1").ok();
    silent(&json(&place, job), "unwritten-data");
}

#[test]
fn unwritten_files_are_named_one_by_one() {
    let place = Place::new();
    if !knows_holes(&place) {
        return;
    }
    for name in ["b", "d"] {
        std::fs::File::create(place.path(name)).unwrap().set_len(1 << 20).unwrap();
    }
    // The run lays out the other files, and so writes them.
    let job = "--name=j --rw=randread --size=4m --bs=4k --filename=a:b:c:d";
    let document = json(&place, job).json();
    let list = document["fiord"]["findings"].as_array().unwrap();
    let unwritten: Vec<&str> = list
        .iter()
        .filter(|finding| finding["id"] == "unwritten-data")
        .map(|finding| finding["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        unwritten,
        [
            "100 % of the range read from b was never written",
            "100 % of the range read from d was never written"
        ]
    );
}

/// The run lays out the missing end of a short file. The finding must not suggest to overwrite the
/// existing data.
#[test]
fn a_short_file_is_not_unwritten() {
    let place = Place::new();
    place.write("f", vec![7; 64 << 10]);
    let job = "--name=a --rw=randread --size=4m --bs=4k --filename=f";
    let ran = place.run(&format!("check {job}"));
    assert!(!ran.out.contains("unwritten-data"), "{}", ran.out);
    silent(&json(&place, job), "unwritten-data");
}

#[test]
fn a_remedy_that_overwrites_data_says_so() {
    let place = Place::new();
    if !knows_holes(&place) {
        return;
    }
    place.write("f", vec![7; 1 << 20]);
    let file = std::fs::File::options().write(true).open(place.path("f")).unwrap();
    file.set_len(4 << 20).unwrap();
    let job = "--name=a --rw=randread --size=4m --bs=4k --filename=f --number_ios=64";
    let remedy = finding(&json(&place, job), "unwritten-data")["mend"].to_string();
    assert!(remedy.contains("destroys the data in it: fiord --name=fill"), "{remedy}");
    place.write("zeros", vec![0u8; 1 << 20]);
    let job = "--name=a --rw=randread --size=1m --bs=4k --filename=zeros";
    let remedy = finding(&json(&place, job), "zero-data")["mend"].to_string();
    assert!(remedy.contains("destroys the data in it: fiord --name=fill"), "{remedy}");
}

#[test]
fn a_file_that_the_run_removes_is_examined_before_the_run() {
    let place = Place::new();
    let remover = "--stonewall --name=b --rw=read --size=1m --filename=f --unlink=1";
    for (zeros, also) in [("", ""), ("", remover), ("--zero_buffers=1", "")] {
        let unlink = if also.is_empty() { "--unlink=1" } else { "" };
        let job = format!("--name=a --rw=randread --size=1m --filename=f {zeros} {unlink} {also}");
        let (ran, unchecked) = loop {
            let ran = json(&place, &job);
            assert!(!place.path("f").exists(), "{job}");
            let unchecked = ran.json()["fiord"]["not_checked"].to_string();
            // On a busy machine the time for samples can be over before four of them are read.
            if !unchecked.contains("samples of files are read for 150 ms") {
                break (ran, unchecked);
            }
        };
        assert!(!unchecked.contains("zero-data"), "{job}: {unchecked}");
        match zeros {
            "" => silent(&ran, "zero-data"),
            _ => {
                let found = finding(&ran, "zero-data");
                let evidence = found["evidence"].as_str().unwrap();
                assert!(evidence.contains(" blocks read before the run"), "{found}");
            }
        }
    }
}

#[test]
fn a_run_that_writes_the_file_first_is_sound() {
    let place = Place::new();
    std::fs::File::create(place.path("f")).unwrap().set_len(1 << 20).unwrap();
    let line = "--filename=f --size=1m --bs=64k --name=w --rw=write --end_fsync=1 --name=r --rw=read \
                --stonewall";
    silent(&json(&place, line), "unwritten-data");
}

#[test]
fn zero_data() {
    let place = Place::new();
    place.write("zeros", vec![0u8; 1 << 20]);
    place.write("data", vec![7u8; 1 << 20]);
    let job = |name: &str| format!("--name=a --rw=randread --size=1m --bs=4k --filename={name}");
    let entry = finding(&json(&place, &job("zeros")), "zero-data");
    assert!(entry["evidence"].as_str().unwrap().starts_with("16 of 16 blocks"), "{entry}");
    silent(&json(&place, &job("data")), "zero-data");
}

#[test]
fn cache_hits() {
    let place = Place::new();
    // Without a random map, there are no passes before which fiord drops the file from the page cache.
    let job = "--name=a --rw=randread --norandommap --bs=64k --size=1m --loops=16 --filename=f";
    let ran = json(&place, job);
    let entry = finding(&ran, "cache-hits");
    assert_eq!(entry["severity"], "invalid");
    assert!(entry["evidence"].as_str().unwrap().starts_with("16 MiB read, "), "{entry}");
    assert_eq!(work(&ran.json())[0].2[0].0, 16 << 20);
    silent(&ran, "cached-working-set");
    silent(&json(&place, &format!("{job} --invalidate=0")), "cache-hits");
    silent(&json(&place, &format!("{job} --loops=1 --norandommap=0")), "cache-hits");
    silent(&json(&place, &format!("{job} --norandommap=0")), "cache-hits");
    if place.run(&format!("{job} --loops=1 --direct=1")).status == Some(0) {
        silent(&json(&place, &format!("{job} --direct=1")), "cache-hits");
    }
}

#[test]
fn cached_working_set_is_reported_before_the_run() {
    let place = Place::new();
    let job = "--name=a --rw=randread --norandommap --bs=64k --size=1m --filename=f";
    let ids = |line: &str| {
        let document = place.run(&format!("check --format=json {line}")).json();
        let list = document["findings"].as_array().cloned().unwrap();
        list.into_iter().map(|f| f["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&format!("{job} --loops=16")), ["cached-working-set"]);
    assert!(ids(job).is_empty());
    assert!(ids(&format!("{job} --loops=16 --direct=1")).is_empty());
    assert!(place.names().is_empty(), "checking makes nothing");
}

#[test]
fn buffered_not_synced() {
    let place = Place::new();
    let job = "--name=a --rw=write --size=8m --bs=64k --filename=f";
    let entry = finding(&json(&place, job), "buffered-not-synced");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(
        evidence.starts_with("8.0 MiB written, ") || evidence.starts_with("no sync"),
        "{entry}"
    );
    silent(&json(&place, &format!("{job} --end_fsync=1")), "buffered-not-synced");
    silent(&json(&place, &format!("{job} --fdatasync=16")), "buffered-not-synced");
}

#[test]
fn direct_not_direct() {
    let memory = Path::new("/dev/shm");
    let line = "--name=a --rw=read --bs=4k --size=64k --direct=1 --ioengine=psync";
    let place = Place::new();
    let file = memory.join(format!("fiord-direct-{}", std::process::id()));
    let ran = place.run(&format!("--output-format=json {line} --filename={}", file.display()));
    let _ = std::fs::remove_file(&file);
    // Linux before 6.6 refuses O_DIRECT there.
    if ran.status == Some(0) {
        assert_eq!(finding(&ran, "direct-not-direct")["severity"], "invalid");
    }
    let sound = place.run(&format!("--output-format=json {line} --filename=f"));
    if sound.status == Some(0) {
        assert!(found(&sound).iter().all(|(id, _)| id != "direct-not-direct"), "{sound:?}");
    }
}

/// Returns whether the file system supports direct I/O and the kernel counts cached pages.
fn goes_around_the_cache(place: &Place) -> bool {
    let line = "--name=p --rw=write --size=64k --bs=4k --filename=probe --direct=1";
    let ran = place.run(&format!("--output-format=json {line}"));
    ran.status == Some(0) && !ran.out.contains("\"not_checked\"")
}

#[test]
fn cache_under_direct() {
    let place = Place::new();
    if !goes_around_the_cache(&place) {
        return;
    }
    place.run("--name=w --rw=write --size=4m --bs=1m --filename=f --end_fsync=1").ok();
    let direct =
        "--name=d --rw=randwrite --bs=4k --size=4m --filename=f --direct=1 --number_ios=50";
    // With invalidate=0, the pages from before the run stay.
    let cached = "--name=c --rw=read --bs=64k --size=4m --filename=f";
    let ran = json(&place, &format!("{cached} {direct} --invalidate=0 --stonewall"));
    let entry = finding(&ran, "cache-under-direct");
    assert_eq!(entry["severity"], "suspect");
    silent(&json(&place, &format!("{cached} {direct} --stonewall")), "cache-under-direct");
}

#[test]
fn depth_not_reached() {
    let place = Place::new();
    if !goes_around_the_cache(&place) {
        return;
    }
    // A growing file: file systems accept one direct writer at a time. Detection depends on the
    // device counters, which not every machine has.
    let job = "--name=a --ioengine=libaio --rw=write --bs=4k --direct=1 --iodepth=16 --size=512m \
               --filename=g --fallocate=none --runtime=1";
    let ran = json(&place, job);
    let document = ran.json();
    let depth = document["fiord"]["devices"][0]["depth"].as_f64();
    let busy = document["jobs"][0]["usr_cpu"].as_f64().unwrap()
        + document["jobs"][0]["sys_cpu"].as_f64().unwrap();
    if depth.is_some_and(|depth| depth < 2.0) && busy < 80.0 {
        let entry = finding(&ran, "depth-not-reached");
        assert!(entry["what"].as_str().unwrap().contains("asks for 16"), "{entry}");
    }
    silent(&json(&place, &format!("{job} --rate_iops=10")), "depth-not-reached");
}

#[test]
fn pages_written_just_before_the_run_are_dropped() {
    let place = Place::new();
    if !goes_around_the_cache(&place) {
        return;
    }
    for round in 0..3 {
        let file = format!("--name=a --filename=w{round} --size=4m");
        json(&place, &format!("{file} --rw=write --bs=1m"));
        let ran = json(&place, &format!("{file} --rw=randread --direct=1"));
        silent(&ran, "cache-under-direct");
    }
    let mapped = "--name=a --filename=w0 --size=4m --rw=randread --direct=1 --ioengine=mmap";
    silent(&json(&place, mapped), "cache-under-direct");
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() {
        let file = memory.join(format!("fiord-around-{}", std::process::id()));
        let job = format!("--name=a --rw=randread --size=1m --filename={}", file.display());
        let ran = place.run(&format!("--output-format=json {job} --direct=1 --unlink=1"));
        // tmpfs before Linux 6.6 has no direct I/O.
        if ran.status == Some(0) {
            silent(&ran, "cache-under-direct");
        }
    }
}
