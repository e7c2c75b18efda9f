//! Pages in a real browser: light, dark, narrow, wide and on paper. Skipped with a message without Chromium.
//!
//! The pictures are in `target/tmp/screens`. Look at them after a change of the page.

mod fixture;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fiord_html::page::page;
use fiord_html::result::{self, PageResult};

use fixture::{full, hosts, named, run, sweep};

/// How long a browser may take. Tests share the machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The browser's command, if it is installed.
fn browser() -> Option<&'static str> {
    let works = |name: &&str| {
        let quiet = Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        quiet.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works)
}

/// Waits for the browser, and ends it if it takes too long. Returns its standard output.
fn finish(mut child: Child) -> String {
    let mut out = child.stdout.take().expect("standard output is a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.read_to_string(&mut text);
        text
    });
    let begin = Instant::now();
    loop {
        match child.try_wait().expect("the browser is a child") {
            Some(_) => break,
            None if begin.elapsed() > LIMIT => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the browser took longer than {LIMIT:?}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    reader.join().expect("reading does not panic")
}

/// Opens a page with these arguments. Returns the standard output of the browser.
fn open(browser: &str, directory: &Path, page: &Path, arguments: &[String]) -> String {
    let profile = directory.join("profile");
    let child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
        ])
        .args([
            "--virtual-time-budget=4000",
            "--run-all-compositor-stages-before-draw",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    finish(child.expect("the browser starts"))
}

fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
    fs::create_dir_all(&directory).expect("the directory of pictures");
    directory
}

#[test]
fn pages_look_right_in_a_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: this test needs Chromium (apt install chromium)");
        return;
    };
    let directory = directory();
    let pages = [
        ("run", page(&[run(full())])),
        ("hosts", page(&[named(PageResult::Hosts(Box::new(hosts())))])),
        ("sweep", page(&result::read("sweep.json", &sweep()).expect("the results of a sweep"))),
    ];
    for (name, text) in &pages {
        let file = directory.join(format!("{name}.html"));
        fs::write(&file, text).expect("the page is written");
        let shoot = |what: &str, width: u32, dark: bool| {
            let picture = directory.join(format!("{name}-{what}.png"));
            let _ = fs::remove_file(&picture);
            let scheme = if dark { "0" } else { "1" };
            let arguments = [
                format!("--window-size={width},3000"),
                format!("--blink-settings=preferredColorScheme={scheme}"),
                format!("--screenshot={}", picture.display()),
            ];
            open(browser, &directory, &file, &arguments);
            let bytes = fs::read(&picture).expect("a picture");
            assert!(
                bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000,
                "{what}: {}",
                bytes.len()
            );
            bytes
        };
        let light = shoot("light", 1300, false);
        // Each picture takes seconds, and the other pages consist of the same parts.
        if *name != "run" {
            continue;
        }
        assert_ne!(light, shoot("dark", 1300, true), "dark differs from light");
        shoot("narrow", 480, false);
        shoot("wide", 2200, false);
        let paper = directory.join(format!("{name}-print.pdf"));
        open(browser, &directory, &file, &[format!("--print-to-pdf={}", paper.display())]);
        assert!(fs::read(&paper).expect("a document").starts_with(b"%PDF"));
        scripts_run(&open(browser, &directory, &file, &["--dump-dom".into()]));
    }
}

/// The charts became zoomable, so the policy allows the scripts and the scripts have no error.
fn scripts_run(dom: &str) {
    assert!(
        !dom.contains("id=\"theme\" type=\"button\" hidden"),
        "the script of the page did not end"
    );
    assert!(dom.contains("u-wrap"), "the chart library drew nothing");
    assert!(dom.contains("Arrow keys read values"), "charts explain their keys");
}
