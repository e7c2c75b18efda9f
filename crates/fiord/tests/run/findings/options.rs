//! Tests of `--findings` and `ignore_findings`, and of where findings are printed.

use crate::findings::{finding, json, silent};
use crate::fiord::Place;

const HAZARD: &str = "--name=a --ioengine=psync --rw=read --size=1m --bs=4k --iodepth=8";

#[test]
fn findings_are_in_the_text_and_json_reports_but_not_in_terse() {
    let place = Place::new();
    let normal = place.run(HAZARD).ok();
    let (_, block) = normal.out.split_once("\nFindings (").expect("a block");
    assert!(block.contains("\n  suspect: depth-ignored: job a asks for iodepth=8"), "{block}");
    assert!(normal.out.find("Run status").unwrap() < normal.out.find("Findings").unwrap());
    let found = finding(&json(&place, HAZARD), "depth-ignored");
    assert_eq!((&found["severity"], &found["job"]), (&"suspect".into(), &"a".into()));
    assert!(found["mend"].as_str().unwrap().contains("numjobs=8"));
    let terse = place.run(&format!("--minimal {HAZARD}")).ok();
    assert!(!terse.out.contains("depth-ignored") && terse.out.lines().count() == 1, "{terse:?}");
}

#[test]
fn off_turns_them_off() {
    let place = Place::new();
    let ran = place.run(&format!("--findings=off {HAZARD}")).ok();
    assert!(!ran.out.contains("Findings") && !ran.out.contains("Not checked"), "{}", ran.out);
    let wrong = place.run(&format!("--findings=yes {HAZARD}"));
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.err.contains("`yes` is not off, on or fatal"), "{}", wrong.err);
}

#[test]
fn a_job_ignores_what_it_names() {
    let place = Place::new();
    let ran = json(&place, &format!("{HAZARD} --ignore_findings=depth-ignored"));
    silent(&ran, "depth-ignored");
    let other = json(&place, &format!("{HAZARD} --ignore_findings=too-short"));
    finding(&other, "depth-ignored");
    let wrong = place.run(&format!("{HAZARD} --ignore_findings=depth-ignord"));
    assert_eq!(wrong.status, Some(1));
    assert!(wrong.err.contains("did you mean `depth-ignored`?"), "{}", wrong.err);
}

#[test]
fn fatal_makes_an_invalid_result_an_error() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --rw=randrw --size=1g --runtime=1 --bs=4k --rate_iops=100";
    let ran = place.run(&format!("--findings=fatal {job} --rwmixread=70"));
    assert_eq!(ran.status, Some(253), "{ran:?}");
    assert!(ran.out.contains("invalid: rate-and-rwmix"), "{}", ran.out);
    place.run(&format!("{job} --rwmixread=70")).ok();
    place.run(&format!("--findings=fatal {job}")).ok();
    // A suspect finding is not an error.
    place.run(&format!("--findings=fatal {HAZARD}")).ok();
}
