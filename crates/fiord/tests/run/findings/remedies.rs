//! What a finding recommends, done to the letter, silences it.

use std::fs::File;

use crate::findings::{finding, json, silent};
use crate::fiord::{Place, Ran};

/// The remedy of the one finding with this id.
#[track_caller]
fn mend(ran: &Ran, id: &str) -> String {
    finding(ran, id)["mend"].as_str().unwrap().to_owned()
}

#[test]
fn the_command_that_writes_a_range_writes_all_of_it() {
    let place = Place::new();
    let path = place.path("f");
    // 1536 KiB are no whole number of blocks of 1 MiB, and they do not begin at 0.
    for (offset, size) in [(0, 1536 << 10), (2 << 20, 1536 << 10)] {
        File::create(&path).unwrap().set_len(4 << 20).unwrap();
        let name = path.display();
        let job =
            format!("--name=a --rw=randread --offset={offset} --size={size} --filename={name}");
        let mend = mend(&json(&place, &job), "unwritten-data");
        let command = mend.split_once(": fiord ").expect("a command").1;
        place.run(&format!("--output-format=json {command}")).ok();
        silent(&json(&place, &job), "unwritten-data");
    }
}

#[test]
fn the_depth_that_has_room_for_a_stall() {
    let place = Place::new();
    let stall = "--ioengine=sim --rw=randread --size=1g --sim_stall=2s:1s --rate_iops=1000 \
                 --sim_latency=constant:100us --runtime=10 --time_based --name=a";
    // A depth that has not room enough is told of again.
    for depth in [1, 64] {
        let mend = mend(&json(&place, &format!("{stall} --iodepth={depth}")), "hidden-stalls");
        silent(&json(&place, &format!("{stall} --{mend}")), "hidden-stalls");
    }
}

#[test]
fn shares_of_a_file_that_is_not_there_yet() {
    let place = Place::new();
    for jobs in [3, 128] {
        let name = place.path(&format!("f{jobs}")).display().to_string();
        let job = format!("--rw=randwrite --numjobs={jobs} --fsync_on_close=1 --name=a");
        let job = format!("{job} --group_reporting --filename={name}");
        let told = place.run(&format!("check --format=json {job} --size=1m"));
        let (size, step) = told
            .out
            .split_once("\"mend\": \"size=")
            .and_then(|(_, rest)| rest.split_once(" to share"))
            .and_then(|(shares, _)| shares.split_once(" with "))
            .unwrap_or_else(|| panic!("{}", told.out));
        let ran = json(&place, &format!("{job} --size={size} --{step}"));
        silent(&ran, "size-per-job");
        silent(&ran, "overlapping-writers");
        let each: u64 = size.parse().unwrap();
        let written = &ran.json()["jobs"][0]["write"]["io_bytes"];
        assert_eq!(written.as_u64(), Some(each * jobs));
    }
}
