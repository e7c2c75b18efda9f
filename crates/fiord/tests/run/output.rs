//! What is printed where.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use crate::fiord::{Place, end};

const JOB: &str = "--name=a --rw=read --bs=4k --size=1m --ioengine=null";

#[test]
fn each_format_is_one_document() {
    let place = Place::new();
    for format in ["json", "json+"] {
        let ran = place.run(&format!("{JOB} --output-format={format}")).ok();
        assert!(ran.out.starts_with('{') && ran.out.ends_with("}\n"), "{}", ran.out);
        ran.json();
        assert_eq!(ran.err, "");
    }
    for (option, version, fields) in
        [("--minimal", "3;", 130), ("--output-format=terse --terse-version=5", "5;", 148)]
    {
        let ran = place.run(&format!("{JOB} {option}")).ok();
        assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
        assert!(ran.out.starts_with(version), "{}", ran.out);
        assert!(ran.out.split(';').count() + 20 > fields, "{}", ran.out);
    }
    let ran = place.run(&format!("{JOB} --output-format=terse,normal")).ok();
    assert!(ran.out.contains("\n3;fio-3.42") && ran.out.contains("Run status group 0"));
    let ran = place.run(&format!("{JOB} --append-terse")).ok();
    assert!(ran.out.contains("\n3;fio-3.42") && ran.out.contains("Run status group 0"));
}

#[test]
fn output_goes_to_a_file() {
    let place = Place::new();
    let ran = place.run(&format!("{JOB} --output=o --output-format=json")).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let text = std::fs::read_to_string(place.path("o")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    let ran = place.run(&format!("{JOB} --output=no/such/place"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("no/such/place"), "{}", ran.err);
    for option in ["--output=/dev/full", "--output=/dev/full --output-format=json"] {
        let ran = place.run(&format!("{JOB} {option}"));
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains("could not be written to /dev/full"), "{}", ran.err);
    }
}

#[test]
fn a_reader_that_goes_away_changes_nothing() {
    let place = Place::new();
    let mut child = place
        .command(&format!("{JOB} --time_based --runtime=1 --status-interval=200ms"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0u8; 20];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let ran = end(child, Duration::from_secs(20));
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn the_live_line_is_shown_on_demand_and_never_in_a_document() {
    let place = Place::new();
    let line = format!("{JOB} --time_based --runtime=2 --eta=always --eta-interval=250ms");
    let ran = place.run(&line).ok();
    assert!(ran.out.contains("Jobs: 1 (f=") && ran.out.contains("[eta 00m:0"), "{}", ran.out);
    let ran = place.run(&format!("{line} --output-format=json")).ok();
    ran.json();
    let ran = place.run(&format!("{JOB} --time_based --runtime=1")).ok();
    assert!(!ran.out.contains("[eta"));
}

#[test]
fn status_interval_repeats_the_report() {
    let place = Place::new();
    let line = format!("{JOB} --time_based --runtime=1300ms --status-interval=500ms");
    let ran = place.run(&line).ok();
    // Two and the last one; a machine that stops for a while may miss one.
    let reports = ran.out.matches("Run status group 0").count();
    assert!((2..=3).contains(&reports), "{}", ran.out);
    let document = place.run(&format!("{line} --output-format=json")).ok().json();
    let intervals = document["fiord"]["intervals"].as_array().map(Vec::len);
    assert!(matches!(intervals, Some(1..=2)), "{intervals:?}");
}

#[test]
fn what_needs_no_run() {
    let place = Place::new();
    let ran = place.run("--version").ok();
    assert!(ran.out.starts_with("fio-3.42") && ran.out.contains("fiord"), "{}", ran.out);
    assert!(place.run("--help").ok().out.contains("--output-format"));
    assert!(place.run("--cmdhelp=rwmixread").ok().out.contains("rwmixread"));
    assert!(place.run("--enghelp").ok().out.contains("io_uring"));
    assert!(place.run("--enghelp=libaio").ok().out.contains("userspace_reap"));
    assert_eq!(place.run("--parse-only --name=a --rw=read --size=1m").ok().out, "");
    assert!(place.run("options --unsupported").ok().out.contains("not supported yet"));
    assert!(place.run("options").ok().out.contains("rwmixread"));
    assert_eq!(place.run("options --nonsense").status, Some(1));
    assert!(place.names().is_empty());
}

#[test]
fn a_job_file_may_be_called_like_a_subcommand() {
    let place = Place::new();
    place.write("options", "[a]\nioengine=null\nrw=read\nsize=1m\n");
    let ran = place.run("options").ok();
    assert!(ran.out.contains("Run status group 0"), "{}", ran.out);
}

#[test]
fn debug_goes_to_standard_error() {
    let place = Place::new();
    let ran = place.run(&format!("{JOB} --debug=process,job --output-format=json")).ok();
    ran.json();
    assert!(ran.err.contains("process") && ran.err.contains("job "), "{}", ran.err);
}

#[test]
fn a_directory_is_no_file_to_write_to() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).unwrap();
    let job = "--name=a --ioengine=null --size=4k";
    for (output, help) in [("d", "takes the name of a file"), ("no/x", "has to be there")] {
        let ran = place.run(&format!("{job} --output={output}"));
        assert_ne!(ran.status, Some(0));
        assert!(ran.err.contains(help), "{}", ran.err);
    }
}
