//! Tests of `fiord check`: it does no I/O, points into the job file, and has exit statuses.

use crate::fiord::Place;

const HAZARDS: &str = "[global]\nrw=randrw\nrwmixread=70\n\n[one]\nfilename=f\nsize=4GiB\n\
                       rate_iops=100\n\n[two]\nioengine=psync\niodepth=8\nfilename=g\nsize=1m\n";

#[test]
fn points_into_the_job_file_and_creates_no_file() {
    let place = Place::new();
    place.write("a.fio", HAZARDS);
    let ran = place.run("check a.fio");
    assert_eq!(ran.status, Some(253), "{ran:?}");
    for (id, at) in [("rate-and-rwmix", "a.fio:8:1"), ("unit-surprise", "a.fio:7:1")] {
        let (_, rest) = ran.out.split_once(&format!(" {id}: ")).expect(id);
        let pointed = rest.lines().nth(1).unwrap();
        assert!(pointed.ends_with(at), "{id}: {pointed}");
    }
    assert!(ran.out.starts_with("invalid: "), "worst first: {}", ran.out);
    assert!(ran.out.ends_with("findings\n"), "{}", ran.out);
    assert_eq!(place.names(), ["a.fio"], "no file is created");
}

#[test]
fn json_output_is_one_document() {
    let place = Place::new();
    place.write("a.fio", HAZARDS);
    let document = place.run("check --format=json a.fio").json();
    let findings = document["findings"].as_array().unwrap();
    let depth = findings.iter().find(|f| f["id"] == "depth-ignored").unwrap();
    assert_eq!((&depth["file"], &depth["line"]), (&"a.fio".into(), &12.into()));
    assert_eq!((&depth["option"], &depth["severity"]), (&"iodepth".into(), &"suspect".into()));
    let wrong = place.run("check --format=json --name=a --rw=rad");
    assert_eq!(wrong.status, Some(1));
    let document = wrong.json();
    assert!(document["errors"][0]["what"].as_str().unwrap().contains("`rad`"), "{document}");
    assert_eq!(document["errors"][0]["column"], 15);
}

#[test]
fn the_exit_status_shows_the_worst_finding() {
    let place = Place::new();
    let status = |line: &str| place.run(&format!("check {line}")).status;
    assert_eq!(status("--name=a --rw=read --size=1m"), Some(0));
    assert_eq!(status("--name=a --rw=read --size=1m --iodepth=4"), Some(252));
    assert_eq!(status("--name=a --rw=read --size=4096 --bs=1m --iodepth=x"), Some(1));
    assert_eq!(status(""), Some(1));
    assert_eq!(status("--help"), Some(0));
    let ran = place.run("check --name=a --rw=read --size=1m").ok();
    assert_eq!(ran.out, "1 job: nothing found\n");
    let job = "--name=a --ioengine=sim --rw=randrw --rwmixread=70 --rate_iops=9 --size=1m";
    assert_eq!(status(job), Some(253));
}

#[test]
fn each_problem_is_reported_once_in_the_requested_format() {
    let place = Place::new();
    place.write("a.fio", "[a]\nrw=read\nsize=1m\nioengine=psync\niodepth=8\n");
    let ran = place.run("check a.fio");
    assert!(ran.out.contains("depth-ignored") && ran.err.is_empty(), "{ran:?}");
    assert!(
        !ran.out.contains("capped at 1"),
        "the note and the finding are about one place: {ran:?}"
    );
    // Programs treat output on standard error as a failure.
    assert_eq!(place.run("a.fio").ok().err, "");
    assert_eq!(place.run("check --format json a.fio").json()["findings"][0]["line"], 5);
    for wrong in ["check --format=yaml a.fio", "check --format"] {
        let ran = place.run(wrong);
        assert_eq!(ran.status, Some(1));
        assert!(ran.err.contains("[possible values: normal, json]"), "{ran:?}");
        assert!(ran.err.starts_with("fiord: ") && ran.err.contains("To fix: "), "{ran:?}");
    }
    let missing = place.run("chek a.fio");
    assert_eq!(missing.status, Some(1));
    assert!(missing.err.ends_with("  help: did you mean `fiord check`?\n"), "{}", missing.err);
    assert!(!place.run("none.fio").err.contains("did you mean"));
}

#[test]
fn a_closed_pipe_and_a_full_disk() {
    let place = Place::new();
    for line in ["check --name=a --rw=read --size=1m --iodepth=4", "devices --all"] {
        if crate::fiord::lacks_sys(line) {
            continue;
        }
        let mut child = place.start(line);
        drop(child.stdout.take());
        let ran = crate::fiord::end(child, std::time::Duration::from_secs(20));
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(line).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {err}");
        assert!(err.contains("No space left on device"), "{err}");
    }
}
