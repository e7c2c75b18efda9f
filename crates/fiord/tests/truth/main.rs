//! Truth from the record: jobs that are drawn from many options run on a simulated device, which records each op with its
//! times (`sim_record`). From this record alone the test recomputes every number in JSON, terse and text output, in logs,
//! series and metrics, on the page of `--html`, and those of `fiord compare`. They are equal, or within a rounding that is stated where it is compared.
//!
//! A sample of seeds runs with the other tests. `FIORD_TRUTH_RUNS=1000` runs more, and `FIORD_TRUTH_SEED=17` only one, whose
//! differences are printed.

#[path = "../run/dice.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod dice;
#[path = "../run/fiord.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod fiord;
#[path = "../run/sandbox.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod sandbox;
#[path = "../run/screen.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod screen;
#[path = "../run/ssh.rs"]
mod ssh;

mod chart;
mod compare;
mod compared;
mod draw;
mod expected;
mod hosts;
mod json;
mod live;
mod logs;
mod metrics;
mod page;
mod real;
mod record;
mod runs;
mod series;
mod status;
mod steady;
mod terse;
mod text;
mod verified;

use compared::Comparisons;

/// Runs that the normal tests do.
const SAMPLE: u64 = 30;

/// The seeds of the test: those of the sample, or what the environment asks for.
fn seeds(sample: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("FIORD_TRUTH_SEED"), number("FIORD_TRUTH_RUNS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(runs)) => 0..runs,
        (None, None) => 0..sample,
    }
}

/// Runs `check` for each seed, prints how many numbers were compared, and fails with the first wrong ones of each run. `check`
/// returns the comparisons and the command line of a run; `None`: it is not possible here.
pub(crate) fn each_seed(sample: u64, mut check: impl FnMut(u64) -> Option<(Comparisons, String)>) {
    let (mut runs, mut numbers) = (0, 0);
    let mut failed = Vec::new();
    for seed in seeds(sample) {
        let Some((compared, command)) = check(seed) else { continue };
        (runs, numbers) = (runs + 1, numbers + compared.made);
        if !compared.wrong.is_empty() {
            let first: Vec<&str> = compared.wrong.iter().take(12).map(String::as_str).collect();
            failed.push(format!("seed {seed}: {command}\n  {}", first.join("\n  ")));
        }
    }
    println!("{runs} runs, {numbers} numbers compared");
    assert!(failed.is_empty(), "{} of {runs} runs:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_number_is_what_the_record_of_the_device_says() {
    let mut jobs = 0;
    each_seed(SAMPLE, |seed| {
        let (count, compared, command) = runs::check(seed);
        jobs += count;
        Some((compared, command))
    });
    println!("{jobs} jobs");
}
