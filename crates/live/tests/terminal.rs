//! The view on a real pseudo-terminal: the terminal is restored however the view ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fiord_live::controls::LiveControls;
use fiord_live::look::LiveLook;
use fiord_live::model::LiveModel;
use fiord_live::screen::{LiveError, LiveScreen};
use fiord_sys::{screen, terminal};
use fiord_types::HostIndex;

const LOOK: LiveLook = LiveLook { ascii: false, color: true };

/// The modes of a terminal, as `stty` prints them.
fn modes(terminal: &OwnedFd) -> String {
    let input = Stdio::from(terminal.try_clone().unwrap());
    let output = Command::new("stty").arg("-g").stdin(input).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn view(terminal: &OwnedFd, end: &Arc<AtomicBool>) -> Result<LiveScreen, LiveError> {
    let pair = (terminal.try_clone().unwrap(), terminal.try_clone().unwrap());
    let model = LiveModel::of_jobs("test".into(), vec![("job".into(), String::new())]);
    LiveScreen::open(pair, model, LiveControls::new(false), LOOK, Arc::clone(end))
}

fn until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Collects what appears on a terminal. Without a reader, a process that draws much would wait.
#[derive(Clone)]
struct Seen(Arc<Mutex<String>>);

impl Seen {
    fn of(mut master: File) -> Self {
        let seen = Seen(Arc::default());
        let all = Arc::clone(&seen.0);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n) = master.read(&mut part) {
                all.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..n]));
            }
        });
        seen
    }

    /// Waits for a text, and forgets everything up to it.
    fn wait_for(&self, text: &str) {
        until(text, || {
            let mut all = self.0.lock().unwrap();
            let end = all.find(text).map(|at| at + text.len());
            end.map(|end| drop(all.drain(..end))).is_some()
        });
    }
}

/// One test, because a process has one view.
#[test]
fn keys_resizes_and_panics() {
    let Ok((master, terminal)) = terminal::pseudo_terminal(80, 24) else {
        eprintln!("skipped: no pseudo-terminals here");
        return;
    };
    let mut master = File::from(master);
    let seen = Seen::of(master.try_clone().unwrap());
    let before = modes(&terminal);
    let end = Arc::default();

    // A resize before the thread that reads keys has begun.
    for _ in 0..20 {
        let shown = view(&terminal, &end).unwrap();
        terminal::set_size(&master, 120, 40).unwrap();
        seen.wait_for("\x1b[40;1H");
        drop(shown);
        terminal::set_size(&master, 80, 24).unwrap();
        seen.wait_for("\x1b[?25h\x1b[?1049l");
    }

    // Keys, resizes and the end.
    let shown = view(&terminal, &end).unwrap();
    assert_ne!(modes(&terminal), before);
    assert!(matches!(view(&terminal, &end), Err(LiveError::System(_))), "a second view");
    seen.wait_for("\x1b[?1049h");
    seen.wait_for("? help");
    terminal::set_size(&master, 120, 40).unwrap();
    seen.wait_for("\x1b[40;1H");
    for (columns, rows) in [(1, 1), (300, 100), (10, 3), (80, 24)] {
        terminal::set_size(&master, columns, rows).unwrap();
        shown.update(|model| model.state(HostIndex(0), "resized"));
    }
    master.write_all(b"?").unwrap();
    seen.wait_for("Ctrl-L");
    assert!(!end.load(Ordering::Acquire));
    master.write_all(b"q").unwrap();
    until("q ends the run", || end.load(Ordering::Acquire));
    drop(shown);
    assert_eq!(modes(&terminal), before);
    seen.wait_for("\x1b[?25h\x1b[?1049l");

    // A panic of another thread.
    let shown = view(&terminal, &end).unwrap();
    let panicked = std::thread::spawn(|| panic!("a test of panics")).join();
    assert!(panicked.is_err());
    assert!(!screen::is_open());
    assert_eq!(modes(&terminal), before);
    // The view does not come back and draw over the message.
    seen.wait_for("\x1b[?1049l");
    shown.update(|model| model.state(HostIndex(0), "too late"));
    drop(shown);
    assert_eq!(*seen.0.lock().unwrap(), "");

    // A panic in the function that changes a replay, under the lock.
    let pair = (terminal.try_clone().unwrap(), terminal.try_clone().unwrap());
    let model = LiveModel::of_jobs("test".into(), Vec::new());
    let shown =
        LiveScreen::open(pair, model, LiveControls::new(true), LOOK, Arc::clone(&end)).unwrap();
    let change = std::panic::AssertUnwindSafe(|| shown.show_replay(false, |_| panic!("a third")));
    assert!(std::panic::catch_unwind(change).is_err());
    assert_eq!(modes(&terminal), before);
    drop(shown);

    // A panic in the function that changes the model, under the lock.
    let shown = view(&terminal, &end).unwrap();
    let change = std::panic::AssertUnwindSafe(|| shown.update(|_| panic!("another one")));
    assert!(std::panic::catch_unwind(change).is_err());
    assert_eq!(modes(&terminal), before);
    drop(shown);
}
