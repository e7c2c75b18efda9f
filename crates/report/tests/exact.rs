//! The writers against whole outputs of the reference: each file in `exact/` holds what one run
//! printed as terse, json+ and normal. Its JSON is read back into a report, and from that all
//! three are written again, byte for byte.

use fiord_golden::{case, normal, terse};
use fiord_report::TerseVersion;
use fiord_stat::report::Report;

/// The parts of one output: terse lines, the document, the text.
fn parts(output: &str) -> (&str, &str, &str) {
    let json = output.find("\n{\n").expect("a document") + 1;
    let terse = output[..json].find("3;fio-").expect("terse lines");
    let end = output.find("\n}\n").expect("the document's end") + 3;
    (&output[terse..json], &output[json..end], &output[end..])
}

fn written(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

/// Thread ids are not in the JSON.
fn without_pid(text: &str) -> String {
    let mut found = String::new();
    for line in text.lines() {
        match line.split_once(": pid=") {
            Some((before, after)) => {
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                found.push_str(&format!("{before}: pid={after}\n"));
            }
            None => found.push_str(&format!("{line}\n")),
        }
    }
    found
}

fn assert_same(what: &str, expected: &str, found: &str) {
    let lines = expected.lines().zip(found.lines()).enumerate();
    for (i, (a, b)) in lines {
        assert_eq!(a, b, "{what}, line {}", i + 1);
    }
    assert_eq!(expected, found, "{what}");
}

/// Equal but for what the JSON has lost. Its digits end at six, and a microsecond's are a
/// thousandth of those; and shares too small to be seen are written as 0.01 % there, so that their
/// sum in the terse line's first bucket is a little less.
fn same_field(a: &str, b: &str) -> bool {
    let percent = a.ends_with('%') && b.ends_with('%');
    let number = |text: &str| text.trim_end_matches('%').parse::<f64>().ok();
    let least = if percent { 0.031 } else { 2e-6 };
    a == b || number(a).zip(number(b)).is_some_and(|(a, b)| (a - b).abs() < least)
}

fn check(name: &str, output: &str) {
    let (lines, json, text) = parts(output);
    let report: Report = fiord_report::read(json).unwrap();
    assert_same(&format!("{name} json+"), json, &written(|o| fiord_report::json_plus(&report, o)));
    let ours = written(|o| fiord_report::terse(&report, TerseVersion::V3, o));
    for (i, (a, b)) in lines.lines().zip(ours.lines()).enumerate() {
        for (n, (a, b)) in a.split(';').zip(b.split(';')).enumerate() {
            assert!(same_field(a, b), "{name} terse line {}, field {}: {b}, not {a}", i + 1, n + 1);
        }
    }
    terse::shape(lines, &ours).unwrap_or_else(|e| panic!("{name} terse: {e}"));
    let ours = written(|o| fiord_report::normal(&report, o));
    assert_same(&format!("{name} normal"), &without_pid(text), &without_pid(&ours));
}

#[test]
fn written_as_the_reference_writes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exact");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "txt") {
            let output = std::fs::read_to_string(&path).expect("a file");
            check(&path.file_stem().unwrap_or_default().to_string_lossy(), &output);
            checked += 1;
        }
    }
    assert!(checked >= 11, "{checked} outputs");
}

/// Every JSON of the reference cases, written again.
#[test]
fn cases_are_written_as_they_were() {
    for case in case::workspace() {
        for format in ["json", "json+"] {
            let Some(output) = case.output(format).filter(|o| o.starts_with('{')) else { continue };
            let report = fiord_report::read(&output).unwrap();
            let ours = written(|o| match format {
                "json" => fiord_report::json(&report, o),
                _ => fiord_report::json_plus(&report, o),
            });
            assert_same(&format!("{} {format}", case.name), &output, &ours);
        }
    }
}

/// The other formats of the reference cases came from other runs: only their shapes are the same.
#[test]
fn cases_have_the_same_shapes() {
    for case in case::workspace() {
        let Some(json) = case.output("json").filter(|o| o.starts_with('{')) else { continue };
        let report = fiord_report::read(&json).unwrap();
        let versions = [TerseVersion::V3, TerseVersion::V4, TerseVersion::V5];
        for version in versions {
            let format = format!("terse{}", version.number());
            let expected = case.output(&format).expect("it is kept beside the JSON");
            let ours = written(|o| fiord_report::terse(&report, version, o));
            terse::shape(&expected, &ours)
                .unwrap_or_else(|e| panic!("{} {format}: {e}", case.name));
        }
        let expected = case.output("normal").expect("it is kept beside the JSON");
        let begins = expected.find("\n\n").expect("an empty line follows the header") + 1;
        let ours = written(|o| fiord_report::normal(&report, o));
        normal::shape(&expected[begins..], &ours)
            .unwrap_or_else(|e| panic!("{} normal: {e}", case.name));
    }
}

#[test]
fn oldest_terse_version() {
    let case = case::workspace().into_iter().find(|c| c.name == "unified-both");
    let json = case.and_then(|c| c.output("json")).expect("the case is there");
    let mut report = fiord_report::read(&json).unwrap();
    let line = written(|o| fiord_report::terse(&report, TerseVersion::V2, o));
    // Counted in what the reference prints for `--terse-version=2`.
    assert_eq!(line.split(';').count(), 202);
    report.jobs[0].description = Some("why".into());
    let lines = written(|o| fiord_report::terse(&report, TerseVersion::V2, o));
    assert!(lines.ends_with("%\n;why\n"), "{lines}");
}
