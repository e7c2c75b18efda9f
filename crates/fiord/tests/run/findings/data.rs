//! Tests of the finding about damaged data, which comes first in every output.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use crate::findings::{finding, found, silent};
use crate::fiord::Place;

/// A job that writes and verifies, on a device that loses the fourth write.
const WRITER: &str = "--name=a --ioengine=sim --rw=write --size=64k --bs=4k --verify=fiord \
                      --continue_on_error=verify --sim_faults=zeroed:op=3";

/// Creates a file that a job wrote and something else damaged, and returns the job that checks it.
fn damaged(place: &Place) -> &'static str {
    let job = "--name=a --filename=f --rw=write --size=64k --bs=4k --verify=fiord";
    place.run(job).ok();
    let file = OpenOptions::new().write(true).open(place.path("f")).unwrap();
    file.write_all_at(&[0; 4096], 8192).unwrap();
    "--name=a --filename=f --rw=write --size=64k --bs=4k --verify=fiord --verify_only \
     --continue_on_error=verify"
}

#[test]
fn damaged_data_is_the_first_finding_and_invalid() {
    let place = Place::new();
    let checker = damaged(&place);
    for job in [WRITER, checker] {
        let ran = place.run(&format!("--output-format=json --html=v.html {job}"));
        assert_eq!(ran.status, Some(0), "{job}: {ran:?}");
        let first = ("bad-data".to_owned(), "invalid".to_owned());
        assert_eq!(found(&ran)[0], first, "{job}: {}", ran.json()["fiord"]);
        let what = finding(&ran, "bad-data")["what"].as_str().unwrap().to_owned();
        assert_eq!(what, "1 extent of job a, 4.0 KiB in all, are not what was written", "{job}");
        let page = std::fs::read_to_string(place.path("v.html")).unwrap();
        assert!(!page.contains("No findings"), "{job}");
        let card = page.split("<article class=\"finding").nth(1).expect("a finding");
        assert!(card.starts_with(" invalid\"") && card.contains("<code>bad-data</code>"), "{job}");
        let fatal = place.run(&format!("--findings=fatal {job}"));
        assert_eq!(fatal.status, Some(253), "{job}: {fatal:?}");
        assert!(fatal.out.contains("bytes written were checked"), "{job}: {}", fatal.out);
        let list = fatal.out.split("Findings (").nth(1).unwrap();
        let first = list.lines().nth(1).unwrap();
        assert!(first.starts_with("  invalid: bad-data: 1 extent of job a"), "{first}");
    }
}

/// Whatever the user wants to know, the page does not praise a run with damaged data.
#[test]
fn a_page_of_damaged_data_never_opens_with_no_findings() {
    let place = Place::new();
    for more in ["--findings=off", "--ignore_findings=bad-data"] {
        let ran = place.run(&format!("--html=v.html {WRITER} {more}"));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let page = std::fs::read_to_string(place.path("v.html")).unwrap();
        assert!(!page.contains("No findings") && page.contains("Bad data:"), "{more}");
    }
}

#[test]
fn sound_data_is_verified_in_silence() {
    let place = Place::new();
    let job = WRITER.rsplit_once(" --sim_faults").unwrap().0;
    let ran = place.run(&format!("--output-format=json {job}")).ok();
    silent(&ran, "bad-data");
    let text = place.run(job).ok().out;
    assert!(text.contains("65536 of 65536 bytes written were verified"), "{text}");
}
