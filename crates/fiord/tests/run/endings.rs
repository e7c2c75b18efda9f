//! Tests of runs that do not end by themselves, and of jobs that fail.

use std::time::{Duration, Instant};

use crate::fiord::{
    Place, a_moment, documents, end, more_ios, signal, some_ios, under_way, until, work,
};
use crate::fuse::{FOREVER, Seeks, Served};

const LONG: &str = "--name=a --rw=read --bs=4k --size=1g --ioengine=null --time_based --runtime=60";
const SOON: Duration = Duration::from_secs(20);

#[test]
fn ctrl_c_and_sigterm_end_with_a_complete_report() {
    let place = Place::new();
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let child =
            place.start(&format!("{LONG} --name=b --size=1m --stonewall --output-format=json"));
        some_ios(&child);
        signal(&child, name);
        let ran = end(child, SOON);
        assert_eq!(ran.status, Some(128), "{ran:?}");
        assert!(ran.err.contains(&format!("fiord: terminating on signal {number}")), "{ran:?}");
        let jobs = work(&ran.json());
        assert_eq!(jobs.len(), 2);
        assert!(jobs[0].2[0].1 > 0, "{jobs:?}");
        assert_eq!(jobs[1].2[0].1, 0, "{jobs:?}");
        let stopped = &ran.json()["fiord"]["stopped"][0];
        assert_eq!((&stopped["by"], &stopped["signal"]), (&"signal".into(), &number.into()));
    }
}

/// The saved result says that it is not that of a whole run, in each format.
#[test]
fn a_saved_result_says_what_stopped_the_run() {
    let place = Place::new();
    let saved = "--output-format=normal,json --output=cut.txt --html=cut.html";
    let child = place.start(&format!("{LONG} {saved}"));
    under_way(&child);
    signal(&child, "INT");
    assert_eq!(end(child, SOON).status, Some(128));
    let text = std::fs::read_to_string(place.path("cut.txt")).unwrap();
    assert!(text.contains("\nStopped: the run was stopped before its end: signal 2"), "{text}");
    let page = std::fs::read_to_string(place.path("cut.html")).unwrap();
    assert!(page.contains("</strong> The run was stopped before its end: signal 2"));
    place.run("report cut.txt -o again.html").ok();
    let again = std::fs::read_to_string(place.path("again.html")).unwrap();
    assert!(again.contains("</strong> The run was stopped before its end: signal 2"));
    let whole = LONG.replace("runtime=60", "runtime=300ms");
    place.run(&format!("{whole} --output-format=json --output=whole.json")).ok();
    for sides in ["whole.json cut.html", "cut.txt whole.json"] {
        let told = place.run(&format!("compare {sides}")).ok().out;
        assert!(told.contains("did not run to the end"), "{told}");
        assert!(!told.contains("better") && !told.contains("worse"), "{told}");
    }
    // A trigger and an error stop jobs, too.
    let line = format!("{LONG} --trigger-timeout=300ms --output-format=json");
    let document = place.run(&line).json();
    assert_eq!(document["fiord"]["stopped"][0]["by"], "trigger", "{document}");
    let full = "--name=full --filename=/dev/full --rw=write --bs=4k --size=1m";
    let document = place.run(&format!("{full} --output-format=json")).json();
    let stopped = &document["fiord"]["stopped"][0];
    assert_eq!((&stopped["by"], &stopped["job"]), (&"error".into(), &"full".into()));
    let whole = std::fs::read_to_string(place.path("whole.json")).unwrap();
    assert!(!whole.contains("\"stopped\""), "{whole}");
}

#[test]
fn sigusr1_reports_and_goes_on() {
    let place = Place::new();
    let written = || std::fs::read_to_string(place.path("report")).unwrap_or_default();
    for (format, whole) in [("json", "\n}\n"), ("normal", "Run status group 0")] {
        let child = place.start(&format!("{LONG} --output=report --output-format={format}"));
        some_ios(&child);
        signal(&child, "USR1");
        until("the report", || written().contains(whole));
        more_ios(child.id());
        signal(&child, "INT");
        assert_eq!(end(child, SOON).status, Some(128));
        if format == "json" {
            let documents = documents(&written());
            assert_eq!(documents.len(), 2);
            let [earlier, later] = [0, 1].map(|i: usize| work(&documents[i])[0].2[0].1);
            assert!(0 < earlier && earlier < later, "{earlier} {later}");
        } else {
            assert_eq!(written().matches(whole).count(), 2, "{}", written());
        }
        std::fs::remove_file(place.path("report")).unwrap();
    }
}

#[test]
fn a_file_that_asks_for_a_report_is_removed_and_answered() {
    let place = Place::new();
    let mut command = place.command(&format!("{LONG} --output-format=json --output=o"));
    let child = command.env("TMPDIR", place.path("")).spawn().unwrap();
    under_way(&child);
    place.write("fio-dump-status", "");
    until("the file is removed", || !place.path("fio-dump-status").exists());
    let written = || std::fs::read_to_string(place.path("o")).unwrap_or_default();
    until("the report", || written().contains("\n}\n"));
    signal(&child, "INT");
    assert_eq!(end(child, SOON).status, Some(128));
    assert_eq!(documents(&written()).len(), 2, "{}", written());
}

#[test]
fn a_layout_that_is_cut_short_leaves_nothing() {
    let place = Place::new();
    let child = place.start("--name=a --rw=read --size=200g --fallocate=none --output-format=json");
    under_way(&child);
    signal(&child, "INT");
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert_eq!(work(&ran.json())[0].2[0].1, 0);
    assert!(place.names().is_empty(), "{:?}", place.names());
}

/// Files whose layout has begun are complete.
#[test]
fn sigterm_ends_a_layout_of_many_files() {
    let place = Place::new();
    let line = "--name=a --directory=d --rw=read --nrfiles=40000 --filesize=4k --bs=4k \
                --openfiles=100 --output-format=json";
    std::fs::create_dir(place.path("d")).unwrap();
    let child = place.start(line);
    let made = || std::fs::read_dir(place.path("d")).map_or(0, Iterator::count);
    let from = Instant::now();
    while made() < 100 {
        assert!(from.elapsed() < SOON, "no layout");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "TERM");
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert_eq!(work(&ran.json())[0].2[0].1, 0);
    assert!((100..40_000).contains(&made()), "{}", made());
    for file in std::fs::read_dir(place.path("d")).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().len(), 4096);
    }
}

/// The survey looks for data in a file whose file system does not answer.
#[test]
fn sigterm_ends_the_collection_of_findings() {
    let place = Place::new();
    for (seeks, reads) in [(Seeks::Hang, 0), (Seeks::HangAfterReads, 16)] {
        let Some(served) = Served::with_seeks(&place, Duration::ZERO, seeks) else { return };
        let script = format!(
            "exec {} --name=a --rw=read --bs=4k --size=64k --filename={} --output-format=json >out 2>err",
            env!("CARGO_BIN_EXE_fiord"),
            served.file().display(),
        );
        let child = place.shell(&script).spawn().unwrap();
        under_way(&child);
        let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
        assert_eq!(read("out"), "");
        signal(&child, "TERM");
        let from = Instant::now();
        let document: serde_json::Value = loop {
            if let Ok(document) = serde_json::from_str(&read("out")) {
                break document;
            }
            assert!(from.elapsed() < SOON, "{}{}", read("out"), read("err"));
            std::thread::sleep(Duration::from_millis(5));
        };
        // The kernel lets the process end when the file system is gone.
        drop(served);
        assert_eq!(end(child, SOON).status, Some(128));
        let jobs = work(&document);
        assert_eq!((jobs[0].1, jobs[0].2[0].1), (0, reads), "{document}");
        let gap = &document["fiord"]["not_checked"][0];
        assert_eq!(gap["id"], "all findings", "{document}");
        assert!(read("err").contains("fiord: terminating on signal 15"), "{}", read("err"));
    }
}

#[test]
fn a_full_device_stops_one_job_and_no_other() {
    let place = Place::new();
    let line = "--filesize=1m --name=a --filename=/dev/full --rw=write --bs=4k --size=1m --name=b --rw=read \
                --bs=4k --size=1m --ioengine=null --output-format=json";
    let ran = place.run(line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let jobs = work(&ran.json());
    assert_eq!((jobs[0].1, jobs[1].1), (28, 0));
    assert_eq!(jobs[1].2[0].1, 256);
    for part in ["err=28/file:/dev/full", "error=No space left on device", "offset 0", "ENOSPC"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn the_exit_status_counts_the_jobs_that_failed() {
    let place = Place::new();
    let line = "--filename=/dev/full --rw=write --bs=4k --size=1m --filesize=1m";
    for (more, status) in [("--name=a --numjobs=3", 3), ("--name=a --numjobs=200", 127)] {
        assert_eq!(place.run(&format!("{line} {more}")).status, Some(status));
    }
    // This is not an error of the medium: the run must not report it as one.
    let ran = place.run(&format!("{line} --name=a --continue_on_error=all"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
}

#[test]
fn a_file_that_gets_shorter_is_named() {
    let place = Place::new();
    for engine in ["psync", "mmap", "io_uring"] {
        place.write("f", vec![1u8; 8 << 20]);
        let line = format!(
            "--name=a --filename=f --rw=read --bs=4k --size=8m --ioengine={engine} --time_based \
             --runtime=60 --output-format=json"
        );
        let child = place.start(&line);
        under_way(&child);
        let file = std::fs::OpenOptions::new().write(true).open(place.path("f")).unwrap();
        file.set_len(1 << 20).unwrap();
        let ran = end(child, SOON);
        assert_eq!(ran.status, Some(1), "{engine}: {ran:?}");
        assert_ne!(work(&ran.json())[0].1, 0, "{engine}");
        assert!(ran.err.contains("file:f") && ran.err.contains("offset"), "{engine}: {}", ran.err);
    }
}

#[test]
fn run_times_are_kept() {
    let place = Place::new();
    let line = LONG.replace("runtime=60", "runtime=700ms");
    let from = Instant::now();
    let document = place.run(&format!("{line} --output-format=json")).ok().json();
    let ms = document["jobs"][0]["read"]["runtime"].as_u64().unwrap();
    // On a busy machine the report may be late, but it is never early.
    assert!((690..=20_000).contains(&ms), "{ms}");
    assert!(from.elapsed() < 2 * SOON);
}

#[test]
fn errors_of_commands_before_a_job_fail_it() {
    let place = Place::new();
    place
        .write("j.fio", "[a]\nioengine=null\nsize=1m\nrw=read\nexec_prerun=echo hello && exit 3\n");
    let ran = place.run("j.fio --output-format=json");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_eq!(std::fs::read_to_string(place.path("a.prerun.txt")).unwrap(), "hello\n");
    assert!(ran.err.contains("exit 3"), "{}", ran.err);
    ran.json();
}

#[test]
fn ctrl_c_ends_commands_and_what_they_started() {
    let place = Place::new();
    for when in ["prerun", "postrun"] {
        place.write(
            "j.fio",
            format!(
                "[a]\nioengine=null\nsize=1m\nrw=read\nexec_{when}=echo $$ && sleep 300 | cat\n"
            ),
        );
        let child = place.start("j.fio --output-format=json");
        under_way(&child);
        let said = || std::fs::read_to_string(place.path(&format!("a.{when}.txt"))).ok();
        until("the command runs", || said().is_some_and(|text| text.ends_with('\n')));
        let shell: u32 = said().unwrap().trim().parse().unwrap();
        signal(&child, "INT");
        let ran = end(child, SOON);
        assert_eq!(ran.status, Some(128), "{when}: {ran:?}");
        // The report has what the job did before.
        let ios = if when == "postrun" { 256 } else { 0 };
        assert_eq!(work(&ran.json())[0].2[0].1, ios, "{when}: {ran:?}");
        // A killed process needs a CPU to end, and stays in the process table until its parent waits for it.
        until("the group has ended", || {
            let mut group = std::process::Command::new("pgrep");
            let group = group.args(["--runstates", "DRS", "--pgroup", &shell.to_string()]).output();
            !group.is_ok_and(|group| !group.stdout.is_empty())
        });
    }
}

/// Returns what a run has written to two files, once its document is complete.
fn written(place: &Place) -> Option<(String, String)> {
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap_or_default();
    let (out, err) = (read("out"), read("err"));
    let whole = match out.starts_with('{') {
        true => serde_json::from_str::<serde_json::Value>(&out).is_ok(),
        false => out.ends_with('\n'),
    };
    (whole && err.contains("hangs in")).then_some((out, err))
}

#[test]
fn the_second_ctrl_c_reports_and_names_what_hangs() {
    let place = Place::new();
    for (format, begins) in [("json", "{"), ("normal", "a: "), ("terse", "3;fio-3.42")] {
        let Some(served) = Served::new(&place, FOREVER) else { return };
        let script = format!(
            "exec {} --name=a --rw=read --bs=4k --size=64k --filename={} --name=b --rw=read --bs=4k \
             --size=1m --ioengine=null --filename=none --output-format={format} --findings=off >out 2>err",
            env!("CARGO_BIN_EXE_fiord"),
            served.file().display(),
        );
        let child = place.shell(&script).spawn().unwrap();
        under_way(&child);
        signal(&child, "INT");
        a_moment();
        assert_eq!(written(&place), None);
        signal(&child, "INT");
        let from = Instant::now();
        let (out, err) = loop {
            if let Some(written) = written(&place) {
                break written;
            }
            assert!(from.elapsed() < SOON, "no report");
            std::thread::sleep(Duration::from_millis(5));
        };
        let file = served.file();
        // The kernel lets the process end when the read ends.
        drop(served);
        assert_eq!(end(child, SOON).status, Some(128));
        assert!(out.starts_with(begins), "{format}: {out}");
        let named = format!("fiord: job a: I/O failed on {} at offset 0", file.display());
        assert!(err.contains(&named) && err.contains("hangs in pread"), "{format}: {err}");
        if format == "json" {
            let jobs = work(&serde_json::from_str(&out).unwrap());
            assert_eq!((jobs[0].1, jobs[0].2[0].1), (110, 0));
            assert_eq!((jobs[1].1, jobs[1].2[0].1), (0, 256));
        }
    }
}

/// A worker that is blocked in a system call cannot report, but its counters are known.
#[test]
fn reports_of_a_job_that_waits_for_the_device_have_what_it_did() {
    let place = Place::new();
    let Some(served) = Served::new(&place, Duration::from_millis(800)) else { return };
    let ran = place.run(&format!(
        "--name=a --rw=randread --bs=4k --size=64k --number_ios=4 --filename={} --ioengine=psync \
         --output-format=json --findings=off --status-interval=1",
        served.file().display(),
    ));
    let documents = ran.ok().documents();
    let done: Vec<u64> = documents.iter().map(|document| work(document)[0].2[0].1).collect();
    // On a busy machine, the first reports come before the first I/O is over.
    let under_way = done.iter().any(|done| (1..4).contains(done));
    assert!(documents.len() > 2 && done.is_sorted() && under_way, "{done:?}");
    assert_eq!(done.last(), Some(&4));
}

#[test]
fn a_second_ctrl_c_always_ends() {
    let place = Place::new();
    let command = "trap '' TERM && sleep 300 && sleep 300";
    place.write("j.fio", format!("[a]\nioengine=null\nsize=1m\nrw=read\nexec_prerun={command}\n"));
    let child = place.start("j.fio --output-format=json");
    under_way(&child);
    signal(&child, "INT");
    a_moment();
    signal(&child, "INT");
    let ran = end(child, SOON);
    assert_eq!(ran.status, Some(128), "{ran:?}");
    assert_eq!(work(&ran.json())[0].2[0].1, 0);
}

#[test]
fn a_device_that_is_to_be_filled_is_full_at_the_end() {
    // Only where the test may mount a small file system.
    let place = Place::new();
    std::fs::create_dir(place.path("m")).unwrap();
    let mount = |program: &str, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(args).arg(place.path("m")).stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !mount("mount", &["-t", "tmpfs", "-o", "size=4m", "none"]) {
        return;
    }
    let mut rans = Vec::new();
    for rw in ["write", "read"] {
        let line = format!(
            "--name=a --directory=m --rw={rw} --bs=64k --size=8m --fill_device=1 --output-format=json"
        );
        rans.push(place.run(&line));
        let _ = std::fs::remove_file(place.path("m/a.0.0"));
    }
    let plain = place.run("--name=a --directory=m --rw=write --bs=64k --size=8m --fallocate=none");
    assert!(mount("umount", &[]));
    for (ran, dir) in rans.iter().zip([1, 0]) {
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert_eq!(work(&ran.json())[0].2[dir].0, 4 << 20, "{ran:?}");
    }
    assert_eq!(plain.status, Some(1), "{plain:?}");
    assert!(plain.err.contains("err=28/") && plain.err.contains("offset 4194304"), "{}", plain.err);
}
