//! The page of a comparison in a real browser. Skipped with a message without Chromium.
//!
//! The pictures are in `target/tmp/screens`. Look at them after a change of the page.

#[path = "../../html/tests/browser/mod.rs"]
mod browser;

use std::fs;
use std::path::Path;

use browser::{Browser, Look};
use fiord_compare::{CompareSettings, ComparedRun, ComparedSide, compare, page};

/// The runs of a side whose rate has this factor.
fn side(place: u8, name: &str, factor: f64) -> ComparedSide {
    let job = |name: &str, iops: f64, p99_ns: f64| {
        format!(
            "{{\"jobname\":\"{name}\",\"job options\":{{\"iodepth\":\"{}\"}},\"read\":{{\"iops\":{iops},\
             \"bw_bytes\":{},\"total_ios\":1000,\"clat_ns\":{{\"N\":1000,\"mean\":{},\"percentile\":\
             {{\"99.000000\":{}}}}}}}}}",
            4 + place,
            (iops * 4096.0) as u64,
            p99_ns / 2.0,
            p99_ns as u64
        )
    };
    let run = |number: usize| {
        let noise = 1.0 + [0.0, 0.004, -0.003, 0.006, -0.005, 0.002, -0.001][number % 7];
        let jobs = [
            job("reader", 95_000.0 * factor * noise, 180_000.0 / factor * noise),
            job("a job with a long name", 12_000.0 * noise * noise, 900_000.0 * factor),
            // The longest reasons: too little is known, or nothing differs.
            job("a-name-without-a-space-that-is-too-long-for-a-column", 300.0, 2_000_000.0),
            job("log", 12_000.0 * factor * (1.0 + 200.0 * (noise - 1.0)).abs(), 900_000.0 * noise),
        ];
        let text = format!(
            "{{\"fio version\":\"fio-3.36\",\"timestamp\":{},\"jobs\":[{}]}}",
            1_000_000 + number + usize::from(place),
            jobs.join(",")
        );
        let report = fiord_report::read(&text).expect("a report");
        ComparedRun::new(format!("{name}-{number}.json"), &report)
    };
    ComparedSide::new(place, name.into(), (0..7).map(run).collect())
}

#[test]
fn the_page_looks_right_in_a_browser() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screens");
    fs::create_dir_all(&directory).expect("the directory of pictures");
    let Some(mut browser) = Browser::start(&directory) else { return };
    let sides = vec![side(0, "before", 1.0), side(1, "after", 1.08), side(2, "other", 0.97)];
    let comparison = compare(sides, CompareSettings::default()).expect("a comparison");
    let file = directory.join("compare.html");
    fs::write(&file, page::page(&comparison)).expect("the page is written");
    let light = Look { width: 1300, dark: false, print: false };
    let looks = [
        ("light", light),
        ("dark", Look { dark: true, ..light }),
        ("narrow", Look { width: 400, ..light }),
        ("wide", Look { width: 2200, ..light }),
        ("print", Look { width: 794, print: true, ..light }),
    ];
    let mut pictures = Vec::new();
    for (what, look) in looks {
        browser.open(&file, look);
        let picture = browser.picture();
        fs::write(directory.join(format!("compare-{what}.png")), &picture).expect("a picture");
        pictures.push(picture);
        let spills = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(spills.as_i64().is_some_and(|n| n <= 0), "{what}: {spills} too wide");
        // The verdict and the drawing are after all numbers, and must be seen without scrolling.
        let hidden = "(e => e.scrollWidth - e.clientWidth)(document.querySelector('.wide'))";
        let hidden = browser.evaluate(hidden);
        assert!(hidden.as_i64().is_some_and(|n| n <= 0), "{what}: {hidden} of the table hidden");
    }
    assert_ne!(pictures[0], pictures[1], "dark differs from light");
    // A table that is wider than the window is scrolled with keys.
    browser.open(&file, Look { width: 400, ..light });
    browser.key("Tab");
    let focused = browser.evaluate("document.activeElement.className");
    assert_eq!(focused, serde_json::json!("wide"));
}
