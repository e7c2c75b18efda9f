//! `steadystate`: the samples of the window, their means, their deviation, slope and range, and the verdict.

use serde_json::Value;

use crate::compared::{
    Comparisons,
    Rounding::{Digits, SixDecimals},
};
use crate::dice::Dice;
use crate::each_seed;
use crate::fiord::Place;
use crate::record::{DoneIo, JobRecord};
use crate::runs::Outputs;

/// Jobs that the normal tests run.
const SAMPLE: u64 = 16;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Deviation,
    Slope,
    Pts,
}

/// A drawn criterion.
#[derive(Debug, Clone, Copy)]
struct Criterion {
    /// Value of `steadystate`.
    text: &'static str,
    /// Index in a sample.
    measure: usize,
    rule: Rule,
    limit: f64,
    percent: bool,
}

const fn criterion(
    text: &'static str,
    measure: usize,
    rule: Rule,
    (limit, percent): (f64, bool),
) -> Criterion {
    Criterion { text, measure, rule, limit, percent }
}

const CRITERIA: [Criterion; 11] = [
    criterion("iops:4%", 0, Rule::Deviation, (4.0, true)),
    criterion("iops:400", 0, Rule::Deviation, (400.0, false)),
    criterion("iops_slope:0.2%", 0, Rule::Slope, (0.2, true)),
    criterion("bw:3%", 1, Rule::Deviation, (3.0, true)),
    criterion("bw_slope:0.5%", 1, Rule::Slope, (0.5, true)),
    criterion("bw_slope:20000", 1, Rule::Slope, (20_000.0, false)),
    criterion("lat:2%", 2, Rule::Deviation, (2.0, true)),
    criterion("lat_slope:700", 2, Rule::Slope, (700.0, false)),
    criterion("pts", 0, Rule::Pts, (0.0, true)),
    criterion("pts:bw", 1, Rule::Pts, (0.0, true)),
    criterion("pts:lat", 2, Rule::Pts, (0.0, true)),
];

/// IOPS, bytes per second and mean completion latency of an interval.
type Sample = [u64; 3];

/// A sample with its time, ns.
type TimedSample = (u64, Sample);

/// The rates after `from`, up to `to`, as those of a time of `length`.
fn sample(record: &JobRecord, (from, to): (u64, u64), length: u64) -> Sample {
    let inside = |io: &&DoneIo| io.is_done() && from < io.end && io.end <= to;
    let ios: Vec<&DoneIo> = record.ios.iter().filter(inside).collect();
    let rate = |sum: u64| (u128::from(sum) * 1_000_000_000 / u128::from(length)) as u64;
    let latency: u64 = ios.iter().map(|io| io.clat()).sum();
    let n = ios.len() as u64;
    [rate(n), rate(ios.iter().map(|io| io.bytes).sum()), latency.checked_div(n).unwrap_or(0)]
}

/// The samples of a job. An interval ends with the first completions at or after its time, and its rates are those of its
/// length. The first one begins with the first completions. Intervals in which nothing completed are samples, too.
fn samples(record: &JobRecord, drawn: &Drawn) -> Vec<TimedSample> {
    let (mut due, mut last) = (drawn.begin, None);
    let mut samples = Vec::new();
    for (_, now, _) in record.reaps.iter().copied() {
        if now >= due {
            if let Some(from) = last.replace(now) {
                let idle = ((now - from) / drawn.interval).saturating_sub(1).min(drawn.size as u64);
                samples.extend((0..idle).map(|_| (now, Sample::default())));
                let length = now - from - idle * drawn.interval;
                samples.push((now, sample(record, (from, now), length)));
            }
            due += ((now - due) / drawn.interval + 1) * drawn.interval;
        }
        if now >= drawn.end {
            break;
        }
    }
    samples
}

/// What a window of samples says.
#[derive(Debug, Default)]
struct Verdict {
    mean: f64,
    deviation: f64,
    slope: f64,
    range: f64,
    rise: f64,
}

impl Verdict {
    fn of(values: &[f64]) -> Verdict {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        // The textbook formula of the least squares line.
        let x: f64 = (0..values.len()).map(|x| x as f64).sum();
        let xx: f64 = (0..values.len()).map(|x| (x * x) as f64).sum();
        let xy: f64 = values.iter().enumerate().map(|(x, y)| x as f64 * (y - mean)).sum();
        let slope = n * xy / (n * xx - x * x);
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let deviation = (most - mean).max(mean - least);
        Verdict { mean, deviation, slope, range: most - least, rise: slope * (n - 1.0) }
    }

    fn share(&self, what: f64) -> f64 {
        if self.mean == 0.0 { 0.0 } else { what * 100.0 / self.mean }
    }

    /// The value that the limit is for.
    fn judged(&self, criterion: Criterion) -> f64 {
        let what = match criterion.rule {
            Rule::Deviation => self.deviation,
            Rule::Slope => self.slope,
            Rule::Pts => self.range,
        };
        if criterion.percent { self.share(what) } else { what }
    }

    fn is_steady(&self, criterion: Criterion) -> bool {
        let judged = self.judged(criterion).abs();
        match criterion.rule {
            _ if self.mean <= 0.0 => false,
            // The limits of the test specification of SNIA.
            Rule::Pts => judged <= 20.0 && self.share(self.rise).abs() <= 10.0,
            _ => judged < criterion.limit,
        }
    }
}

fn verdict(window: &[TimedSample], criterion: Criterion) -> Verdict {
    let values: Vec<f64> = window.iter().map(|(_, s)| s[criterion.measure] as f64).collect();
    Verdict::of(&values)
}

/// A run: its command line, its criterion, number and length of the samples, begin and end of sampling in ns.
struct Drawn {
    line: String,
    criterion: Criterion,
    size: usize,
    interval: u64,
    begin: u64,
    end: u64,
}

fn drawn(seed: u64) -> Drawn {
    let mut dice = Dice::new(seed);
    let criterion = dice.of(&CRITERIA);
    let pts = criterion.rule == Rule::Pts;
    let interval_ms = dice.of(&[10, 20, 50]);
    let size = if pts { 5 } else { dice.of(&[3, 6, 10]) };
    let begin_ms = dice.of(&[0, 0, 30]);
    let runtime_ms = interval_ms * dice.of(&[2, 20, 40]) + dice.of(&[0, 7]);
    let job = dice.line(&[
        &["--rw=randread", "--rw=randrw", "--rw=write"],
        &["--bs=4k", "--bssplit=4k/60:32k/40"],
        &["--iodepth=1", "--iodepth=4", "--iodepth=16"],
        &["", "", "--sim_stall=200ms:60ms"],
        &[
            "--sim_latency=lognormal:400us:0.3",
            "--sim_latency=constant:1ms",
            "--sim_latency=exponential:300us",
        ],
    ]);
    let window =
        if pts { String::new() } else { format!("--ss_dur={}ms", size as u64 * interval_ms) };
    let ramp = if begin_ms > 0 { format!("--ss_ramp={begin_ms}ms") } else { String::new() };
    let line = format!(
        "--output-format=json,normal --output=o.txt --findings=off --name=j0 --ioengine=sim --sim_record=r --size=64m \
         --time_based --runtime={runtime_ms}ms --sim_seed={seed} --ss={} --ss_interval={interval_ms}ms {window} {ramp} {job}",
        criterion.text
    );
    let ms = 1_000_000;
    let (begin, end) = (begin_ms * ms, runtime_ms * ms);
    Drawn { line, criterion, size, interval: interval_ms * ms, begin, end }
}

fn check(drawn: &Drawn) -> (Comparisons, bool) {
    let mut c = Comparisons::default();
    let place = Place::new();
    let ran = place.run(&drawn.line);
    c.same("messages on standard error", ran.err.as_str(), "");
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap_or_default();
    let (output, record) = (read("o.txt"), JobRecord::of(&read("r_sim.1.log")));
    let outputs = Outputs::of(&output);
    let state = &outputs.json["jobs"][0]["steadystate"];
    let Drawn { criterion, size, .. } = *drawn;
    let mut all = samples(&record, drawn);
    let steady =
        |count: &usize| verdict(&all[count - size..*count], criterion).is_steady(criterion);
    let attained = (size..=all.len()).find(steady);
    c.same(
        "steadystate attained",
        state["attained"].as_u64().unwrap_or(9),
        u64::from(attained.is_some()),
    );
    let last_start = record.ios.iter().map(|io| io.start).max().unwrap_or(0);
    if let Some(count) = attained {
        all.truncate(count);
        c.holds("the job ends when it is steady", last_start <= all[count - 1].0);
    }
    let window = &all[all.len().saturating_sub(size)..];
    let judged = if window.len() == size { verdict(window, criterion) } else { Verdict::default() };
    numbers(&mut c, state, &judged, drawn);
    lists(&mut c, &state["data"], window, drawn);
    text(&mut c, outputs.text, (attained.is_some(), window), &judged, criterion);
    (c, attained.is_some())
}

fn numbers(c: &mut Comparisons, state: &Value, judged: &Verdict, drawn: &Drawn) {
    let float = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let rule = drawn.criterion.rule;
    let seconds = (drawn.size as u64 * drawn.interval).div_ceil(1_000_000_000);
    c.same("steadystate duration", state["duration"].as_u64().unwrap_or(0), seconds);
    let shown = state["criterion"].as_str().unwrap_or_default();
    c.same("steadystate: the criterion is a share", shown.ends_with('%'), drawn.criterion.percent);
    let value = shown.trim_end_matches('%').parse().unwrap_or(f64::NAN);
    c.close("steadystate criterion", value, judged.judged(drawn.criterion), SixDecimals);
    let deviation = if rule == Rule::Slope { 0.0 } else { judged.deviation };
    c.close("steadystate max_deviation", float(&state["max_deviation"]), deviation, SixDecimals);
    let slope = if rule == Rule::Deviation { 0.0 } else { judged.slope };
    c.close("steadystate slope", float(&state["slope"]), slope, SixDecimals);
    if rule == Rule::Pts {
        let shares = [("range_percent", judged.range), ("slope_percent", judged.rise)];
        for (key, value) in shares {
            c.close(
                &format!("steadystate {key}"),
                float(&state[key]),
                judged.share(value),
                SixDecimals,
            );
        }
    }
}

/// The samples, with zeros for those that are missing, and their means, which are cut to whole numbers.
fn lists(c: &mut Comparisons, data: &Value, window: &[TimedSample], drawn: &Drawn) {
    let whole = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let columns = [("iops", "iops_mean"), ("bw", "bw_mean"), ("lat_ns", "lat_mean")];
    for (at, (key, mean)) in columns.into_iter().enumerate() {
        let list = data[key].as_array();
        let shown = at < 2 || drawn.criterion.measure == at;
        c.same(&format!("steadystate: list {key}"), list.is_some(), shown);
        let Some(list) = list else { continue };
        c.same(&format!("steadystate: length of {key}"), list.len(), drawn.size);
        let sum: u64 = window.iter().map(|(_, sample)| sample[at]).sum();
        let expected = sum.checked_div(window.len() as u64).unwrap_or(0);
        c.same(&format!("steadystate {mean}"), whole(&data[mean]), expected);
        for (number, found) in list.iter().enumerate() {
            let expected = window.get(number).map_or(0, |(_, sample)| sample[at]);
            c.same(&format!("steadystate {key} of interval {number}"), whole(found), expected);
        }
    }
}

/// The line of the text report.
fn text(
    c: &mut Comparisons,
    text: &str,
    (attained, window): (bool, &[TimedSample]),
    judged: &Verdict,
    criterion: Criterion,
) {
    let line = text.lines().find(|line| line.starts_with("  steadystate  :")).unwrap_or_default();
    let after = |key: &str| {
        let rest = line.split_once(key).map_or("", |(_, rest)| rest);
        rest.split([',', '%']).next().unwrap_or_default().trim()
    };
    c.same("text: attained", after("attained="), if attained { "yes" } else { "no" });
    let sum: u64 = window.iter().map(|(_, sample)| sample[0]).sum();
    let mean = sum.checked_div(window.len() as u64).unwrap_or(0);
    c.same("text: iops of steadystate", after(", iops="), mean.to_string().as_str());
    let shown: &[(&str, f64)] = match criterion.rule {
        Rule::Deviation => &[("mean dev=", judged.judged(criterion))],
        Rule::Slope => &[("slope=", judged.judged(criterion))],
        Rule::Pts => {
            &[("range=", judged.share(judged.range)), ("slope=", judged.share(judged.rise))]
        }
    };
    for (key, value) in shown {
        let found = after(key).parse().unwrap_or(f64::NAN);
        c.close(&format!("text: steadystate {key}"), found, *value, Digits(0.000_501));
    }
}

#[test]
fn steady_state_is_that_of_the_recorded_intervals() {
    let mut steady = 0;
    each_seed(SAMPLE, |seed| {
        let drawn = drawn(seed);
        let (c, attained) = check(&drawn);
        steady += u64::from(attained);
        Some((c, drawn.line))
    });
    println!("{steady} of them were steady");
}
