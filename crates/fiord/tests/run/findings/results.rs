//! Tests of findings about results. A simulated device gives exact numbers.

use crate::findings::{finding, found, json, silent};
use crate::fiord::Place;
use crate::ground::Crowd;

const DEVICE: &str = "--name=a --ioengine=sim --sim_latency=constant:100us --rw=randread --bs=4k \
                      --size=1g --time_based --runtime=10";

#[test]
fn rate_missed() {
    let place = Place::new();
    let entry = finding(&json(&place, &format!("{DEVICE} --rate_iops=20000")), "rate-missed");
    assert_eq!(entry["what"], "job a reached 50 % of the rate of reads");
    assert_eq!(entry["evidence"], "10k of 20k IOPS asked for");
    silent(&json(&place, &format!("{DEVICE} --rate_iops=9000")), "rate-missed");
    silent(&json(&place, DEVICE), "rate-missed");
}

/// Jobs that ask for more than one CPU has. The finding names the CPU and the sum of their loads.
#[test]
fn a_cpu_load_that_one_cpu_cannot_hold() {
    let place = Place::new();
    let job = "--name=a --ioengine=cpuio --runtime=1 --cpus_allowed=0 --numjobs=2";
    let entry = finding(&json(&place, &format!("{job} --cpuload=80")), "rate-missed");
    assert!(entry["what"].as_str().unwrap().contains("of the CPU time asked for"));
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.contains("instead of cpuload=80; the cpuio jobs on CPU 0 ask for 160 %"));
    // Other programs need to leave only this little CPU time.
    silent(&json(&place, &format!("{job} --cpuload=1")), "rate-missed");
}

#[test]
fn hidden_stalls() {
    let place = Place::new();
    let job = format!("{DEVICE} --rate_iops=1000");
    let entry = finding(&json(&place, &format!("{job} --sim_stall=2s:1s")), "hidden-stalls");
    let evidence = entry["evidence"].as_str().unwrap();
    assert_eq!(evidence, "p99: 99.8 us from the actual start, 910.2 ms from the intended start");
    silent(&json(&place, &job), "hidden-stalls");
}

/// Other programs use the CPU of a job on the null engine, so its I/Os start late.
#[test]
fn a_generator_that_wakes_late() {
    let place = Place::new();
    let crowd = Crowd::on_cpu_0(3);
    let job = "--name=a --ioengine=null --rw=read --bs=4k --size=1g --rate_iops=1000 --runtime=1 \
               --time_based --cpus_allowed=0";
    let ran = json(&place, job);
    drop(crowd);
    let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default();
    // A machine with many CPUs may still give the job enough CPU time.
    if let Some(entry) = list.iter().find(|entry| entry["id"] == "hidden-stalls") {
        assert_eq!(
            entry["what"],
            "reads of job a started late because the load generator woke late"
        );
        assert!(entry["mend"].as_str().unwrap().starts_with("set nice=-20"), "{entry}");
    } else {
        eprintln!("not possible here: the job had enough CPU time: {list:?}");
    }
}

#[test]
fn too_short() {
    let place = Place::new();
    let few = "--name=a --ioengine=sim --rw=randread --bs=4k --size=1g --number_ios=500";
    let entry = finding(&json(&place, few), "too-short");
    assert_eq!(entry["severity"], "note");
    assert!(entry["evidence"].as_str().unwrap().starts_with("500 reads: 5.0 lie above p99"));
    silent(&json(&place, DEVICE), "too-short");
}

#[test]
fn not_steady() {
    let place = Place::new();
    // In real time, because the check uses the IOPS over the time of the machine's clock.
    let job = "--name=a --ioengine=sim --sim_latency=constant:5ms --rw=randread --bs=4k --size=1g \
               --time_based --runtime=4";
    let stalled = json(&place, &format!("{job} --sim_real_time=1 --sim_stall=3s:800ms"));
    let entry = finding(&stalled, "not-steady");
    assert!(entry["what"].as_str().unwrap().contains("had not settled"), "{entry}");
    // A busy machine makes every run in real time unsteady: the clean run uses a virtual clock.
    silent(&json(&place, job), "not-steady");
}

#[test]
fn contents_cost() {
    let place = Place::new();
    let job = "--name=a --ioengine=psync --rw=write --size=8m --runtime=1 --time_based";
    // If a write takes almost no time, generating its data takes nearly all of it.
    let nowhere = format!("{job} --filename=/dev/null --bs=256k --refill_buffers=1");
    let ran = json(&place, &nowhere);
    if found(&ran).iter().any(|(id, _)| id == "noisy-neighbour") {
        return eprintln!("not possible here: other programs use the CPUs");
    }
    let entry = finding(&ran, "contents-cost");
    assert!(entry["evidence"].as_str().unwrap().starts_with("refill_buffers generates"), "{entry}");
    assert!(entry["mend"].as_str().unwrap().starts_with("use the default contents"), "{entry}");
    silent(&json(&place, &format!("{nowhere} --ioengine=null")), "contents-cost");
    let shaped = format!("{job} --filename=/dev/null --bs=256k --buffer_compress_percentage=50");
    let evidence = finding(&json(&place, &shaped), "contents-cost")["evidence"].clone();
    assert!(evidence.as_str().unwrap().starts_with("buffer_compress_percentage"), "{evidence}");
    let memory = std::path::Path::new("/dev/shm");
    if !memory.is_dir() {
        return eprintln!("not possible here: there is no /dev/shm");
    }
    let file = memory.join(format!("fiord-contents-{}", std::process::id()));
    let on_file = format!("{job} --filename={} --unlink=1", file.display());
    // Blocks of 256 KiB: in an unoptimised build, filling small blocks does take a quarter of the time.
    silent(&json(&place, &format!("{on_file} --bs=256k")), "contents-cost");
}

/// A job of which everything lies in the ramp has an empty report, and the finding says so.
#[test]
fn ended_in_ramp() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --sim_latency=constant:100us --rw=randread --size=1g";
    let entry =
        finding(&json(&place, &format!("{job} --io_size=40k --ramp_time=1")), "ended-in-ramp");
    assert_eq!(entry["severity"], "invalid");
    assert_eq!(entry["evidence"], "it made 10 I/Os in 1.0 ms, and ramp_time is 1.0 s");
    let sized = json(&place, &format!("{job} --io_size=40k --ramp_size=1m"));
    assert_eq!(finding(&sized, "ended-in-ramp")["option"], "ramp_size");
    silent(&json(&place, &format!("{job} --io_size=40k")), "ended-in-ramp");
    let long = "--ramp_time=1 --time_based --runtime=1";
    silent(&json(&place, &format!("{job} --io_size=40k {long}")), "ended-in-ramp");
}

/// The windows of the workers say when each I/O ended, however often something else looks at the job.
#[test]
fn a_steady_job_is_steady_beside_logs_and_series() {
    let place = Place::new();
    let job =
        "--name=a --ioengine=sim --sim_latency=constant:1ms --rw=randread --size=1g --time_based";
    let logs = "--write_iops_log=l --log_avg_msec=130 --series=s.csv --series-interval=170ms";
    let stall = "--sim_stall=3s:700ms";
    for more in ["", logs] {
        silent(&json(&place, &format!("{job} --runtime=4 {more}")), "not-steady");
        let entry =
            finding(&json(&place, &format!("{job} --runtime=4 {stall} {more}")), "not-steady");
        let evidence = entry["evidence"].as_str().unwrap();
        assert!(evidence.starts_with("the last five rounds: "), "{evidence}");
    }
}
