//! Tests that the remedy of a finding, followed exactly, silences the finding.

use std::fs::File;

use crate::findings::{finding, json, silent};
use crate::fiord::{Place, Ran};

/// Returns the remedy of the finding with this id.
#[track_caller]
fn remedy(ran: &Ran, id: &str) -> String {
    finding(ran, id)["mend"].as_str().unwrap().to_owned()
}

#[test]
fn the_command_that_writes_a_range_writes_all_of_it() {
    let place = Place::new();
    let path = place.path("f");
    // 1536 KiB is not a multiple of 1 MiB, and the second range does not begin at 0.
    for (offset, size) in [(0, 1536 << 10), (2 << 20, 1536 << 10)] {
        File::create(&path).unwrap().set_len(4 << 20).unwrap();
        let name = path.display();
        let job =
            format!("--name=a --rw=randread --offset={offset} --size={size} --filename={name}");
        let remedy = remedy(&json(&place, &job), "unwritten-data");
        let command = remedy.split_once(": fiord ").expect("a command").1;
        place.run(&format!("--output-format=json {command}")).ok();
        silent(&json(&place, &job), "unwritten-data");
    }
}

#[test]
fn the_depth_that_holds_the_ios_of_a_stall() {
    let place = Place::new();
    let stall = "--ioengine=sim --rw=randread --size=1g --sim_stall=2s:1s --rate_iops=1000 \
                 --sim_latency=constant:100us --runtime=10 --time_based --name=a";
    // A depth that is too small is reported again.
    for depth in [1, 64] {
        let remedy = remedy(&json(&place, &format!("{stall} --iodepth={depth}")), "hidden-stalls");
        let option = remedy.strip_prefix("set ").expect("an option");
        silent(&json(&place, &format!("{stall} --{option}")), "hidden-stalls");
    }
}

#[test]
fn sizes_per_job_for_a_file_that_does_not_exist_yet() {
    let place = Place::new();
    for jobs in [3, 128] {
        let name = place.path(&format!("f{jobs}")).display().to_string();
        let job = format!("--rw=randwrite --numjobs={jobs} --fsync_on_close=1 --name=a");
        let job = format!("{job} --group_reporting --filename={name}");
        let entry = place.run(&format!("check --format=json {job} --size=1m"));
        let (size, step) = entry
            .out
            .split_once("\"mend\": \"set size=")
            .and_then(|(_, rest)| rest.split_once(" to share"))
            .and_then(|(shares, _)| shares.split_once(" with "))
            .unwrap_or_else(|| panic!("{}", entry.out));
        let ran = json(&place, &format!("{job} --size={size} --{step}"));
        silent(&ran, "size-per-job");
        silent(&ran, "overlapping-writers");
        let each: u64 = size.parse().unwrap();
        let written = &ran.json()["jobs"][0]["write"]["io_bytes"];
        assert_eq!(written.as_u64(), Some(each * jobs));
    }
}
