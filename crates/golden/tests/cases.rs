//! The checkers on the reference itself: every case has the shape of itself, and no format is
//! mistaken for another case's.

use fiord_golden::{case, json, normal, terse};

#[test]
fn every_case_is_like_itself() {
    let cases = case::workspace();
    assert!(cases.len() > 30, "{} cases", cases.len());
    for c in cases {
        for format in case::FORMATS {
            if let Some(output) = c.output(format) {
                assert_eq!(c.check(format, &output), Ok(()));
            }
        }
    }
}

#[test]
fn commands_print_in_a_format() {
    let cases = case::workspace();
    let named = |name: &str| cases.iter().find(|c| c.name == name).expect("the case is there");
    let command = named("stonewall").command("fiord".as_ref(), "terse5").expect("no job file");
    let args: Vec<_> = command.get_args().collect();
    assert_eq!(args[..3], ["--output-format=terse", "--terse-version=5", "--rw=read"]);
    assert!(named("showcmd").command("fiord".as_ref(), "normal").is_none());
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
