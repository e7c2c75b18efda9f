//! Reports of a run so far (`--status-interval`): each one is the report of the first I/Os of the record, and the last one
//! that of all. Jobs on the virtual clock have a record of the device, those on real time their logs of single I/Os.

use serde_json::Value;

use crate::compared::Comparisons;
use crate::dice::Dice;
use crate::expected::{Asked, EntryTruth};
use crate::fiord::{Place, documents};
use crate::record::{DIRECTIONS, DoneIo, JobRecord};
use crate::{each_seed, json, real, text};

/// Runs that the normal tests make.
const SAMPLE: u64 = 8;

const ENGINES: [(&str, u64); 6] =
    [("sim", 1), ("sim", 16), ("null", 1), ("null", 4), ("psync", 1), ("libaio", 8)];

/// A run of equal jobs.
struct Drawn {
    line: String,
    is_virtual: bool,
    jobs: usize,
    asked: Asked,
}

fn drawn(seed: u64) -> Drawn {
    let mut dice = Dice::new(seed);
    let (engine, depth) = dice.of(&ENGINES);
    let (mode, uses) = dice.of(&[
        ("randread", [true, false, false]),
        ("write", [false, true, false]),
        ("randrw", [true, true, false]),
    ]);
    let is_virtual = engine == "sim";
    let jobs = if is_virtual { dice.of(&[1, 2]) } else { 1 };
    // Jobs on real time are slow enough for a report to come between two I/Os.
    let end = match is_virtual {
        true => "--sim_record=r --sim_latency=lognormal:90us:0.9 --number_ios=9000 --size=64m",
        false => {
            "--rate_iops=3000 --time_based --runtime=250ms --size=1m --write_lat_log=l --log_offset=1"
        }
    };
    let sync = depth == 1 && !is_virtual;
    let asked = Asked {
        slat: !sync,
        clat: true,
        lat: true,
        slat_percentiles: !sync,
        clat_percentiles: true,
        percentiles: vec![50.0, 99.0, 99.9, 100.0],
        uses,
        unified: dice.of(&["none", "both"]),
        depth,
        ..Asked::default()
    };
    let line = format!(
        "--output-format=json+ --status-interval={}ms --findings=off --name=j0 --filename=f --ioengine={engine} --iodepth={depth} \
         --rw={mode} --bssplit=4k/60:8k/40 {end} --percentile_list=50:99:99.9:100 --slat_percentiles=1 \
         --unified_rw_reporting={} --disable_bw_measurement=1 --disk_util=0 --randseed={} --numjobs={jobs}",
        dice.of(&[20, 35]),
        asked.unified,
        1 + dice.below(99),
    );
    Drawn { line, is_virtual, jobs, asked }
}

/// What a report says: I/Os that have completed, and the run time in ms.
#[derive(Debug, Clone, Copy, Default)]
struct SoFar {
    ios: usize,
    runtime: u64,
}

/// Compares a report with the first I/Os of the record.
fn report(c: &mut Comparisons, job: &Value, ios: &[DoneIo], asked: &Asked, before: SoFar) -> SoFar {
    let whole = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let done = DIRECTIONS.map(|dir| whole(&job[dir]["clat_ns"]["N"]));
    let count = done.iter().sum::<u64>() as usize;
    let bytes: u64 = DIRECTIONS.iter().map(|dir| whole(&job[dir]["io_bytes"])).sum();
    if count == 0 && bytes > 0 {
        // The job did not get a CPU for half a second. The report has what the job has published, without latencies.
        c.holds("that many bytes", bytes <= ios.iter().map(|io| io.bytes).sum());
        return before;
    }
    let runtime = whole(&job["job_runtime"]);
    c.holds("there are that many I/Os", count <= ios.len());
    c.holds("I/Os and run time never fall", before.ios <= count && before.runtime <= runtime);
    let first = &ios[..count.min(ios.len())];
    let mut truth = EntryTruth { runtime_ms: runtime, members: 1, ..EntryTruth::default() };
    let mut in_flight = 0;
    for (dir, row) in truth.rows.iter_mut().enumerate() {
        row.ios = first.iter().filter(|io| io.dir == Some(dir)).cloned().collect();
        c.same(
            &format!("{} among the first {count}", DIRECTIONS[dir]),
            done[dir],
            row.ios.len() as u64,
        );
        row.bytes = row.ios.iter().map(|io| io.bytes).sum();
        row.issued = whole(&job[DIRECTIONS[dir]]["total_ios"]);
        in_flight += row.issued.saturating_sub(done[dir]);
        row.runtime_ms = if row.ios.is_empty() { 0 } else { runtime };
    }
    c.holds(
        &format!("{in_flight} in flight at a depth of {}", asked.depth),
        in_flight <= asked.depth,
    );
    let group = text::GroupTruth::of(std::slice::from_ref(&truth), asked.unified);
    json::results(c, job, &truth, asked, group.bandwidths());
    SoFar { ios: count, runtime }
}

/// The data I/Os of a job.
fn recorded(place: &Place, drawn: &Drawn, job: usize) -> Vec<DoneIo> {
    if !drawn.is_virtual {
        return real::record(place, &drawn.asked);
    }
    let path = place.path(&format!("r_sim.{}.log", job + 1));
    let record = JobRecord::of(&std::fs::read_to_string(path).unwrap_or_default());
    record.ios.into_iter().filter(|io| io.dir.is_some()).collect()
}

/// Returns the comparisons and the number of reports before the last one.
fn check(drawn: &Drawn) -> (Comparisons, usize) {
    let mut c = Comparisons::default();
    let place = Place::new();
    place.write("f", vec![7; 1 << 20]);
    let ran = place.run(&drawn.line);
    if ran.err.contains("not supported") {
        eprintln!("skipped: {}", ran.err);
        return (c, 0);
    }
    c.same("messages on standard error", ran.err.as_str(), "");
    let reports = documents(&ran.out);
    for job in 0..drawn.jobs {
        let ios = recorded(&place, drawn, job);
        let mut so_far = SoFar::default();
        for (at, document) in reports.iter().enumerate() {
            let interim = document["fiord"]["interim"] == 1;
            c.same("the report is not the last one", interim, at + 1 < reports.len());
            so_far = report(&mut c, &document["jobs"][job], &ios, &drawn.asked, so_far);
            if drawn.is_virtual && so_far.ios < ios.len() {
                // The clock is between the last end that counts and the next one. Run times are cut to milliseconds.
                let last = so_far.ios.checked_sub(1).map_or(0, |last| ios[last].end);
                c.holds("the run time fits the I/Os", last / 1_000_000 <= so_far.runtime);
                let next = ios[so_far.ios].end;
                c.holds("the next I/O ends later", so_far.runtime * 1_000_000 <= next);
            }
        }
        c.same("I/Os of the last report", so_far.ios, ios.len());
    }
    (c, reports.len() - 1)
}

#[test]
fn reports_so_far_are_those_of_the_first_ios() {
    let mut interim = 0;
    each_seed(SAMPLE, |seed| {
        let drawn = drawn(seed);
        let (c, reports) = check(&drawn);
        interim += reports;
        Some((c, drawn.line))
    });
    println!("{interim} reports before the last ones");
}
