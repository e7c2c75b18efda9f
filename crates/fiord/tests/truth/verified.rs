//! Jobs that verify what they write, on a simulated device that keeps its data: what they report about their writes, and about
//! the reads of the pass that checks them.

use crate::compared::Comparisons;
use crate::dice::Dice;
use crate::expected::{Asked, EntryTruth, Span};
use crate::fiord::Place;
use crate::record::JobRecord;
use crate::{each_seed, json, text};

/// Jobs that the normal tests run.
const SAMPLE: u64 = 10;

/// The end of the last write, ns: what follows is the time of the reads.
fn last_write(record: &JobRecord) -> u64 {
    record.ios.iter().filter(|io| io.dir == Some(1)).map(|io| io.end).max().unwrap_or(0)
}

fn check(seed: u64) -> (Comparisons, String) {
    let mut dice = Dice::new(seed);
    let asked = Asked {
        slat: true,
        clat: true,
        lat: true,
        clat_percentiles: true,
        percentiles: vec![50.0, 99.0, 99.9],
        uses: [false, true, false],
        unified: dice.of(&["none", "both", "mixed"]),
        ..Asked::default()
    };
    let job = dice.line(&[
        &["--rw=write", "--rw=randwrite"],
        &["--bs=4k", "--bs=16k", "--bssplit=4k/50:16k/50"],
        &["--iodepth=1", "--iodepth=4", "--iodepth=16"],
        &["--size=1m", "--size=2m", "--size=2m --io_size=512k"],
        &["--verify=crc32c", "--verify=md5", "--verify=fiord", "--verify=sha256"],
        &["--sim_latency=lognormal:400us:0.4", "--sim_latency=exponential:1ms"],
    ]);
    let line = format!(
        "--output-format=json+ --output=o.json --findings=off --name=j --ioengine=sim --sim_store=1 --sim_record=r \
         --percentile_list=50:99:99.9 --disable_bw_measurement=1 --unified_rw_reporting={} --randseed={} {job}",
        asked.unified,
        1 + dice.below(99)
    );
    let place = Place::new();
    place.run(&line).ok();
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let mut c = Comparisons::default();
    let document: serde_json::Value = serde_json::from_str(&read("o.json")).unwrap();
    let record = JobRecord::of(&read("r_sim.1.log"));
    let span = Span { begin: 0, end: record.last_end() };
    let mut truth = EntryTruth::of(&record, span, &asked);
    // The job flushes the device before it reads its writes back. The user did not ask for that flush.
    c.same("flushes", truth.syncs_issued, 1);
    (truth.syncs, truth.syncs_issued) = (Vec::new(), 0);
    let written = last_write(&record);
    truth.rows[0].runtime_ms = (span.end - written) / 1_000_000;
    truth.rows[1].runtime_ms = written / 1_000_000;
    let group = text::GroupTruth::of(std::slice::from_ref(&truth), asked.unified);
    let job = &document["jobs"][0];
    json::results(&mut c, job, &truth, &asked, group.bandwidths());
    let bytes = |key: &str| job["fiord"]["verify"][key].as_u64().unwrap_or(0);
    c.same("bytes written", bytes("written_bytes"), truth.rows[1].bytes);
    c.same("bytes verified", bytes("verified_bytes"), truth.rows[0].bytes);
    (c, line)
}

#[test]
fn writes_and_reads_of_a_verification_are_those_of_the_record() {
    each_seed(SAMPLE, |seed| Some(check(seed)));
}
