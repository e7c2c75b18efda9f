//! Tests of findings about file systems, which the tests create on loop devices with direct I/O. This
//! needs root; without it, the tests print that and pass.

use std::process::Command;
use std::time::Duration;

use crate::findings::{finding, json, silent};
use crate::fiord::Place;
use crate::fuse::Served;
use crate::ground::{Loop, Mounted, Reader};

fn fallocated_and_written(kind: &str) {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, kind) else { return };
    let file = mounted.point.join("f");
    let made = Command::new("fallocate").args(["-l", "4MiB"]).arg(&file).status();
    assert!(made.unwrap().success());
    let name = file.display();
    let job = format!("--name=a --rw=randread --size=4m --bs=4k --direct=1 --filename={name}");
    let entry = finding(&json(&place, &job), "unwritten-data");
    assert_eq!(entry["severity"], "invalid", "{kind}");
    assert_eq!(entry["what"], format!("100 % of the range read from {name} was never written"));
    let write = "--name=w --rw=write --bs=1m --direct=1 --end_fsync=1";
    place.run(&format!("{write} --size=2m --filename={name}")).ok();
    let half = finding(&json(&place, &job), "unwritten-data")["what"].clone();
    assert_eq!(half, format!("50 % of the range read from {name} was never written"), "{kind}");
    place.run(&format!("{write} --size=4m --filename={name}")).ok();
    let sound = json(&place, &job);
    silent(&sound, "unwritten-data");
    silent(&sound, "direct-not-direct");
}

#[test]
fn unwritten_data_on_ext4() {
    fallocated_and_written("ext4");
}

#[test]
fn unwritten_data_on_xfs() {
    fallocated_and_written("xfs");
}

#[test]
fn unwritten_data_on_btrfs() {
    fallocated_and_written("btrfs");
}

/// Runs eight writes in flight that extend a file, and eight that overwrite an existing file.
fn serialized(kind: &str) {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, kind) else { return };
    let name = mounted.point.join("f");
    let job = format!(
        "--name=a --filename={} --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --size=256m \
         --fallocate=none --runtime=2",
        name.display()
    );
    let ran = json(&place, &format!("{job} --rw=write"));
    let document = ran.json();
    let device = &document["fiord"]["devices"][0];
    let depth = device["depth"].as_f64().unwrap();
    let number = |key: &str| document["jobs"][0][key].as_f64().unwrap();
    let busy = number("usr_cpu") + number("sys_cpu");
    // A busy machine that submits late, or a slow device, may reach the depth anyway.
    if depth < 3.9 && busy < 85.0 {
        let entry = finding(&ran, "depth-not-reached");
        let evidence = entry["evidence"].as_str().unwrap();
        assert!(evidence.starts_with(&format!("{kind} serializes direct writes")), "{entry}");
        assert!(entry["what"].as_str().unwrap().starts_with("job a asks for 8 I/Os at a time"));
    } else {
        eprintln!("{kind}: {depth} I/Os at the device, CPUs busy for {busy} %");
    }
    // Overwrites of existing data run in parallel: if the depth is low, the file system is not the cause.
    let over = job.replace("mounted/f", "mounted/over").replace("--size=256m", "--size=16m");
    place.run(&format!("{over} --rw=write")).ok();
    let over = json(&place, &format!("{over} --rw=randwrite --overwrite=1 --time_based"));
    let list = over.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default();
    assert!(!format!("{list:?}").contains("serializes"), "{list:?}");
    let held_back = json(&place, &format!("{job} --rw=write --rate_iops=10"));
    silent(&held_back, "depth-not-reached");
}

#[test]
fn ext4_serializes_writes_that_extend_a_file() {
    serialized("ext4");
}

#[test]
fn xfs_serializes_writes_that_extend_a_file() {
    serialized("xfs");
}

/// Since Linux 6.15, btrfs writes data with checksums through the page cache.
#[test]
fn direct_writes_to_btrfs() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, "btrfs") else { return };
    let job = |name: &str| {
        let path = mounted.point.join(name);
        format!("--name=a --rw=write --bs=4k --size=1m --direct=1 --filename={}", path.display())
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map_while(|part| part.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) >= (Some(6), Some(15)) {
        let entry = finding(&json(&place, &job("f")), "direct-not-direct");
        assert_eq!(entry["severity"], "suspect");
        assert!(entry["mend"].as_str().unwrap().contains("chattr +C"), "{entry}");
        silent(&json(&place, &job("f").replace("rw=write", "rw=read")), "direct-not-direct");
    }
    let plain = mounted.point.join("plain");
    std::fs::create_dir_all(&plain).unwrap();
    let marked = Command::new("chattr").arg("+C").arg(&plain).status();
    if marked.is_ok_and(|status| status.success()) {
        silent(&json(&place, &job("plain/f")), "direct-not-direct");
    }
}

/// Another program reads a second file on the disk that holds the file of the job.
#[test]
fn another_program_on_the_disk_below_a_file() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, "ext4") else { return };
    let at = |name: &str| mounted.point.join(name).display().to_string();
    for (name, size) in [("ours", "8m"), ("theirs", "64m")] {
        let fill = "--name=w --rw=write --bs=1m --end_fsync=1";
        place.run(&format!("{fill} --filename={} --size={size}", at(name))).ok();
    }
    let on_disk = |ran: &crate::fiord::Ran| {
        let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
        list.into_iter().find(|entry| entry["what"].as_str().unwrap().contains("used loop"))
    };
    let job = |direct: u8| {
        format!(
            "--name=a --filename={} --rw=randread --bs=4k --size=8m --direct={direct} \
             --rate_iops=300 --runtime=1 --time_based",
            at("ours")
        )
    };
    for direct in [1, 0] {
        let alone = on_disk(&json(&place, &job(direct)));
        assert!(alone.is_none(), "{alone:?}");
    }
    let others = Reader::of(at("theirs").as_ref());
    let ran = json(&place, &job(1));
    drop(others);
    let entry = on_disk(&ran).unwrap_or_else(|| panic!("{}", ran.json()["fiord"]));
    let (id, evidence) = (&entry["id"], entry["evidence"].as_str().unwrap());
    assert!(id == "noisy-neighbour" && evidence.contains("reads of "), "{entry}");
}

#[test]
fn a_file_that_another_process_serves() {
    let place = Place::new();
    let Some(served) = Served::new(&place, Duration::ZERO) else { return };
    let file = served.file();
    let job = format!("--name=a --rw=read --bs=4k --ioengine=psync --filename={}", file.display());
    let direct = json(&place, &format!("{job} --size=256k --direct=1"));
    let entry = finding(&direct, "direct-not-direct");
    assert_eq!(entry["severity"], "suspect");
    assert_eq!(entry["evidence"], "the process that serves fuse decides whether I/O is direct");
    // Data from the page cache cannot be distinguished from data that the process sent.
    let buffered = json(&place, &format!("{job} --size=256k --loops=4"));
    silent(&buffered, "cache-hits");
    silent(&buffered, "direct-not-direct");
    let gaps = buffered.json()["fiord"]["not_checked"].clone();
    assert!(gaps.to_string().contains("another process reads for fuse"), "{gaps}");
}

/// The server handles one read at a time, and the kernel waits for it in the submitting call.
#[test]
fn a_submission_that_blocks() {
    let place = Place::new();
    let Some(served) = Served::new(&place, Duration::from_millis(1)) else { return };
    let job = format!(
        "--name=a --filename={} --size=16m --bs=4k --rw=randread --direct=1 --iodepth=16 \
         --runtime=1s --time_based",
        served.file().display()
    );
    for engine in ["libaio", "io_uring"] {
        let ran = json(&place, &format!("{job} --ioengine={engine}"));
        let shares = ran.json()["fiord"]["generator"]["time_shares"].clone();
        assert!(shares["submission"].as_f64().unwrap() > 0.8, "{engine}: {shares}");
        let entry = finding(&ran, "submission-blocks");
        assert_eq!(entry["what"], "job a blocks in the call that submits its I/Os");
        assert!(entry["mend"].as_str().unwrap().contains("force_async=1"), "{entry}");
    }
    // The remedies: kernel threads wait, or threads of the job.
    for remedy in ["--ioengine=io_uring --force_async=1", "--ioengine=psync --iodepth=1"] {
        silent(&json(&place, &format!("{job} {remedy}")), "submission-blocks");
    }
}

#[test]
fn a_slow_target_beside_a_fast_one() {
    let place = Place::new();
    let Some(served) = Served::new(&place, Duration::from_millis(1)) else { return };
    place.write("fast", vec![7; 16 << 20]);
    let Some(slow) = Loop::over(&served.file()) else { return };
    let Some(fast) = Loop::over(&place.path("fast")) else { return };
    let job = "--size=16m --bs=4k --rw=randread --direct=1 --ioengine=io_uring --iodepth=4 \
               --runtime=700ms --time_based";
    let both = format!("{job} --name=a --filename={}:{}", slow.path(), fast.path());
    let entry = finding(&json(&place, &both), "uneven-targets");
    assert!(
        entry["what"].as_str().unwrap().starts_with("job a visits 2 devices in turn"),
        "{entry}"
    );
    let remedy = format!("filename={} in one, filename={} in another", slow.path(), fast.path());
    assert!(entry["mend"].as_str().unwrap().ends_with(&remedy), "{entry}");
    let each =
        format!("{job} --name=s --filename={} --name=f --filename={}", slow.path(), fast.path());
    silent(&json(&place, &each), "uneven-targets");
}
