//! Jobs that are refused before the run, in formats for programs.

use serde_json::Value;

use crate::fiord::Place;

/// As in fio, a program that reads the document finds all jobs, and the error of the wrong one.
#[test]
fn a_refused_run_has_a_document_with_its_jobs_and_their_errors() {
    let place = Place::new();
    let jobs = "--name=good --rw=read --size=64k --filename=f --name=bad --rw=write --numjobs=2 --description=why";
    let ran = place.run(&format!("{jobs} --output-format=json"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("you need to specify size="), "{}", ran.err);
    let document = ran.json();
    let rows: Vec<_> = document["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| {
            (
                job["jobname"].as_str().unwrap(),
                job["error"].as_i64().unwrap(),
                job["read"]["total_ios"].as_i64(),
            )
        })
        .collect();
    assert_eq!(rows, [("good", 0, Some(0)), ("bad", 22, Some(0)), ("bad", 22, Some(0))]);
    assert_eq!(document["jobs"][1]["job options"]["rw"], "write");
    let stopped = &document["fiord"]["stopped"][0];
    assert_eq!((&stopped["by"], &stopped["job"]), (&"error".into(), &"bad".into()));
    assert!(!place.path("f").exists());
    // A group is one entry, and a file gets the document.
    let ran = place.run(&format!("{jobs} --group_reporting --output-format=json+ --output=o.json"));
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    let document: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("o.json")).unwrap()).unwrap();
    let entries = document["jobs"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["error"]), (1, &22.into()), "{document}");
    let terse = place.run(&format!("{jobs} --output-format=terse"));
    assert!(terse.out.lines().nth(1).unwrap().starts_with("3;fio-3.42"), "{terse:?}");
    assert!(terse.out.contains(";bad;0;22;"), "{terse:?}");
}

#[test]
#[cfg(not(feature = "libblkio"))]
fn an_engine_that_this_build_lacks_is_refused_before_any_io() {
    let place = Place::new();
    let ran = place.run("--name=j --ioengine=libblkio --libblkio_driver=io_uring --libblkio_path=f --rw=write --size=4k");
    assert_eq!((ran.status, place.names().len()), (Some(1), 0), "{ran:?}");
    let help = "To fix: install fiord from its sources with `cargo install --locked --path crates/fiord --features libblkio`";
    assert!(ran.err.contains("lacks the cargo feature `libblkio`"), "{ran:?}");
    assert!(ran.err.contains(help), "{ran:?}");
}

/// Text for people and checks without a run print the error alone, as fio does for what it cannot parse.
#[test]
fn other_refusals_have_no_document() {
    let place = Place::new();
    for line in [
        "--name=a --rw=write",
        "--name=a --rw=read --filename=missing --directory=none --output-format=json --parse-only --bs=0",
        "--name=a --rw=bogus --size=1m --output-format=json",
        "missing.fio --output-format=json",
    ] {
        let ran = place.run(line);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{line}: {ran:?}");
        assert!(!ran.err.is_empty(), "{line}");
    }
}
