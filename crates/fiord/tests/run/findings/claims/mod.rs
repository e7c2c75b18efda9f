//! Tests that findings claim nothing that the record of the run contradicts. Each finding states its claim as data: jobs, bytes,
//! numbers, and the options of its remedy. Random jobs, most of them with a hazard, run with a record of their I/Os. Each claim is
//! compared with the record, and the options of each remedy are applied to the jobs, which must remove the finding and must
//! not change what is measured.
//!
//! A sample of seeds runs with the other tests. `FIORD_CLAIMS_RUNS=1000` runs more of each family and as many sound jobs, and
//! `FIORD_CLAIMS_SEED=17` only one of each.

mod draw;
mod holds;
mod record;
mod remedy;
#[path = "../../../truth/record.rs"]
#[allow(dead_code, reason = "shared with the tests in `truth`")]
mod simulated;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fiord_stat::finding::{Finding, Severity};
use serde_json::Value;

use crate::dice::Dice;
use crate::findings::claims::draw::{DrawnCase, FAMILIES};
use crate::findings::claims::holds::RanCase;
use crate::fiord::Place;
use crate::ground::of_this_machine;

/// Cases of each family that the normal tests run.
const SAMPLE: u64 = 12;
/// Sound jobs that the normal tests run.
const SOUND: u64 = 60;

/// Remedies of a finding in a family that the normal tests apply.
const REMEDIES: u64 = 4;

/// Findings that the sample has on every machine. The list may grow, and never shrinks.
const COVERED: [&str; 28] = [
    "aio-threads",
    "bad-data",
    "buffered-not-synced",
    "compressible-data",
    "depth-ignored",
    "doubtful-job",
    "empty-zones",
    "ended-in-ramp",
    "file-extended",
    "hidden-stalls",
    "no-data-moved",
    "no-effect",
    "not-steady",
    "nothing-verified",
    "overlapping-writers",
    "rate-and-rwmix",
    "rate-missed",
    "reads-beyond-pointer",
    "replay-late",
    "same-start-offset",
    "size-per-job",
    "space-reserved",
    "too-short",
    "unit-surprise",
    "unwritten-data",
    "value-adjusted",
    "zero-data",
    "zone-limits",
];

fn seeds(sample: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("FIORD_CLAIMS_SEED"), number("FIORD_CLAIMS_RUNS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(runs)) => 0..runs,
        (None, None) => 0..sample,
    }
}

/// Whether the tests run more than the sample.
fn whole() -> bool {
    seeds(0) != (0..0)
}

/// Runs a case. `None`: fiord refuses it.
fn run<'a>(place: &Place, case: &'a DrawnCase) -> Result<RanCase<'a>, String> {
    case.prepare(place);
    let ran = place.run(&format!("--output-format=json {}", case.line()));
    if !ran.out.contains("\"jobs\"") {
        return Err(ran.err);
    }
    let json = ran.json();
    match json["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty()) && ran.status != Some(1) {
        true => Ok(RanCase { case, records: record::of(place, case), json }),
        false => Err(ran.err),
    }
}

fn findings(json: &Value) -> Vec<(Value, Finding)> {
    let all = json["fiord"]["findings"].as_array().cloned().unwrap_or_default();
    let parsed = |value: Value| {
        let finding = serde_json::from_value(value.clone()).unwrap();
        (value, finding)
    };
    all.into_iter().map(parsed).collect()
}

/// What the tests counted.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    refused: u64,
    claims: u64,
    remedies: u64,
    ids: BTreeMap<String, u64>,
    /// How often a finding of a family was seen.
    applied: BTreeMap<(String, String), u64>,
    failed: Vec<String>,
}

impl Tally {
    /// Runs a case, compares all claims, and applies all remedies.
    fn examine(&mut self, place: &Place, case: &DrawnCase, (family, seed): (&str, u64)) {
        let title = format!("{family} {seed}");
        self.runs += 1;
        let ran = match run(place, case) {
            Ok(ran) => ran,
            Err(why) => {
                self.refused += 1;
                return println!("{title}: {}: {why}", case.line());
            }
        };
        let found = findings(&ran.json);
        let all: Vec<Finding> = found.iter().map(|(_, finding)| finding.clone()).collect();
        for (value, finding) in &found {
            *self.ids.entry(finding.id.clone()).or_default() += 1;
            let mut wrong = holds::false_claims(&ran, finding, &mut self.claims);
            let again = self.applied.entry((family.to_owned(), finding.id.clone())).or_default();
            // A longer job on a file takes real time.
            let quick = finding.id != "too-short" || case.file.is_none();
            *again += 1;
            let often = *again > REMEDIES && !whole();
            if !finding.claim.settings.is_empty() && !of_this_machine(value) && quick && !often {
                self.remedies += 1;
                wrong.extend(self.remedy(place, &ran, finding, &all));
            }
            if case.sound && !of_this_machine(value) && finding.severity > Severity::Note {
                wrong.push("the job is sound".to_owned());
            }
            if !wrong.is_empty() {
                let wrong = wrong.join("\n  ");
                self.failed.push(format!("{title}: {}\n  {finding:?}\n  {wrong}", case.line()));
            }
        }
    }

    fn remedy(
        &self,
        place: &Place,
        ran: &RanCase<'_>,
        finding: &Finding,
        all: &[Finding],
    ) -> Vec<String> {
        let case = remedy::applied(ran.case, finding);
        match run(place, &case) {
            Ok(after) => {
                let now = findings(&after.json).into_iter().map(|(_, finding)| finding);
                let now: Vec<Finding> = now.collect();
                remedy::failures(ran, finding, &after, (all, &now))
            }
            Err(why) => vec![format!("the remedy is refused: {}: {why}", case.line())],
        }
    }

    fn end(self) {
        println!(
            "{} runs, {} refused, {} claims, {} remedies; findings: {:?}",
            self.runs, self.refused, self.claims, self.remedies, self.ids
        );
        let failed = &self.failed;
        assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), self.runs, failed.join("\n"));
    }
}

fn has_direct_io(place: &Place) -> bool {
    place.write("f", vec![1; 1 << 20]);
    let job = "--name=a --rw=read --size=64k --filename=f --direct=1";
    let has = place.run(job).status == Some(0);
    if !has {
        eprintln!("skipped: no direct I/O on the file system of the tests");
    }
    has
}

#[test]
fn sound_jobs_have_no_false_finding() {
    let place = Place::new();
    let mut tally = Tally::default();
    for seed in seeds(SOUND) {
        tally.examine(&place, &draw::sound(&mut Dice::new(seed)), ("sound", seed));
    }
    tally.end();
}

#[test]
fn claims_are_true_and_remedies_work() {
    let place = Place::new();
    if !has_direct_io(&place) {
        return;
    }
    let mut tally = Tally::default();
    for (name, family) in FAMILIES {
        for seed in seeds(SAMPLE) {
            tally.examine(&place, &family(&mut Dice::new(seed)), (name, seed));
        }
    }
    let covered: BTreeSet<&str> = tally.ids.keys().map(String::as_str).collect();
    let lost: Vec<&&str> = COVERED.iter().filter(|id| !covered.contains(**id)).collect();
    assert!(
        lost.is_empty() || seeds(SAMPLE) != (0..SAMPLE),
        "no case has these findings: {lost:?}"
    );
    assert!(tally.refused * 4 < tally.runs, "{} of {} refused", tally.refused, tally.runs);
    tally.end();
}

/// The rate makes the job wait while only bytes can end its ramp. On a virtual clock, the job did not end.
#[test]
fn a_ramp_by_size_ends_under_a_rate() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --size=1g --rw=read --bs=16k --time_based --runtime=3";
    let ran = place.run(&format!("--output-format=json {job} --ramp_size=1m --rate_iops=100"));
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert_eq!(ran.json()["jobs"][0]["read"]["total_ios"], 300);
}
