//! Progress on a terminal: what a long operation does, how far it is, and how long it takes. Nothing of it reaches a pipe, or
//! a terminal that cannot draw a line again.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use fiord_sys::terminal;

use crate::fiord::Place;

/// What a program shows on a terminal of 80 columns of the type `term`, and its exit status. `None`: there are no
/// pseudo-terminals here.
fn shown(place: &Place, term: &str, line: &str) -> Option<(String, Option<i32>)> {
    let Ok((master, terminal)) = terminal::pseudo_terminal(80, 24) else {
        eprintln!("skipped: no pseudo-terminals here");
        return None;
    };
    let words = line.split_whitespace();
    // A new session has the terminal as its own, so that the program is in its foreground.
    let mut command = place.program_in(&place.path("."), "setsid");
    command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_fiord")]).args(words).env("TERM", term);
    let stream = || Stdio::from(terminal.try_clone().unwrap());
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().unwrap();
    // The copies of the terminal in `command` must be gone, or the reader never sees its end.
    drop((command, terminal));
    let mut output = Vec::new();
    let mut part = [0; 4096];
    let mut master = File::from(master);
    // The read fails when the last process has closed the terminal.
    while let Ok(n) = master.read(&mut part) {
        output.extend(&part[..n]);
    }
    Some((String::from_utf8_lossy(&output).into_owned(), child.wait().unwrap().code()))
}

/// The lines that were drawn on top of each other, without escape sequences.
fn drawn(text: &str) -> Vec<String> {
    let plain = text.replace("\x1b[K", "");
    plain.split(['\r', '\n']).map(|line| line.trim_end().to_owned()).collect()
}

fn assert_fits(text: &str) {
    let wide = drawn(text).into_iter().find(|line| line.chars().count() >= 80);
    assert_eq!(wide, None, "{text}");
}

const READER: &str = "--name=reader --rw=read --bs=64k --size=4m --ioengine=psync";

#[test]
fn a_layout_shows_how_far_it_is() {
    let place = Place::new();
    let Some((text, status)) = shown(&place, "xterm", READER) else { return };
    assert_eq!(status, Some(0), "{text}");
    let bars: Vec<String> =
        drawn(&text).into_iter().filter(|line| line.starts_with("reader: laying out [")).collect();
    assert!(bars.iter().any(|line| line.contains("of 4096KiB]")), "{text}");
    assert!(text.contains("reader: Laying out IO file (1 file / 4MiB)"), "{text}");
    assert_fits(&bars.join("\n"));
    for (term, line) in [("dumb", READER.to_owned()), ("xterm", format!("{READER} --eta=never"))] {
        std::fs::remove_file(place.path("reader.0.0")).unwrap();
        let Some((text, status)) = shown(&place, term, &line) else { return };
        assert_eq!(status, Some(0), "{text}");
        assert!(!text.contains("laying out ["), "{text}");
    }
    std::fs::remove_file(place.path("reader.0.0")).unwrap();
    let ran = place.run(READER).ok();
    assert!(!ran.out.contains("laying out ["), "{}", ran.out);
}

#[test]
fn a_sweep_shows_the_run_in_progress() {
    let place = Place::new();
    let job = "--name=n --ioengine=null --rw=read --size=1g --time_based --runtime=1";
    let line = format!("sweep --dir=d --set iodepth=1,2 {job}");
    let Some((text, status)) = shown(&place, "xterm", &line) else { return };
    assert_eq!(status, Some(0), "{text}");
    let lines = drawn(&text);
    let at = |begin: &str| lines.iter().filter(|line| line.starts_with(begin)).count();
    assert!(at("[1/2] iodepth=1 [") > 0 && at("[2/2] iodepth=2 [") > 0, "{text}");
    let first = lines.iter().find(|line| line.starts_with("[1/2] iodepth=1 [")).unwrap();
    assert!(first.contains(" % ") && first.contains("of 1 s, at most 2 s left"), "{text}");
    assert!(at("[2/2] iodepth=2 … ") == 1 && text.contains(" IOPS, "), "{text}");
    assert_fits(&text[..text.find("iodepth ").unwrap_or(text.len())]);
    for line in [format!("{line} --restart --eta=never"), format!("{line} --restart")] {
        let term = if line.ends_with("never") { "xterm" } else { "dumb" };
        let Some((text, status)) = shown(&place, term, &line) else { return };
        assert_eq!(status, Some(0), "{text}");
        assert!(!text.contains("[1/2]"), "{term}: {text}");
    }
}

#[test]
fn precondition_draws_bars_only_where_it_can() {
    let place = Place::new();
    place.write("f", vec![0; 4 << 20]);
    let line = "precondition --yes --state=state f";
    let Some((text, status)) = shown(&place, "xterm", line) else { return };
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("pass 1/1"), "{text}");
    let Some((text, status)) = shown(&place, "dumb", &format!("{line} --restart")) else { return };
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains('\x1b') && !text.contains("pass 1/1 ["), "{text}");
}
