//! Comparisons of reports, and how they are printed.

use fiord_compare::evidence::EvidenceMethod;
use fiord_compare::{
    CompareError, CompareMetric, CompareSettings, CompareVerdict, ComparedRun, ComparedSide,
    Comparison, ConditionState, FailCondition, compare, json, markdown, page, text,
};

/// The JSON of a run whose job has this name, rate and 99th percentile. `extra`: further keys of the report.
fn report(job: &str, iops: f64, p99_ns: u64, extra: &str) -> String {
    format!(
        "{{\"fio version\":\"fio-3.36\",\"timestamp\":{},{extra}\"jobs\":[{{\"jobname\":\"{job}\",\
         \"job options\":{{\"iodepth\":\"4\"}},\"read\":{{\"iops\":{iops},\"bw_bytes\":{},\
         \"total_ios\":1000,\"clat_ns\":{{\"N\":1000,\"mean\":{}.0,\
         \"percentile\":{{\"99.000000\":{p99_ns}}}}}}}}}]}}",
        iops as u64,
        (iops * 4096.0) as u64,
        p99_ns / 2
    )
}

fn side(place: u8, name: &str, reports: &[String]) -> ComparedSide {
    let run = |(i, text): (usize, &String)| {
        ComparedRun::new(format!("{name}{i}"), &fiord_report::read(text).unwrap())
    };
    ComparedSide::new(place, name.into(), reports.iter().enumerate().map(run).collect())
}

/// Runs around a rate and a latency that differ by some per mille.
fn runs(job: &str, count: usize, iops: f64, p99_ns: u64) -> Vec<String> {
    let one = |i: usize| {
        let factor = 1.0 + [0.0, 0.004, -0.003, 0.006, -0.005, 0.002][i % 6] + i as f64 * 1e-5;
        report(job, iops * factor, (p99_ns as f64 * factor) as u64, "")
    };
    (0..count).map(one).collect()
}

fn compared(a: &[String], b: &[String], settings: CompareSettings) -> Comparison {
    compare(vec![side(0, "a", a), side(1, "b", b)], settings).unwrap()
}

fn verdicts(comparison: &Comparison) -> Vec<CompareVerdict> {
    comparison.contrasts.iter().map(|contrast| contrast.verdict).collect()
}

fn notes(comparison: &Comparison) -> Vec<&str> {
    comparison.notes.iter().map(|note| note.id).collect()
}

#[test]
fn more_of_a_rate_is_better_and_more_of_a_latency_is_worse() {
    let (a, b) = (runs("j", 5, 1000.0, 50_000), runs("j", 5, 1200.0, 60_000));
    let comparison = compared(&a, &b, CompareSettings::default());
    use CompareVerdict::{Better, Worse};
    assert_eq!(verdicts(&comparison), [Better, Worse, Worse]);
    let first = &comparison.contrasts[0];
    assert_eq!(first.evidence.method, EvidenceMethod::Ranks);
    assert!((first.evidence.ratio - 1.2).abs() < 0.001);
    let (low, high) = first.interval_percent().unwrap();
    assert!(low > 18.0 && low < first.change_percent() && high < 22.0, "{low} {high}");
    // All values of one side are larger: 2 of 252 outcomes, three results.
    let near = |p: Option<f64>, wanted: f64| p.is_some_and(|p| (p - wanted).abs() < 1e-9);
    assert!(near(first.p, 2.0 / 252.0) && near(first.p_corrected, 6.0 / 252.0));
}

#[test]
fn a_difference_below_the_threshold_is_none() {
    let (a, b) = (runs("j", 8, 1000.0, 50_000), runs("j", 8, 1015.0, 50_700));
    let told = compared(&a, &b, CompareSettings::default());
    assert!(verdicts(&told).iter().all(|verdict| *verdict != CompareVerdict::CannotTell));
    let settings = |noise| CompareSettings { noise, ..CompareSettings::default() };
    let near = compared(&a, &b, settings(0.02));
    assert!(verdicts(&near).iter().all(|verdict| *verdict == CompareVerdict::CannotTell));
    let far = compared(&a, &b, settings(0.1));
    assert_eq!(far.contrasts[0].reason, "any difference is below the threshold of 10 %");
    assert_eq!(far.contrasts[0].runs_needed, None);
    // Without a threshold, nothing is below it.
    // Equal rates; the latencies differ, because copies of a run count once.
    let equal: Vec<String> = (0..6).map(|i| report("j", 1000.0, 50_000 + i, "")).collect();
    let same = compared(&equal, &equal, settings(0.0));
    assert_eq!(same.contrasts[0].reason, "the medians are equal");
}

#[test]
fn open_results_say_how_many_runs_are_needed() {
    let noisy = |base: f64, factors: [f64; 5]| -> Vec<String> {
        factors.iter().map(|f| report("j", base * f, (50_000.0 * f) as u64, "")).collect()
    };
    let a = noisy(1000.0, [1.0, 1.1, 0.9, 1.05, 0.97]);
    let b = noisy(1050.0, [1.02, 0.93, 1.08, 1.0, 0.95]);
    let comparison = compared(&a, &b, CompareSettings::default());
    let first = &comparison.contrasts[0];
    assert_eq!(first.verdict, CompareVerdict::CannotTell);
    assert!((20..200).contains(&first.runs_needed.unwrap()), "{:?}", first.runs_needed);
    let shown = text::text(&comparison);
    assert!(shown.contains("cannot tell: the runs vary too much"), "{shown}");
}

#[test]
fn conditions() {
    let (a, b) = (runs("j", 6, 1000.0, 50_000), runs("j", 6, 900.0, 54_000));
    let state = |a: &[String], b: &[String], text: &str| {
        let conditions = vec![FailCondition::parse(text).unwrap()];
        let settings = CompareSettings { conditions, ..CompareSettings::default() };
        compared(a, b, settings).conditions[0].state
    };
    assert_eq!(state(&a, &b, "p99>+5%"), ConditionState::Holds);
    assert_eq!(state(&a, &b, "p99 > 5 %"), ConditionState::Holds);
    assert_eq!(state(&a, &b, "p99>+9%"), ConditionState::No);
    assert_eq!(state(&a, &b, "iops<-5%"), ConditionState::Holds);
    assert_eq!(state(&a, &b, "iops>+0%"), ConditionState::No);
    assert_eq!(state(&a[..1], &b[..1], "bw<-5%"), ConditionState::Unproven);
    for (wrong, why) in [
        ("p99", "neither > nor <"),
        ("p99>5", "has no %"),
        ("p99>x%", "not a number"),
        ("iops<-100%", "below -100 %"),
        ("speed>1%", "`speed` is not a metric"),
    ] {
        let error = FailCondition::parse(wrong).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("To fix:"), "{error}");
    }
    let missing = CompareSettings {
        conditions: vec![FailCondition::parse("p99.9>1%").unwrap()],
        ..CompareSettings::default()
    };
    let error = compare(vec![side(0, "a", &a), side(1, "b", &b)], missing).unwrap_err();
    assert!(matches!(error, CompareError::NoSuchResult(text) if text == "p99.9>1%"));
}

#[test]
fn single_values_without_windows_give_no_verdict() {
    let (a, b) = ([report("j", 1000.0, 50_000, "")], [report("j", 5000.0, 10_000, "")]);
    let told = compared(&a, &b, CompareSettings::default());
    assert_eq!(verdicts(&told), [CompareVerdict::CannotTell; 3]);
    assert!(told.contrasts.iter().all(|contrast| contrast.p.is_none()));
    let shown = text::text(&told);
    assert!(shown.contains("cannot tell: nothing is known about the variation"), "{shown}");
    assert!(shown.contains("So there is no verdict."), "{shown}");
    // The user knows how much runs vary: the table says that the verdict depends on it.
    let settings = |text: &str| CompareSettings {
        run_variation: Some(0.05),
        conditions: vec![FailCondition::parse(text).unwrap()],
        ..CompareSettings::default()
    };
    let stated = compared(&a, &b, settings("iops<-3%"));
    assert!(stated.contrasts.iter().all(|contrast| contrast.is_conditional()));
    let shown = text::text(&stated);
    assert!(shown.contains("  better, if\n"), "{shown}");
    assert!(shown.contains("better if runs vary by no more than 10 %"), "{shown}");
}

/// Runs of which the last one was stopped by a signal.
fn last_stopped(mut runs: Vec<String>) -> Vec<String> {
    let stop = "\"fiord\":{\"schema\":1,\"stopped\":[{\"by\":\"signal\",\"signal\":2,\
                \"what\":\"signal 2 (SIGINT)\"}]},\"jobs\"";
    let last = runs.last_mut().unwrap();
    *last = last.replace("\"jobs\"", stop);
    runs
}

#[test]
fn stopped_runs_are_not_compared() {
    let (a, b) = (runs("j", 6, 1000.0, 50_000), runs("j", 6, 1200.0, 60_000));
    // The other runs of the side count.
    let told = compared(&a, &last_stopped(b.clone()), CompareSettings::default());
    assert_eq!((told.contrasts[0].a.len(), told.contrasts[0].b.len()), (6, 5));
    assert_eq!(told.contrasts[0].verdict, CompareVerdict::Better);
    let note = told.notes.iter().find(|note| note.id == "stopped-run").unwrap();
    assert!(note.text.contains("B: b5: stopped before its end: signal 2 (SIGINT)"), "{note:?}");
    // A side without others is not comparable, and proves no condition.
    let settings = CompareSettings {
        run_variation: Some(0.001),
        conditions: vec![FailCondition::parse("p99>+5%").unwrap()],
        ..CompareSettings::default()
    };
    let told = compared(&a, &last_stopped(b[..1].to_vec()), settings);
    assert_eq!(verdicts(&told), [CompareVerdict::CannotTell; 3]);
    assert_eq!(told.conditions[0].state, ConditionState::Unproven);
    let shown = text::text(&told);
    let why = "cannot tell: not comparable, because B did not run to the end";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn notes_name_what_makes_results_doubtful() {
    let mut a = runs("j", 5, 1000.0, 50_000);
    let mut b = runs("k", 5, 1200.0, 60_000);
    a.push(a[0].clone());
    b[1] = b[1].replace("\"iodepth\":\"4\"", "\"iodepth\":\"8\"");
    let finding = "\"fiord\":{\"schema\":1,\"findings\":[{\"id\":\"cache-hits\",\"severity\":\
                   \"invalid\",\"what\":\"reads came from memory\"}]},";
    b[2] = report("k", 1205.0, 60_100, finding);
    let comparison = compared(&a, &b, CompareSettings::default());
    let found = notes(&comparison);
    for id in ["copies", "runs-not-alike", "doubtful-run", "not-interleaved", "other-job-names"] {
        assert!(found.contains(&id), "{id}: {found:?}");
    }
    assert_eq!(comparison.contrasts[0].a.len(), 5);
    let depth = comparison.differences.iter().find(|d| d.subject == "iodepth of job k").unwrap();
    assert_eq!(depth.values[0], ('A', "not set".into()));
    assert_eq!(depth.values[1], ('B', "4 and 8".into()));
}

#[test]
fn another_kernel_is_a_difference() {
    let on = |kernel: &str, iops: f64| {
        let machine =
            format!("\"fiord\":{{\"schema\":1,\"machine\":{{\"kernel\":\"{kernel}\"}}}},");
        [report("j", iops, 100, &machine)]
    };
    let comparison =
        compared(&on("Linux 6.1", 9.0), &on("Linux 6.12", 10.0), CompareSettings::default());
    let kernel = comparison.differences.iter().find(|d| d.subject == "kernel").unwrap();
    assert_eq!(kernel.values, [('A', "Linux 6.1".into()), ('B', "Linux 6.12".into())]);
}

#[test]
fn sides_without_anything_in_common_are_refused() {
    let both =
        report("x", 10.0, 100, "").replace("}]}", "},{\"jobname\":\"y\",\"read\":{\"iops\":5}}]}");
    let error = compare(
        vec![side(0, "a", &[both]), side(1, "b", &runs("z", 1, 10.0, 100))],
        CompareSettings::default(),
    );
    let message = error.unwrap_err().to_string();
    assert!(message.contains("x (read), y (read) and z (read)"), "{message}");
}

#[test]
fn names_cannot_break_a_page_or_a_table() {
    let name = "</td><script>alert(1)</script>|a&b";
    let (a, b) = (runs(name, 5, 1000.0, 50_000), runs(name, 5, 1200.0, 60_000));
    let comparison = compared(&a, &b, CompareSettings::default());
    let html = page::page(&comparison);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;alert(1)"), "{html}");
    assert!(html.contains("class=\"better\"") && html.contains("class=\"worse\""));
    let table = markdown::markdown(&comparison);
    assert!(table.contains("&lt;/td>&lt;script>alert(1)&lt;/script>\\|a&amp;b"), "{table}");
    let document: serde_json::Value = serde_json::from_str(&json::json(&comparison)).unwrap();
    assert_eq!(document["results"][0]["job"], name);
}

#[test]
fn three_sides() {
    let sides = vec![
        side(0, "a", &runs("j", 6, 1000.0, 50_000)),
        side(1, "b", &runs("j", 6, 1001.0, 50_010)),
        side(2, "c", &runs("j", 6, 1300.0, 40_000)),
    ];
    let settings =
        CompareSettings { metrics: vec![CompareMetric::Iops], ..CompareSettings::default() };
    let shown = text::text(&compare(sides, settings).unwrap());
    assert!(shown.contains("B cannot tell") && shown.contains("C better"), "{shown}");
}

#[test]
fn jobs_of_one_name_count_together() {
    let job = |iops: u32, bins: &str| {
        format!(
            "{{\"jobname\":\"j\",\"read\":{{\"iops\":{iops},\"total_ios\":9,\"clat_ns\":{{\"N\":{iops},\
             \"mean\":{iops}.0,\"percentile\":{{\"99.000000\":7}},\"bins\":{{{bins}}}}}}}}}"
        )
    };
    let run = |bins: [&str; 2]| {
        let text = format!("{{\"jobs\":[{},{}]}}", job(10, bins[0]), job(30, bins[1]));
        side(0, "a", &[text]).runs[0].result.directions[0].clone()
    };
    let sum = run(["\"100\":10", "\"200\":30"]);
    assert_eq!(sum.value(CompareMetric::Iops), Some(40.0));
    assert_eq!(sum.value(CompareMetric::Mean), Some(25.0));
    let p = |text| sum.value(CompareMetric::parse(text).unwrap());
    assert_eq!((p("p25"), p("p26")), (Some(100.0), Some(200.0)));
    // Percentiles without histograms cannot be added.
    let without = run(["", "\"200\":30"]);
    assert_eq!(without.value(CompareMetric::parse("p99").unwrap()), None);
}

/// A run without findings is not trusted if findings were switched off.
#[test]
fn findings_that_were_switched_off_are_mentioned() {
    let off = "\"fiord\":{\"schema\":1,\"findings_off\":1},";
    let b = [report("j", 1000.0, 50_000, off), report("j", 1001.0, 50_000, "")];
    let comparison = compared(&runs("j", 2, 1000.0, 50_000), &b, CompareSettings::default());
    let note = comparison.notes.iter().find(|note| note.id == "findings-off").expect("a note");
    assert!(note.text.starts_with("B: findings were switched off in 1 of 2 runs"), "{}", note.text);
    assert_eq!(notes(&comparison).iter().filter(|id| **id == "findings-off").count(), 1);
}
