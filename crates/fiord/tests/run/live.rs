//! `--live` on a pseudo-terminal: the view, its keys, and the terminal after each kind of end.

use std::fs::File;
use std::io::Read;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fiord_sys::terminal;

use crate::fiord::{Place, signal};

const LONG: &str =
    "--live --name=a --ioengine=null --size=1g --time_based --runtime=60 --rate_iops=1000";

/// A run with the view.
struct Shown {
    child: Child,
    master: File,
    terminal: OwnedFd,
    modes: String,
    output: JoinHandle<String>,
}

/// How it ended.
#[derive(Debug)]
struct Closed {
    status: Option<i32>,
    /// The modes of the terminal are those of before.
    restored: bool,
    /// Everything that the terminal has shown.
    shown: String,
}

impl Closed {
    /// What is on the normal screen after the view.
    fn after_view(&self) -> &str {
        self.shown.rsplit_once("\x1b[?1049l").map_or("", |(_, after)| after)
    }
}

fn modes(terminal: &OwnedFd) -> String {
    let input = Stdio::from(terminal.try_clone().unwrap());
    let output = Command::new("stty").arg("-g").stdin(input).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a command whose controlling terminal is a new pseudo-terminal. `None`: there is none here.
fn start(place: &Place, line: &str) -> Option<Shown> {
    let Ok((master, terminal)) = terminal::pseudo_terminal(100, 30) else {
        eprintln!("skipped: no pseudo-terminals here");
        return None;
    };
    let stream = || Stdio::from(terminal.try_clone().unwrap());
    let program = place.command(line);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(place.path(".")).env("LANG", "C.UTF-8").env("TERM", "xterm");
    let modes = modes(&terminal);
    let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
    let master = File::from(master);
    let mut reader = master.try_clone().unwrap();
    let output = std::thread::spawn(move || {
        let mut all = Vec::new();
        let mut part = [0; 4096];
        // The read fails when the last process has closed the terminal.
        while let Ok(n) = reader.read(&mut part) {
            all.extend(&part[..n]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    Some(Shown { child, master, terminal, modes, output })
}

impl Shown {
    /// Waits until the view is open and jobs run: the process has the thread that reads keys.
    fn under_way(&self) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let has_keys = || {
            let entries = std::fs::read_dir(&tasks).into_iter().flatten().flatten();
            let name = |path: std::path::PathBuf| std::fs::read_to_string(path.join("comm"));
            entries.filter_map(|entry| name(entry.path()).ok()).any(|name| name == "keys\n")
        };
        let begun = Instant::now();
        while !has_keys() {
            assert!(begun.elapsed() < Duration::from_secs(30), "no view");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Until the next progress.
        std::thread::sleep(Duration::from_millis(400));
    }

    fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    fn end(mut self) -> Closed {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if begun.elapsed() > Duration::from_secs(40) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let restored = modes(&self.terminal) == self.modes;
        drop(self.terminal);
        Closed { status, restored, shown: self.output.join().unwrap() }
    }
}

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
    for name in ["INT", "TERM", "HUP"] {
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
}
