//! Progress on a terminal: what a long operation does, how far it is, and how long it takes. Nothing of it reaches a pipe, or
//! a terminal that cannot draw a line again.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use fiord_sys::terminal;

use crate::fiord::Place;
use crate::fuse::Served;

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

/// Each request of 128 KiB to this file system takes that long, so that reading the file takes seconds.
const SLOW: Duration = Duration::from_millis(25);

#[test]
fn reading_before_the_io_shows_how_far_it_is() {
    let place = Place::new();
    let Some(served) = Served::new(&place, SLOW / 5) else { return };
    let file = served.file();
    let job =
        "--name=ahead --rw=read --bs=64k --size=4m --io_size=64k --ioengine=psync --pre_read=1";
    let line = format!("{job} --filename={} --eta-interval=250ms", file.display());
    let Some((text, status)) = shown(&place, "xterm", &line) else { return };
    assert_eq!(status, Some(0), "{text}");
    let lines = drawn(&text);
    // The first line has no rate yet.
    let is_bar = |line: &&String| line.starts_with("ahead: reading ahead [");
    let bar = lines.iter().filter(is_bar).find(|line| line.contains("of 4096KiB]["));
    assert!(bar.is_some_and(|line| line.contains("[eta ")), "{text}");
}

#[test]
fn jobs_that_lay_out_their_own_files_show_how_far_they_are() {
    let place = Place::new();
    let job = "--rw=read --bs=1m --size=192m --io_size=1m --ioengine=psync --create_serialize=0";
    let line = format!("--name=one {job} --name=other {job} --eta-interval=250ms");
    let Some((text, status)) = shown(&place, "xterm", &line) else { return };
    assert_eq!(status, Some(0), "{text}");
    if !text.contains("laying out [") {
        eprintln!("not possible here: the layout was faster than the first line");
        return;
    }
    let bars = ["2 jobs: laying out [", "one: laying out [", "other: laying out ["];
    assert!(bars.iter().any(|bar| text.contains(bar)), "{text}");
}

#[test]
fn verify_shows_how_far_it_is() {
    let place = Place::new();
    let Some(served) = Served::new(&place, SLOW) else { return };
    let job =
        "--name=a --filename=t --size=16m --rw=write --bs=1m --verify=fiord --verify_journal=j";
    place.run(&format!("{job} --do_verify=0")).ok();
    let target = served.file();
    let line = format!("verify --journal=j --same-target {}", target.display());
    let Some((text, _)) = shown(&place, "xterm", &line) else { return };
    assert!(text.contains(": checking [") && text.contains("of 16.0MiB]"), "{text}");
    let quiet = place.run("verify --journal=j t");
    assert!(!quiet.out.contains("checking [") && quiet.err.is_empty(), "{quiet:?}");
}

#[test]
fn findings_fit_the_terminal_and_are_whole_in_a_pipe() {
    let place = Place::new();
    let line = "--name=deep --rw=read --bs=4k --size=64k --iodepth=32 --ioengine=psync";
    let Some((text, status)) = shown(&place, "xterm", line) else { return };
    assert_eq!(status, Some(0), "{text}");
    let findings = &text[text.rfind("Findings (").unwrap()..];
    assert!(findings.contains("depth-ignored"), "{text}");
    let wide = drawn(findings).into_iter().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{text}");
    let out = place.run(line).ok().out;
    let whole = out.lines().find(|line| line.contains("depth-ignored: ")).unwrap();
    assert!(whole.len() > 80 && whole.contains("in flight at a time"), "{out}");
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
