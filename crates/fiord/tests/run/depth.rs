//! Tests of how many I/Os are in flight and how they are batched, observed from outside.

use crate::fiord::Place;

/// Output of fio 3.42 for 1024 I/Os at depth 8 with libaio and io_uring: the shares of I/Os issued with 1, 2,
/// 4 to 7 and 8 in flight, in percent.
const AS_FIO: [(&str, [u32; 4]); 14] = [
    ("--iodepth_batch=4 --iodepth_batch_complete=4", [0, 0, 0, 100]),
    ("--iodepth_batch=4", [0, 0, 0, 100]),
    ("--iodepth_batch=0", [0, 0, 0, 100]),
    ("--iodepth_batch_complete=4", [0, 0, 75, 25]),
    ("--iodepth_batch_complete=3", [0, 0, 67, 33]),
    ("--iodepth_batch_complete=16", [13, 25, 50, 13]),
    ("--iodepth_batch_complete_min=4 --iodepth_batch_complete_max=2", [0, 0, 75, 25]),
    ("--iodepth_batch_complete_max=0", [0, 0, 0, 100]),
    ("--iodepth_batch_complete=0", [100, 0, 0, 0]),
    ("--iodepth_batch_complete=0 --iodepth_batch=4 --iodepth_low=4", [100, 0, 0, 0]),
    ("--iodepth_low=2 --iodepth_batch=2", [0, 0, 67, 33]),
    ("--iodepth_low=2 --iodepth_batch=4", [0, 0, 67, 33]),
    ("--iodepth_low=2 --iodepth_batch_complete=4", [13, 25, 50, 13]),
    ("--iodepth_low=1 --iodepth_batch_complete=3", [13, 25, 50, 13]),
];

#[test]
fn depths_of_batches_are_those_of_fio() {
    let place = Place::new();
    for (options, shares) in AS_FIO {
        let line = format!(
            "--name=a --ioengine=sim --sim_latency=constant:10us --sim_channels=8 --rw=randread \
             --bs=4k --size=4m --iodepth=8 {options} --output-format=json"
        );
        let document = place.run(&line).ok().json();
        let job = &document["jobs"][0];
        assert_eq!(job["read"]["total_ios"], 1024, "{options}");
        let got = ["1", "2", "4", "8"].map(|key| job["iodepth_level"][key].as_f64().unwrap());
        for (got, wanted) in got.iter().zip(shares) {
            assert!((got - f64::from(wanted)).abs() < 1.0, "{options}: {got:?} {shares:?}");
        }
        // Polls that find nothing do not count.
        assert_eq!(job["iodepth_complete"]["0"], 0.0, "{options}");
    }
}

/// Without `iodepth_batch*`, the loop fills all free slots at once, as soon as the number in flight has
/// fallen to `iodepth_low`.
#[test]
fn iodepth_low_alone_refills_the_queue_in_one_go() {
    let place = Place::new();
    let line = "--name=a --ioengine=sim --sim_latency=constant:10us --sim_channels=8 --rw=randread \
                --bs=4k --size=4m --iodepth=16 --iodepth_low=4 --output-format=json";
    let document = place.run(line).ok().json();
    let job = &document["jobs"][0];
    assert_eq!(job["iodepth_level"]["16"], 100.0);
    let submitted = |key: &str| job["iodepth_submit"][key].as_f64().unwrap();
    assert!(submitted("16") > 98.0, "submissions of 12: {}", job["iodepth_submit"]);
}

/// As in fio, the object of a job that ran has the depth and its relatives, also if no block fitted into a file. A job that
/// only laid out its files did not run.
#[test]
fn a_job_that_ran_without_an_io_has_a_depth() {
    let place = Place::new();
    let line =
        "--name=a --bs=64k --size=250k --nrfiles=16 --rw=read --iodepth=3 --output-format=json";
    let ran = place.run(line).json();
    assert_eq!(ran["jobs"][0]["read"]["total_ios"], 0, "{ran}");
    assert_eq!(ran["jobs"][0]["latency_depth"], 3, "{ran}");
    let laid_out = place.run(&format!("{line} --create_only=1")).json();
    assert!(laid_out["jobs"][0].get("latency_depth").is_none(), "{laid_out}");
}
