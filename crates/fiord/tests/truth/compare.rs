//! Compares what `fiord compare` says about drawn runs with the truth.

use serde_json::Value;

use crate::compared::{Comparisons, Rounding::SixDecimals};
use crate::dice::Dice;
use crate::each_seed;
use crate::expected::{Asked, EntryTruth, RowTruth, Span, middle};
use crate::fiord::Place;
use crate::record::{DIRECTIONS, DoneIo, JobRecord};

/// Comparisons that the normal tests make.
const SAMPLE: u64 = 6;

/// Runs one side and returns the truth about each run.
fn side(place: &Place, dice: &mut Dice, name: &str, (job, runs): (&str, usize)) -> Vec<EntryTruth> {
    let latency = dice.of(&["lognormal:90us:0.4", "exponential:300us", "uniform:10us:2ms"]);
    let one = |run: usize| {
        // Runs with equal results count once.
        let seed = 1000 * run as u64 + 1 + dice.below(1000);
        let line = format!(
            "--output-format=json --output={name}{run}.json --findings=off --name=j --ioengine=sim \
             --sim_record={name}{run} --sim_seed={seed} --sim_latency={latency} {job}"
        );
        place.run(&line).ok();
        let records = (1..).map_while(|job| {
            std::fs::read_to_string(place.path(&format!("{name}{run}_sim.{job}.log"))).ok()
        });
        let truths = records.map(|text| {
            let record = JobRecord::of(&text);
            let span = Span { begin: 0, end: record.last_end() };
            EntryTruth::of(&record, span, &Asked::default())
        });
        EntryTruth::merged(truths.collect::<Vec<_>>().iter())
    };
    (0..runs).map(one).collect()
}

/// A metric of a direction.
fn value(metric: &str, row: &RowTruth) -> f64 {
    let latencies = row.latencies(DoneIo::clat);
    match metric.strip_prefix('p') {
        Some(percent) => {
            let percent = percent.parse().unwrap();
            latencies.percentile(percent).map_or(f64::NAN, |ns| middle(ns) as f64)
        }
        None if metric == "iops" => row.rate(),
        None if metric == "bw" => row.bandwidth() as f64,
        None => latencies.mean(),
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn result(c: &mut Comparisons, result: &Value, sides: [&[EntryTruth]; 2]) {
    let text = |key: &str| result[key].as_str().unwrap_or_default();
    let at = DIRECTIONS.iter().position(|dir| *dir == text("direction")).unwrap();
    let metric = text("metric");
    let truth =
        sides.map(|side| side.iter().map(|run| value(metric, &run.rows[at])).collect::<Vec<f64>>());
    let what = format!("compare: {metric} of {}", DIRECTIONS[at]);
    for (key, of, truth) in [("values_a", "median_a", &truth[0]), ("values", "median", &truth[1])] {
        let found: Vec<f64> =
            result[key].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        c.same(&format!("{what}: runs"), found.len(), truth.len());
        for (found, truth) in found.iter().zip(truth) {
            c.close(&what, *found, *truth, SixDecimals);
        }
        c.close(&format!("{what}: {of}"), result[of].as_f64().unwrap(), median(truth), SixDecimals);
    }
    if truth[0].len() == 1 {
        let change = (truth[1][0] / truth[0][0] - 1.0) * 100.0;
        let found = result["change_percent"].as_f64().unwrap();
        c.close(&format!("{what}: change"), found, change, SixDecimals);
    }
}

#[test]
fn compared_values_are_those_of_the_records() {
    each_seed(SAMPLE, |seed| {
        let mut dice = Dice::new(seed);
        let place = Place::new();
        let job = dice.line(&[
            &["--rw=randread", "--rw=write", "--rw=randrw", "--rw=trimwrite"],
            &["--bs=4k", "--bsrange=1k-16k"],
            &["--iodepth=1", "--iodepth=8"],
            &["--size=4m --number_ios=300", "--size=2m"],
            &["", "--numjobs=3 --group_reporting"],
        ]);
        let runs = dice.of(&[1, 3]);
        let a = side(&place, &mut dice, "a", (&job, runs));
        let b = side(&place, &mut dice, "b", (&job, runs));
        let files = |name: &str| {
            (0..runs).map(|run| format!("{name}{run}.json")).collect::<Vec<_>>().join(",")
        };
        let metrics = "iops,bw,mean,p50,p99.9";
        let line =
            format!("compare {} {} --metrics={metrics} --format=json", files("a"), files("b"));
        let document = place.run(&line).ok().json();
        let mut c = Comparisons::default();
        let results = document["results"].as_array().unwrap();
        let used = a[0].rows.iter().filter(|row| !row.ios.is_empty()).count();
        c.same("compare: results", results.len(), used * metrics.split(',').count());
        results.iter().for_each(|one| result(&mut c, one, [&a, &b]));
        Some((c, job))
    });
}
