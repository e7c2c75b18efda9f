//! Tests of findings that need a block device, of the device statistics, `spec`, `fiord devices` and
//! `fiord precondition`. Loop devices need root; without it, the tests print that and pass.

use std::io::{Read, Seek, SeekFrom};
use std::process::Command;
use std::time::Duration;

use crate::findings::{finding, json, silent};
use crate::fiord::Place;
use crate::fuse::Served;
use crate::ground::Loop;
use crate::hosts;

#[test]
fn reports_large_writes_in_pieces() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    if !device.queue("max_sectors_kb", "64") {
        return eprintln!("not possible here: max_sectors_kb cannot be set");
    }
    let job = format!("--name=a --filename={} --rw=write --direct=1", device.path());
    let ran = json(&place, &format!("{job} --bs=1m"));
    let document = ran.json();
    let view = &document["fiord"]["devices"][0]["write"];
    assert_eq!((view["issued_ios"].as_u64(), view["ios"].as_u64()), (Some(64), Some(1024)));
    assert_eq!((view["mean_bytes"].as_f64(), view["splits"].as_u64()), (Some(65536.0), Some(960)));
    let entry = finding(&ran, "split-or-merged");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.starts_with("64 of 1024.0 KiB were issued, 1024 of 64.0 KiB"), "{entry}");
    silent(&json(&place, &format!("{job} --bs=64k")), "split-or-merged");
    let normal = place.run(&format!("{job} --bs=1m")).ok();
    assert!(
        normal.out.contains("(issued 64 of 1MiB), merged=0, added by splits=960"),
        "{}",
        normal.out
    );
}

/// Two groups, each with a ramp: the device counts the ramps, and so do the issued I/Os.
#[test]
fn ramps_are_no_io_of_other_programs() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let text = format!(
        "[global]\nfilename={}\ndirect=1\nioengine=psync\nbs=128k\ntime_based\nramp_time=500ms\n\
         runtime=500ms\nrate_iops=400\n[reader]\nrw=read\n[writer]\nstonewall\nrw=write\n",
        device.path()
    );
    std::fs::write(place.path("ramps.fio"), text).unwrap();
    let ran = json(&place, "ramps.fio");
    let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
    assert!(!format!("{list:?}").contains("used loop"), "{list:?}");
    let view = ran.json()["fiord"]["devices"][0]["write"].clone();
    assert_eq!(view["issued_bytes"], view["bytes"], "{view}");
    assert!(view["issued_ramp_ios"].as_u64().unwrap() > 0, "{view}");
}

/// The device serves the flushes of several jobs together, but the kernel counts each as a write.
#[test]
fn flushes_are_no_pieces_of_writes() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let job = format!(
        "--name=a --filename={} --rw=write --bs=4k --ioengine=libaio --iodepth=8 --direct=1 --size=4m",
        device.path()
    );
    for option in ["--fsync=1", "--sync=1"] {
        let ran = json(&place, &format!("{job} {option}"));
        let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
        assert!(!format!("{list:?}").contains("in pieces"), "{option}: {list:?}");
        let view = ran.json()["fiord"]["devices"][0]["write"].clone();
        let count = |key: &str| view[key].as_u64().unwrap_or(0);
        assert_eq!(count("ios") + count("merges") - count("empty_ios"), 1024, "{option}: {view}");
    }
}

#[test]
fn a_device_with_a_mark_is_in_use() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 16 << 20) else { return };
    let mut mark = vec![0u8; 4096];
    mark[..4].copy_from_slice(b"XFSB");
    std::fs::write(device.path(), &mark).unwrap();
    let job = format!("--name=a --filename={} --bs=4k --direct=1 --offset=1m", device.path());
    let ran = json(&place, &format!("{job} --rw=write"));
    let entry = finding(&ran, "target-in-use");
    assert_eq!(entry["evidence"], "it carries xfs");
    assert_eq!(ran.err, "", "only a terminal shows it before the run");
    std::fs::write(device.path(), &mark).unwrap();
    let ignored = json(&place, &format!("{job} --rw=write --ignore_findings=target-in-use"));
    silent(&ignored, "target-in-use");
    silent(&json(&place, &format!("{job} --rw=read")), "target-in-use");
    std::fs::write(device.path(), vec![0u8; 4096]).unwrap();
    silent(&json(&place, &format!("{job} --rw=write")), "target-in-use");
}

#[test]
fn another_program_on_the_device() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let job = format!(
        "--name=a --filename={} --rw=randread --bs=4k --direct=1 --size=16m --rate_iops=200 \
         --runtime=2 --time_based",
        device.path()
    );
    // On a busy machine, the same finding also reports that other programs compute.
    let entry = |ran: &crate::fiord::Ran| {
        let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
        let on_it = |f: &&serde_json::Value| f["what"].as_str().unwrap().contains("used loop");
        list.iter().find(on_it).map(|f| (f["id"].clone(), f["evidence"].to_string()))
    };
    let alone = json(&place, &job);
    assert!(entry(&alone).is_none(), "{:?}", entry(&alone));
    let path = device.path().to_owned();
    let other = device.once_a_job_runs(move || {
        let to = ["of=/dev/null", "bs=1M", "iflag=direct"];
        Command::new("dd").arg(format!("if={path}")).args(to).output().unwrap()
    });
    let ran = json(&place, &job);
    assert!(other.join().unwrap().status.success());
    let (id, evidence) = entry(&ran).expect("a finding");
    assert!(id == "noisy-neighbour" && evidence.contains("reads of"), "{id}: {evidence}");
}

/// Each host reads at 200 IOPS, and the device counts 400.
#[test]
fn hosts_of_one_run_on_one_machine_are_no_other_programs() {
    let place = hosts::place();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let job = format!(
        "--output-format=json --hosts-data=same --name=a --filename={} --rw=randread --bs=4k --direct=1 --size=16m \
         --rate_iops=200 --runtime=2 --time_based",
        device.path()
    );
    let ran = hosts::run(&place, "n1,n2", &job).ok();
    let document = ran.json();
    let counts = |host: usize| document["client_stats"][host]["read"]["total_ios"].as_u64();
    assert!(counts(0) > Some(100) && counts(1) > Some(100), "{document}");
    assert!(!document.to_string().contains("used loop"), "{}", document["fiord"]);
}

/// The kernel merges adjacent reads, so that the device has fewer I/Os in flight than the job.
#[test]
fn merged_reads_are_not_a_missing_depth() {
    let place = Place::new();
    let Some(served) = Served::new(&place, Duration::from_millis(1)) else { return };
    let Some(device) = Loop::over(&served.file()).and_then(Loop::direct) else { return };
    if !device.queue("scheduler", "mq-deadline") {
        return eprintln!("not possible here: the kernel has no mq-deadline");
    }
    // The device takes 128, and the others wait in the scheduler, which merges them.
    let job = format!(
        "--name=a --filename={} --rw=read --bs=4k --direct=1 --ioengine=libaio --iodepth=512 --size=16m --time_based \
         --runtime=700ms",
        device.path()
    );
    let ran = json(&place, &job);
    let view = ran.json()["fiord"]["devices"][0].clone();
    let count = |key: &str| view["read"][key].as_u64().unwrap();
    assert!(count("merges") > 4 * count("ios"), "{view}");
    assert!(view["depth"].as_f64() < Some(512.0 / 4.0), "{view}");
    silent(&ran, "depth-not-reached");
}

/// The trace has one I/O at a time, whatever `iodepth` allows.
#[test]
fn a_replay_has_the_depth_of_its_trace() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let path = device.path();
    let mut log = format!("fio version 3 iolog\n0 {path} add\n0 {path} open\n");
    for n in 0..300 {
        log += &format!("{} {path} read {} 4096\n", n * 2000, n * 4096);
    }
    place.write("trace", log + &format!("600000 {path} close\n"));
    let ran = json(&place, "--name=a --ioengine=libaio --iodepth=32 --direct=1 --read_iolog=trace");
    assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], 300);
    assert!(ran.json()["fiord"]["devices"][0]["depth"].as_f64() < Some(8.0), "{}", ran.out);
    silent(&ran, "depth-not-reached");
}

/// Reads beyond the end of the file under a loop device fail, but belong to the job.
#[test]
fn failed_ios_are_not_those_of_other_programs() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    std::fs::File::options()
        .write(true)
        .open(place.path("image"))
        .unwrap()
        .set_len(8 << 20)
        .unwrap();
    let ran = json(
        &place,
        &format!(
            "--name=a --filename={} --rw=read --bs=256k --direct=1 --continue_on_error=io",
            device.path()
        ),
    );
    let errors = ran.json()["jobs"][0]["total_err"].as_u64().unwrap();
    assert!(errors > 100, "{errors}");
    let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap();
    assert!(!format!("{list:?}").contains("used loop"), "{list:?}");
    silent(&ran, "split-or-merged");
}

/// A job makes 300 random reads of 64 KiB while another program reads the device in small blocks.
#[test]
fn small_reads_of_other_programs_are_not_counted_as_pieces() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let job = format!(
        "--name=a --filename={} --rw=randread --bs=64k --direct=1 --rate_iops=300 --runtime=1 \
         --time_based",
        device.path()
    );
    let path = device.path().to_owned();
    let other = std::thread::spawn(move || {
        let to = ["of=/dev/null", "bs=4k", "iflag=direct", "count=8000"];
        Command::new("dd").arg(format!("if={path}")).args(to).output().unwrap()
    });
    let ran = json(&place, &job);
    assert!(other.join().unwrap().status.success());
    silent(&ran, "split-or-merged");
    let view = ran.json()["fiord"]["devices"][0]["read"].clone();
    assert_eq!(view["splits"], serde_json::Value::Null, "not known: {view}");
}

#[test]
fn another_program_reads_the_device_through_the_page_cache() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 64 << 20) else { return };
    let job = format!(
        "--name=a --filename={} --rw=randwrite --bs=4k --direct=1 --offset=32m --size=32m \
         --rate_iops=100 --runtime=2 --time_based",
        device.path()
    );
    // If udev runs, it reads a device that is new or that a writer has closed. The finding may then
    // rightly name other programs than this test.
    let settle = || drop(Command::new("udevadm").arg("settle").output());
    settle();
    let ran = json(&place, &job);
    if ran.json()["fiord"]["not_checked"].to_string().contains("cachestat") {
        return eprintln!("not possible here: cachestat(2) needs Linux 6.5");
    }
    let udev = std::path::Path::new("/run/udev/control").exists();
    if !udev {
        silent(&ran, "cache-under-direct");
    }
    // fiord drops pages that were read before the run. Pages that are read while the job runs, as by
    // udev's blkid, are there at its end. The kernel keeps pages of a device while it is open.
    let mut other = std::fs::File::open(device.path()).unwrap();
    other.read_exact(&mut vec![0; 40 << 20]).unwrap();
    settle();
    let ran = json(&place, &job);
    if !udev {
        silent(&ran, "cache-under-direct");
    }
    settle();
    let late = device.once_a_job_runs(move || {
        other.seek(SeekFrom::Start(40 << 20)).unwrap();
        other.read_exact(&mut vec![0; 100 << 10]).unwrap();
        other
    });
    let ran = json(&place, &job);
    let entry = finding(&ran, "cache-under-direct");
    drop(late.join().unwrap());
    assert_eq!(entry["severity"], "suspect");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.starts_with("0 pages before the first I/O, "), "{entry}");
    assert!(evidence.contains("another program has read it since"), "{entry}");
    assert!(udev || evidence.contains(&format!("(process {})", std::process::id())), "{entry}");
}

#[test]
fn results_are_compared_with_a_specification() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --sim_latency=constant:100us --rw=randread --bs=4k --size=4m \
               --iodepth=1";
    // One I/O in 100 µs: 10,000 IOPS.
    let near = json(&place, &format!("{job} --spec=randread=10.5k,read=7000MB/s"));
    let document = near.json();
    let spec = document["fiord"]["spec"].as_array().unwrap();
    assert_eq!(spec.len(), 1, "{spec:?}");
    let percent = spec[0]["percent"].as_f64().unwrap();
    assert!((percent - 95.2).abs() < 0.5, "{percent}");
    silent(&near, "spec-missed");
    silent(&near, "spec-exceeded");
    finding(&json(&place, &format!("{job} --spec=randread=100k")), "spec-missed");
    finding(&json(&place, &format!("{job} --spec=randread=1k")), "spec-exceeded");
    let two = json(&place, &format!("{job} --numjobs=2 --filename=f --spec=randread=20k"));
    let percent = two.json()["fiord"]["spec"][0]["percent"].as_f64().unwrap();
    assert!((percent - 100.0).abs() < 1.0, "the jobs are added up: {percent}");
    // Each on its own part of the target.
    let four = "--numjobs=4 --filename=f --offset_increment=25% --spec=randread=40k";
    let four = json(&place, &format!("{job} {four}"));
    let spec = four.json()["fiord"]["spec"].as_array().unwrap().clone();
    assert_eq!(spec.len(), 1, "{spec:?}");
    let percent = spec[0]["percent"].as_f64().unwrap();
    assert!((percent - 100.0).abs() < 1.0, "the jobs are added up: {percent}");
    let normal = place.run(&format!("{job} --spec=randread=20k")).ok();
    assert!(
        normal.out.contains("\nCompared with the specification:\n  randread on "),
        "{}",
        normal.out
    );
    let other = place.run(&format!("{job} --spec=write=10k,randwrite=1k")).ok();
    assert!(other.out.contains("numbers for write, randwrite, but no job"), "{}", other.out);
    assert!(near.err.is_empty(), "a data sheet may state more: {}", near.err);
    let wrong = place.run(&format!("{job} --spec=randread=fast"));
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.err.contains("`fast` is not a rate"), "{}", wrong.err);
}

#[test]
fn reads_of_a_verify_phase_are_not_compared_with_a_specification_of_writes() {
    let place = Place::new();
    let job = "--name=a --filename=f --rw=write --bs=4k --size=1m --verify=crc32c";
    let compared = |more: &str| {
        let document = json(&place, &format!("{job} --spec=write=1000MB/s {more}")).json();
        let spec = document["fiord"]["spec"][0]["achieved"].as_f64();
        (spec, document["jobs"][0]["write"]["bw_bytes"].as_f64(), document)
    };
    let (spec, written, document) = compared("");
    assert!(document["jobs"][0]["read"]["total_ios"].as_u64() > Some(0), "it verifies");
    assert_eq!(spec, written);
    let (spec, ..) = compared("--unified_rw_reporting=mixed");
    assert_eq!(spec, None, "the report has only the sum");
}

#[test]
fn devices_are_listed() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 16 << 20) else { return };
    let name = device.path().strip_prefix("/dev/").unwrap();
    let table = place.run("devices").ok();
    assert!(table.out.lines().any(|line| line.starts_with(name)), "{}", table.out);
    let ran = place.run(&format!("devices --format=json {}", device.path())).ok();
    let document = ran.json();
    assert_eq!(document["devices"][0]["capacity"], 16 << 20);
    assert_eq!(document["devices"][0]["bus"], "loop");
    let sheet = place.run(&format!("devices {}", device.path())).ok();
    assert!(sheet.out.contains("16.8 MB (16777216 bytes)"), "{}", sheet.out);
    let wrong = place.run("devices nvme99n1");
    assert!(wrong.status == Some(1) && wrong.err.contains("nvme99n1"), "{}", wrong.err);
}

#[test]
fn preconditioning_a_device() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, (16 << 20) + 512) else { return };
    let state = format!("--state={}", place.path("state").display());
    let asked = place.run(&format!("precondition {state} {}", device.path()));
    assert_eq!(asked.status, Some(1));
    assert!(asked.err.contains("is not a terminal. To fix: pass --yes"), "{}", asked.err);
    let ran = place.run(&format!("precondition --yes {state} {}", device.path())).ok();
    assert!(ran.out.contains("fully written: 16.8 MB"), "{}", ran.out);
    let data = std::fs::read(device.path()).unwrap();
    assert_eq!(data.len(), (16 << 20) + 512);
    assert!(data.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
}

/// Returns the output of `fiord devices` for the disk under the test directory; `None` if there are
/// several disks, or if the disk is not hardware.
fn disk_under(place: &Place) -> Option<serde_json::Value> {
    place.write("seed", "x");
    let ran = place.run("devices --format=json seed");
    let disks = (ran.status == Some(0)).then(|| ran.json()["devices"].clone())?;
    let disks = disks.as_array()?.clone();
    let hardware = |disk: &serde_json::Value| {
        ["nvme", "scsi", "ata", "virtio"].contains(&disk["bus"].as_str().unwrap_or_default())
    };
    match disks.as_slice() {
        [one] if hardware(one) => Some(one.clone()),
        _ => None,
    }
}

#[test]
fn reports_blocks_smaller_than_physical_blocks() {
    let place = Place::new();
    let queue = disk_under(&place).map(|disk| disk["queue"].clone()).unwrap_or_default();
    let (logical, physical) = (queue["logical_block"].as_u64(), queue["physical_block"].as_u64());
    let (Some(512), Some(4096)) = (logical, physical) else {
        return eprintln!(
            "not possible here: {logical:?} and {physical:?} are not 512 and 4096 bytes"
        );
    };
    let job = "--name=a --filename=f --rw=write --size=64k --direct=1 --overwrite=1";
    let small = place.run(&format!("--output-format=json {job} --bs=512"));
    if small.status != Some(0) {
        return eprintln!("not possible here: the file system takes no direct I/O of 512 bytes");
    }
    let entry = finding(&small, "misaligned");
    assert_eq!(entry["evidence"], "the smallest block is 512, the physical block 4096 bytes");
    assert_eq!(entry["severity"], "suspect");
    let off = json(&place, &format!("{job} --bs=4k --offset=512 --size=32k"));
    let evidence = finding(&off, "misaligned")["evidence"].clone();
    assert_eq!(evidence, "the first byte is 512, the physical block 4096 bytes");
    silent(&json(&place, &format!("{job} --bs=4k")), "misaligned");
}

#[test]
fn reports_writes_into_a_volatile_cache() {
    let place = Place::new();
    let disk = disk_under(&place).unwrap_or_default();
    if !disk["queue"]["write_cache"].as_str().is_some_and(|mode| mode.contains("back")) {
        return eprintln!("not possible here: no disk with a volatile cache");
    }
    let job = "--name=a --filename=f --rw=write --bs=4k --size=4m --direct=1 --overwrite=1";
    // A flush by another program empties the cache as well: the check is then silent.
    let flushes =
        |ran: &crate::fiord::Ran| ran.json()["fiord"]["devices"][0]["flushes"].as_u64().unwrap();
    let ran = (0..5).map(|_| json(&place, job)).find(|ran| flushes(ran) == 0);
    match ran {
        Some(ran) => {
            let entry = finding(&ran, "volatile-cache");
            assert!(entry["evidence"].as_str().unwrap().starts_with("4.0 MiB in "), "{entry}");
        }
        None => eprintln!("not possible here: other programs flush the disk all the time"),
    }
    silent(&json(&place, &format!("{job} --end_fsync=1")), "volatile-cache");
}
