//! Tests of logs (`write_bw_log` and similar options): names, columns and rows as fio's, windows, and what happens
//! when a log cannot be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fiord::{Place, Ran, end, one_polls};

/// The logs in a directory: names, and their rows as numbers and texts.
type Logs = BTreeMap<String, Vec<Vec<String>>>;

fn logs(place: &Place, directory: &str) -> Logs {
    let mut logs = Logs::new();
    for entry in fs::read_dir(place.path(directory)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".log") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let row = |line: &str| line.split(", ").map(str::to_owned).collect();
            logs.insert(name, text.lines().map(row).collect());
        }
    }
    logs
}

fn rows(place: &Place, name: &str) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(place.path(name)).unwrap();
    let row = |line: &str| line.split(", ").map(|number| number.parse().unwrap()).collect();
    text.lines().map(row).collect()
}

fn refused(ran: &Ran, why: &str) {
    assert!(ran.status == Some(1) && ran.err.contains(why), "{ran:?}");
    assert!(ran.err.contains("To fix:"), "{ran:?}");
}

/// A log: its name, its number of rows, one row.
type LogFact = (&'static str, usize, &'static str);

/// What fio 3.42 makes of some jobs: for each log its number of rows, and one row without its time, value, maximum, offset
/// and issue time.
const FACTS: &[(&str, &[LogFact])] = &[
    (
        "--name=j --ioengine=null --size=64k --bs=4k --write_bw_log=a --write_iops_log=a --write_lat_log=a --write_hist_log=a",
        &[
            ("a_bw.1.log", 16, "T, V, 0, 4096, 0"),
            ("a_clat.1.log", 16, "T, V, 0, 4096, 0"),
            ("a_clat_hist.1.log", 0, ""),
            ("a_iops.1.log", 16, "T, V, 0, 4096, 0"),
            ("a_lat.1.log", 16, "T, V, 0, 4096, 0"),
            ("a_slat.1.log", 0, ""),
        ],
    ),
    (
        "--name=j --ioengine=libaio --filename=f --size=64k --bs=8k --rw=randwrite --write_lat_log=x --log_offset=1 \
         --log_issue_time=1 --log_prio=1 --log_window_value=both --cmdprio_percentage=100 --cmdprio_class=2 --cmdprio=5",
        &[
            ("x_clat.1.log", 8, "T, V, M, 1, 8192, O, 0x4005, I"),
            ("x_lat.1.log", 8, "T, V, M, 1, 8192, O, 0x4005, I"),
            ("x_slat.1.log", 8, "T, V, M, 1, 8192, O, 0x4005, I"),
        ],
    ),
    (
        "--name=j --ioengine=null --size=16k --bs=4k --rw=randtrim --write_bw_log=p --numjobs=2 --group_reporting",
        &[("p_bw.1.log", 4, "T, V, 2, 4096, 0"), ("p_bw.2.log", 4, "T, V, 2, 4096, 0")],
    ),
    (
        "--name=j --ioengine=null --size=16k --bs=4k --write_bw_log=p --write_lat_log=p --numjobs=2 --per_job_logs=0",
        &[
            ("p_bw.log", 8, "T, V, 0, 4096, 0"),
            ("p_clat.log", 8, "T, V, 0, 4096, 0"),
            ("p_lat.log", 8, "T, V, 0, 4096, 0"),
            ("p_slat.log", 0, ""),
        ],
    ),
    (
        "--name=j --ioengine=null --size=16k --bs=4k --write_bw_log=p --write_iops_log=p --write_lat_log=p --gtod_reduce=1",
        &[("p_bw.1.log", 0, ""), ("p_iops.1.log", 0, "")],
    ),
    (
        "--name=j --ioengine=null --size=16k --bs=4k --write_iops_log=p --write_bw_log=p --write_lat_log=p --disable_clat=1 \
         --disable_bw=1",
        &[
            ("p_bw.1.log", 0, ""),
            ("p_iops.1.log", 4, "T, V, 0, 4096, 0"),
            ("p_lat.1.log", 4, "T, V, 0, 4096, 0"),
            ("p_slat.1.log", 0, ""),
        ],
    ),
    (
        "--name=j --ioengine=null --size=16k --bs=4k --write_lat_log=p --log_avg_msec=10000 --log_offset=1",
        &[
            ("p_clat.1.log", 1, "T, V, 0, 0, O, 0"),
            ("p_lat.1.log", 1, "T, V, 0, 0, O, 0"),
            ("p_slat.1.log", 0, ""),
        ],
    ),
    (
        "--name=j --ioengine=psync --filename=f --size=16k --bs=4k --rw=write --fsync=1 --write_iops_log=p",
        &[("p_iops.1.log", 4, "T, 1, 1, 4096, 0")],
    ),
];

/// Whether a row has a form: letters stand for any number.
fn has_form(row: &[String], form: &str) -> bool {
    let wanted: Vec<&str> = form.split(", ").collect();
    let fits = |(text, wanted): (&String, &&str)| match *wanted {
        "T" | "V" | "M" | "O" | "I" => text.parse::<u64>().is_ok(),
        other => text == other,
    };
    row.len() == wanted.len() && row.iter().zip(&wanted).all(fits)
}

#[track_caller]
fn check_facts(logs: &Logs, line: &str, facts: &[(&str, usize, &str)]) {
    let names: Vec<&str> = facts.iter().map(|fact| fact.0).collect();
    assert!(logs.keys().eq(&names), "{line}: {:?}", logs.keys());
    for (name, count, form) in facts {
        let rows = &logs[*name];
        assert_eq!(rows.len(), *count, "{line}: {name}");
        assert!(rows.iter().all(|row| has_form(row, form)), "{line}: {name}: {rows:?}");
    }
}

#[test]
fn names_rows_and_columns_are_those_of_fio() {
    let place = Place::new();
    for (number, (line, facts)) in FACTS.iter().enumerate() {
        fs::create_dir(place.path(&number.to_string())).unwrap();
        let ran = place.run_in(&number.to_string(), line);
        assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
        check_facts(&logs(&place, &number.to_string()), line, facts);
    }
}

#[test]
fn the_facts_about_fio_are_true() {
    let place = Place::new();
    let Some(version) = place.fio("--version") else {
        return eprintln!("skipped: fio is not installed");
    };
    if !version.out.starts_with("fio-3.42") {
        return eprintln!("not possible here: the facts are those of fio 3.42");
    }
    for (number, (line, facts)) in FACTS.iter().enumerate() {
        let directory = format!("fio{number}");
        fs::create_dir(place.path(&directory)).unwrap();
        let mut fio = place.program_in(&place.path(&directory), "fio");
        let ran = Ran::from(fio.args(line.split_whitespace()).output().unwrap());
        assert_eq!(ran.status, Some(0), "{line}: {ran:?}");
        check_facts(&logs(&place, &directory), line, facts);
    }
}

/// 10 000 IOPS on a virtual clock, so every number is exact.
const SIM: &str =
    "--name=j --ioengine=sim --sim_latency=constant:100us --rw=read --bs=4k --size=1g --time_based";

#[test]
fn windows_end_at_their_boundary() {
    let place = Place::new();
    place
        .run(&format!(
            "{SIM} --runtime=1050ms --write_bw_log=a --write_iops_log=a --write_lat_log=a --log_avg_msec=100 \
             --log_window_value=both --write_hist_log=a --log_hist_msec=300 --log_hist_coarseness=6"
        ))
        .ok();
    let expected = |value: u64, last: u64| -> Vec<Vec<u64>> {
        let ends = (1..=10).map(|n| n * 100).chain((last > 0).then_some(last));
        ends.map(|end| vec![end, value, value, 0, 0, 0]).collect()
    };
    // A window includes the I/O that completes at its end.
    for (name, value) in [("a_iops.1.log", 10_000), ("a_bw.1.log", 40_000)] {
        let rates = rows(&place, name);
        assert_eq!(rates[..10], expected(value, 0)[..]);
        // The last window, of 50 ms, is half as long as the others.
        assert_eq!((rates.len(), rates[10][0]), (11, 1050), "{rates:?}");
    }
    assert_eq!(rows(&place, "a_clat.1.log"), expected(100_000, 1050));
    assert_eq!(rows(&place, "a_lat.1.log"), expected(100_000, 1050));
    let histograms = rows(&place, "a_clat_hist.1.log");
    let totals: Vec<(u64, u64)> =
        histograms.iter().map(|row| (row[0], row[3..].iter().sum())).collect();
    assert_eq!(totals, [(300, 3000), (600, 3000), (900, 3000), (1050, 1500)]);
    assert!(histograms.iter().all(|row| row.len() == 3 + 29 && row[2] == 4096), "{histograms:?}");
}

#[test]
fn a_window_without_ios_has_a_row_on_request() {
    let place = Place::new();
    let job = "--name=j --ioengine=sim --sim_latency=constant:250ms --rw=randrw --bs=4k --size=16k \
               --write_iops_log=a --write_lat_log=a --log_avg_msec=100 --write_hist_log=a --log_hist_msec=100 \
               --log_hist_coarseness=6";
    place.run(job).ok();
    let ends = |name: &str| -> Vec<u64> { rows(&place, name).iter().map(|row| row[0]).collect() };
    // I/Os complete at 250, 500, 750 and 1000 ms.
    assert_eq!(ends("a_lat.1.log"), [300, 500, 800, 1000]);
    assert_eq!(ends("a_clat_hist.1.log"), [300, 500, 800, 1000]);
    place.run(&format!("{job} --log_empty=1")).ok();
    let lat = rows(&place, "a_lat.1.log");
    let of = |dir: u64| lat.iter().filter(move |row| row[2] == dir);
    for dir in [0, 1] {
        let ends: Vec<u64> = of(dir).map(|row| row[0]).collect();
        assert_eq!(ends[..10], (1..=10).map(|n| n * 100).collect::<Vec<_>>(), "{lat:?}");
    }
    assert_eq!(lat.iter().filter(|row| row[1] == 250_000_000).count(), 4, "{lat:?}");
    assert!(lat.iter().all(|row| row[1] == 0 || row[1] == 250_000_000), "{lat:?}");
    let histograms = rows(&place, "a_clat_hist.1.log");
    assert!(histograms.len() >= 20, "{histograms:?}");
    assert_eq!(histograms.iter().flat_map(|row| &row[3..]).sum::<u64>(), 4);
}

#[test]
fn logs_begin_after_the_ramp() {
    let place = Place::new();
    let line = format!("{SIM} --ramp_time=500ms --runtime=200ms --write_lat_log=a");
    place.run(&format!("{line} --log_avg_msec=100")).ok();
    let ends: Vec<u64> = rows(&place, "a_clat.1.log").iter().map(|row| row[0]).collect();
    assert_eq!(ends[..2], [100, 200]);
    place.run(&line).ok();
    let single = rows(&place, "a_clat.1.log");
    assert_eq!((single[0][0], single.len()), (0, 2000), "{:?}", single.last());
}

#[test]
fn each_io_of_a_simulated_device_has_its_row() {
    let place = Place::new();
    let line = "--name=j --ioengine=sim --sim_latency=constant:100us --iodepth=4 --rw=write --bs=4k --size=64k \
                --write_lat_log=a --write_bw_log=a --log_offset=1 --log_issue_time=1";
    place.run(line).ok();
    for name in ["a_slat.1.log", "a_clat.1.log", "a_lat.1.log", "a_bw.1.log"] {
        let mut offsets: Vec<u64> = rows(&place, name).iter().map(|row| row[4]).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (0..16).map(|n| n * 4096).collect::<Vec<_>>(), "{name}");
    }
    let clat = rows(&place, "a_clat.1.log");
    assert!(clat.iter().all(|row| row[1] >= 100_000), "{clat:?}");
    assert_eq!(clat[4][6] / 1_000_000, clat[4][0] - clat[4][1] / 1_000_000, "{clat:?}");
}

#[test]
fn names_may_contain_blanks_and_paths() {
    let place = Place::new();
    fs::create_dir(place.path("a dir")).unwrap();
    place.write(
        "j.fio",
        "[my job]\nioengine=null\nsize=4k\nwrite_bw_log\nwrite_iops_log=a dir/x y\n",
    );
    place.run("j.fio").ok();
    assert_eq!(place.names(), ["a dir", "j.fio", "my job_bw.1.log"]);
    // On a busy machine, the I/O ends after some milliseconds.
    let rows = rows(&place, "a dir/x y_iops.1.log");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0][1..], [1, 0, 4096, 0]);
}

#[test]
fn a_log_that_cannot_be_created_is_an_error_before_the_first_io() {
    let Some(place) = Place::confined(&[]) else { return };
    let job = "--name=a --filename=t --size=64k --rw=write";
    let ran = place.run(&format!("{job} --write_lat_log=nodir/x"));
    refused(&ran, "cannot use the directory `nodir`: No such file or directory (ENOENT)");
    let ran = place.run(&format!("{job} --bandwidth-log=nodir/x"));
    refused(&ran, "nodir/x-read_bw.log");
    assert!(place.names().is_empty(), "{:?}", place.names());
    place.write("t_bw.1.log", [7; 8192]);
    let ran = place.run("--name=a --filename=t_bw.1.log --rw=read --bs=4k --write_bw_log=t");
    refused(&ran, "the log is a file of job `a`");
    assert_eq!(fs::read(place.path("t_bw.1.log")).unwrap(), [7; 8192]);
}

#[test]
fn a_command_before_the_job_may_create_the_directory_of_its_logs() {
    let Some(place) = Place::confined(&[]) else { return };
    place.write("make.sh", "mkdir new\n");
    place.write("replace.sh", "mv new old; mkdir new\n");
    let job = "--ioengine=null --size=64k --bs=4k --write_lat_log=new/x --write_bw_log=new/x";
    place.run(&format!("--name=a {job} --exec_prerun=sh<make.sh")).ok();
    assert_eq!(rows(&place, "new/x_bw.1.log").len(), 16);
    place.run(&format!("--name=a {job} --per_job_logs=0 --exec_prerun=sh<replace.sh")).ok();
    assert_eq!(rows(&place, "new/x_bw.log").len(), 16);
    assert_eq!(rows(&place, "new/x_lat.log").len(), 16);
    // Jobs share a log whose directory exists after the command of the first one.
    fs::remove_dir_all(place.path("new")).unwrap();
    let shared = format!("{job} --per_job_logs=0");
    place.run(&format!("--name=a {shared} --exec_prerun=sh<make.sh --name=b {shared} --stonewall --exec_prerun=true")).ok();
    assert_eq!(rows(&place, "new/x_bw.log").len(), 32);
    // The command does not create the directory.
    let ran = place
        .run("--name=a --filename=t --size=64k --rw=write --write_lat_log=no/x --exec_prerun=true");
    refused(&ran, "log failed on no/x_lat.1.log: No such file or directory (ENOENT)");
}

#[test]
fn a_full_disk_under_a_log_ends_the_job_and_keeps_whole_rows() {
    let Some(place) = Place::confined(&[]) else { return };
    fs::create_dir(place.path("small")).unwrap();
    place.script("mount -t tmpfs -o size=64k small small").ok();
    let ran = place.run("--name=a --ioengine=null --size=1g --bs=4k --write_bw_log=small/x");
    refused(&ran, "log failed on small/x_bw.1.log: No space left on device (ENOSPC)");
    let log = place.script("cat small/x_bw.1.log").ok().out;
    assert!(log.len() > 32 << 10 && log.ends_with(", 0, 4096, 0\n"), "{}", log.len());
    assert!(log.lines().all(|line| line.split(", ").count() == 5));
}

/// A line that was cut may be a valid one, which a replay would take.
#[test]
fn a_full_disk_under_a_log_of_ios_leaves_whole_lines() {
    let Some(place) = Place::confined(&[]) else { return };
    fs::create_dir(place.path("small")).unwrap();
    place.script("mount -t tmpfs -o size=64k small small").ok();
    // The length of a line changes with its time, so that the last one is cut.
    let job = "--ioengine=null --filename=f --size=1g --bs=4k";
    let ran = place.run(&format!("--name=a {job} --write_iolog=small/x"));
    refused(&ran, "it is whole up to here");
    let log = place.script("cat small/x").ok().out;
    assert!(
        log.len() > 60 << 10 && log.ends_with(" 4096\n"),
        "{} {:?}",
        log.len(),
        log.lines().last()
    );
    // The log is one that a replay reads to its end.
    let lines = log.lines().filter(|line| line.contains(" read ")).count() as u64;
    let ran = place.run("--name=b --ioengine=null --read_iolog=small/x --replay_no_stall=1 --output-format=json").ok();
    assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], lines);
}

#[test]
fn a_full_disk_leaves_no_part_of_a_verify_state() {
    let Some(place) = Place::confined(&[]) else { return };
    fs::create_dir(place.path("small")).unwrap();
    place.script("mount -t tmpfs -o size=8k small small").ok();
    place.script("head -c 8192 /dev/zero > small/full").ok();
    let job =
        "--name=a --filename=f --rw=write --bs=4k --size=64k --verify=crc32c --verify_state_save=1";
    let ran = place.run(&format!("--aux-path=small {job}")).ok();
    assert!(ran.out.contains("the verify state could not be saved to small/"), "{}", ran.out);
    assert_eq!(place.script("ls small").ok().out, "full\n");
}

#[test]
fn jobs_with_the_same_log() {
    let place = Place::new();
    let line = "--ioengine=null --size=4k --write_bw_log=x --per_job_logs=0";
    let two = format!("--name=a {line} --name=b {line}");
    place.run(&two).ok();
    place.run(&two).ok();
    assert_eq!(rows(&place, "x_bw.log").len(), 4, "rows of earlier runs stay");
    let ran = place.run(&format!("{two} --log_offset=1"));
    refused(&ran, "append rows of different forms to the log x_bw.log");
    let histogram =
        "--ioengine=null --size=4k --write_hist_log=x --per_job_logs=0 --log_hist_msec=10";
    let ran =
        place.run(&format!("--name=a {histogram} --name=b {histogram} --log_hist_coarseness=2"));
    refused(&ran, "append rows of different forms");
    // With numbers, each has its own file.
    place.run(&two.replace("per_job_logs=0", "per_job_logs=1")).ok();
    assert_eq!((rows(&place, "x_bw.1.log").len(), rows(&place, "x_bw.2.log").len()), (1, 1));
}

#[test]
fn a_killed_run_keeps_its_log() {
    let place = Place::new();
    let line = "--name=j --ioengine=null --size=1g --bs=4k --rate_iops=1000 --time_based --runtime=60 \
                --write_lat_log=x";
    let mut child = place.start(line);
    let began = Instant::now();
    let lines = || fs::read_to_string(place.path("x_clat.1.log")).unwrap_or_default();
    while lines().lines().count() < 200 && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = lines();
    assert!(text.lines().count() >= 200 && text.ends_with(", 0, 4096, 0\n"), "{text}");
}

#[test]
fn the_bandwidth_of_all_jobs_together() {
    let place = Place::new();
    let line = "--bandwidth-log=all --name=j --ioengine=null --rw=randrw --size=1g --bs=4k --rate_iops=100 --time_based \
                --runtime=700ms --numjobs=2 --bwavgtime=200";
    place.run(line).ok();
    assert_eq!(place.names(), ["all-read_bw.log", "all-trim_bw.log", "all-write_bw.log"]);
    for (name, dir) in [("read", 0), ("write", 1), ("trim", 2)] {
        let rows = rows(&place, &format!("all-{name}_bw.log"));
        assert!((3..=4).contains(&rows.len()), "{rows:?}");
        assert!(rows.iter().all(|row| row.len() == 5 && row[2] == dir), "{rows:?}");
        assert_eq!(rows.iter().any(|row| row[1] > 0), dir < 2, "{rows:?}");
    }
    let ran = place.run("--latency-log=x --name=j --ioengine=null --size=4k");
    refused(&ran, "--latency-log is deprecated");
}

/// The reader of a pipe in place of the log is slower than the job, so that the job waits, and loses no row.
#[test]
fn a_job_that_is_faster_than_its_log_waits() {
    const IOS: usize = 200_000;
    let place = Place::new();
    place.script("mkfifo x_bw.1.log").ok();
    let line = format!(
        "--name=j --ioengine=null --size=4g --bs=4k --number_ios={IOS} --output-format=json"
    );
    let job = place.start(&format!("{line} --write_bw_log=x"));
    let mut pipe = fs::File::open(place.path("x_bw.1.log")).unwrap();
    let began = Instant::now();
    one_polls(job.id());
    // The job waits for most of its run time.
    std::thread::sleep(2 * began.elapsed());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut pipe, &mut text).unwrap();
    assert_eq!(text.lines().count(), IOS);
    let slow = end(job, Duration::from_secs(60)).ok().json();
    let bound = |report: &serde_json::Value| {
        let findings = report["fiord"]["findings"].as_array().cloned().unwrap_or_default();
        findings.into_iter().find(|finding| finding["id"] == "log-bound")
    };
    let finding = bound(&slow).expect("a finding");
    assert!(finding["evidence"].as_str().unwrap().starts_with("its threads waited "), "{finding}");
    let few = line.replace("200000", "1000");
    assert_eq!(bound(&place.run(&format!("{few} --write_bw_log=y")).ok().json()), None);
}

#[test]
fn a_log_on_the_measured_disk_is_a_finding() {
    let place = Place::new();
    let ids = |log: &str| -> Vec<String> {
        let line = "--name=j --filename=f --size=64k --bs=4k --rw=write --output-format=json --write_bw_log";
        let report = place.run(&format!("{line}={log}")).ok().json();
        let findings = report["fiord"]["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
    };
    let shared = ids("x");
    if !shared.iter().any(|id| id == "log-on-target") {
        eprintln!("not possible here: the file system of the test has no disk");
    }
    let memory = Path::new("/dev/shm").join(format!("fiord-log-{}", std::process::id()));
    let others = ids(memory.to_str().unwrap());
    let _ = fs::remove_file(format!("{}_bw.1.log", memory.display()));
    assert!(!others.iter().any(|id| id == "log-on-target"), "{others:?}");
}

#[test]
fn compressed_logs_and_clocks() {
    let place = Place::new();
    let job = "--name=j --ioengine=null --size=1m --bs=4k";
    place
        .run(&format!(
            "{job} --write_bw_log=x --write_hist_log=x --log_hist_msec=1 --log_store_compressed=1 --log_compression=4k \
             --log_compression_cpus=0"
        ))
        .ok();
    assert_eq!(place.names(), ["x_bw.1.log.fz", "x_clat_hist.1.log"]);
    let compressed = fs::read(place.path("x_bw.1.log.fz")).unwrap();
    assert_eq!(compressed[0], 0x78, "a zlib stream");
    place.run(&format!("{job} --write_bw_log=y --log_unix_epoch=1")).ok();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let first = rows(&place, "y_bw.1.log")[0][0];
    assert!(now - 600_000 < first && first <= now, "{first} {now}");
}

fn names_in(place: &Place, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(directory)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The logs of a job on a virtual clock are the same in each run.
#[test]
fn compact_logs_contain_the_rows_of_text_logs() {
    let place = Place::new();
    for (number, options) in [
        "--log_offset=1 --log_issue_time=1 --log_prio=1",
        "--log_avg_msec=10 --log_window_value=both --log_hist_coarseness=4 --bwavgtime=20",
        "--log_avg_msec=10 --log_empty=1 --rate_iops=20",
    ]
    .iter()
    .enumerate()
    {
        let job = format!(
            "{SIM} --rw=randrw --numjobs=2 --runtime=500ms --write_bw_log=a --write_iops_log --write_lat_log=a \
             --write_hist_log=a --log_hist_msec=50 {options}"
        );
        let (text, compact) = (format!("{number}t"), format!("{number}c"));
        for (directory, options) in [(&text, ""), (&compact, " --log_format=compact")] {
            fs::create_dir(place.path(directory)).unwrap();
            let ran = place.run_in(directory, &format!("{job}{options}"));
            assert_eq!(ran.status, Some(0), "{job}{options}: {ran:?}");
        }
        let mut names = names_in(&place, &compact);
        assert_eq!(names.len(), 12, "{names:?}");
        assert!(names.iter().all(|name| name.ends_with(".log.compact")), "{names:?}");
        let sizes = names.iter().map(|name| place.path(&format!("{compact}/{name}")));
        let bytes: u64 = sizes.map(|path| fs::metadata(path).unwrap().len()).sum();
        names.iter_mut().for_each(|name| name.insert_str(0, &format!("{compact}/")));
        let line = format!("log {} --convert=text --output={number}", names.join(" "));
        fs::create_dir(place.path(&number.to_string())).unwrap();
        place.run(&line).ok();
        let logs = logs(&place, &text);
        assert_eq!(crate::logs::logs(&place, &number.to_string()), logs, "{job}");
        let rows = logs.values().map(Vec::len).sum::<usize>() as u64;
        if number == 0 {
            assert!(bytes < 10 * rows, "{bytes} bytes for {rows} rows");
        }
    }
}

#[test]
fn logs_work_with_hooks_layers_and_verification() {
    let place = Place::new();
    for (options, count) in [
        ("--ioengine=psync --rw=write --verify=crc32c", 32),
        ("--ioengine=psync --rw=write --lockfile=exclusive", 16),
        ("--ioengine=psync --rw=write --io_submit_mode=offload --iodepth=4", 16),
        ("--ioengine=io_uring --rw=randrw --iodepth=4 --rate_iops=10000", 16),
        ("--ioengine=mmap --rw=write --latency_target=1s --latency_window=1s", 16),
    ] {
        let ran = place.run(&format!(
            "--name=j --filename=f --size=64k --bs=4k --write_iops_log=x --log_offset=1 {options}"
        ));
        assert_eq!(ran.status, Some(0), "{options}: {ran:?}");
        assert_eq!(rows(&place, "x_iops.1.log").len(), count, "{options}");
    }
}
