//! Tests that a hundred sound jobs have no wrong finding while other programs run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::findings_of;
use crate::fiord::{Place, Ran};
use crate::ground::{Crowd, Loop, Mounted, Reader, of_this_machine};

struct Job {
    /// Where its files are, and its options.
    name: String,
    /// The text of its job file.
    text: String,
}

fn job(place: &str, options: &[&str]) -> Job {
    Job {
        name: format!("{place}: {}", options.join(" ")),
        text: format!(
            "[global]\nsize=2m\nbs=4k\npercentile_list=50:90\n\n[{place}]\n{}\n",
            options.join("\n")
        ),
    }
}

/// Returns common jobs on an existing, written file in `directory`.
fn on_files(kind: &str, directory: &Path) -> Vec<Job> {
    let file = format!("filename={}", directory.join("ours").display());
    let mut jobs = vec![vec!["rw=randread", "direct=1", "ioengine=psync"]];
    jobs.push(vec!["rw=randread", "direct=1", "ioengine=libaio", "iodepth=16"]);
    jobs.push(vec!["rw=randread", "direct=1", "ioengine=io_uring", "iodepth=32"]);
    jobs.push(vec!["rw=read", "direct=1", "ioengine=libaio"]);
    jobs.push(vec!["rw=read", "ioengine=psync"]);
    jobs.push(vec!["rw=read", "ioengine=io_uring", "iodepth=4"]);
    jobs.push(vec!["rw=randread", "ioengine=pvsync"]);
    jobs.push(vec!["rw=read", "ioengine=mmap"]);
    jobs.push(vec!["rw=randread", "ioengine=sync", "loops=3", "invalidate=0", "pre_read=1"]);
    jobs.push(vec!["rw=randread", "bsrange=4k-8k", "ioengine=vsync"]);
    jobs.push(vec!["rw=write", "ioengine=psync", "end_fsync=1"]);
    jobs.push(vec!["rw=write", "bssplit=4k/60:8k/40", "ioengine=sync", "end_fsync=1"]);
    jobs.push(vec!["rw=randwrite", "ioengine=psync", "fsync=256"]);
    jobs.push(vec!["rw=randwrite", "ioengine=io_uring", "iodepth=8", "fsync_on_close=1"]);
    jobs.push(vec!["rw=randrw", "rwmixread=70", "ioengine=pvsync2", "end_fsync=1"]);
    jobs.push(vec![
        "rw=randread",
        "direct=1",
        "ioengine=psync",
        "rate_iops=500",
        "runtime=500ms",
        "time_based",
    ]);
    jobs.push(vec!["rw=randread", "direct=1", "ioengine=libaio", "thinktime=200us"]);
    // Since Linux 6.15, btrfs writes data with checksums through the page cache.
    if kind != "btrfs" {
        jobs.push(vec!["rw=randwrite", "direct=1", "ioengine=libaio", "iodepth=16"]);
        jobs.push(vec!["rw=randrw", "direct=1", "ioengine=io_uring", "iodepth=8"]);
        jobs.push(vec!["rw=write", "direct=1", "ioengine=psync"]);
    }
    for options in &mut jobs {
        options.push(&file);
    }
    jobs.iter().map(|options| job(kind, options)).collect()
}

/// Returns jobs with several instances or files, which the run lays out in `directory`.
fn in_directories(kind: &str, directory: &Path) -> Vec<Job> {
    let directory = format!("directory={}", directory.display());
    let together = ["rw=randread", "direct=1", "ioengine=psync", "numjobs=4", "group_reporting"];
    let several = ["rw=randread", "direct=1", "ioengine=io_uring", "iodepth=8", "nrfiles=4"];
    let one = |options: &[&str]| job(kind, &[options, &[&directory, "unlink=1"]].concat());
    let after = "[global]\nsize=2m\nbs=4k\npercentile_list=50:90\nfilename=new\n\n[write]\nrw=write\nend_fsync=1\n\n[read]\n\
                 stonewall\nrw=randread\ndirect=1\nioengine=libaio\niodepth=8\n";
    let written = Job {
        name: format!("{kind}: written, then read"),
        text: after.replace("\n\n[write]", &format!("\n{directory}\n\n[write]")),
    };
    vec![one(&together), one(&several), written]
}

/// Returns jobs on a file in memory that say that they measure the page cache.
fn in_memory(directory: &Path) -> Vec<Job> {
    let file = format!("filename={}", directory.join("ours").display());
    let cached: &[&str] = &["invalidate=0", "loops=4"];
    let engines = ["psync", "io_uring", "mmap", "pvsync2"];
    let mut jobs = Vec::new();
    for engine in engines.map(|engine| format!("ioengine={engine}")) {
        for rw in ["rw=randread", "rw=read", "rw=randwrite"] {
            jobs.push(job("memory", &[&[rw, &engine, &file], cached].concat()));
        }
    }
    jobs
}

/// Returns jobs on a block device.
fn on_device(device: &Loop) -> Vec<Job> {
    let file = format!("filename={}", device.path());
    let mut jobs = Vec::new();
    for depth in ["iodepth=1", "iodepth=8", "iodepth=32"] {
        for rw in ["rw=randread", "rw=randwrite", "rw=randrw"] {
            jobs.push(job("device", &[rw, "direct=1", "ioengine=io_uring", depth, &file]));
        }
    }
    jobs.push(job("device", &["rw=read", "direct=1", "ioengine=psync", &file]));
    let apart = ["rw=randread", "direct=1", "ioengine=libaio", "iodepth=4", "numjobs=2"];
    let apart = [&apart[..], &["offset_increment=8m", "group_reporting", &file]].concat();
    jobs.push(job("device", &apart));
    jobs
}

/// Returns jobs that visit two equal devices in turn.
fn on_two(a: &Loop, b: &Loop) -> Vec<Job> {
    let files = format!("filename={}:{}", a.path(), b.path());
    let direct = ["rw=randread", "direct=1", "ioengine=io_uring", "iodepth=8"];
    let random = [&direct[..], &["file_service_type=random", &files]].concat();
    vec![job("two devices", &[&direct[..], &[&files]].concat()), job("two devices", &random)]
}

/// Returns jobs without a device, and jobs on a simulated device.
fn without_disks() -> Vec<Job> {
    let mut jobs = Vec::new();
    for rw in ["rw=randread", "rw=randwrite", "rw=rw"] {
        for depth in ["iodepth=1", "iodepth=16"] {
            let sim = ["ioengine=sim", "sim_latency=constant:80us", "sim_channels=16"];
            let long = ["size=1g", "runtime=2", "time_based", rw, depth];
            jobs.push(job("sim", &[&sim[..], &long].concat()));
            jobs.push(job("null", &["ioengine=null", "size=1g", "io_size=256m", rw, depth]));
        }
    }
    jobs
}

/// Returns whether a finding is true because of the other programs: they use the machine, or the
/// result varied, was late or missed its rate. They do not affect simulated devices.
fn about_the_noise(job: &Job, finding: &Value) -> bool {
    let what = finding["what"].as_str().unwrap();
    let real = !job.name.starts_with("sim");
    match finding["id"].as_str().unwrap() {
        "noisy-neighbour" | "hidden-stalls" | "rate-missed" | "not-steady" => real,
        "too-short" => {
            let few = what.contains(" too few ") && job.text.contains("runtime=");
            real && (few || what.contains(" is known only to within "))
        }
        _ => of_this_machine(finding),
    }
}

fn run(place: &Place, job: &Job) -> Ran {
    place.write("job.fio", &job.text);
    let ran = place.run("--output-format=json job.fio");
    assert_eq!(ran.status, Some(0), "{}: {ran:?}", job.name);
    ran
}

/// Creates a file for the jobs and one for other programs to read; both hold data.
fn prepared(place: &Place, directory: PathBuf) -> PathBuf {
    for (name, size) in [("ours", "2m"), ("theirs", "32m")] {
        let file = directory.join(name);
        let fill = format!("--name=w --rw=write --bs=1m --size={size} --end_fsync=1 --filename=");
        place.run(&format!("{fill}{}", file.display())).ok();
    }
    directory
}

#[test]
fn a_hundred_sound_jobs_raise_no_wrong_finding() {
    let (mut count, mut wrong) = (0, Vec::new());
    let _busy = Crowd::anywhere(2);
    let mut judge = |place: &Place, jobs: Vec<Job>| {
        for job in jobs {
            count += 1;
            let found = findings_of(&run(place, &job));
            let found = found.iter().filter(|finding| !about_the_noise(&job, finding));
            wrong.extend(found.map(|finding| format!("{}: {finding}", job.name)));
        }
    };
    for kind in ["ext4", "xfs", "btrfs"] {
        let place = Place::new();
        let Some(mounted) = Mounted::new(&place, kind) else { continue };
        let directory = prepared(&place, mounted.point.clone());
        let _reader = Reader::of(&directory.join("theirs"));
        judge(&place, on_files(kind, &directory));
        judge(&place, in_directories(kind, &directory));
    }
    let (place, other) = (Place::new(), Place::new());
    let device = |place: &Place| Loop::new(place, 32 << 20)?.direct();
    if let (Some(a), Some(b)) = (device(&place), device(&other)) {
        for device in [&a, &b] {
            let fill = "--name=w --rw=write --bs=1m --direct=1 --filename=";
            place.run(&format!("{fill}{}", device.path())).ok();
        }
        let _reader = Reader::of(a.path().as_ref());
        judge(&place, on_device(&a));
        judge(&place, on_two(&a, &b));
    }
    let memory = Path::new("/dev/shm").join(format!("fiord-sound-{}", std::process::id()));
    if std::fs::create_dir(&memory).is_ok() {
        judge(&place, in_memory(&prepared(&place, memory.clone())));
        std::fs::remove_dir_all(memory).unwrap();
    }
    judge(&place, without_disks());
    let root = Mounted::new(&Place::new(), "ext4").is_some();
    assert!(count >= 100 || !root, "{count} jobs");
    assert!(wrong.is_empty(), "{} in {count} jobs:\n{}", wrong.len(), wrong.join("\n"));
}
