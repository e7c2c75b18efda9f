//! Compares fiord with the reference cases: each command gives the same exit status and output of the same
//! structure.

use std::sync::Mutex;
use std::thread;

use fiord_golden::{Case, json, normal, terse};

use crate::fiord::{Place, Ran};

/// The files that the command of the case `showcmd` names.
const JOB_FILE: &str = "[global]\nbs=4k\nioengine=psync\nsize=4m\n\n[reader]\nrw=randread\n\n\
                        [writer]\nrw=write\nbs=64k,128k\nstonewall\n";

fn run(case: &Case, options: &str) -> Ran {
    let place = Place::new();
    let mut line = case.args.join(" ");
    if line.contains("JOBFILE") {
        place.write("j.fio", JOB_FILE);
        line = line.replace("JOBFILE", "j.fio");
    }
    // A path that root could create elsewhere is created in the test directory.
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

/// The formats that a case is compared in, and the options that select them.
const FORMATS: [(&str, &str); 6] = [
    ("normal", ""),
    ("json", "--output-format=json"),
    ("json+", "--output-format=json+"),
    ("terse3", "--output-format=terse --terse-version=3"),
    ("terse4", "--output-format=terse --terse-version=4"),
    ("terse5", "--output-format=terse --terse-version=5"),
];

/// Returns how many comparisons were made, and the differences.
fn check(case: &Case) -> (usize, Vec<String>) {
    let first = run(case, "");
    if first.err.contains("not supported yet") {
        // Printed with `--nocapture`. Any other error in a case fails the test.
        assert_eq!(first.status, Some(1));
        assert_eq!(first.out, "");
        println!("{} needs what is not built: {}", case.name, first.err.lines().next().unwrap());
        return (0, Vec::new());
    }
    if first.status != Some(case.exit) {
        return (0, vec![format!("{}: exit status: {first:?}", case.name)]);
    }
    let mut differences = Vec::new();
    if case.exit == 0 && !first.err.is_empty() {
        differences.push(format!("{}: standard error: {}", case.name, first.err));
    }
    if case.exit != 0 || case.name == "parse-only" || case.name == "showcmd" {
        // fiord's messages have its own wording and go to standard error.
        return (1, differences);
    }
    let mut compared = 0;
    for (format, options) in FORMATS {
        let Some(reference) = case.output(format) else { continue };
        compared += 1;
        // On a busy disk, a run of milliseconds may take seconds and then has rate samples that the reference
        // lacks: a difference counts only if every attempt has it.
        let mut attempts = (0..3).map(|_| compare(case, format, &run(case, options), &reference));
        if let Some(difference) = attempts.next().and_then(Result::err)
            && !attempts.any(|again| again.is_ok())
        {
            differences.push(difference);
        }
    }
    (compared, differences)
}

#[test]
fn reference_cases() {
    // Half of the time goes to cases that run for seconds at a low rate, so several cases run at once.
    let cases = Mutex::new(fiord_golden::case::workspace().into_iter());
    let next = || cases.lock().unwrap().next();
    let work = || std::iter::from_fn(next).map(|case| check(&case)).collect::<Vec<_>>();
    let checked: Vec<(usize, Vec<String>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let differences: Vec<String> = checked.iter().flat_map(|(_, found)| found.clone()).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    let compared: usize = checked.iter().map(|(compared, _)| compared).sum();
    assert!(compared > 40, "only {compared} comparisons were made");
}
