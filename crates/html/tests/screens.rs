//! Pages in a real browser: light, dark, narrow, wide and on paper; keys, pointer and focus. Skipped with a message without
//! Chromium.
//!
//! The pictures are in `target/tmp/screens`. Look at them after a change of the page.

mod browser;
mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use fiord_html::page::page;
use fiord_html::result::{self, PageResult};
use serde_json::json;

use browser::{Browser, Look};
use fixture::{damaged, full, hosts, named, precondition, run, suite, sweep};

const LIGHT: Look = Look { width: 1300, dark: false, print: false };

/// The charts that a script makes zoomable have been drawn.
const DRAWN: &str = "[...document.querySelectorAll('svg.chart.lines')].every(svg => \
                     svg.classList.contains('replaced') || svg.querySelector('circle.dot'))";

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("the directory of pictures");
    directory
}

/// The pages, each with a name.
fn pages() -> Vec<(&'static str, String)> {
    let read = |name: &str, text: &str| result::read(name, text).expect("results");
    vec![
        ("run", page(&[run(full())])),
        ("hosts", page(&[named(PageResult::Hosts(Box::new(hosts())))])),
        ("sweep", page(&read("sweep.json", &sweep()))),
        ("suite", page(&read("", &suite()))),
        ("precondition", page(&read("", &precondition()))),
        ("verification", page(&[run(damaged())])),
    ]
}

/// Keeps the labels of each canvas, as far as they are not cleared: text, left, right and height.
const WATCH_LABELS: &str = "(() => { \
    const context = CanvasRenderingContext2D.prototype; \
    const { fillText, clearRect } = context; \
    context.clearRect = function (...area) { this.canvas.labels = []; return clearRect.apply(this, area); }; \
    context.fillText = function (text, x, y) { \
        const width = this.measureText(text).width; \
        const left = x - ({ center: width / 2, right: width, end: width }[this.textAlign] ?? 0); \
        (this.canvas.labels ??= []).push([text, left, left + width, Math.round(y)]); \
        return fillText.call(this, text, x, y); \
    }; })()";

/// The labels of charts that zoom which overlap another one.
const OVERLAPS: &str = "[...document.querySelectorAll('.plot canvas')].flatMap(canvas => { \
    const all = canvas.labels ?? []; \
    return all.filter((a, at) => all.slice(at + 1).some(b => a[3] === b[3] && a[1] < b[2] && b[1] < a[2])); })";

/// The labels of charts that zoom.
const LABELS: &str =
    "[...document.querySelectorAll('.plot canvas')].flatMap(c => (c.labels ?? []).map(l => l[0]))";

#[test]
fn pages_look_right_in_a_browser() {
    let directory = directory("screens");
    let Some(mut browser) = Browser::start(&directory) else { return };
    browser.call("Page.enable", json!({}));
    browser.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH_LABELS}));
    let looks = [
        ("light", LIGHT),
        ("dark", Look { dark: true, ..LIGHT }),
        ("narrow", Look { width: 400, ..LIGHT }),
        ("wide", Look { width: 2200, ..LIGHT }),
        ("print", Look { width: 794, print: true, ..LIGHT }),
    ];
    for (name, text) in pages() {
        let file = directory.join(format!("{name}.html"));
        fs::write(&file, text).expect("the page is written");
        let mut pictures = Vec::new();
        for (what, look) in looks {
            browser.open(&file, look);
            browser.wait(DRAWN);
            let picture = browser.picture();
            assert!(picture.starts_with(b"\x89PNG"), "{name}, {what}");
            fs::write(directory.join(format!("{name}-{what}.png")), &picture).expect("a picture");
            pictures.push(picture);
            // Only tables and charts may be wider than a window, and they have a scroll bar of their own.
            let spills = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
            assert!(spills.as_i64().is_some_and(|n| n <= 0), "{name}, {what}: {spills} too wide");
            let cut = browser.evaluate(CUT_OFF);
            assert_eq!(cut, json!([]), "{name}, {what}: labels leave their chart");
            let overlaps = browser.evaluate(OVERLAPS);
            assert_eq!(overlaps, json!([]), "{name}, {what}: labels overlap");
            if (name, what) == ("run", "wide") {
                let labels = browser.evaluate(LABELS).to_string();
                let expected = ["\"steady\"", "\"p50\""];
                assert!(expected.iter().all(|label| labels.contains(label)), "{labels}");
            }
        }
        assert_ne!(pictures[0], pictures[1], "{name}: dark differs from light");
        let paper = browser.paper();
        assert!(paper.starts_with(b"%PDF"), "{name}");
        fs::write(directory.join(format!("{name}-print.pdf")), paper).expect("a document");
    }
}

/// The labels of charts of which a part lies outside of the chart.
const CUT_OFF: &str = "[...document.querySelectorAll('svg.chart')].filter(svg => svg.clientWidth > 0).flatMap(svg => { \
    const all = svg.getBoundingClientRect(); \
    return [...svg.querySelectorAll('text')].filter(text => { const box = text.getBoundingClientRect(); \
        return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1; \
    }).map(text => text.textContent); })";

/// What has the focus: a name, whether an outline shows it, and whether it is within the window.
const FOCUSED: &str = "(() => { const e = document.activeElement; const box = e.getBoundingClientRect(); \
    const look = getComputedStyle(e); \
    return { name: e.id || e.className || e.tagName.toLowerCase() + ':' + e.textContent.trim().slice(0, 30), \
        outlined: look.outlineStyle !== 'none' && parseFloat(look.outlineWidth) >= 2, \
        seen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth, \
        body: e === document.body }; })()";

/// The curves of the first chart that can be zoomed, as they are drawn.
const DRAWING: &str = "document.querySelector('.plot canvas').toDataURL()";

/// The values below the first chart that can be zoomed.
const READING: &str =
    "[...document.querySelectorAll('.plot')][0].querySelector('.u-legend').textContent";

#[test]
fn every_control_is_reached_with_the_tab_key_and_shows_its_focus() {
    let directory = directory("keys");
    let Some(mut browser) = Browser::start(&directory) else { return };
    let file = directory.join("run.html");
    fs::write(&file, page(&[run(full())])).expect("the page is written");
    browser.open(&file, LIGHT);
    browser.wait(DRAWN);
    // As on a screen: what is not seen must be scrolled to.
    browser.resize(1300, 700);
    let mut names = Vec::new();
    loop {
        browser.key("Tab");
        let focused = browser.evaluate(FOCUSED);
        // Behind the last control, the focus leaves the page.
        if focused["body"] == json!(true) || names.len() > 300 {
            break;
        }
        let name = focused["name"].as_str().unwrap_or_default().to_owned();
        assert_eq!(focused["outlined"], json!(true), "{name} has no visible focus");
        assert_eq!(focused["seen"], json!(true), "{name} is not in view");
        names.push(name);
    }
    assert_eq!(&names[..2], ["skip", "theme"]);
    let count = |name: &str| names.iter().filter(|known| *known == name).count();
    let all = |browser: &mut Browser, selector: &str| {
        let found = format!(
            "[...document.querySelectorAll('{selector}')].filter(e => e.checkVisibility()).length"
        );
        browser.evaluate(&found).as_u64().map_or(0, |n| n as usize)
    };
    let plots = all(&mut browser, ".plot");
    assert!(plots > 3 && count("plot") == plots, "{plots} charts: {names:?}");
    assert_eq!(count("scroll"), all(&mut browser, ".scroll"), "{names:?}");
    let summaries = names.iter().filter(|name| name.starts_with("summary:")).count();
    assert_eq!(summaries, all(&mut browser, "summary"), "{names:?}");
    // The button of the theme works with a key.
    let theme = "document.documentElement.dataset.theme";
    browser.evaluate("document.getElementById('theme').focus()");
    browser.key("Enter");
    assert_eq!(browser.evaluate(theme), json!("dark"));
    browser.key("Enter");
    assert_eq!(browser.evaluate(theme), json!("light"));
}

#[test]
fn charts_are_read_and_zoomed_with_keys_and_with_the_pointer() {
    let directory = directory("zoom");
    let Some(mut browser) = Browser::start(&directory) else { return };
    let file = directory.join("run.html");
    fs::write(&file, page(&[run(full())])).expect("the page is written");
    browser.open(&file, LIGHT);
    browser.wait(DRAWN);
    let whole = browser.evaluate(DRAWING);
    let nothing = browser.evaluate(READING);
    browser.evaluate("document.querySelector('.plot').focus()");
    browser.key("ArrowRight");
    browser.wait(&format!("{READING} !== {nothing}"));
    let first = browser.evaluate(READING);
    browser.key("ArrowRight");
    browser.wait(&format!("{READING} !== {first}"));
    browser.key("+");
    browser.wait(&format!("{DRAWING} !== {whole}"));
    // Zooming out ends with the whole chart, and does not continue beyond it.
    (0..4).for_each(|_| browser.key("-"));
    browser.wait(&format!("{DRAWING} === {whole}"));
    browser.key("+");
    browser.wait(&format!("{DRAWING} !== {whole}"));
    browser.key("0");
    browser.wait(&format!("{DRAWING} === {whole}"));

    let area = "(() => { const box = document.querySelector('.plot .u-over').getBoundingClientRect(); \
                return [box.left, box.top, box.width, box.height]; })()";
    let area = browser.evaluate(area);
    let number = |at: usize| area[at].as_f64().expect("a number");
    let at = |share: f64| (number(0) + share * number(2), number(1) + number(3) / 2.0);
    let before = browser.evaluate(READING);
    browser.pointer("mouseMoved", at(0.7), 0);
    browser.wait(&format!("{READING} !== {before}"));
    browser.pointer("mouseMoved", at(0.3), 0);
    browser.pointer("mousePressed", at(0.3), 1);
    browser.pointer("mouseMoved", at(0.45), 1);
    browser.pointer("mouseMoved", at(0.6), 1);
    browser.pointer("mouseReleased", at(0.6), 1);
    browser.wait(&format!("{DRAWING} !== {whole}"));
    for clicks in [1, 2] {
        browser.pointer("mousePressed", at(0.5), clicks);
        browser.pointer("mouseReleased", at(0.5), clicks);
    }
    browser.wait(&format!("{DRAWING} === {whole}"));

    // A heat map says what lies below the pointer.
    let map = "(() => { const e = document.querySelector('svg.heat'); e.scrollIntoView({block: 'center'}); \
               const box = e.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()";
    let map = browser.evaluate(map);
    let place = (map[0].as_f64().expect("a number"), map[1].as_f64().expect("a number"));
    browser.pointer("mouseMoved", place, 0);
    browser.wait("document.querySelector('.readout')?.textContent.includes('·') === true");
}
