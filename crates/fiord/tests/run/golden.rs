//! The reference cases: the same command gives the same exit status and output of the same shape.

use fiord_golden::{Case, json, normal, terse};

use crate::fiord::{Place, Ran};

/// What the `showcmd` case's command names.
const JOB_FILE: &str = "[global]\nbs=4k\nioengine=psync\nsize=4m\n\n[reader]\nrw=randread\n\n\
                        [writer]\nrw=write\nbs=64k,128k\nstonewall\n";

fn run(case: &Case, options: &str) -> Ran {
    let place = Place::new();
    let mut line = case.args.join(" ");
    if line.contains("JOBFILE") {
        place.write("j.fio", JOB_FILE);
        line = line.replace("JOBFILE", "j.fio");
    }
    // A path that root could make elsewhere is made here.
    line = line.replace("/nonexistent/", "nonexistent/");
    place.run(&format!("{line} {options}"))
}

fn compare(case: &Case, format: &str, ran: &Ran, reference: &str) -> Result<(), String> {
    match format {
        "json" | "json+" => json::shape(reference, &ran.out),
        "normal" => normal::shape(reference, &ran.out),
        _ => terse::shape(reference, &ran.out),
    }
    .map_err(|difference| format!("{} {format}: {difference}\n{}{}", case.name, ran.out, ran.err))
}

#[test]
fn reference_cases() {
    let mut differences = Vec::new();
    let mut compared = 0;
    for case in fiord_golden::case::workspace() {
        let first = run(&case, "");
        if first.err.contains("not supported yet") {
            // Seen with `--nocapture`. Whatever else is wrong with a case makes the test fail.
            assert_eq!(first.status, Some(1));
            assert_eq!(first.out, "");
            println!(
                "{} needs what is not built: {}",
                case.name,
                first.err.lines().next().unwrap()
            );
            continue;
        }
        if first.status != Some(case.exit) {
            differences.push(format!("{}: exit status: {first:?}", case.name));
            continue;
        }
        if case.exit == 0 && !first.err.is_empty() {
            differences.push(format!("{}: standard error: {}", case.name, first.err));
        }
        if case.exit != 0 || case.name == "parse-only" || case.name == "showcmd" {
            // Messages are in fiord's own words, on standard error.
            compared += 1;
            continue;
        }
        for format in ["normal", "json", "json+", "terse3", "terse4", "terse5"] {
            let Some(reference) = case.output(format) else { continue };
            let options = match format.strip_prefix("terse") {
                Some(version) => format!("--output-format=terse --terse-version={version}"),
                None => format!("--output-format={format}"),
            };
            compared += 1;
            // A busy disk makes a run of milliseconds one of seconds, which then has rate samples
            // that the reference has not: only what differs every time is a difference.
            let mut attempts =
                (0..3).map(|_| compare(&case, format, &run(&case, &options), &reference));
            let first = attempts.next().and_then(Result::err);
            if let Some(difference) = first
                && !attempts.any(|again| again.is_ok())
            {
                differences.push(difference);
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    assert!(compared > 40, "only {compared} comparisons were made");
}
