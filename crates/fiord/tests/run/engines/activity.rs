//! Engines that use only CPUs and memory: `cpuio` and `page_fault`.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, end, signal, under_way};

/// CPU time of a job in the report, in per cent of its run time.
fn cpu_percent(job: &Value) -> f64 {
    job["usr_cpu"].as_f64().unwrap() + job["sys_cpu"].as_f64().unwrap()
}

#[test]
fn a_job_uses_the_cpu_time_that_it_asks_for() {
    let place = Place::new();
    for (load, mode) in [(1.0, "noop"), (5.0, "qsort"), (10.0, "noop"), (80.0, "qsort")] {
        let line = format!(
            "--name=a --ioengine=cpuio --cpuload={load} --cpuchunks=1000 --cpumode={mode} \
             --numjobs=2 --runtime=1 --output-format=json"
        );
        let json = place.run(&line).ok().json();
        for job in json["jobs"].as_array().unwrap() {
            let used = cpu_percent(job);
            // A cycle of 1 ms more or less fits into the second.
            assert!(used <= load * 1.05 + 0.11, "cpuload={load} used {used} %");
            let (read, lat) = (&job["read"], &job["read"]["clat_ns"]);
            // Share of the time in which the job worked or waited for a CPU. If it had time to sleep, it
            // got all CPU time that it wanted.
            let share = lat["mean"].as_f64().unwrap() * lat["N"].as_f64().unwrap() / 1e9;
            assert!(
                used >= load * 0.95 - 0.11 || share > 0.5,
                "cpuload={load} used {used} %: {read}"
            );
            assert_eq!([&read["io_bytes"], &read["runtime"]], [0, 0], "{read}");
            assert_eq!(read["clat_ns"]["N"], read["total_ios"]);
        }
    }
}

#[test]
fn a_run_that_is_shorter_than_a_period_has_a_shorter_cycle() {
    let place = Place::new();
    // A whole cycle would be 500 ms of the 1 s.
    let line = "--name=a --ioengine=cpuio --cpuload=10 --cpuchunks=500000 --runtime=1 --output-format=json";
    let json = place.run(line).ok().json();
    let used = cpu_percent(&json["jobs"][0]);
    assert!(used < 11.0, "{used}");
    let clat = json["jobs"][0]["read"]["clat_ns"]["max"].as_u64().unwrap();
    assert!(clat >= 99_000_000 && (used > 9.0 || clat > 200_000_000), "{used}, {clat}");
}

#[test]
fn load_ends_with_the_jobs_that_do_io() {
    let place = Place::new();
    place.write(
        "j.fio",
        "[burn]\nioengine=cpuio\ncpuload=5\ncpuchunks=60s\nexit_on_io_done=1\n\
         [io]\nioengine=null\nsize=1m\nrate_iops=1000\n\
         [later]\nwait_for=io\nioengine=null\nsize=64k\n",
    );
    let begin = Instant::now();
    let ran = place.run("j.fio --output-format=json").ok();
    assert!(begin.elapsed() < Duration::from_secs(30));
    let jobs = ran.json()["jobs"].clone();
    assert_eq!(jobs[1]["read"]["total_ios"], 256);
    assert_eq!(jobs[2]["read"]["total_ios"], 16);
}

#[test]
fn a_signal_ends_a_long_cycle_and_number_ios_counts_cycles() {
    let place = Place::new();
    let line = "--name=a --ioengine=cpuio --cpuload=1 --cpuchunks=60s --output-format=json";
    let begin = Instant::now();
    let child = place.start(line);
    under_way(&child);
    signal(&child, "INT");
    end(child, Duration::from_secs(30));
    assert!(begin.elapsed() < Duration::from_secs(40));
    let line = "--name=a --ioengine=cpuio --cpuload=50 --cpuchunks=100 --number_ios=7 \
                --output-format=json";
    let json = place.run(line).ok().json();
    assert_eq!(json["jobs"][0]["read"]["total_ios"], 7);
}

#[test]
fn wrong_options_are_refused_and_options_about_io_are_reported_as_unused() {
    let place = Place::new();
    for (options, says) in [
        ("", "cpu thread needs rate (cpuload=)"),
        ("--cpuload=0", "asks for no load"),
        ("--cpuload=50 --cpuchunks=0", "makes cycles without CPU time"),
    ] {
        let ran = place.run(&format!("--name=a --ioengine=cpuio {options} --runtime=1"));
        assert!(ran.status == Some(1) && ran.err.contains(says), "{options}: {ran:?}");
    }
    let line = "--name=a --ioengine=cpuio --cpuload=101 --cpuchunks=100 --number_ios=3 --rw=write \
                --bs=8k --size=1m --filename=/dev/null/x --verify=crc32c --iodepth=4 --direct=1 \
                --thinktime=1s --io_submit_mode=offload --output-format=json";
    let ran = place.run(line).ok();
    let json = ran.json();
    let job = &json["jobs"][0];
    assert_eq!(job["job options"]["filename"], "/dev/null/x");
    assert_eq!([&job["read"]["total_ios"], &job["write"]["total_ios"]], [3, 0]);
    assert_eq!(place.names(), Vec::<String>::new());
    let findings = json["fiord"]["findings"].to_string();
    assert!(findings.contains("cpuload=101` is read as 100"), "{findings}");
    for option in ["rw", "bs", "size", "filename", "verify", "iodepth", "direct", "thinktime"] {
        let what = format!("`{option}` has no effect: ioengine=cpuio does no I/O");
        assert!(findings.contains(&what), "{option}: {findings}");
    }
}

#[test]
fn each_page_faults_once_and_keeps_its_data() {
    let place = Place::new();
    for (options, faults) in [
        ("--rw=write", 2048),
        ("--rw=read", 2048),
        ("--rw=randwrite --loops=3", 2048),
        ("--rw=write --bs=64k", 2048),
        ("--rw=randwrite --size=4m --offset=4m", 1024),
        ("--rw=write --size=4m --nrfiles=2", 1024),
    ] {
        let line = format!(
            "--name=a --ioengine=page_fault --thp=0 --bs=4k --size=8m {options} --output-format=json"
        );
        let json = place.run(&line).ok().json();
        let minor = json["jobs"][0]["minf"].as_u64().unwrap();
        // Other faults: the buffer, and pages of the program.
        assert!((faults..faults + 100).contains(&minor), "{options}: {minor}");
    }
    let line = "--name=a --ioengine=page_fault --size=1m --rw=randwrite --verify=crc32c";
    place.run(line).ok();
    assert!(place.names().iter().all(|name| name.ends_with(".state")), "{:?}", place.names());
    for (options, says) in [
        ("--size=1m --rw=trim", "no trims"),
        ("--size=1m --rw=write --verify=md5 --trim_percentage=9 --trim_backlog=1", "no trims"),
        ("--size=1m --io_submit_mode=offload", "cannot share its memory"),
        ("", "you need to specify size="),
    ] {
        let ran = place.run(&format!("--name=a --ioengine=page_fault {options}"));
        assert!(ran.status == Some(1) && ran.err.contains(says), "{options}: {ran:?}");
    }
}
