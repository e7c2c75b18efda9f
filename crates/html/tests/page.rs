//! Whole pages: what they contain, how large they are, and that they can be read back.

mod fixture;

use std::time::{Duration, Instant};

use fiord_html::page::page;
use fiord_html::result::{self, PageResult};
use fiord_report::embedded::embedded;
use fiord_types::Dir;

use fixture::{damaged, full, hosts, job, named, precondition, run, suite, sweep};

/// The anchors of the sections of a page, in order.
fn sections(page: &str) -> Vec<&str> {
    let parts = page.split("<section id=\"r1-").skip(1);
    parts.map(|part| part.split('"').next().unwrap_or_default()).collect()
}

#[test]
fn the_sections_are_in_the_order_in_which_an_engineer_asks() {
    let text = page(&[run(full())]);
    let expected = [
        "findings",
        "job",
        "machine",
        "results",
        "rates",
        "latency",
        "percentiles",
        "devices",
        "generator",
        "verification",
    ];
    assert_eq!(sections(&text), expected);
    let invalid = text.find("cache-hits").expect("a finding");
    assert!(invalid < text.find("not-steady").unwrap(), "the worst finding comes first");
    for words in
        ["nines", "class=\"ramp\"", "class=\"steady\"", "intended", "PCIe 3.0 x4 of PCIe 4.0 x4"]
    {
        assert!(text.contains(words), "{words}");
    }
}

#[test]
fn a_page_of_hosts_and_of_a_sweep() {
    let text = page(&[named(PageResult::Hosts(Box::new(hosts())))]);
    assert!(text.contains("n01: reader") && text.contains("n03"), "all hosts are named");
    assert!(!text.contains("All clients<"), "the sum is not a job");
    let results = result::read("depths.json", &sweep()).unwrap();
    let text = page(&results);
    assert_eq!(sections(&text), ["findings", "sweep"]);
    assert!(text.contains("knee: iodepth=8"));
}

/// A knee that is not certain is a range in the chart, or none at all; the note says how certain it is.
#[test]
fn an_uncertain_knee_is_shown_as_a_range() {
    let shown = |rest: &str| {
        let known = "\"at\": \"8\"";
        let text = sweep();
        assert!(text.contains(known));
        page(&result::read("depths.json", &text.replace(known, rest)).unwrap())
    };
    let range = "\"at\": null, \"candidates\": [\"8\", \"16\"], \"none_possible\": false, \
                 \"measured_at\": \"8\", \"confidence\": 0.95, \"method\": \"runs\", \"runs\": 3";
    let text = shown(range);
    assert!(text.contains("knee from: iodepth=8") && text.contains("knee up to: iodepth=16"));
    assert!(text.contains("Knee from iodepth=8 to iodepth=16. As measured, it is at iodepth=8."));
    assert!(text.contains("Certainty: 95\u{202f}%, from 3 runs of each point."));
    let open = range.replace("false", "true").replace("\"runs\",", "\"block-bootstrap\",");
    let text = shown(&open);
    assert!(!text.contains("knee from:"));
    assert!(
        text.contains(
            "No knee is certain: it can be from iodepth=8 to iodepth=16, or there is none."
        )
    );
    assert!(text.contains("How much runs vary is unknown."));
}

/// Everything that a user or another program chose goes through here.
#[test]
fn hostile_names_stay_text() {
    let evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{0}\u{202e}";
    let mut report = full();
    for job in &mut report.jobs {
        job.name = evil.into();
        job.options.push((evil.into(), evil.into()));
    }
    report.global_options.push(("filename".into(), evil.into()));
    report.version = evil.into();
    for finding in &mut report.extras.findings {
        finding.id = evil.into();
        finding.what = evil.into();
        finding.evidence = evil.into();
        finding.remedy = evil.into();
        finding.job = Some(evil.into());
    }
    report.extras.devices[0].name = evil.into();
    let machine = report.extras.machine.as_mut().unwrap();
    machine.hostname = evil.into();
    machine.devices[0].model = evil.into();
    let mut result = run(report);
    result.name = evil.into();
    let text = page(&[result]);
    assert!(!text.contains("<script>alert") && !text.contains("<img"), "a tag was smuggled in");
    assert!(!text.contains("onerror=alert(1)>"), "an attribute was smuggled in");
    // The data and two scripts.
    assert_eq!(text.matches("<script").count(), 3);
    assert_eq!(text.matches("</script").count(), 3);
    assert!(!text.contains(" style=\"") && !text.contains(" onclick="));
    let policy = text.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(policy.starts_with("default-src &#39;none&#39;; script-src &#39;sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let text = page(&[run(full())]);
    for word in
        ["src=", "@import", "url(", "<link", "<iframe", "<object", "fetch(", "XMLHttpRequest"]
    {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn a_page_is_read_back() {
    let report = full();
    let text = page(&[run(report.clone())]);
    let back = fiord_report::read(&text).unwrap();
    assert_eq!(back.jobs.len(), 2);
    assert_eq!(back.jobs[0].samples, report.jobs[0].samples);
    assert_eq!(back.jobs[0].dirs[0].clat.bins, report.jobs[0].dirs[0].clat.bins);
    assert_eq!(back.extras.machine, report.extras.machine);
    assert_eq!(back.extras.findings, report.extras.findings);
    // A page of a page is the page.
    let again = page(&result::read("", &text).unwrap());
    assert_eq!(sections(&again), sections(&text));
    let charts = |page: &str| {
        let chart = page.split("<svg class=\"chart lines").nth(1).map(str::to_owned);
        chart.and_then(|chart| chart.split("</svg>").next().map(str::to_owned))
    };
    assert_eq!(charts(&again), charts(&text));
}

#[test]
fn a_page_of_hosts_is_read_back() {
    let run = hosts();
    let text = page(&[named(PageResult::Hosts(Box::new(run.clone())))]);
    let results = result::read("", &text).unwrap();
    let PageResult::Hosts(back) = &results[0].content else { panic!("{results:?}") };
    assert_eq!(back.hosts.len(), 3);
    for (back, host) in back.hosts.iter().zip(&run.hosts) {
        assert_eq!((&back.name, back.complete), (&host.name, host.complete));
        assert_eq!((back.started, back.total), (host.started, host.total));
        let jobs = |host: &fiord_stat::hosts::HostReport| {
            host.report.as_ref().map(|report| (report.jobs.len(), report.extras.findings.clone()))
        };
        assert_eq!(jobs(back), jobs(host));
    }
    assert_eq!(back.all.extras.findings, run.all.extras.findings);
    assert_eq!(page(&results), text);
}

#[test]
fn several_results_are_chapters_of_one_page() {
    let mut results = result::read("sweep.json", &sweep()).unwrap();
    results.push(run(full()));
    results[1].name = "run.json".into();
    let text = page(&results);
    assert!(text.contains("<article id=\"r1\">") && text.contains("<article id=\"r2\">"));
    let names: Vec<String> = embedded(&text).unwrap().into_iter().map(|r| r.name).collect();
    assert_eq!(names, ["sweep.json", "run.json"]);
}

#[test]
fn a_page_of_preconditioning_is_read_back() {
    let results = result::read("", &precondition()).unwrap();
    let text = page(&results);
    assert_eq!(sections(&text), ["machine", "results", "rounds", "passes"]);
    for words in
        ["Preconditioning of 2 devices", "not steady", "class=\"steady\"", "nvme0n1p1 (ext4)"]
    {
        assert!(text.contains(words), "{words}");
    }
    assert_eq!(page(&result::read("", &text).unwrap()), text);
    let later = precondition().replace("\"precondition\": 1", "\"precondition\": 2");
    let error = result::read("", &later).unwrap_err().to_string();
    assert!(error.contains("later version") && error.contains("To fix:"), "{error}");
}

#[test]
fn a_chart_of_a_suite_names_the_values_of_its_option() {
    let text = page(&result::read("", &suite()).unwrap());
    assert_eq!(sections(&text), ["findings", "machine", "suite"]);
    let chart = text.split("<svg class=\"chart lines").nth(1).unwrap();
    for name in ["1", "2", "4", "8", "16"] {
        assert!(chart.contains(&format!("\">{name}</text>")), "{name}");
    }
}

/// A page says that findings were switched off, and not that there are none.
#[test]
fn findings_that_were_not_looked_for_are_not_praised() {
    let off = "Findings were switched off";
    let text = page(&[run(damaged())]);
    assert!(text.contains(off) && !text.contains("No findings"));
    assert!(text.contains("Bad data:"), "verification found some");
    assert!(text.contains(">switched off</span>"), "the number in large type");
    let back = fiord_report::read(&text).unwrap();
    assert!(back.extras.findings_off);
    let mut hosts = hosts();
    hosts.hosts[0].report.as_mut().unwrap().extras.findings_off = true;
    hosts.all.extras.findings.clear();
    hosts
        .hosts
        .iter_mut()
        .filter_map(|h| h.report.as_mut())
        .for_each(|r| r.extras.findings.clear());
    assert!(page(&[named(PageResult::Hosts(Box::new(hosts)))]).contains(off));
}

#[test]
fn the_map_of_bad_extents_shows_the_whole_file() {
    let text = page(&[run(damaged())]);
    assert!(text.contains("All 4.00\u{202f}GiB of the file in eight rows"));
    assert!(text.contains("to the end of the last bad extent"), "the size of the other is unknown");
}

/// 1,000 jobs with as many windows as the jobs of such a run have at most, and the time that this takes.
#[test]
fn a_thousand_jobs_fit_into_five_megabytes() {
    let mut report = full();
    let mut jobs: Vec<_> = (0..8).map(|n| job("x", 100 + n, 64, 60)).collect();
    jobs.iter_mut().for_each(|job| job.intended.clear());
    report.jobs = (0..1000)
        .map(|n| {
            let mut job = jobs[n % 8].clone();
            job.name = format!("job-{n}");
            job
        })
        .collect();
    let begin = Instant::now();
    let text = page(&[run(report)]);
    assert!(text.len() < 5_000_000, "{} bytes", text.len());
    // Generous, because tests share the machine and are not optimized.
    assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
    let back = fiord_report::read(&text).unwrap();
    assert_eq!(back.jobs.len(), 1000);
    assert!(!back.jobs[999].samples.dir(Dir::Read).is_empty(), "windows are kept");
}

#[test]
fn reports_of_fio_and_empty_ones_have_a_page() {
    let fio = "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"a\", \"read\": {\"io_bytes\": 4096, \"total_ios\": 1, \
               \"iops\": 10.0, \"clat_ns\": {\"N\": 1, \"mean\": 5.0, \"percentile\": {\"50.000000\": 5, \"99.000000\": 9}}}}]}";
    let text = page(&result::read("fio.json", fio).unwrap());
    assert!(text.contains("contains no checks") && text.contains("Percentiles"));
    assert!(text.contains("not checked") && !text.contains("class=\"fine\""), "no false praise");
    assert!(page(&[run(fiord_stat::report::Report::default())]).contains("No job did any I/O"));
    assert!(page(&[]).contains("No results"));
    for wrong in ["", "{}", "no result", "{\"points\": 1}", "{\"suite\": 1, \"rows\": []}"] {
        assert!(result::read("x", wrong).is_err(), "{wrong}");
    }
}

/// The colours of a block of the style sheet: name and relative luminance (WCAG 2.1).
fn luminances(block: &str) -> Vec<(String, f64)> {
    let linear = |byte: u8| {
        let share = f64::from(byte) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    let one = |part: &str| {
        let (name, value) = part.trim().split_once(": #")?;
        let hex = value.trim();
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let all = [byte(0)?, byte(2)?, byte(4)?].map(linear);
        let luminance = 0.2126 * all[0] + 0.7152 * all[1] + 0.0722 * all[2];
        (hex.len() == 6).then(|| (name.trim_start_matches("--").to_owned(), luminance))
    };
    block.split(';').filter_map(one).collect()
}

/// Text has a contrast of at least 4.5, and what a curve is made of one of 3, in all three themes.
#[test]
fn colours_have_contrast() {
    let sheet = include_str!("../assets/page.css");
    let blocks: Vec<&str> = sheet.split('{').filter(|block| block.contains("--c0: #")).collect();
    assert_eq!(blocks.len(), 4, "light, dark by preference, dark by choice, print");
    for block in blocks {
        let colours = luminances(block.split('}').next().unwrap());
        let of = |name: &str| {
            colours.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let contrast = |a: &str, b: &str| {
            let (light, dark) = (of(a).max(of(b)), of(a).min(of(b)));
            (light + 0.05) / (dark + 0.05)
        };
        for text in ["fg", "muted", "link", "invalid", "suspect", "note", "good"] {
            for ground in ["bg", "card"] {
                assert!(
                    contrast(text, ground) >= 4.5,
                    "{text} on {ground}: {}",
                    contrast(text, ground)
                );
            }
        }
        for number in 0..8 {
            let curve = format!("c{number}");
            assert!(contrast(&curve, "bg") >= 3.0, "{curve}: {}", contrast(&curve, "bg"));
            assert!(contrast(&curve, "on") >= 3.0, "{curve} below its label");
        }
        // Brightness grows steadily, so shades differ without colour, too.
        let shades: Vec<f64> = (1..=9).map(|n| of(&format!("h{n}"))).collect();
        let up = shades.windows(2).all(|pair| pair[0] < pair[1]);
        let down = shades.windows(2).all(|pair| pair[0] > pair[1]);
        assert!(up || down, "{shades:?}");
    }
}

/// The colours of a block of the style sheet in linear light, by name.
fn linear(block: &str) -> Vec<(String, [f64; 3])> {
    let one = |part: &str| {
        let (name, value) = part.trim().split_once(": #")?;
        let byte = |at: usize| u8::from_str_radix(value.trim().get(at..at + 2)?, 16).ok();
        let light = |byte: u8| {
            let share = f64::from(byte) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let rgb = [byte(0)?, byte(2)?, byte(4)?].map(light);
        Some((name.trim_start_matches("--").to_owned(), rgb))
    };
    block.split(';').filter_map(one).collect()
}

fn transformed(matrix: [[f64; 3]; 3], colour: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(colour).map(|(a, b)| a * b).sum())
}

/// CIE L*a*b* (D65) of a colour in linear light.
fn lab(colour: [f64; 3]) -> [f64; 3] {
    let xyz = transformed(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]],
        colour.map(|share| share.clamp(0.0, 1.0)),
    );
    let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let [x, y, z] = [f(xyz[0] / 0.9505), f(xyz[1]), f(xyz[2] / 1.089)];
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The colours of curves can be told apart with each kind of colour blindness (Machado, Oliveira and Fernandes 2009, severity
/// 1). Dashes and the order of the legend are a second difference.
#[test]
fn curves_differ_for_the_colour_blind() {
    let kinds = [
        ("all colours", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];
    let sheet = include_str!("../assets/page.css");
    for block in sheet.split('{').filter(|block| block.contains("--c0: #")) {
        let colours = linear(block.split('}').next().unwrap());
        let of = |number: usize| {
            let name = format!("c{number}");
            colours.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
        };
        for (kind, matrix) in kinds {
            let seen = |number| lab(transformed(matrix, of(number)));
            let apart = |a: usize, b: usize| {
                let (a, b) = (seen(a), seen(b));
                a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            };
            let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
            for (a, b) in pairs {
                assert!(apart(a, b) >= 10.0, "{kind}: c{a} and c{b} are {:.1} apart", apart(a, b));
            }
        }
    }
}
