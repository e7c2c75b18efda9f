//! The checkers on the reference itself: every case has the shape of itself, and no format is
//! mistaken for another case's.

use fiord_golden::{case, json, normal, terse};

#[test]
fn every_case_is_like_itself() {
    let cases = case::workspace();
    assert!(cases.len() > 30, "{} cases", cases.len());
    for c in cases {
        for format in ["json", "json+", "normal", "terse3", "terse4", "terse5"] {
            let Some(output) = c.output(format) else { continue };
            // The reference itself printed nothing, or text before the document, in two cases.
            if format.starts_with("json") && !output.starts_with('{') {
                continue;
            }
            let check = match format {
                "normal" => normal::shape,
                "json" | "json+" => json::shape,
                _ => terse::shape,
            };
            assert_eq!(check(&output, &output), Ok(()), "{} {format}", c.name);
        }
    }
}

#[test]
fn other_cases_differ() {
    let cases = case::workspace();
    let output = |name: &str, format: &str| {
        let case = cases.iter().find(|c| c.name == name);
        case.and_then(|c| c.output(format)).unwrap_or_else(|| panic!("{name} {format}"))
    };
    let (a, b) = ("randrw-psync-qd1", "write-sync-fsync");
    assert!(json::shape(&output(a, "json"), &output(b, "json")).is_err());
    assert!(normal::shape(&output(a, "normal"), &output(b, "normal")).is_err());
    assert!(terse::shape(&output(a, "terse3"), &output(a, "terse4")).is_err());
}
