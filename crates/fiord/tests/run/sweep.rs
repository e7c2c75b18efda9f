//! Tests of `fiord sweep` on the simulated device: 8 channels of 100 µs are saturated at depth 8.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, signal};

const JOB: &str = "[global]\nioengine=sim\nrw=randread\nbs=4k\nsize=1g\ntime_based\nruntime=500ms\n\
                   sim_latency=constant:100us\n\n[j]\nsim_channels=8\n";

fn place() -> Place {
    let place = Place::new();
    place.write("j.fio", JOB);
    place
}

fn ran_points(err: &str) -> usize {
    err.lines().filter(|l| l.starts_with('[')).count()
}

#[test]
fn until_saturated_stops_when_all_channels_are_busy() {
    let place = place();
    let line = "sweep --eta=always j.fio --set iodepth=1,2,4,8,16,32 --until saturated";
    let ran = place.run(line).ok_with_progress();
    assert!(
        ran.err.starts_with("j: 6 points, at most 3 s; runs are kept in j.sweep\n"),
        "{}",
        ran.err
    );
    assert_eq!(ran_points(&ran.err), 5, "the step to 16 showed it: {}", ran.err);
    assert!(ran.out.contains("\nknee at iodepth=8: 80.00k IOPS, 100.0us mean"), "{}", ran.out);
    let heading: Vec<&str> = ran.out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["iodepth", "IOPS", "BW", "mean", "p50", "p99", "p99.9", "CPU"]);
    assert_eq!(ran.out.lines().take_while(|l| !l.is_empty()).count(), 6);
}

/// The device has 8 channels, and its latencies vary from run to run. Interleaved rounds find its knee, and the runs of a sweep
/// without repetitions count.
#[test]
fn repeated_points_say_where_the_knee_is_and_how_certain_that_is() {
    let place = place();
    place.write("j.fio", JOB.replace("constant:100us", "lognormal:100us:0.3"));
    let line = "sweep --eta=always j.fio --set iodepth=2,4,8,16,32";
    let once = place.run(line).ok_with_progress();
    assert!(once.out.contains("from their time windows"), "{}", once.out);
    assert!(once.out.contains("how much runs vary is unknown"), "{}", once.out);
    let ran = place.run(&format!("{line} --repeat=3")).ok_with_progress();
    assert!(ran.err.contains("5 points, 3 runs each, 5 runs already done"), "{}", ran.err);
    assert_eq!(ran_points(&ran.err), 10, "{}", ran.err);
    let order: Vec<&str> =
        ran.err.lines().filter_map(|line| line.split_once("] ")?.1.split(" … ").next()).collect();
    assert_eq!((order[0], order[9]), ("iodepth=32, run 2 of 3", "iodepth=32, run 3 of 3"));
    assert!(ran.out.contains("knee at iodepth=8: "), "{}", ran.out);
    assert!(ran.out.contains("certainty: 95 %, from 3 runs of each point"), "{}", ran.out);
    assert!(ran.out.lines().next().unwrap().contains("IOPS     ±"), "{}", ran.out);
    let document = place.run(&format!("{line} --repeat=3 --format=json")).ok_with_progress().json();
    let knee = &document["knees"][0];
    assert_eq!(
        (&knee["at"], &knee["candidates"][0], &knee["runs"]),
        (&"8".into(), &"8".into(), &3.into())
    );
    let rates = document["points"][0]["iops_of_runs"].as_array().unwrap();
    assert!(rates.len() == 3 && rates[0] != rates[1] && rates[1] != rates[2], "{rates:?}");
}

/// Runs that are too short have too few time windows for an interval.
#[test]
fn one_short_run_of_each_point_makes_no_knee_certain() {
    let place = place();
    place.write("j.fio", JOB.replace("runtime=500ms", "runtime=100ms"));
    let ran = place.run("sweep j.fio --set iodepth=4,8,16").ok();
    assert!(ran.out.contains("\nno knee along iodepth is certain: it can be from"), "{}", ran.out);
    assert!(ran.out.contains("as measured, it is at iodepth=8: "), "{}", ran.out);
    assert!(
        ran.out.contains("certainty: unknown") && ran.out.contains("--repeat=5"),
        "{}",
        ran.out
    );
}

#[test]
fn every_combination_is_run_once_and_kept() {
    let place = place();
    let line = "sweep --eta=always j.fio --set bs=4k,64k --set iodepth=4,8,16 --format=json";
    let first = place.run(line).ok_with_progress();
    assert_eq!(ran_points(&first.err), 6);
    let document = first.json();
    let points = document["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    assert_eq!(points[5]["settings"]["bs"], "64k");
    // At depth 16, an I/O takes two rounds of the channels, except the first eight I/Os.
    let mean = points[5]["clat_ns"]["mean"].as_f64().unwrap();
    assert!((199_900.0..=200_000.0).contains(&mean), "{mean}");
    let knees = document["knees"].as_array().unwrap();
    // The simulated latency does not depend on the block size: larger blocks always give more bandwidth.
    assert_eq!((knees[0]["along"].as_str(), &knees[0]["at"]), (Some("bs"), &Value::Null));
    // The second sweep runs nothing and shows the stored results. With one more value, it runs only that
    // point.
    let again = place.run(line).ok_with_progress();
    assert_eq!((ran_points(&again.err), &again.out), (0, &first.out));
    assert!(again.err.contains("6 already done, nothing left to run"), "{}", again.err);
    let more = place
        .run("sweep --eta=always j.fio --set bs=4k,64k --set iodepth=4,8,16,32 --format=csv")
        .ok_with_progress();
    assert_eq!(ran_points(&more.err), 2, "{}", more.err);
    assert_eq!(more.out.lines().count(), 9);
    // The JSON of a point equals the output of its command.
    let list: Value =
        serde_json::from_slice(&std::fs::read(place.path("j.sweep/sweep.json")).unwrap()).unwrap();
    let arguments: Vec<&str> = list["points"][0]["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a.as_str().unwrap())
        .collect();
    let by_hand = place
        .run(&format!("{} --output-format=json+", arguments.join(" ")))
        .ok_with_progress()
        .json();
    let kept = std::fs::read(place.path("j.sweep/bs=4k,iodepth=4.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    let read = |v: &Value| v["jobs"][0]["read"].clone();
    assert_eq!(read(&by_hand)["total_ios"], read(&kept)["total_ios"]);
    assert_eq!(read(&by_hand)["clat_ns"]["bins"], read(&kept)["clat_ns"]["bins"]);
}

#[test]
fn nothing_but_results_without_a_terminal_and_findings_are_among_them() {
    let place = place();
    place.write("j.fio", format!("{JOB}end_fsync=1\n"));
    let line = "sweep j.fio --set iodepth=1,2";
    let table = place.run(line).ok();
    assert_eq!(table.err, "");
    let note = "note: no-effect: job `j`: `end_fsync` has no effect on a job that writes nothing";
    assert!(table.out.contains(&format!("\nFindings:\n  {note} (all runs)\n")), "{}", table.out);
    let document = place.run(&format!("{line} --format=json")).ok().json();
    for point in document["points"].as_array().unwrap() {
        assert_eq!(point["findings"][0]["id"], "no-effect", "{point}");
    }
}

#[test]
fn a_run_that_did_not_finish_is_run_again() {
    let place = place();
    let line = "sweep --eta=always j.fio --set iodepth=1,2,4";
    place.run(line).ok_with_progress();
    std::fs::remove_file(place.path("j.sweep/iodepth=2.json")).unwrap();
    place.write("j.sweep/iodepth=4.json", "{\"jobs\"");
    let ran = place.run(line).ok_with_progress();
    assert_eq!(ran_points(&ran.err), 2, "{}", ran.err);
    assert!(ran.err.contains("3 points, 1 already done"), "{}", ran.err);
}

#[test]
fn a_changed_job_is_another_sweep() {
    let place = place();
    let line = "sweep --eta=always j.fio --set iodepth=1,2";
    place.run(line).ok_with_progress();
    place.write("j.fio", JOB.replace("bs=4k", "bs=8k"));
    let ran = place.run(line);
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("another job: there --bs=4k, now --bs=8k"), "{}", ran.err);
    assert!(ran.err.contains("--restart"));
    assert_eq!(ran_points(&place.run(&format!("{line} --restart")).ok_with_progress().err), 2);
    assert_eq!(ran_points(&place.run(&format!("{line} --dir=other")).ok_with_progress().err), 2);
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let place = Place::new();
    let job = "--name=n --ioengine=null --rw=read --size=1g --time_based";
    // The second point would take a minute.
    let line = format!("sweep --eta=always --set runtime=100ms,60 --dir=d -- {job}");
    let child = place.start(&line);
    let from = Instant::now();
    while !place.path("d/runtime=100ms.json").exists() || !place.path("d/unfinished.json").exists()
    {
        assert!(from.elapsed() < Duration::from_secs(30), "the first point takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(128), "{out}{err}");
    assert!(from.elapsed() < Duration::from_secs(30), "{err}");
    assert!(out.contains("not all points are done") && err.ends_with("stopped\n"), "{out}{err}");
    assert_eq!(place.names(), ["d"]);
    assert!(!place.path("d/unfinished.json").exists() && !place.path("d/runtime=60.json").exists());
    let again = place
        .run(&format!("sweep --eta=always --set runtime=100ms --dir=d -- {job}"))
        .ok_with_progress();
    assert_eq!(ran_points(&again.err), 0, "{}", again.err);
}

#[test]
fn wrong_sweeps_run_nothing() {
    let Some(place) = Place::confined(&[]) else { return };
    place.write("j.fio", JOB);
    place.write("two.fio", "[a]\nsize=1m\n[b]\nstonewall\nsize=1m\n");
    place.write("both.fio", "[a]\nsize=1m\n[b]\nsize=1m\n");
    for (line, why) in [
        ("j.fio", "nothing to sweep"),
        ("j.fio --set iodepth=", "no values"),
        ("j.fio --set iodepth=1,,2", "value 2 is empty"),
        ("j.fio --set iodpth=1,2", "did you mean `iodepth`"),
        ("j.fio --set iodepth=1,x", "iodepth=x"),
        ("j.fio --set mem=malloc,cudamalloc", "not supported yet"),
        ("j.fio --set iodepth=1,2 --set bs=4k,8k --until saturated", "both iodepth and bs"),
        ("j.fio --set iodepth=1 --until saturated", "more than one value"),
        ("j.fio --set ioengine=null,sim --until saturated", "an axis of increasing numbers"),
        ("j.fio --set bs=4k --set bs=8k", "two axes for bs"),
        ("none.fio --set bs=4k", "none.fio"),
        ("two.fio --set bs=4k", "job b runs after others"),
        ("j.fio --rate 10%", "no range"),
        ("j.fio --rate 90%..10%", "a range must increase"),
        ("both.fio --rate 10%..50%", "a job with one section"),
        ("j.fio --set rate_iops=5,6 --rate 10%..50%", "the job sets rate_iops"),
        ("j.fio --set bs=4k --frobnicate", "--frobnicate"),
        ("j.fio --set bs=4k,8k --repaet=3", "did you mean `--repeat`?"),
        ("j.fio --set bs=4k,8k --repeat=0", "0 is not in 1..=1000"),
        ("j.fio --set bs=4k,8k --eta=nevr", "did you mean `never`?"),
        ("--set bs=4k", "JOB"),
    ] {
        let ran = place.run(&format!("sweep {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(why), "{line}: {}", ran.err);
        assert!(ran.out.is_empty() && !place.path("j.sweep").exists(), "{line}: {ran:?}");
    }
}

#[test]
fn a_run_that_fails_is_named_with_its_command() {
    let place = Place::new();
    let line = "sweep --eta=always --set sim_error_rate=0,100 --dir=d -- --name=a --ioengine=sim --size=1m";
    let ran = place.run(line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("the run at sim_error_rate=100 failed"), "{}", ran.err);
    assert!(
        ran.err.contains("--name=a --ioengine=sim --size=1m --sim_error_rate=100"),
        "{}",
        ran.err
    );
    assert!(place.path("d/sim_error_rate=0.json").exists());
}

/// Up to the highest rate, the latency is that of the device. Beyond it, I/Os start ever later than intended,
/// which the completion latency does not show.
#[test]
fn latency_against_load_bends_at_the_highest_rate() {
    let place = place();
    place.write("j.fio", JOB.replace("runtime=500ms", "runtime=1"));
    let line = "sweep --eta=always j.fio --set iodepth=8,16 --rate 50%..125%:25% --format=json";
    let ran = place.run(line).ok_with_progress();
    assert!(ran.err.contains("highest rate: 8000"), "{}", ran.err);
    assert_eq!(ran_points(&ran.err), 6, "{}", ran.err);
    let document = ran.json();
    let loads = document["loads"].as_array().unwrap();
    let number = |i: usize, key: &str, what: &str| loads[i][key][what].as_f64().unwrap();
    let iops = |i: usize| loads[i]["iops"].as_f64().unwrap();
    assert_eq!(loads.len(), 4);
    assert!((iops(0) / 40_000.0 - 1.0).abs() < 0.01 && (iops(1) / 60_000.0 - 1.0).abs() < 0.01);
    assert_eq!(number(0, "intended_lat_ns", "mean").round(), 100_000.0);
    // A rate that is a quarter too high for a second: the last I/O starts 0.2 s late.
    assert!((iops(3) / 80_000.0 - 1.0).abs() < 0.01, "{}", loads[3]);
    let late = number(3, "intended_lat_ns", "p99");
    assert!((190e6..210e6).contains(&late), "{late}");
    assert!(number(3, "clat_ns", "p99") < 250_000.0);
    assert_eq!(document["load_knee_percent"], 100);
    // Shows the stored results again.
    let again = place.run(line).ok_with_progress();
    assert_eq!((ran_points(&again.err), again.out), (0, ran.out));
}

#[test]
fn a_job_file_that_is_not_there_is_said_by_one_program() {
    let place = Place::new();
    let ran = place.run("sweep nowhere.fio --set iodepth=1,2");
    assert_ne!(ran.status, Some(0));
    assert!(ran.err.starts_with("fiord: unable to open"), "{}", ran.err);
}
