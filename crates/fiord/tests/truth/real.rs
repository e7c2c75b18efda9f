//! Jobs on real time: on `null` and on small files. Their record is their log of single I/Os, which the loop writes without the
//! recorder. It has latencies to the nanosecond and times to the millisecond, so rates over windows are not compared.

use crate::compared::Comparisons;
use crate::dice::Dice;
use crate::expected::{Asked, EntryTruth, RateTruth};
use crate::fiord::Place;
use crate::record::DoneIo;
use crate::runs::Outputs;
use crate::{each_seed, json, terse, text};

/// Jobs that the normal tests run.
const SAMPLE: u64 = 16;

const ENGINES: [(&str, u64); 7] = [
    ("null", 1),
    ("null", 8),
    ("psync", 1),
    ("pvsync2", 1),
    ("io_uring", 4),
    ("libaio", 8),
    ("posixaio", 2),
];

fn drawn(seed: u64) -> (String, Asked) {
    let mut dice = Dice::new(seed);
    let (engine, depth) = dice.of(&ENGINES);
    let (mode, uses) = dice.of(&[
        ("read", [true, false, false]),
        ("randread", [true, false, false]),
        ("randwrite", [false, true, false]),
        ("randrw", [true, true, false]),
    ]);
    let unified = dice.of(&["none", "both", "mixed"]);
    let lat = dice.one_in(2);
    let list = if lat { "1" } else { "0" };
    let bs = dice.of(&["bs=4k", "bsrange=1k-8k", "bssplit=512/50:8k/50"]);
    let count = 50 + dice.below(450);
    let line = format!(
        "--output-format=json+,terse,normal --terse-version=5 --output=o.txt --findings=off --name=j0 --filename=f \
         --ioengine={engine} --iodepth={depth} --rw={mode} --size=1m --{bs} --number_ios={count} \
         --unified_rw_reporting={unified} --lat_percentiles={list} --clat_percentiles=1 --slat_percentiles=1 \
         --disable_bw_measurement=1 --disk_util=0 --randseed={} --write_lat_log=l --write_iops_log=l --log_offset=1",
        1 + dice.below(99)
    );
    let sync = depth == 1 && ["psync", "pvsync2", "null"].contains(&engine);
    let percentiles = vec![
        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
        99.95, 99.99,
    ];
    let asked = Asked {
        slat: !sync,
        clat: true,
        lat: true,
        slat_percentiles: !sync,
        clat_percentiles: true,
        lat_percentiles: lat,
        percentiles,
        uses,
        windows: None,
        sets_windows: false,
        unified,
        survives: false,
        depth,
    };
    (line, asked)
}

/// The I/Os of the logs. The rows of an I/O are at one place in all of them.
pub(crate) fn record(place: &Place, asked: &Asked) -> Vec<DoneIo> {
    let read = |kind: &str| {
        let text = std::fs::read_to_string(place.path(&format!("l_{kind}.1.log")));
        let row = |line: &str| line.split(", ").map(|field| field.parse().unwrap()).collect();
        text.unwrap_or_default().lines().map(row).collect::<Vec<Vec<u64>>>()
    };
    let (lat, clat, slat) = (read("lat"), read("clat"), read("slat"));
    assert_eq!(
        (lat.len(), if asked.slat { slat.len() } else { lat.len() }),
        (clat.len(), clat.len())
    );
    let io = |at: usize| {
        let (lat, clat) = (&lat[at], &clat[at]);
        let slat = if asked.slat { slat[at][1] } else { 0 };
        assert_eq!(lat[1], slat + clat[1], "row {at}");
        DoneIo {
            dir: Some(lat[2] as usize),
            offset: lat[4],
            bytes: lat[3],
            start: 0,
            issue: slat,
            end: lat[1],
            errno: None,
            short: None,
            submission: 0,
            reap: 0,
        }
    };
    (0..lat.len()).map(io).collect()
}

#[test]
fn results_on_real_time_are_those_of_the_logs() {
    each_seed(SAMPLE, |seed| {
        let (line, asked) = drawn(seed);
        let place = Place::new();
        place.write("f", vec![7; 1 << 20]);
        let ran = place.run(&line);
        if ran.err.contains("not supported") || ran.err.contains("io_uring_setup") {
            eprintln!("skipped: {}", ran.err);
            return None;
        }
        let mut c = Comparisons::default();
        c.same("what is on standard error", ran.err.as_str(), "");
        let output = std::fs::read_to_string(place.path("o.txt")).unwrap_or_default();
        let outputs = Outputs::of(&output);
        let job = &outputs.json["jobs"][0];
        let runtime_ms = job["job_runtime"].as_u64().unwrap_or(0);
        let mut truth = EntryTruth { runtime_ms, members: 1, ..EntryTruth::default() };
        let ios = record(&place, &asked);
        for (dir, row) in truth.rows.iter_mut().enumerate() {
            row.ios = ios.iter().filter(|io| io.dir == Some(dir)).cloned().collect();
            row.issued = row.ios.len() as u64;
            row.bytes = row.ios.iter().map(|io| io.bytes).sum();
            row.runtime_ms = if row.ios.is_empty() { 0 } else { runtime_ms };
            (row.bw, row.iops) = (RateTruth::default(), RateTruth::default());
        }
        let group = text::GroupTruth::of(std::slice::from_ref(&truth), asked.unified);
        json::results(&mut c, job, &truth, &asked, group.bandwidths());
        if asked.depth == 1 {
            let all = truth.ios();
            (truth.depth[0], truth.submit[1], truth.complete[1]) = (all, all, all);
            json::entry(&mut c, job, &truth, &asked, group.bandwidths());
            terse::line(&mut c, outputs.terse[0], 5, &truth, &asked, group.bandwidths());
            text::entry(&mut c, text::block(outputs.text, "j0"), &truth, &asked);
        }
        text::groups(&mut c, outputs.text, &group);
        Some((c, line))
    });
}
