//! Tests of findings that need only the job: each with a job that has the hazard, and a clean one.

use crate::findings::{finding, json, silent};
use crate::fiord::{Place, work};

/// Runs a job with the hazard and a sound one. Requires the finding in the first only, and returns its
/// text.
#[track_caller]
fn both(id: &str, hazard: &str, sound: &str) -> String {
    let place = Place::new();
    let entry = finding(&json(&place, hazard), id);
    silent(&json(&place, sound), id);
    entry["what"].as_str().unwrap().to_owned()
}

#[test]
fn depth_ignored() {
    let job = "--name=a --rw=randread --size=1m --bs=4k";
    let what = both(
        "depth-ignored",
        &format!("{job} --ioengine=psync --iodepth=32"),
        &format!("{job} --ioengine=io_uring --iodepth=32"),
    );
    assert!(what.contains("iodepth=32"), "{what}");
}

#[test]
fn rate_and_rwmix() {
    let job = "--name=a --ioengine=sim --rw=randrw --rwmixread=70 --size=1g --bs=4k --runtime=10";
    let place = Place::new();
    let ran = json(&place, &format!("{job} --rate_iops=100"));
    let entry = finding(&ran, "rate-and-rwmix");
    assert_eq!(entry["severity"], "invalid");
    let (_, _, [read, write, _]) = work(&ran.json()).remove(0);
    assert!(read.1.abs_diff(write.1) <= 1, "the rates decide the mix: {read:?} {write:?}");
    let sound = json(&place, &format!("{job} --rate_iops=70,30"));
    silent(&sound, "rate-and-rwmix");
    let (_, _, [read, write, _]) = work(&sound.json()).remove(0);
    assert_eq!(read.1 * 10 / (read.1 + write.1), 7, "{read:?} {write:?}");
}

#[test]
fn overlapping_writers() {
    let job = "--rw=write --size=1m --bs=4k --filename=f --name=a --numjobs=4 --end_fsync=1 --rate_iops=1k";
    let sound = format!("{job} --offset_increment=1m");
    let what = both("overlapping-writers", job, &sound);
    // The finding counts the instances that ran at the same time. On a busy machine, one may start late.
    assert!(what.ends_with(" instances of job a write the same bytes of f"), "{what}");
}

#[test]
fn same_start_offset() {
    let job = "--rw=read --size=1m --bs=4k --filename=f --name=a --numjobs=2 --rate_iops=1k";
    both("same-start-offset", job, &format!("{job} --offset_increment=1m"));
}

#[test]
fn size_per_job() {
    let job = "--rw=randread --size=1m --bs=4k --filename=f --name=a --numjobs=2";
    let what = both("size-per-job", job, &format!("{job} --runtime=10"));
    assert_eq!(what, "job a does 2.0 MiB of I/O on 1.0 MiB of data");
}

#[test]
fn unit_surprise() {
    let job = "--name=a --ioengine=null --rw=read --bs=4k --number_ios=8";
    let what = both("unit-surprise", &format!("{job} --size=4GiB"), &format!("{job} --size=4g"));
    assert!(what.contains("4000000000 bytes"), "{what}");
}

#[test]
fn drive_letter() {
    let place = Place::new();
    let path = place.path("fiofile");
    let job = "--name=a --rw=write --size=64k --bs=4k --end_fsync=1";
    let ran = json(&place, &format!("{job} --filename=F:{}", path.display()));
    assert_eq!(finding(&ran, "drive-letter")["severity"], "invalid");
    assert_eq!(place.names(), ["F", "fiofile"], "two files, as it says");
    silent(&json(&place, &format!(r"{job} --filename=F\:fiofile")), "drive-letter");
    // With a backslash, the name can only be a drive letter: fiord refuses to run.
    let wrong = place.run(&format!(r"{job} --filename=F:\fiofile"));
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.err.contains(r"separates two files"), "{}", wrong.err);
}

#[test]
fn compressible_data() {
    let job = "--name=a --rw=write --size=1m --bs=4k --filename=f --end_fsync=1";
    both("compressible-data", &format!("{job} --zero_buffers=1"), job);
    // fiord needs no refill_buffers for this; fio does.
    let place = Place::new();
    silent(&json(&place, &format!("{job} --buffer_compress_percentage=50")), "compressible-data");
    let written = std::fs::read(place.path("f")).unwrap();
    let left = zstd::bulk::compress(&written, 1).unwrap().len() as f64 / written.len() as f64;
    assert!((0.47..0.53).contains(&left), "{left} of the bytes are left");
}

#[test]
fn zone_limits() {
    let place = Place::new();
    let job = "--name=a --filename=z --zonemode=zbd --zonesize=1m --max_open_zones=2 --rw=write \
               --bs=64k --size=2m --offset_increment=2m --end_fsync=1";
    let entry = finding(&json(&place, &format!("{job} --numjobs=4")), "zone-limits");
    assert_eq!(entry["what"], "4 jobs write to z at once, and 2 zones may be open");
    silent(&json(&place, &format!("{job} --numjobs=2")), "zone-limits");
    let odd = format!("--output-format=json {job} --size=2560k");
    let entry = finding(&place.run(&odd).ok(), "zone-limits");
    assert_eq!((&entry["severity"], &entry["mend"]), (&"note".into(), &"set size=3z".into()));
}
