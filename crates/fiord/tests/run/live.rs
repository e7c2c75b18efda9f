//! `--live` and `fiord live` on a pseudo-terminal: the view, its keys, and the terminal after each kind of end.

use std::time::Duration;

use fiord_sys::terminal;

use crate::fiord::{Place, heard_signals, signal};
use crate::hosts;
use crate::screen::{start, start_on};

const LONG: &str =
    "--live --name=a --ioengine=null --size=1g --time_based --runtime=60 --rate_iops=1000";

#[test]
fn q_ends_the_run_with_a_normal_report() {
    let place = Place::new();
    let Some(mut shown) = start(&place, LONG) else { return };
    shown.under_way();
    shown.press(b"\r\x1bq");
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(0), true), "{closed:?}");
    assert!(closed.shown.contains("sorted by order"), "{closed:?}");
    let report = closed.after_view();
    assert!(
        report.contains("err= 0") && report.contains("the user ended the run early"),
        "{report}"
    );
    assert!(!report.contains("terminating"), "{report}");
}

#[test]
fn signals_end_the_run_and_restore_the_terminal() {
    let place = Place::new();
    for name in heard_signals() {
        let Some(shown) = start(&place, LONG) else { return };
        shown.under_way();
        signal(&shown.child, name);
        let closed = shown.end();
        assert_eq!((closed.status, closed.restored), (Some(128), true), "{name}: {closed:?}");
        let report = closed.after_view();
        assert!(report.contains(": terminating on signal"), "{name}: {report}");
        assert!(report.contains("err= 0"), "{name}: {report}");
    }
}

#[test]
fn ctrl_c_on_the_keyboard_is_a_signal_and_resizes_do_not_matter() {
    let place = Place::new();
    let Some(mut shown) = start(&place, LONG) else { return };
    shown.under_way();
    for (columns, rows) in [(5, 2), (300, 90), (1, 1), (60, 18)] {
        terminal::set_size(&shown.master, columns, rows).unwrap();
        shown.press(b"?s\x1b[B");
        std::thread::sleep(Duration::from_millis(30));
    }
    // Ctrl-Z and Ctrl-\ would leave the terminal as it is.
    shown.press(b"\x1a\x1c");
    shown.press(b"\x03");
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(128), true), "{closed:?}");
    assert!(closed.after_view().contains(": terminating on signal 2"), "{closed:?}");
}

#[test]
fn a_run_that_ends_by_itself_leaves_its_report() {
    let place = Place::new();
    let line = LONG.replace("runtime=60", "runtime=1500ms") + " --eta-interval=250ms";
    let Some(shown) = start(&place, &line) else { return };
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(0), true), "{closed:?}");
    assert!(closed.after_view().contains("Run status group 0"), "{closed:?}");
    // The lines before the run stay on the normal screen.
    let before = closed.shown.split("\x1b[?1049h").next().unwrap();
    assert!(before.contains("Starting 1 process"), "{before}");
}

#[test]
fn results_in_a_file_and_errors_of_jobs() {
    let place = Place::new();
    let line = "--live --output=out.json --output-format=json --name=bad --filename=missing/file \
                --rw=read --allow_file_create=0 --ioengine=psync --size=4k";
    let Some(shown) = start(&place, line) else { return };
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(1), true), "{closed:?}");
    assert!(closed.shown.contains("missing/file"), "{closed:?}");
}

#[test]
fn without_a_terminal_nothing_runs() {
    let place = Place::new();
    let ran = place.run("--live --name=a --rw=write --size=4k --filename=made");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("--live: the full-screen view needs a terminal"), "{ran:?}");
    assert!(ran.err.contains("To fix:"), "{ran:?}");
    assert!(!place.path("made").exists());
}

#[test]
fn a_dumb_terminal_and_debug_lines_are_refused() {
    let place = Place::new();
    let Some(shown) = start(&place, &format!("{LONG} --debug=io")) else { return };
    let closed = shown.end();
    assert_eq!(closed.status, Some(1), "{closed:?}");
    assert!(closed.shown.contains("the lines of --debug"), "{closed:?}");
    finished_run(&place);
    for line in [LONG, "live run.json"] {
        let Some(shown) = start_on(&place, line, (80, 24), "dumb") else { return };
        let closed = shown.end();
        assert_eq!((closed.status, closed.restored), (Some(1), true), "{closed:?}");
        assert!(closed.shown.contains("TERM is `dumb`"), "{closed:?}");
        assert!(!closed.shown.contains('\x1b'), "{closed:?}");
    }
}

/// The hosts are directories: see `hosts.rs`.
#[test]
fn many_hosts_are_shown_and_q_ends_their_jobs() {
    let place = hosts::place();
    let line = format!("{} {LONG} --numjobs=2", hosts::options(&place, "n1,n2"));
    let Some(mut shown) = start(&place, &line) else { return };
    shown.under_way();
    shown.wait_for("sorted by order");
    shown.wait_for("2 hosts, 4 jobs: 4 running");
    shown.press(b"j\r");
    shown.wait_for("a (2)");
    shown.press(b"\x1bq");
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(0), true), "{closed:?}");
    let report = closed.after_view();
    assert!(report.contains("the user ended the run early"), "{report}");
    assert!(report.contains("<n1>") && report.contains("<n2>"), "{report}");
    assert!(report.contains("All clients") && !report.contains("terminating"), "{report}");
}

#[test]
fn signals_restore_the_terminal_of_a_run_on_hosts() {
    let place = hosts::place();
    let line = format!("{} {LONG}", hosts::options(&place, "n1,n2"));
    let Some(shown) = start(&place, &line) else { return };
    shown.under_way();
    shown.wait_for("2 hosts, 2 jobs: 2 running");
    signal(&shown.child, "TERM");
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(128), true), "{closed:?}");
    assert!(closed.after_view().contains(": terminating on signal 15"), "{closed:?}");
}

/// Makes the result of a short run, and a page of it: `run.json`, `run.html`.
fn finished_run(place: &Place) {
    let ran = place.run(
        "--output-format=json --output=run.json --html=run.html --ioengine=null --size=1g --time_based --runtime=700ms \
         --rate_iops=1000 --name=first --numjobs=2 --rw=randread --name=second --rw=write",
    );
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{ran:?}");
}

#[test]
fn a_finished_run_is_replayed_with_keys() {
    let place = Place::new();
    finished_run(&place);
    for file in ["run.json", "run.html"] {
        let Some(mut shown) = start(&place, &format!("live {file} --speed=0.125")) else { return };
        shown.wait_for("replay, speed 0.125x");
        shown.press(b"+ ");
        shown.wait_for("replay, speed 0.25x (paused)");
        shown.press(b"5.,");
        shown.wait_for("first (2)");
        shown.wait_for("randread");
        shown.press(b"s");
        shown.wait_for("sorted by name");
        shown.press(b"G\r");
        shown.wait_for("So far: write");
        shown.press(b"\x1b?");
        shown.wait_for("by a 20th of the run");
        shown.press(b"?");
        // The end of the run, then from the beginning again.
        shown.press(&b"\x1b[C".repeat(40));
        shown.wait_for("end of the run");
        shown.press(b" ");
        shown.wait_for("replay, speed 0.25x");
        shown.press(b"q");
        let closed = shown.end();
        assert_eq!((closed.status, closed.restored), (Some(0), true), "{closed:?}");
        assert_eq!(closed.after_view(), "", "{closed:?}");
    }
}

#[test]
fn signals_resizes_and_small_terminals_do_not_hurt_a_replay() {
    let place = Place::new();
    finished_run(&place);
    for name in heard_signals() {
        let Some(shown) = start_on(&place, "live run.json", (20, 5), "xterm") else { return };
        shown.under_way();
        for (columns, rows) in [(5, 2), (300, 90), (1, 1), (20, 5)] {
            terminal::set_size(&shown.master, columns, rows).unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
        signal(&shown.child, name);
        let closed = shown.end();
        assert_eq!((closed.status, closed.restored), (Some(128), true), "{name}: {closed:?}");
    }
    let Some(mut shown) = start(&place, "live run.json") else { return };
    shown.under_way();
    shown.press(b"\x1a\x1c\x03");
    let closed = shown.end();
    assert_eq!((closed.status, closed.restored), (Some(128), true), "{closed:?}");
}

#[test]
fn what_cannot_be_replayed_is_explained() {
    let place = Place::new();
    finished_run(&place);
    let whole = std::fs::read_to_string(place.path("run.json")).unwrap();
    place.write("fio.json", whole.replace("\"samples\"", "\"other\""));
    place.write("sweep.json", r#"{"job": "a", "points": []}"#);
    place.write("text", "this is text");
    let page = place.run("report run.json fio.json -o both.html");
    assert_eq!(page.status, Some(0), "{page:?}");
    for (arguments, message, remedy) in [
        ("live run.json", "needs a terminal", "`fiord series run.json`"),
        ("live fio.json", "fio.json has no samples", "`fiord --output-format=json"),
        ("live sweep.json", "result of a sweep", "`fiord report sweep.json"),
        ("live text", "cannot read the results in text", ""),
        ("live absent.json", "cannot read absent.json", "check the name"),
        ("live both.html", "2 results:\n  1: run.json\n  2: fio.json", "--run=N"),
        ("live both.html --run=3", "2 results", "--run=N"),
        ("live both.html --run=2", "both.html has no samples", "To fix:"),
        ("live run.json --speed=0", "from 0.125 to 65536", "To fix:"),
        ("live run.json --speed=nan", "from 0.125 to 65536", "To fix:"),
        ("live both.html --run=1", "needs a terminal", "To fix: run it in a terminal"),
    ] {
        let ran = place.run(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{arguments}: {ran:?}");
        assert!(ran.err.contains(message) && ran.err.contains(remedy), "{arguments}: {}", ran.err);
    }
}
