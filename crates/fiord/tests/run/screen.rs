//! Programs on a pseudo-terminal, and what they show.

use std::fs::File;
use std::io::Read;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fiord_sys::terminal;

use crate::fiord::Place;

/// A run with the view.
pub(crate) struct Shown {
    pub child: Child,
    pub master: File,
    terminal: OwnedFd,
    modes: String,
    seen: Arc<Mutex<Vec<u8>>>,
    output: JoinHandle<()>,
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Closed {
    pub status: Option<i32>,
    /// The modes of the terminal are those of before.
    pub restored: bool,
    /// Everything that the terminal has shown.
    pub shown: String,
}

impl Closed {
    /// What is on the normal screen after the view.
    pub(crate) fn after_view(&self) -> &str {
        self.shown.rsplit_once("\x1b[?1049l").map_or("", |(_, after)| after)
    }
}

/// The lines of the screen after these bytes. Knows only the sequences that the view uses: positions, styles, and the one
/// that clears the screen.
fn drawn(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<Vec<char>> = Vec::new();
    let (mut x, mut y) = (0, 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => {
                let parameters = rest.clone().skip(1).take_while(|c| !c.is_ascii_alphabetic());
                let parameters: String = parameters.collect();
                match rest.nth(parameters.chars().count() + 1) {
                    Some('H') => {
                        let mut numbers = parameters.split(';').map(|n| n.parse().unwrap_or(1));
                        y = numbers.next().unwrap_or(1) - 1;
                        x = numbers.next().unwrap_or(1) - 1;
                    }
                    Some('J') => lines.clear(),
                    _ => {}
                }
            }
            '\r' => x = 0,
            '\n' => y += 1,
            c => {
                lines.resize(lines.len().max(y + 1), Vec::new());
                let length = lines[y].len().max(x + 1);
                lines[y].resize(length, ' ');
                lines[y][x] = c;
                x += 1;
            }
        }
    }
    lines.into_iter().map(|line| String::from_iter(line) + "\n").collect()
}

fn modes(terminal: &OwnedFd) -> String {
    let input = Stdio::from(terminal.try_clone().unwrap());
    let output = Command::new("stty").arg("-g").stdin(input).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a command whose controlling terminal is a new pseudo-terminal. `None`: there is none here.
pub(crate) fn start(place: &Place, line: &str) -> Option<Shown> {
    start_on(place, line, (100, 30), "xterm")
}

/// Starts a command on a terminal of a size and a kind.
pub(crate) fn start_on(place: &Place, line: &str, size: (u16, u16), kind: &str) -> Option<Shown> {
    let Ok((master, terminal)) = terminal::pseudo_terminal(size.0, size.1) else {
        eprintln!("skipped: no pseudo-terminals here");
        return None;
    };
    let stream = || Stdio::from(terminal.try_clone().unwrap());
    let program = place.command(line);
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(place.path(".")).env("LANG", "C.UTF-8").env("TERM", kind);
    let modes = modes(&terminal);
    let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
    let master = File::from(master);
    let mut reader = master.try_clone().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    let output = std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The read fails when the last process has closed the terminal.
        while let Ok(n) = reader.read(&mut part) {
            all.lock().unwrap().extend(&part[..n]);
        }
    });
    Some(Shown { child, master, terminal, modes, seen, output })
}

impl Shown {
    /// Waits until the view is open and jobs run: the process has the thread that reads keys.
    pub(crate) fn under_way(&self) {
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

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Waits until the screen contains a text. Returns what is on it.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let screen = drawn(&self.seen.lock().unwrap());
            if screen.contains(text) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{text} is not on:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn end(mut self) -> Closed {
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
        self.output.join().unwrap();
        let shown = String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned();
        Closed { status, restored, shown }
    }
}
