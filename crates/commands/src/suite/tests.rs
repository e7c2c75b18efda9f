use std::path::Path;

use fiord_job::load::Memory;
use fiord_sys::zone::ZonedDevice;
use fiord_sys::zone::fake::Fake;
use fiord_types::Bytes;

use crate::axis::Axis;
use crate::suite::catalogue;
use crate::suite::definition::{Definition, StepKind, StepRequest, Steps, StepsError, SuiteStep};
use crate::suite::device::{DeviceError, SuiteDevice};
use crate::suite::drive;
use crate::suite::row;
use crate::suite::table::{self, SuiteResults};

const MIB: u64 = 1 << 20;

/// 4 conventional zones, 508 sequential ones, at most 14 open.
fn device() -> SuiteDevice {
    let fake = Fake::new(512, 4, 2 * MIB, 3 * MIB / 2).limited(14, 14);
    SuiteDevice::new(Path::new("/dev/z"), &fake).unwrap()
}

fn axes(suite: &Definition, set: &[(&str, &str)]) -> Vec<Axis> {
    let values = |name: &str, own: &str| {
        let set = set.iter().find(|(axis, _)| *axis == name).map_or(own, |(_, values)| values);
        set.split(',').map(String::from).collect()
    };
    suite.axes.iter().map(|(n, v)| Axis { name: n.to_string(), values: values(n, v) }).collect()
}

fn suite(name: &str) -> Definition {
    catalogue::all().into_iter().find(|suite| suite.name == name).unwrap()
}

fn steps(name: &str, device: &SuiteDevice, set: &[(&str, &str)]) -> Result<Steps, StepsError> {
    let suite = suite(name);
    let axes = axes(&suite, set);
    (suite.steps)(&StepRequest { device, axes: &axes, ramp_time: "15s", runtime: "30s" })
}

#[test]
fn a_suite_uses_the_sequential_zones() {
    let device = device();
    assert_eq!(
        (device.region.clone(), device.capacity, device.writers()),
        (4..512, Bytes(3 * MIB / 2), 14)
    );
    let unlimited = Fake::new(512, 0, 2 * MIB, MIB);
    assert_eq!(SuiteDevice::new(Path::new("/dev/z"), &unlimited).unwrap().writers(), 128);
    let few = Fake::new(3, 0, 2 * MIB, MIB);
    assert_eq!(SuiteDevice::new(Path::new("/dev/z"), &few).unwrap().writers(), 3);
    let none = Fake::new(3, 3, 2 * MIB, MIB);
    let unusable = SuiteDevice::new(Path::new("/dev/z"), &none);
    assert!(matches!(unusable, Err(DeviceError::NoZone { .. })));
}

#[test]
fn a_definition_has_what_the_list_shows() {
    let all = catalogue::all();
    for (i, suite) in all.iter().enumerate() {
        assert!(suite.about.ends_with('.') && !suite.axes.is_empty(), "{}", suite.name);
        assert!(all[..i].iter().all(|other| other.name != suite.name));
    }
}

#[test]
fn every_job_file_is_one_that_fiord_reads() {
    for device in [device(), SuiteDevice { generic: true, ..device() }] {
        for suite in catalogue::all() {
            let steps = steps(suite.name, &device, &[]).unwrap();
            assert!(steps.steps.iter().any(|step| step.kind != StepKind::Prepare));
            for step in &steps.steps {
                let mut memory = Memory::job(&step.job);
                let read = fiord_job::invocation(&["job.fio".into()], &mut memory);
                let read = read.unwrap_or_else(|e| panic!("{}: {e:?}\n{}", suite.name, step.job));
                assert!(
                    read.jobs.iter().all(|job| job.get(fiord_job::option::table::DIRECT)),
                    "{}",
                    step.job
                );
            }
        }
    }
}

#[test]
fn sequential_writers_have_zones_of_their_own_and_stay_within_the_limits() {
    let all = steps("zbd/seqwrite", &device(), &[("bs", "4k,6k,4m")]).unwrap();
    assert_eq!(all.steps.len(), 5, "1, 2, 4, 8 and 14 jobs");
    assert!(all.steps.iter().all(|step| step.reset));
    assert_eq!(
        all.steps[4].job,
        "[global]\nfilename=/dev/z\ndirect=1\nzonemode=zbd\noffset=4z\nmax_open_zones=14\n\
         ioengine=psync\nrw=write\nbs=4k\nsize=9z\noffset_increment=9z\nnumjobs=14\n\
         job_max_open_zones=1\ngroup_reporting\ntime_based\nramp_time=15s\nruntime=30s\n\n\
         [seqwrite]\n"
    );
    assert_eq!(all.left_out.len(), 6, "6k, 4m and 16 to 128 jobs: {:?}", all.left_out);
    let few = SuiteDevice { region: 0..8, ..device() };
    let all = steps("zbd/seqwrite", &few, &[]).unwrap();
    assert!(all.steps.last().unwrap().job.contains("size=1z\noffset_increment=1z\nnumjobs=8\n"));
    let error = |axis, values| steps("zbd/seqwrite", &device(), &[(axis, values)]).unwrap_err();
    assert_eq!(error("bs", "6k"), StepsError::NoBlockSize);
    assert!(matches!(error("bs", "6q"), StepsError::NotBytes { .. }));
    assert!(matches!(error("jobs", "none"), StepsError::NotACount { axis: "jobs", .. }));
    assert!(matches!(error("jobs", "999"), StepsError::NoValue { axis: "jobs", .. }));
}

#[test]
fn reads_come_after_a_preparation() {
    for name in ["zbd/seqread", "zbd/randread", "zbd/mixed"] {
        let all = steps(name, &device(), &[]).unwrap();
        assert_eq!((all.steps[0].kind, all.steps[0].reset), (StepKind::Prepare, true));
        // 508 zones by 14 writers.
        assert!(all.steps[0].job.contains("size=36z\noffset_increment=36z\nnumjobs=14\n"));
        assert!(all.steps[1..].iter().all(|step| !step.reset));
    }
    let random = steps("zbd/randread", &device(), &[("iodepth", "32")]).unwrap();
    assert!(random.steps[1].job.contains("iodepth=32\nsize=504z\n"));
}

#[test]
fn passes_write_whole_blocks_of_every_zone() {
    let all = steps("zbd/write", &device(), &[("bs", "1m")]).unwrap();
    assert_eq!(all.steps.len(), 6);
    assert_eq!(all.steps.iter().filter(|step| step.reset).count(), 1);
    assert!(all.steps[0].job.contains(&format!("io_size={}\n", 36 * MIB)));
}

const MIXED: &str = r#"{"jobs":[
    {"jobname":"write","error":0,"write":{"total_ios":9,"iops":1600.0,"bw_bytes":104000000,
     "runtime":1000,"clat_ns":{"N":9,"mean":900.0}},"read":{"total_ios":0},"trim":{}},
    {"jobname":"read","error":0,"read":{"total_ios":5,"iops":5.0,"bw_bytes":20480,"runtime":1000,
     "clat_ns":{"N":5,"mean":80000.0,"bins":{"80000":5}}},"write":{"total_ios":0},"trim":{}}]}"#;

#[test]
fn a_missed_rate_voids_the_latency() {
    let all = steps("zbd/mixed", &device(), &[("rate", "0,100m,200m")]).unwrap();
    let rows: Vec<row::Row> =
        all.steps[2..].iter().map(|step| row::read(step, "a.json", MIXED).unwrap()).collect();
    assert_eq!(rows.iter().map(row::Row::is_void).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(rows[1].outcome.mean_ns, Some(80_000.0), "of the reads alone");
    assert_eq!(rows[1].rate.unwrap().written, Bytes(104_000_000));
    let suite = suite("zbd/mixed");
    let results =
        SuiteResults { suite: &suite, device: &device(), rows, left_out: &[], complete: true };
    let text = table::text(&results);
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[2][..4], ["rate", "written", "IOPS", "BW"]);
    assert_eq!(lines[3][..2], ["0", "-"]);
    assert_eq!(lines[4][1..5], ["99.18MiB/s", "5", "20.00KiB/s", "80.00us"]);
    assert_eq!(lines[5][4..8], ["void"; 4]);
    assert!(text.contains("less than 99 % of their rate"));
    let document: serde_json::Value = serde_json::from_str(&table::json(&results)).unwrap();
    assert_eq!(document["rows"][2]["clat_ns"], serde_json::Value::Null);
    assert_eq!(document["rows"][2]["write_rate"]["reached"], false);
    assert_eq!(document["rows"][1]["clat_ns"]["mean"], 80_000.0);
    assert!(
        row::read(&all.steps[3], "", &MIXED.replacen("\"error\":0", "\"error\":5", 1)).is_err()
    );
}

#[test]
fn a_device_may_have_any_name() {
    let path = "/dev/disk/by-path/pci-0000:00:04.0-nvme\\1";
    let device = SuiteDevice { path: path.into(), ..device() };
    let mut memory = Memory::job(&steps("zbd/seqwrite", &device, &[]).unwrap().steps[0].job);
    let error = drive::check("job.fio", &mut memory).unwrap_err().to_string();
    assert!(error.contains("pci-0000:00:04.0-nvme\\1"), "one file, not three: {error}");
    assert!(!error.contains("`/dev/disk/by-path/pci-0000`"), "{error}");
}

#[test]
fn what_the_device_does_not_take_is_said_before_a_reset() {
    // Read and supported, and yet impossible: only the machine shows it.
    let text = steps("zbd/seqwrite", &device(), &[]).unwrap().steps[0].job.clone();
    let text = text.replace("/dev/z\n", "/dev/null\n");
    let mut memory = Memory::job(&text);
    let read = fiord_job::invocation(&["job.fio".into()], &mut memory).unwrap();
    assert!(read.jobs.iter().all(|job| fiord_job::unsupported(job).is_empty()));
    drive::check("job.fio", &mut memory).unwrap_err();
}

#[test]
fn a_series_of_passes_that_was_broken_off_begins_anew() {
    let fake = Fake::new(8, 0, 2 * MIB, MIB).limited(4, 4);
    let device = SuiteDevice::new(Path::new("/dev/z"), &fake).unwrap();
    let all = steps("zbd/write", &device, &[("bs", "64k,128k"), ("pass", "1,2,3")]).unwrap().steps;
    let zones = |pointer: u64| {
        let mut zones = fake.zones().unwrap();
        zones.iter_mut().for_each(|zone| zone.write_pointer = zone.start + Bytes(pointer));
        zones
    };
    let done = |count: usize| move |step: &SuiteStep| all_before(count, step);
    fn all_before(count: usize, step: &SuiteStep) -> bool {
        let bs = usize::from(step.settings[0].1 == "128k");
        bs * 3 + step.settings[1].1.parse::<usize>().unwrap() <= count
    }
    let mut broken = zones(MIB);
    assert_eq!(drive::left(&all, &broken, done(1)), [1, 2, 3, 4, 5], "all are full");
    broken[7].write_pointer.0 -= 65536;
    assert_eq!(drive::left(&all, &broken, done(1)), [0, 1, 2, 3, 4, 5]);
    assert_eq!(drive::left(&all, &zones(0), done(3)), [3, 4, 5], "it begins with a reset");
    assert_eq!(drive::left(&all, &zones(0), done(5)), [3, 4, 5]);
    assert_eq!(drive::left(&all, &zones(MIB), done(5)), [5]);
    assert_eq!(drive::left(&all, &zones(0), done(6)), [0; 0]);
    // What is run before it would leave other zones behind.
    let gap = |step: &SuiteStep| done(1)(step) || step.settings[0].1 == "128k" && done(5)(step);
    assert_eq!(drive::left(&all, &zones(MIB), gap), [1, 2, 3, 4, 5]);
    assert_eq!(steps("zbd/write", &device, &[("pass", "2,3")]), Err(StepsError::PassOrder));
}
