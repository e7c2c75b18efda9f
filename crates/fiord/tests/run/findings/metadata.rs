//! Tests of findings about calls that move no data. File systems on loop devices need root; without it, the tests
//! print that and pass.

use crate::findings::{finding, json, silent};
use crate::fiord::Place;
use crate::ground::Mounted;

#[test]
fn a_bandwidth_without_data() {
    let place = Place::new();
    for engine in ["filestat", "dircreate", "falloc", "ftruncate"] {
        let job =
            format!("--name=a --ioengine={engine} --nrfiles=2 --size=16k --rw=write --unlink=1");
        let job = if engine.starts_with('f') && engine != "filestat" {
            job
        } else {
            job.replace("--rw=write", "")
        };
        let entry = finding(&json(&place, &job), "no-data-moved");
        assert_eq!(entry["severity"], "note", "{entry}");
        assert!(entry["evidence"].as_str().unwrap().contains(engine), "{entry}");
        silent(&json(&place, &format!("{job} --ignore_findings=no-data-moved")), "no-data-moved");
    }
    silent(&json(&place, "--name=a --ioengine=psync --size=16k --rw=write"), "no-data-moved");
}

#[test]
fn files_that_exist_are_only_opened() {
    let place = Place::new();
    let job = "--name=a --ioengine=filecreate --nrfiles=8 --filesize=4k";
    silent(&json(&place, job), "existing-names");
    let entry = finding(&json(&place, job), "existing-names");
    assert_eq!(entry["evidence"], "8 of 8 names existed before the run", "{entry}");
    assert_eq!(entry["severity"], "invalid");
    let entry = finding(
        &json(&place, "--name=b --ioengine=filecreate --nrfiles=8 --filesize=4k --loops=2"),
        "existing-names",
    );
    assert!(entry["evidence"].as_str().unwrap().starts_with("loops=2"), "{entry}");
    let removed =
        "--name=c --ioengine=filecreate --nrfiles=8 --filesize=4k --unlink_each_loop=1 --loops=2";
    silent(&json(&place, removed), "existing-names");
}

/// An ext4 file system with 16 inodes, and names for 64.
#[test]
fn inodes_that_run_out_are_named() {
    let place = Place::new();
    let Some(mounted) = Mounted::with(&place, "ext4", &["-N", "16"]) else { return };
    let directory = mounted.point.display();
    for engine in ["filecreate", "dircreate", "filestat"] {
        let job = format!(
            "--name={engine} --ioengine={engine} --nrfiles=64 --filesize=4k --directory={directory}"
        );
        let ran = place.run(&job);
        assert_ne!(ran.status, Some(0), "{ran:?}");
        assert!(
            ran.err.contains("inodes left (`df -i`)") && ran.err.contains("To fix:"),
            "{ran:?}"
        );
    }
}

/// Attributes of files that were just created, and of files whose attributes the disk must read. A mount of ext4 reads those
/// of some hundred files ahead.
fn attributes(kind: &str) {
    // An unmounted file system keeps its attributes in memory while another namespace has it mounted.
    let Some(place) = Place::with_own_mounts() else { return };
    let Some(mounted) = Mounted::new(&place, kind) else { return };
    let directory = mounted.point.display();
    let job = format!(
        "--name=a --ioengine=filestat --nrfiles=4000 --size=16000k --directory={directory}"
    );
    let entry = finding(&json(&place, &job), "dentry-cache");
    assert!(entry["evidence"].as_str().unwrap().starts_with("4.0k calls, and loop"), "{entry}");
    assert_eq!(entry["severity"], "suspect");
    // Dropping the caches of the machine, as the remedy says, would disturb other tests.
    let again = "set -e\nline=$(grep -F \" $1 \" /proc/mounts)\numount \"$1\"\nmount -t $2 ${line%% *} \"$1\"\n";
    place.write("again.sh", again);
    let cold = format!(
        "[a]\nioengine=filestat\nnrfiles=4000\nsize=16000k\ndirectory={directory}\n\
         exec_prerun=sh again.sh {directory} {kind}\n"
    );
    place.write("cold.fio", cold);
    let cold = json(&place, "cold.fio");
    silent(&cold, "dentry-cache");
    let gaps = cold.json()["fiord"]["not_checked"].to_string();
    assert!(!gaps.contains("dentry-cache"), "{gaps}");
    let read = cold.json()["fiord"]["devices"][0]["read"]["bytes"].as_u64();
    assert!(read.is_some_and(|bytes| bytes >= 4000 * 64), "{read:?}");
}

#[test]
fn attributes_from_memory_and_from_ext4() {
    attributes("ext4");
}

#[test]
fn attributes_from_memory_and_from_xfs() {
    attributes("xfs");
}

#[test]
fn attributes_from_memory_and_from_btrfs() {
    attributes("btrfs");
}

/// tmpfs keeps all attributes in memory, so that the finding would say nothing new.
#[test]
fn attributes_on_a_file_system_in_memory() {
    let directory =
        std::path::Path::new("/dev/shm").join(format!("fiord-names-{}", std::process::id()));
    if std::fs::create_dir(&directory).is_err() {
        return;
    }
    let place = Place::new();
    let job = "--name=a --ioengine=filestat --nrfiles=50 --size=200k";
    let ran = json(&place, &format!("{job} --directory={}", directory.display()));
    std::fs::remove_dir_all(&directory).unwrap();
    silent(&ran, "dentry-cache");
}

/// File systems with unwritten extents reserve space without writing it.
#[test]
fn reserved_space_is_not_written() {
    for kind in ["ext4", "xfs", "btrfs"] {
        let place = Place::new();
        let Some(mounted) = Mounted::new(&place, kind) else { return };
        for rw in ["read", "write", "randwrite"] {
            let file = mounted.point.join(rw);
            let job = format!("--name=a --ioengine=falloc --rw={rw} --bs=4k --size=4m");
            let ran = json(&place, &format!("{job} --filename={}", file.display()));
            silent(&ran, "zeroes-written");
            finding(&ran, "space-reserved");
            let new = format!("{job} --fallocate=none --filename={}-new", file.display());
            let ran = json(&place, &new);
            silent(&ran, "zeroes-written");
            silent(&ran, "space-reserved");
        }
    }
}
