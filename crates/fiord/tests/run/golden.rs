//! The reference cases: the same command gives the same exit status and output of the same shape.

use std::sync::Mutex;
use std::thread;

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
        // Seen with `--nocapture`. Whatever else is wrong with a case makes the test fail.
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
        // Messages are in fiord's own words, on standard error.
        return (1, differences);
    }
    let mut compared = 0;
    for (format, options) in FORMATS {
        let Some(reference) = case.output(format) else { continue };
        compared += 1;
        // A busy disk makes a run of milliseconds one of seconds, which then has rate samples
        // that the reference has not: only what differs every time is a difference.
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
    // Half of the time goes to cases that run for seconds at a low rate, so several run at once.
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
