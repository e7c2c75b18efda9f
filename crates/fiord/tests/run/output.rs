//! Tests of what goes to which stream.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fiord::{Place, Ran, documents, end, signal};

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
        assert!(ran.err.contains("cannot write the results to /dev/full"), "{}", ran.err);
    }
}

#[test]
fn a_reader_that_goes_away_stops_no_run_and_is_no_success() {
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
    assert_eq!((ran.status, ran.err.as_str()), (Some(141), ""));
}

/// Everything that prints results, in every way that fiord has, and the exit statuses that mean success.
const PRINTS: [&str; 17] = [
    "--name=a --ioengine=null --size=1m --rw=read",
    "--name=a --ioengine=null --size=1m --rw=read --output-format=json",
    "--name=a --ioengine=null --size=1m --rw=read --output-format=json+",
    "--name=a --ioengine=null --size=1m --rw=read --minimal",
    "--version",
    "--help",
    "--cmdhelp",
    "--cmdhelp=bs",
    "--enghelp=libaio",
    "--showcmd --name=a --ioengine=null --size=1m",
    "options",
    "check --name=a --ioengine=sim --size=1m --rw=read",
    "skew --distribution=zipf:1.1",
    "devices",
    "suite",
    "sweep --set bs=4k,8k job",
    "zones --help",
];

#[test]
fn output_that_is_lost_is_no_success() {
    let place = Place::new();
    place.write("job", "[a]\nioengine=null\nsize=1m\nrw=read\n");
    let program = env!("CARGO_BIN_EXE_fiord");
    for line in PRINTS {
        if crate::fiord::lacks_sys(line) {
            continue;
        }
        for (redirection, status, error) in [
            (">/dev/null", 0, ""),
            (">&-", 1, "standard output: it is closed"),
            (">/dev/full", 1, "standard output: No space left on device"),
            // The reader has ended before fiord writes.
            ("| true; exit ${PIPESTATUS[0]}", 141, ""),
        ] {
            let wait = if redirection.starts_with('|') { "sleep 0.1;" } else { "" };
            let script = format!("({wait} exec {program} {line}) {redirection}");
            let mut command = place.shell(&script);
            let ran = Ran::from(command.output().unwrap());
            assert_eq!(ran.status, Some(status), "{script}: {ran:?}");
            let alone = error.is_empty() && ran.err.is_empty();
            assert!(alone || ran.err.contains(error) && !error.is_empty(), "{script}: {ran:?}");
            let _ = std::fs::remove_dir_all(place.path("job.sweep"));
        }
    }
}

#[test]
fn results_in_a_file_need_no_standard_output() {
    let place = Place::new();
    let script = format!("exec {} {JOB} --output=o >&-", env!("CARGO_BIN_EXE_fiord"));
    let ran = Ran::from(place.shell(&script).output().unwrap()).ok();
    assert_eq!(ran.err, "");
}

#[test]
fn the_live_line_is_shown_on_demand_and_never_in_a_document() {
    let place = Place::new();
    let line = format!("{JOB} --time_based --runtime=1 --eta=always --eta-interval=250ms");
    let ran = place.run(&line).ok();
    assert!(ran.out.contains("Jobs: 1 (f=") && ran.out.contains("[eta 00m:0"), "{}", ran.out);
    let ran = place.run(&format!("{line} --output-format=json")).ok();
    ran.json();
    let ran = place.run(&format!("{JOB} --time_based --runtime=300ms")).ok();
    assert!(!ran.out.contains("[eta"));
}

#[test]
fn status_interval_repeats_the_report() {
    let place = Place::new();
    let line = format!("{JOB} --time_based --runtime=1500ms --status-interval=250ms");
    let ran = place.run(&line).ok();
    // Five or six reports and the last one; a machine that pauses may miss some.
    let reports = ran.out.matches("Run status group 0").count();
    assert!((2..=7).contains(&reports), "{reports}: {}", ran.out);
    for format in ["json", "json+"] {
        let ran = place.run(&format!("{line} --output-format={format}")).ok();
        let documents = ran.documents();
        assert!((2..=7).contains(&documents.len()), "{}", ran.out);
        // As in fio, two documents follow each other without a separator: "}" and "{" each have a line.
        let edges = ran.out.lines().filter(|line| ["{", "}"].contains(line)).collect::<String>();
        assert_eq!(edges, "{}".repeat(documents.len()));
        let interim = documents.iter().map(|d| d["fiord"]["interim"] == 1).collect::<Vec<_>>();
        assert!(interim[..interim.len() - 1].iter().all(|is| *is) && !interim[interim.len() - 1]);
    }
    let ran = place.run(&format!("{line} --output-format=json,normal,terse")).ok();
    let starts = ["3;fio-", "{", "a: (groupid=0"];
    let order: Vec<usize> =
        ran.out.lines().filter_map(|l| starts.iter().position(|s| l.starts_with(s))).collect();
    assert_eq!(order, [0, 1, 2].repeat(order.len() / 3), "{}", ran.out);
    assert!(order.len() >= 6);
}

#[test]
fn each_document_can_be_read_when_it_is_due() {
    let place = Place::new();
    let line = format!("{JOB} --time_based --runtime=30 --status-interval=100ms");
    for output in ["", "--output=o"] {
        let mut child = place.start(&format!("{line} --output-format=json {output}"));
        let mut text = String::new();
        if output.is_empty() {
            let mut out = BufReader::new(child.stdout.take().unwrap());
            while !text.ends_with("\n}\n") {
                assert!(out.read_line(&mut text).unwrap() > 0, "it ended");
            }
        }
        let from = Instant::now();
        while !text.contains("\n}\n") {
            assert!(from.elapsed() < Duration::from_secs(20), "no document");
            std::thread::sleep(Duration::from_millis(5));
            text = std::fs::read_to_string(place.path("o")).unwrap_or_default();
        }
        assert!(child.try_wait().unwrap().is_none(), "the run goes on");
        signal(&child, "KILL");
        child.wait().unwrap();
        let whole = text.rfind("\n}\n").unwrap() + 3;
        assert_eq!(documents(&text[..whole])[0]["fiord"]["interim"], 1);
    }
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
fn a_directory_is_no_file_to_write_to() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).unwrap();
    let job = "--name=a --ioengine=null --size=4k";
    for (output, help) in [("d", "To fix: name a file"), ("no/x", "To fix: create the directory")] {
        let ran = place.run(&format!("{job} --output={output}"));
        assert_ne!(ran.status, Some(0));
        assert!(ran.err.contains(help), "{}", ran.err);
    }
}
