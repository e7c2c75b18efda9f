//! Tests that each finding is still reported for its hazard while other programs run.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::findings_of;
use crate::fiord::Place;
use crate::fuse::Served;
use crate::ground::{Crowd, Loop, Mounted, Reader};

/// Findings that no test on files can cause, and the tests that cover them instead.
const ELSEWHERE: [(&str, &str); 37] = [
    ("bad-data", "`findings::data` in `run`"),
    ("clock-error", "unit tests on reports of several hosts"),
    ("clock-source", "unit tests on simulated machines"),
    ("connection-per-request", "`servers::http` in `run`, unit tests on reports"),
    ("dentry-cache", "`findings::metadata` in `run`: here, other programs read from the disk"),
    ("device-errors", "`finding-errors` of `cargo xtask vm`"),
    ("ended-in-ramp", "unit tests and `findings` in `run`"),
    ("empty-zones", "`zoned` in `run`"),
    (
        "generator-bound",
        "`finding-queue` of `cargo xtask vm`: here, other programs take CPU time from the job",
    ),
    ("governor", "unit tests on simulated machines"),
    ("nothing-verified", "`findings` and `coverage` in `run`"),
    ("host-lost", "unit tests on reports of several hosts"),
    ("host-straggler", "unit tests on reports of several hosts"),
    ("hosts-differ", "unit tests on reports of several hosts"),
    ("link-degraded", "unit tests on simulated machines"),
    ("log-bound", "`logs` in `run`"),
    ("loopback", "`findings::network` in `run`"),
    ("misaligned", "`finding-devices` of `cargo xtask vm`"),
    ("not-preconditioned", "`finding-devices` of `cargo xtask vm`"),
    ("numa", "unit tests on simulated machines"),
    ("offloads-off", "`findings::network` in `run`"),
    ("oversubscribed-path", "unit tests on simulated machines"),
    ("peer-limited", "`findings::network` in `run`"),
    ("replay-late", "`replay` in `run`"),
    ("run-warning", "`streams` in `run`"),
    ("scheduler", "`finding-queue` of `cargo xtask vm`"),
    ("server-throttling", "`servers::http` in `run`, unit tests on reports"),
    ("shared-target", "unit tests on reports of several hosts"),
    ("slow-name-lookup", "unit tests on reports"),
    ("start-skew", "unit tests on reports of several hosts"),
    ("thermal-throttle", "unit tests on simulated machines"),
    ("throttled-by-cgroup", "`findings::groups` in `run`"),
    ("tls-handshakes", "`servers::http` in `run`, unit tests on reports"),
    ("unanswered-requests", "`servers` in `run`, unit tests on reports"),
    ("volatile-cache", "`finding-queue` of `cargo xtask vm`"),
    ("window-limited", "`finding-network` of `cargo xtask vm`"),
    ("zeroes-written", "`finding-falloc` of `cargo xtask vm`"),
];

/// Findings that need only the job, or a virtual clock that other programs do not slow down.
const ANYWHERE: [(&str, &str); 24] = [
    ("aio-threads", "check --rw=randread --size=1m --ioengine=posixaio --iodepth=32"),
    ("cached-working-set", "check --rw=randread --norandommap --size=1m --loops=9 --filename=f"),
    ("compressible-data", "--rw=write --size=1m --filename=f --end_fsync=1 --zero_buffers=1"),
    ("depth-ignored", "--rw=randread --size=1m --ioengine=psync --iodepth=32"),
    ("doubtful-job", "check --rw=randread --size=1m --ba=512"),
    ("drive-letter", "check --rw=write --size=64k --filename=F:/data"),
    ("existing-names", "check --ioengine=filecreate --nrfiles=4 --filesize=4k --loops=2"),
    (
        "hidden-stalls",
        "--ioengine=sim --rw=randread --size=1g --runtime=10 --rate_iops=1000 --sim_stall=2s:1s",
    ),
    ("no-data-moved", "check --ioengine=ftruncate --rw=write --size=1m --filename=f"),
    ("no-effect", "check --rw=read --size=1m --rwmixread=70"),
    (
        "not-steady",
        "--ioengine=sim --rw=randread --size=1g --runtime=4 --sim_real_time=1 --sim_latency=constant:5ms --sim_stall=3s:800ms",
    ),
    ("overlapping-writers", "--rw=write --size=1m --filename=f --numjobs=4 --end_fsync=1"),
    (
        "rate-and-rwmix",
        "--ioengine=sim --rw=randrw --rwmixread=70 --size=1g --runtime=10 --rate_iops=100",
    ),
    ("rate-missed", "--ioengine=sim --rw=randread --size=1g --runtime=10 --rate_iops=20000"),
    (
        "reads-beyond-pointer",
        "check --filename=z --zonemode=zbd --zonesize=1m --rw=randread --read_beyond_wp=1 --size=4m",
    ),
    ("same-start-offset", "--rw=read --size=1m --filename=f --numjobs=2"),
    ("size-per-job", "--rw=randread --size=1m --filename=f --numjobs=2"),
    ("space-reserved", "--ioengine=falloc --rw=write --size=1m --filename=reserved --unlink=1"),
    ("spec-exceeded", "--ioengine=sim --rw=randread --size=4m --spec=randread=1k"),
    ("spec-missed", "--ioengine=sim --rw=randread --size=4m --spec=randread=1000k"),
    ("too-short", "--ioengine=sim --rw=randread --size=1g --number_ios=500"),
    ("unit-surprise", "--ioengine=null --rw=read --number_ios=8 --size=4GiB"),
    ("value-adjusted", "check --rw=read --size=1m --bs=2k-8k"),
    (
        "zone-limits",
        "--filename=z --zonemode=zbd --zonesize=1m --max_open_zones=2 --rw=write --size=2m \
         --offset_increment=2m --numjobs=4 --end_fsync=1",
    ),
];

/// Findings on a file system. `D` is replaced by its directory.
const ON_FILES: [(&str, &str); 7] = [
    ("buffered-not-synced", "--rw=write --size=8m --filename=D/new"),
    ("cache-hits", "--rw=randread --norandommap --size=1m --loops=16 --filename=D/ours"),
    (
        "depth-not-reached",
        "--rw=write --direct=1 --ioengine=libaio --iodepth=16 --size=256m --fallocate=none \
         --runtime=1 --filename=D/grows",
    ),
    (
        "log-on-target",
        "--rw=write --size=64k --filename=D/logged --end_fsync=1 --write_bw_log=D/logged",
    ),
    ("noisy-neighbour", "--rw=randread --direct=1 --size=4m --filename=D/ours --number_ios=200"),
    ("unwritten-data", "--rw=randread --direct=1 --size=4m --filename=D/holes"),
    ("zero-data", "--rw=randread --direct=1 --size=4m --filename=D/zeros"),
];

/// Requires that a job reports the finding in one of three runs, because other programs can hide it.
#[track_caller]
fn seen(place: &Place, id: &str, options: &str) {
    let (check, options) = match options.strip_prefix("check ") {
        Some(options) => (true, options),
        None => (false, options),
    };
    let mut last = String::new();
    for _ in 0..3 {
        let job = format!("--name=a --bs=4k {options}");
        let found = match check {
            true => place.run(&format!("check --format=json {job}")).json()["findings"].clone(),
            false => findings_of(&place.run(&format!("--output-format=json {job}"))).into(),
        };
        if found.as_array().unwrap().iter().any(|finding| finding["id"] == id) {
            return;
        }
        last = found.to_string();
    }
    panic!("no {id}: {options}: {last}");
}

fn on_files(place: &Place) -> Option<Vec<&'static str>> {
    let mounted = Mounted::new(place, "ext4")?;
    let directory = mounted.point.display().to_string();
    for (name, size, how) in
        [("ours", "4m", ""), ("theirs", "32m", ""), ("zeros", "4m", "--zero_buffers=1")]
    {
        let fill = format!("--name=w --rw=write --bs=1m --end_fsync=1 {how} --size={size}");
        place.run(&format!("{fill} --filename={directory}/{name}")).ok();
    }
    std::fs::File::create(mounted.point.join("holes")).unwrap().set_len(4 << 20).unwrap();
    let _reader = Reader::of(&mounted.point.join("theirs"));
    for (id, options) in ON_FILES {
        seen(place, id, &options.replace("D/", &format!("{directory}/")));
    }
    let file = format!("--filename={directory}/ours --size=4m");
    let cached = format!("{file} --rw=read --name=b {file} --stonewall --rw=randwrite --direct=1");
    seen(place, "cache-under-direct", &format!("{cached} --bs=4k --invalidate=0 --number_ios=50"));
    let contents = "--rw=write --size=8m --runtime=4 --time_based --filename=/dev/null --bs=256k \
                    --refill_buffers=1";
    seen(place, "contents-cost", contents);
    std::fs::write(mounted.point.join("short"), [7; 4096]).unwrap();
    let short = format!("check --rw=randread --size=1m --filename={directory}/short");
    seen(place, "file-extended", &short);
    Some(vec!["cache-under-direct", "contents-cost", "file-extended"])
}

fn on_devices(place: &Place) -> Option<Vec<&'static str>> {
    let served = Served::new(place, Duration::from_millis(1))?;
    let file = served.file().display().to_string();
    let timed = "--rw=randread --direct=1 --runtime=600ms --time_based --size=16m";
    seen(
        place,
        "submission-blocks",
        &format!("{timed} --ioengine=io_uring --iodepth=8 --filename={file}"),
    );
    seen(place, "direct-not-direct", &format!("--rw=read --direct=1 --size=64k --filename={file}"));
    place.write("fast", vec![7; 16 << 20]);
    let (slow, fast) = (Loop::over(&served.file())?, Loop::over(&place.path("fast"))?);
    let both = format!(
        "{timed} --ioengine=io_uring --iodepth=4 --filename={}:{}",
        slow.path(),
        fast.path()
    );
    seen(place, "uneven-targets", &both);
    std::fs::write(place.path("fast"), [&b"XFSB"[..], &vec![7; (16 << 20) - 4]].concat()).unwrap();
    seen(
        place,
        "target-in-use",
        &format!("check --rw=write --direct=1 --filename={}", fast.path()),
    );
    if !fast.queue("max_sectors_kb", "64") {
        return None;
    }
    let large = "--rw=read --direct=1 --bs=1m --size=16m --loops=4";
    seen(place, "split-or-merged", &format!("{large} --filename={}", fast.path()));
    Some(vec![
        "submission-blocks",
        "direct-not-direct",
        "uneven-targets",
        "split-or-merged",
        "target-in-use",
    ])
}

#[test]
fn each_hazard_is_reported_while_other_programs_run() {
    let _busy = Crowd::anywhere(2);
    let place = Place::new();
    for (id, options) in ANYWHERE {
        seen(&place, id, options);
    }
    let (files, devices) = (Place::new(), Place::new());
    let (Some(on_files), Some(on_devices)) = (on_files(&files), on_devices(&devices)) else {
        return;
    };
    let mut all: BTreeSet<&str> = on_files.into_iter().chain(on_devices).collect();
    all.extend(ANYWHERE.iter().chain(&ON_FILES).chain(&ELSEWHERE).map(|(id, _)| id));
    let known: BTreeSet<&str> = fiord_doctor::CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(all, known, "each finding is tested here or listed in ELSEWHERE");
}
