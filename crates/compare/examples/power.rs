//! How often the verdicts of `fiord compare` are right and wrong, on simulated devices: the table in `docs/compare.md`.
//!
//! ```console
//! $ cargo run --release -p fiord-compare --example power
//! ```
//!
//! Arguments: the number of comparisons for each difference (default 200), and the seed (default 1). The same arguments give the
//! same table.
//!
//! A run reads for one second (of virtual time) from a simulated device with log-normal latencies, whose median differs between
//! the sides. Two things vary like those of real devices:
//!
//! - The latencies of each run are multiplied by a factor with a deviation of 2 %, of which half is kept from the
//!   run before it: runs that are neighbours in time are alike. Runs are alternated A B B A.
//! - In each thirty-second of a second the device pauses for a while, on average for 10 % of it. The pauses keep 0.8 of
//!   their deviation from one window to the next.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fiord_app::{Prepared, RunSettings};
use fiord_compare::bootstrap::SplitMix;
use fiord_compare::{CompareSettings, CompareVerdict, ComparedRun, ComparedSide, compare};
use fiord_job::load::MachineLoader;
use fiord_run::NoInterrupts;
use fiord_run::events::EventSender;

/// True differences of the latencies, in per cent.
const DIFFERENCES: [f64; 5] = [0.0, 1.0, 2.0, 5.0, 10.0];

/// Runs per side.
const RUNS: [usize; 6] = [1, 2, 3, 5, 7, 10];

/// Median latency of the faster device, microseconds.
const LATENCY_US: f64 = 90.0;

/// Standard deviation of runs, and what a run keeps of the deviation of the one before it.
const RUN_DEVIATION: f64 = 0.02;
const RUN_MEMORY: f64 = 0.5;

/// Mean and standard deviation of the pause in each window, as a share of it, and what a window keeps.
const PAUSE: f64 = 0.1;
const PAUSE_DEVIATION: f64 = 0.06;
const PAUSE_MEMORY: f64 = 0.8;

/// Length of a window of pauses, microseconds.
const WINDOW_US: f64 = 31_250.0;

/// A process whose value keeps a share of its deviation from one step to the next. Its standard deviation is 1.
struct Autoregressive {
    value: f64,
    memory: f64,
}

impl Autoregressive {
    fn new(memory: f64, random: &mut SplitMix) -> Self {
        Autoregressive { value: random.normal(), memory }
    }

    fn next(&mut self, random: &mut SplitMix) -> f64 {
        let fresh = (1.0 - self.memory * self.memory).sqrt() * random.normal();
        self.value = self.memory * self.value + fresh;
        self.value
    }
}

/// Runs the job on a device with this median latency.
fn simulate(latency_us: f64, random: &mut SplitMix) -> ComparedRun {
    let mut pauses = Autoregressive::new(PAUSE_MEMORY, random);
    let stalls: Vec<String> = (0..32)
        .map(|window| {
            let share = (PAUSE + PAUSE_DEVIATION * pauses.next(random)).clamp(0.001, 0.9);
            let start = f64::from(window) * WINDOW_US + (1.0 - share) * WINDOW_US * random.unit();
            format!("{start:.0}:{:.0}", share * WINDOW_US)
        })
        .collect();
    let line = [
        "--findings=off".to_owned(),
        "--name=j".into(),
        "--ioengine=sim".into(),
        "--rw=randread".into(),
        "--bs=4k".into(),
        "--size=1g".into(),
        "--time_based".into(),
        "--runtime=1".into(),
        format!("--sim_latency=lognormal:{latency_us:.3}us:0.4"),
        format!("--sim_stall={}", stalls.join(",")),
        format!("--sim_seed={}", random.bits() >> 32),
    ];
    let invocation = fiord_job::invocation(&line, &mut MachineLoader).expect("the job is valid");
    let jobs = Prepared::of(&invocation).expect("the job can run");
    let (settings, events) = (RunSettings::default(), EventSender::ignored());
    let outcome = jobs.run(settings, &events, &mut NoInterrupts, &|| false);
    ComparedRun::new(String::new(), &outcome.report)
}

/// Verdicts of comparisons with one number of runs.
#[derive(Clone, Copy, Default)]
struct Tally {
    comparisons: usize,
    /// Comparisons in which some verdict is wrong.
    wrong: usize,
    results: usize,
    right_results: usize,
    wrong_results: usize,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.comparisons += other.comparisons;
        self.wrong += other.wrong;
        self.results += other.results;
        self.right_results += other.right_results;
        self.wrong_results += other.wrong_results;
    }

    /// Judges one comparison, in which the second side is slower by this much.
    fn judge(a: &[ComparedRun], b: &[ComparedRun], difference: f64) -> Self {
        let side =
            |place, runs: &[ComparedRun]| ComparedSide::new(place, String::new(), runs.to_vec());
        let comparison = compare(vec![side(0, a), side(1, b)], CompareSettings::default())
            .expect("the runs have the same job");
        let mut tally = Tally { comparisons: 1, ..Tally::default() };
        for contrast in &comparison.contrasts {
            tally.results += 1;
            match contrast.verdict {
                CompareVerdict::CannotTell => {}
                CompareVerdict::Worse if difference > 0.0 => tally.right_results += 1,
                _ => tally.wrong_results += 1,
            }
        }
        tally.wrong = usize::from(tally.wrong_results > 0);
        tally
    }
}

/// Simulates the runs of one comparison, and judges it with each number of runs.
fn comparison(difference: f64, seed: u64) -> [Tally; RUNS.len()] {
    let mut random = SplitMix::new(seed);
    let mut drift = Autoregressive::new(RUN_MEMORY, &mut random);
    let most = RUNS[RUNS.len() - 1];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for round in 0..most {
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for first in order {
            let factor = (RUN_DEVIATION * drift.next(&mut random)).exp();
            let own = if first { 1.0 } else { 1.0 + difference / 100.0 };
            let run = simulate(LATENCY_US * own * factor, &mut random);
            (if first { &mut a } else { &mut b }).push(run);
        }
    }
    RUNS.map(|runs| Tally::judge(&a[..runs], &b[..runs], difference))
}

/// Simulates `comparisons` comparisons on all processors.
fn tallies(difference: f64, comparisons: usize, seed: u64) -> [Tally; RUNS.len()] {
    let (next, sum) = (AtomicUsize::new(0), Mutex::new([Tally::default(); RUNS.len()]));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= comparisons {
                        break;
                    }
                    let own = seed.wrapping_mul(1_000_003).wrapping_add(at as u64);
                    let tallies = comparison(difference, SplitMix::new(own).bits());
                    let mut sum = sum.lock().expect("no thread panics");
                    sum.iter_mut().zip(&tallies).for_each(|(sum, one)| sum.add(one));
                }
            });
        }
    });
    sum.into_inner().expect("no thread panics")
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let comparisons = arguments.next().and_then(Result::ok).unwrap_or(200);
    let seed = arguments.next().and_then(Result::ok).unwrap_or(1) as u64;
    let heading: Vec<String> = RUNS.iter().map(|runs| format!("{runs} and {runs} runs")).collect();
    let (mut right, mut wrong) = (String::new(), String::new());
    for (i, difference) in DIFFERENCES.into_iter().enumerate() {
        let tallies = tallies(difference, comparisons, seed + 1000 * i as u64);
        let percent =
            |part: usize, whole: usize| format!("{:.1}", part as f64 * 100.0 / whole as f64);
        let row = |cells: Vec<String>| format!("| {difference} % | {} |\n", cells.join(" | "));
        if difference > 0.0 {
            right += &row(tallies.iter().map(|t| percent(t.right_results, t.results)).collect());
        }
        let one = |t: &Tally| {
            let results = percent(t.wrong_results, t.results);
            format!("{results} ({})", percent(t.wrong, t.comparisons))
        };
        wrong += &row(tallies.iter().map(one).collect());
        eprintln!("{difference} %: done");
    }
    let rule = "|--:|".to_owned() + &"--:|".repeat(RUNS.len());
    println!("Right verdicts, in per cent of {comparisons} comparisons with three results each:\n");
    println!("| difference | {} |\n{rule}\n{right}", heading.join(" | "));
    println!(
        "Wrong verdicts, in per cent of all results (and comparisons with any wrong verdict):\n"
    );
    println!("| difference | {} |\n{rule}\n{wrong}", heading.join(" | "));
}
