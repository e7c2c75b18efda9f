//! Tests of when I/Os are issued: rates, pauses, flows, latency limits. Everything that depends on time runs
//! on the simulated device and is exact.

use crate::engines::file_engines;
use crate::fiord::{Place, Ran, work};

/// Runs a job for five seconds of virtual time, on a device with a latency of one microsecond.
const SIM: &str = "--name=a --ioengine=sim --sim_latency=constant:1us --sim_channels=64 --size=1g \
                   --bs=4k --time_based --runtime=5 --output-format=json";

fn sim(options: &str) -> Ran {
    Place::new().run(&format!("{SIM} {options}"))
}

/// Returns the I/Os read, written and trimmed.
#[track_caller]
fn ios(options: &str) -> [u64; 3] {
    work(&sim(options).ok().json())[0].2.map(|(_, ios)| ios)
}

#[track_caller]
fn close(got: u64, wanted: u64, line: &str) {
    assert!(got.abs_diff(wanted) <= 1 + wanted / 1000, "{line}: {got}, not {wanted}");
}

#[test]
fn rates_are_kept_to_a_thousandth() {
    for (line, wanted) in [
        ("--rw=randread --rate_iops=1", [5, 0, 0]),
        ("--rw=randread --rate_iops=1000", [5000, 0, 0]),
        ("--rw=randread --rate_iops=10000 --iodepth=4", [50_000, 0, 0]),
        ("--rw=randrw --rate_iops=70,30", [350, 150, 0]),
        ("--rw=randrw --rate_iops=70,30 --iodepth=16", [350, 150, 0]),
        ("--rw=randrw --rwmixread=90 --rate_iops=70,30", [350, 150, 0]),
        ("--rw=write --rate=4m", [0, 5120, 0]),
        ("--rw=randtrimwrite --rate_iops=100", [0, 500, 500]),
        ("--rw=randread --rate_iops=1000 --bssplit=4k/50:64k/50", [5000, 0, 0]),
    ] {
        let got = ios(line);
        (0..3).for_each(|i| close(got[i], wanted[i], line));
    }
    // A rate in bytes, with blocks of several sizes.
    let ran = sim("--rw=randread --rate=10m --bssplit=4k/50:64k/50").ok();
    let bytes = work(&ran.json())[0].2[0].0;
    assert!(bytes.abs_diff(50 << 20) <= 64 << 10, "{bytes}");
    // A rate for one of two directions: the other is unlimited.
    let [reads, writes, _] = ios("--sim_latency=constant:200us --rw=randrw --rate_iops=1000,");
    close(reads, 5000, "reads alone");
    assert!(writes > 19_000, "{writes}");
}

#[test]
fn arrivals_at_random_keep_the_mean() {
    let [reads, ..] = ios("--rw=randread --rate_iops=20000 --rate_process=poisson");
    // Four standard deviations of a Poisson count of 100,000.
    assert!(reads.abs_diff(100_000) < 4 * 317, "{reads}");
}

/// One stall of a second delays the I/O that it hits and all I/Os that become due during it.
#[test]
fn a_stall_shows_from_the_intended_start() {
    let ran = sim("--rw=randread --rate_iops=1000 --sim_stall=2s:1s").ok();
    let job = &ran.json()["jobs"][0];
    let p99 = |latency: &serde_json::Value| latency["percentile"]["99.000000"].as_u64().unwrap();
    let intended = &job["fiord"]["intended_lat_ns"]["read"];
    let (due, issued) = (p99(intended), p99(&job["read"]["clat_ns"]));
    assert!(due.abs_diff(950_000_000) < 47_500_000, "{due}");
    assert!(issued < 10_000, "{issued}");
    assert_eq!(intended["N"].as_u64(), job["read"]["total_ios"].as_u64());
    let text = Place::new().run(&format!(
        "{} --rw=randread --rate_iops=1000",
        SIM.replace("--output-format=json", "")
    ));
    let text = text.ok().out;
    assert!(text.contains("fiord: read latency from the intended start"), "{text}");
    // Without a rate there is no intended start time.
    assert!(
        sim("--rw=randread --runtime=1ms").ok().json()["jobs"][0]["fiord"]["intended_lat_ns"]
            .is_null()
    );
}

/// A slice holds the I/Os that were due in it, even if a stall delays them: the intended start of an I/O
/// decides.
#[test]
fn slices_are_judged_by_limits() {
    let stall = "--rw=randread --rate_iops=1000 --sim_stall=2s:1s --latency_slice=1";
    let document = sim(&format!("{stall} --latency_limits=1ms:5")).ok().json();
    let test = &document["fiord"]["latency_slices"][0];
    let slices = test["slices"].as_array().unwrap();
    assert_eq!(slices.len(), 5, "{test}");
    for (index, slice) in slices.iter().enumerate() {
        let ios = slice["ios"].as_u64().unwrap();
        assert!(ios.abs_diff(1000) <= 1, "{slice}");
        let [own, due] = ["device", "trans"].map(|name| slice[name][0].as_f64().unwrap());
        match index {
            2 => assert!(own > 0.0 && own < 0.2 && due > 99.0, "{slice}"),
            _ => assert!(own == 0.0 && due < 1.0, "{slice}"),
        }
    }
    assert_eq!((test["verdict"].as_str(), test["complete"].as_u64()), (Some("passed"), Some(1)));
    let broken = &test["broken"][0];
    assert_eq!((broken["of"].as_str(), broken["decides"].as_u64()), (Some("trans"), Some(0)));
    // The I/Os that stalled, one per job, exceed this limit.
    let document = sim(&format!("{stall} --latency_limits=64ms:0.05 --numjobs=2")).ok().json();
    let test = &document["fiord"]["latency_slices"][0];
    assert_eq!(
        (test["name"].as_str(), test["verdict"].as_str()),
        (Some("latency"), Some("failed"))
    );
    assert_eq!(test["slices"][0]["ios"].as_u64(), Some(2000));
    // Without a rate, an I/O is due when it begins.
    let document =
        sim("--sim_latency=constant:1ms --rw=randread --latency_limits=500us:1 --latency_slice=1")
            .ok()
            .json();
    let slices = document["fiord"]["latency_slices"][0]["slices"].as_array().unwrap().clone();
    assert_eq!(slices.len(), 5);
    assert!(slices.iter().all(|slice| slice["trans"] == slice["device"]));
    for wrong in [
        "--latency_limits=5",
        "--latency_limits=1ms:0",
        "--latency_limits=1ms:5 --latency_slice=1us",
    ] {
        assert_eq!(sim(wrong).status, Some(1), "{wrong}");
    }
}

#[test]
fn pauses_take_their_time() {
    let slow = "--sim_latency=constant:1ms --rw=read";
    for (line, wanted) in [
        ("--thinktime=9ms", 500),
        ("--thinktime=9ms --thinktime_spin=4ms", 500),
        ("--thinktime=9ms --thinktime_blocks=4 --iodepth=16", 2000),
        ("--thinktime=9ms --thinktime_blocks=1 --thinktime_blocks_type=issue --iodepth=16", 556),
        ("--thinktime=1s --thinktime_iotime=250ms", 1000),
        ("--thinkcycles=1000000", 2500),
        // I/Os that a pause delays are made up for, or not.
        ("--rate_iops=200 --thinktime=100ms --thinktime_blocks=25", 1000),
        ("--rate_iops=200 --thinktime=125ms --thinktime_blocks=25 --rate_ignore_thinktime=1", 500),
    ] {
        let [reads, ..] = ios(&format!("{slow} {line}"));
        assert!(reads.abs_diff(wanted) <= wanted / 50, "{line}: {reads}, not {wanted}");
    }
}

#[test]
fn a_rate_below_the_floor_ends_the_job() {
    let slow = "--sim_latency=constant:1ms --rw=read";
    for line in ["--rate_iops=9000 --rate_iops_min=2000", "--rate_iops_min=2000", "--rate_min=8m"] {
        let ran = sim(&format!("{slow} {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        let job = &ran.json()["jobs"][0];
        assert_eq!((job["error"].as_i64(), job["read"]["runtime"].as_u64()), (Some(5), Some(1000)));
        assert!(ran.err.contains("not met, got"), "{}", ran.err);
    }
    sim(&format!("{slow} --rate_iops_min=1000 --rate_cycle=100")).ok();
    sim(&format!("{slow} --rate_iops=500 --rate_iops_min=500")).ok();
}

#[test]
fn an_io_that_takes_too_long_ends_the_job() {
    for depth in [1, 8] {
        let stall =
            format!("--sim_latency=constant:1ms --rw=randrw --iodepth={depth} --sim_stall=2s:1s");
        let ran = sim(&format!("{stall} --max_latency=500ms"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let job = &ran.json()["jobs"][0];
        assert_eq!(job["error"].as_i64(), Some(110));
        assert!(ran.err.contains("exceeds specified max"), "{}", ran.err);
        sim(&format!("{stall} --max_latency=2s")).ok();
        // A limit for trims, of which the job has none.
        sim(&format!("{stall} --max_latency=,,1us")).ok();
    }
}

#[test]
fn the_depth_for_a_latency_is_found() {
    let target = "--sim_latency=constant:1ms --sim_channels=4 --iodepth=64 --latency_window=100ms";
    for (wanted, us) in [(4, 1000), (16, 4000), (40, 10_000), (64, 100_000)] {
        let ran = sim(&format!("{target} --rw=randread --runtime=1000 --latency_target={us}")).ok();
        let job = &ran.json()["jobs"][0];
        assert_eq!(job["latency_depth"].as_u64(), Some(wanted));
        assert_eq!(job["latency_target"].as_u64(), Some(us * 1000));
        assert!(job["read"]["runtime"].as_u64() < Some(1000), "it goes on");
        close(job["read"]["iops"].as_f64().unwrap() as u64 / 40, 100, "IOPS at that depth");
    }
    let line = "--rw=randread --runtime=30 --latency_target=4ms --latency_run=1";
    let ran = sim(&format!("{target} {line}")).ok();
    let job = &ran.json()["jobs"][0];
    let runtime = job["read"]["runtime"].as_u64();
    assert!(matches!(runtime, Some(30_000..30_020)), "{runtime:?}");
    assert!(matches!(job["latency_depth"].as_u64(), Some(15..=17)), "{}", job["latency_depth"]);
}

#[test]
fn jobs_of_one_flow_share() {
    let place = Place::new();
    for (a, b) in [("3", "1"), ("-3", "7")] {
        let line = format!(
            "--ioengine=sim --sim_real_time=1 --sim_latency=constant:50us --size=1g --rw=randread \
             --time_based --runtime=1 --flow_id=1 --output-format=json --name=a --flow={a} --name=b --flow={b}"
        );
        let jobs = work(&place.run(&line).ok().json());
        let [x, y] = [0, 1].map(|i: usize| jobs[i].2[0].1 as f64);
        let weight = |text: &str| text.trim_start_matches('-').parse::<f64>().unwrap();
        let (share, wanted) = (x / (x + y), weight(a) / (weight(a) + weight(b)));
        assert!((share - wanted).abs() < 0.03, "{a} to {b}: {x} to {y}");
    }
}

/// A synchronous engine gets a thread for each I/O, so the job has a queue depth and submission latencies.
#[test]
fn offloaded_calls_keep_their_depth_and_latencies() {
    let place = Place::new();
    for engine in file_engines().filter(|engine| engine.is_synchronous()) {
        let engine = engine.name;
        for options in ["--rw=randrw", "--rw=write --fsync=4 --nrfiles=4 --openfiles=2"] {
            let line = format!(
                "--name={engine} {options} --bs=4k --size=256k --ioengine={engine} --iodepth=8 \
                 --io_submit_mode=offload --output-format=json"
            );
            let ran = place.run(&line).ok();
            let document = ran.json();
            assert!(!document["fiord"].to_string().contains("capped"), "{document}");
            let (_, error, dirs) = &work(&document)[0];
            let total: u64 = dirs.iter().map(|d| d.1).sum();
            assert_eq!((*error, total), (0, 64), "{engine} {options}");
            let write = &document["jobs"][0]["write"];
            assert_eq!(write["lat_ns"]["N"], write["total_ios"]);
        }
    }
    // Arrivals do not wait for completions: the queue grows as deep as necessary.
    let line = "--name=r --rw=read --bs=4k --size=1m --iodepth=4 --io_submit_mode=offload \
                --rate_iops=500 --output-format=json";
    let job = &place.run(line).ok().json()["jobs"][0];
    assert_eq!(job["fiord"]["intended_lat_ns"]["read"]["N"].as_u64(), Some(256));
}

#[test]
fn paces_that_contradict_name_their_line() {
    let Some(place) = Place::confined(&[]) else { return };
    let base = "[a]\nioengine=null\nsize=1m\n";
    for (lines, what, at) in [
        ("rate=1m\nrate_iops=100", "mutually exclusive", "j.fio:5:1"),
        ("rate_min=100m\nrate=1m", "minimum rate exceeds rate", "j.fio:4:1"),
    ] {
        place.write("j.fio", format!("{base}{lines}\n"));
        let ran = place.run("j.fio");
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(what) && ran.err.contains(at), "{}", ran.err);
    }
}
