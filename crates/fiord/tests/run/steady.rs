//! Tests of `steadystate`: exact results on the simulated device, plausible ones on `null`.

use serde_json::Value;

use crate::fiord::Place;

const SIM: &str = "--name=a --ioengine=sim --rw=randread --bs=4k --size=1g --time_based \
                   --runtime=3600 --output-format=json";

/// Returns the steady-state result of a run, and how long the run took.
fn state(line: &str) -> (Value, u64) {
    let ran = Place::new().run(line).ok();
    let job = &ran.json()["jobs"][0];
    (job["steadystate"].clone(), job["job_runtime"].as_u64().unwrap())
}

#[test]
fn a_device_without_change_is_steady_after_one_window() {
    for (criterion, runtime) in [
        ("--ss=iops:1% --ss_dur=10", 10_000),
        ("--ss=iops_slope:0.01% --ss_dur=10 --ss_interval=2", 10_000),
        ("--ss_dur=3", 3_000),
        ("--ss=bw:4096 --ss_dur=4 --ss_ramp=3", 7_000),
        ("--ss=bw_slope:0.1% --ss_dur=4 --ramp_time=100", 4_000),
        ("--ss=lat:1% --ss_dur=2500ms --ss_interval=500ms", 2_500),
        ("--ss=lat_slope:1 --ss_dur=4", 4_000),
        ("--ss=pts", 5_000),
        ("--ss=pts:lat --ss_interval=60", 300_000),
        ("--ss=pts:bw --ss_dur=20", 20_000),
    ] {
        let (state, took) = state(&format!("{SIM} --sim_latency=constant:1ms {criterion}"));
        assert_eq!((&state["attained"], took), (&Value::from(1), runtime), "{criterion} {state}");
        assert_eq!(state["data"]["iops_mean"], 1_000, "{criterion}");
    }
}

/// The third second has a stall of half a second: the window must begin after it.
#[test]
fn what_changes_is_not_steady_until_it_has_passed() {
    let (state, took) = state(&format!("{SIM} --sim_stall=2s:500ms --ss=iops:1% --ss_dur=5"));
    assert_eq!((&state["attained"], took), (&Value::from(1), 8_000), "{state}");
    // Five rounds: 10000 10000 5000 10000 10000 have a range of half their mean.
    let (state, took) = self::state(&format!("{SIM} --sim_stall=2s:500ms --ss=pts"));
    assert_eq!((&state["attained"], took), (&Value::from(1), 8_000), "{state}");
}

#[test]
fn intervals_in_which_nothing_completes_are_samples_too() {
    let (state, took) =
        state(&format!("{SIM} --runtime=9 --sim_stall=2s:4s --ss=iops:1% --ss_dur=8"));
    assert_eq!((&state["attained"], took), (&Value::from(0), 9_000));
    let iops: Vec<u64> = serde_json::from_value(state["data"]["iops"].clone()).unwrap();
    assert_eq!(iops.iter().filter(|n| **n == 0).count(), 4, "{iops:?}");
}

#[test]
fn a_group_is_judged_and_ends_together() {
    let (state, _) = state(
        "--name=a --ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=60 \
         --numjobs=2 --group_reporting --ss=iops:95% --ss_dur=200ms --ss_interval=50ms \
         --output-format=json",
    );
    assert_eq!(state["attained"], 1);
    assert_eq!(state["data"]["iops"].as_array().unwrap().len(), 4);
    // Each job is checked separately.
    let ran = Place::new().run(&format!("{SIM} --numjobs=2 --ss=iops:1% --ss_dur=2")).ok();
    for job in ran.json()["jobs"].as_array().unwrap() {
        assert_eq!(
            (&job["steadystate"]["attained"], &job["job_runtime"]),
            (&1.into(), &2000.into())
        );
    }
}

/// fio 3.42 prints lists that are as long as the window.
#[test]
fn a_window_that_never_filled_has_zeros_for_what_is_missing() {
    for (options, lists) in [
        ("--runtime=2 --ss=iops:1% --ss_dur=5", vec!["iops", "bw"]),
        ("--runtime=2 --ss=lat_slope:1% --ss_dur=5", vec!["iops", "bw", "lat_ns"]),
        ("--runtime=2 --ss=bw:1% --ss_dur=10 --ss_interval=2", vec!["iops", "bw"]),
        ("--runtime=1 --ss=bw:1% --ss_dur=5 --ss_ramp=4", vec!["iops", "bw"]),
    ] {
        let ran = Place::new().run(&format!("{SIM} {options}")).ok();
        let data = &ran.json()["jobs"][0]["steadystate"]["data"];
        for name in lists {
            let list: Vec<u64> =
                data[name].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
            let measured = list.iter().take_while(|v| **v > 0).count();
            assert_eq!(list.len(), 5, "{options} {name}: {list:?}");
            assert!(measured <= 2 && list[measured..].iter().all(|v| *v == 0), "{list:?}");
        }
    }
}

#[test]
fn the_line_is_that_of_the_reference() {
    let place = Place::new();
    for (criterion, line) in [
        (
            "--ss=iops:1%",
            "  steadystate  : attained=yes, bw=39.1MiB/s (40.0MB/s), iops=10000, iops mean dev=0.000%",
        ),
        (
            "--ss=lat_slope:5",
            "  steadystate  : attained=yes, bw=39.1MiB/s (40.0MB/s), iops=10000, lat=100knsec, \
             lat slope=0.000",
        ),
    ] {
        let ran = place.run(&format!("{SIM} --output-format=normal --ss_dur=2 {criterion}")).ok();
        assert!(ran.out.lines().any(|l| l == line), "{}", ran.out);
    }
}

#[test]
fn wrong_criteria_are_refused() {
    let Some(place) = Place::confined(&[]) else { return };
    for (line, why) in [
        ("--ss=iops --ss_dur=2", "needs a limit"),
        ("--ss=iops", "needs a limit"),
        ("--ss=bw:x", "is not a valid limit"),
        ("--ss=iops:-3 --ss_dur=2", "`-3` is not a valid limit"),
        ("--ss=bw:x% --ss_dur=2", "`x%` is not a valid limit"),
        ("--ss=iops:5% --ss_dur=3 --ss_interval=2", "not a multiple of steadystate_check_interval"),
        ("--ss=iops:5% --ss_dur=1", "not a multiple of steadystate_check_interval"),
        ("--ss=iops:5% --ss_dur=1 --ss_interval=1ms", "at least 10 ms"),
        ("--ss=pts:x", "steadystate=pts cannot judge `x`"),
        ("--ss=pts --ss_dur=7 --ss_interval=1", "five rounds"),
        ("--ss=lat:5% --ss_dur=5 --disable_clat=1", "does not measure it"),
        ("--ss=speed:5%", "invalid value `speed` for steadystate"),
    ] {
        let ran = place.run(&format!("{SIM} {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(why), "{line}: {}", ran.err);
    }
    let ran = place.run(&format!("{SIM} --runtime=1 --ss=iops:5%")).ok();
    assert!(ran.out.contains("steadystate has no effect"), "{}", ran.out);
}
