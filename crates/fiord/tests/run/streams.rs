//! Programs that run fio treat any output on standard error as a failure. A successful run prints nothing
//! there: its notes are in the report, and only a terminal shows them earlier.

use std::process::{Command, Stdio};

use crate::findings::{finding, found};
use crate::fiord::{Place, Ran};

const SIM: &str = "--name=a --ioengine=sim --rw=read --bs=4k --size=256k";

/// Options that fiord ignores or changes, and the finding that says so.
const NOTED: [(&str, &str); 12] = [
    ("--end_fsync=1", "no-effect"),
    ("--rwmixread=30", "no-effect"),
    ("--norandommap", "no-effect"),
    ("--latency_window=1s", "no-effect"),
    ("--thinktime_blocks=4", "no-effect"),
    ("--runtime=1 --ss=iops:5%", "no-effect"),
    ("--time_based", "no-effect"),
    ("--thread=2", "value-adjusted"),
    ("--bs=4k-8k", "value-adjusted"),
    ("--iomem_align=3000", "value-adjusted"),
    ("--flow=-2", "value-adjusted"),
    ("--rw=randread --ba=512", "doubtful-job"),
];

#[test]
fn notes_are_findings_of_the_report_and_not_on_standard_error() {
    let place = Place::new();
    for (options, id) in NOTED {
        let line = format!("{SIM} {options}");
        let entry = finding(&place.run(&format!("{line} --output-format=json")).ok(), id);
        assert_eq!(entry["severity"], "note", "{entry}");
        assert_eq!(
            (&entry["file"], &entry["line"]),
            (&"command line".into(), &1.into()),
            "{entry}"
        );
        let text = place.run(&line).ok().out;
        assert!(text.contains(&format!("\n  note: {id}: ")), "{text}");
        let checked = place.run(&format!("check {line}")).ok().out;
        assert!(checked.contains(&format!("note: {id}: ")), "{checked}");
        place.run(&format!("--parse-only {line}")).ok();
        place.run(&format!("--showcmd {line}")).ok();
        let terse = place.run(&format!("{line} --output-format=terse")).ok().out;
        assert_eq!(terse.lines().count(), 1, "{terse}");
        assert!(terse.starts_with("3;fio-3.42"), "{terse}");
        let silenced = format!("{line} --ignore_findings={id} --output-format=json");
        let left = found(&place.run(&silenced).ok());
        assert!(left.iter().all(|(other, _)| other != id), "{left:?}");
        let off = place.run(&format!("{line} --findings=off --output-format=json")).ok();
        assert_eq!(found(&off), []);
    }
}

#[test]
fn a_note_points_into_its_job_file() {
    let place = Place::new();
    place.write("a.fio", "[global]\nioengine=sim\nsize=64k\n[one]\nrw=read\nend_fsync=1\n");
    place.write("b.fio", "[two]\nioengine=sim\nsize=64k\nrw=read\n\nend_fsync=1\n");
    let ran = place.run("a.fio b.fio --output-format=json --output=o").ok();
    assert_eq!(ran.out, "");
    let text = std::fs::read_to_string(place.path("o")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let notes: Vec<String> = document["fiord"]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["id"] == "no-effect")
        .map(|entry| {
            format!("{} {}:{} {}", entry["job"], entry["file"], entry["line"], entry["option"])
        })
        .collect();
    assert_eq!(notes, [r#""one" "a.fio":6 "end_fsync""#, r#""two" "b.fio":6 "end_fsync""#]);
}

#[test]
fn interval_reports_and_run_warnings_are_quiet_too() {
    let place = Place::new();
    let line = "--name=a --ioengine=null --rw=read --size=1m --time_based --runtime=600ms \
                --status-interval=250ms --end_fsync=1";
    place.run(line).ok();
    place.write("j.fio", "[a]\nioengine=sim\nsize=64k\nrw=read\nexec_postrun=exit 3\n");
    let ran = place.run("j.fio --output-format=json").ok();
    let entry = finding(&ran, "run-warning");
    assert!(entry["what"].as_str().unwrap().contains("exit 3"), "{entry}");
    assert_eq!(entry["job"], "a");
}

/// Returns a command with standard error, or only standard output, on a terminal.
fn at_a_terminal(place: &Place, redirected: &str, line: &str) -> Option<String> {
    let program = env!("CARGO_BIN_EXE_fiord");
    let output = Command::new("script")
        .args(["-qec", &format!("{program} {line} {redirected}"), "/dev/null"])
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_terminal_shows_notes_at_the_start() {
    let place = Place::new();
    let line = format!("{SIM} --end_fsync=1");
    let shown = |redirected: &str, options: &str| {
        at_a_terminal(&place, redirected, &format!("{line} {options}"))
    };
    let Some(text) = shown(">o", "") else {
        return println!("skipped: script(1), which makes a terminal, is missing");
    };
    assert!(text.contains("no-effect") && text.contains("end_fsync"), "{text}");
    // Standard output is the terminal: notes come before the results, and never inside a document.
    let text = shown("2>e", "--output-format=normal").unwrap();
    let (first, results) = (text.find("no-effect").unwrap(), text.find("Starting 1").unwrap());
    assert!(first < results, "{text}");
    let text = shown("2>e", "--output-format=json").unwrap();
    assert!(text.starts_with('{'), "{text}");
    assert_eq!(std::fs::read_to_string(place.path("e")).unwrap(), "");
    for options in ["--ignore_findings=no-effect", "--findings=off"] {
        let text = shown(">o", options).unwrap();
        assert!(!text.contains("no-effect"), "{text}");
    }
}

/// Jobs that fiord refuses before their first I/O. fio 3.42 detects most of these errors only during the run.
const REFUSED: [&str; 8] = [
    "--name=a --rw=read --ioengine=nosuch --size=4k",
    "--name=a --rw=read --ioengine=libhdfs --size=4k",
    "--name=a --rw=read --ioengine=null --size=4k --log_offset=1 --log_issue_time=1",
    "--name=a --rw=read --bs=1m --size=4k --filename=f",
    "--name=a --rw=read --zonemode=strided --size=4m --filename=f",
    "--name=a --rw=read --ioengine=null --size=4k --numjobs=100000",
    "--name=a --rw=read --ioengine=null --size=4k --wait_for=nosuch",
    "--name=a --rw=write --size=4k --readonly",
];

#[test]
fn parse_only_refuses_what_a_run_refuses() {
    let Some(place) = Place::confined(&[]) else { return };
    for line in REFUSED {
        let parsed = place.run(&format!("--parse-only {line}"));
        let run = place.run(line);
        assert_eq!((parsed.status, parsed.out.as_str()), (Some(1), ""), "{line}: {parsed:?}");
        assert_eq!(run.status, Some(1), "{line}: {run:?}");
        let message = |ran: &Ran| ran.err.lines().next().map(str::to_owned);
        assert!(message(&parsed).is_some_and(|text| text.starts_with("fiord: ")), "{parsed:?}");
        assert_eq!(message(&parsed), message(&run), "{line}");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn parse_only_accepts_what_a_run_would_make() {
    let place = Place::new();
    for line in [
        "--name=a --rw=read --size=4k",
        "--name=a --rw=write --size=4k --filename=no/such/directory/f --end_fsync=1",
        "--name=a --rw=read --ioengine=null --size=4k --output=no/such/place",
        // fio's probe for polling in blktests.
        "--name=polled_io --ioengine=pvsync2 --hipri=1",
        "--name=a",
        "--name=a --rw=randwrite --nrfiles=4 --bs=4m",
        "--name=a --rw=randread --ioengine=null --zonemode=zbd --zonesize=256m",
        "--section=nosuch",
        "",
    ] {
        let parsed = place.run(&format!("--parse-only {line}")).ok();
        assert_eq!(parsed.out, "");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}
