//! `fiord live`: what the page of a job shows at the end of the replay. The live line: it counts no I/O before its time.

use crate::compared::Comparisons;
use crate::dice::Dice;
use crate::expected::LatencyTruth;
use crate::fiord::Place;
use crate::page::figures;
use crate::record::{DIRECTIONS, DoneIo, JobRecord};
use crate::series::around;
use crate::text::{number, shown};
use crate::{each_seed, screen};

/// Replays that the normal tests do.
const SAMPLE: u64 = 4;

fn drawn(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let job = dice.line(&[
        &["--rw=randread", "--rw=write", "--rw=randrw", "--rw=trimwrite"],
        &["--bs=4k", "--bssplit=4k/60:32k/40"],
        &["--iodepth=1", "--iodepth=8"],
        &["--number_ios=200", "--number_ios=900"],
        &["--sim_latency=lognormal:400us:0.9", "--sim_latency=exponential:3ms"],
    ]);
    format!(
        "--output-format=json --output=o.json --findings=off --name=j0 --ioengine=sim --sim_record=r --size=64m \
         --sim_seed={} {job}",
        1 + dice.below(99)
    )
}

/// The I/Os of the last window, and the time to which their rate refers, with its I/Os: a window shorter than half of the
/// others has the rate of itself and the one before.
fn last_window(ios: &[DoneIo], length: u64) -> (Vec<&DoneIo>, f64, Vec<&DoneIo>) {
    let end = ios.iter().map(|io| io.end).max().unwrap_or(1);
    let from = (end - 1) / length * length;
    let begin = if 2 * (end - from) < length { from.saturating_sub(length) } else { from };
    let since = |time: u64| ios.iter().filter(|io| io.end > time).collect::<Vec<_>>();
    (since(from), (end - begin) as f64 / 1e9, since(begin))
}

/// Compares the row of a direction: rate, IOPS and the latencies of the last window.
fn row(c: &mut Comparisons, words: &[&str], ios: &[DoneIo], length: u64, dir: usize) {
    let (last, seconds, rated) = last_window(ios, length);
    let rated: Vec<&&DoneIo> = rated.iter().filter(|io| io.dir == Some(dir)).collect();
    let bytes: u64 = rated.iter().map(|io| io.bytes).sum();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    number(c, "live bandwidth", word(1), bytes as f64 / seconds);
    number(c, "live IOPS", word(2), rated.len() as f64 / seconds);
    let truth = LatencyTruth::of(last.iter().filter(|io| io.dir == Some(dir)).map(|io| io.clat()));
    let shares = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)];
    for (name, percent) in shares {
        let at = words.iter().position(|word| *word == name).unwrap_or(words.len());
        if truth.n() == 0 {
            c.same(&format!("live {name}"), word(at + 1), "-");
            continue;
        }
        let (low, high) = around(&truth, percent);
        let (found, half) = figures(word(at + 1));
        // Samples have 16 buckets for each power of two.
        let holds = low as f64 * (15.0 / 16.0) - 1.0 - half <= found
            && found <= high as f64 * (17.0 / 16.0) + 1.0 + half;
        c.holds(&format!("live {name} {found} between {low} and {high}, within 1/16"), holds);
    }
}

/// Compares the page of a job. `None`: there are no pseudo-terminals here.
fn check(line: &str) -> Option<Comparisons> {
    let mut c = Comparisons::default();
    let place = Place::new();
    place.run(line).ok();
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let record = JobRecord::of(&read("r_sim.1.log"));
    let document: serde_json::Value = serde_json::from_str(&read("o.json")).unwrap();
    let samples = &document["jobs"][0]["fiord"]["samples"];
    let length = samples["window_ns"].as_u64().unwrap();
    let mut shown = screen::start_on(&place, "live o.json --speed=0.125", (160, 40), "xterm")?;
    shown.wait_for("replay, speed 0.125x");
    shown.press(&b"\x1b[C".repeat(40));
    shown.wait_for("end of the run");
    shown.press(b"\r");
    // The last line of the screen is drawn last.
    let screen = shown.wait_for("Esc back");
    shown.press(b"q");
    c.same("live: status", shown.end().status.unwrap_or(-1), 0);
    let line = |start: &str| screen.lines().find(|line| line.starts_with(start)).unwrap_or("");
    let so_far = line("So far: ").trim_start_matches("So far: ");
    let mut parts = so_far.split(", ");
    for (dir, name) in DIRECTIONS.into_iter().enumerate() {
        let own: Vec<&DoneIo> = record.ios.iter().filter(|io| io.dir == Some(dir)).collect();
        if own.is_empty() {
            continue;
        }
        let words: Vec<&str> = parts.next().unwrap_or("").split_whitespace().collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        c.same("live: direction", word(0), name);
        number(&mut c, "live bytes", word(1), own.iter().map(|io| io.bytes).sum::<u64>() as f64);
        number(&mut c, "live I/Os", word(3), own.len() as f64);
        let words: Vec<&str> = line(&format!("{name} ")).split_whitespace().collect();
        row(&mut c, &words, &record.ios, length, dir);
    }
    c.same("live: further directions", parts.next().unwrap_or(""), "");
    Some(c)
}

#[test]
fn the_end_of_a_replay_shows_what_the_record_says() {
    each_seed(SAMPLE, |seed| {
        let line = drawn(seed);
        Some((check(&line)?, line))
    });
}

/// A live line: the least time since the run began and the largest, s, and bytes and I/Os per second of a direction.
struct LiveLine {
    time: (f64, f64),
    rates: [f64; 2],
}

impl LiveLine {
    /// `None`: the line has no rates, or no time is left, from which the time that has passed would follow.
    fn of(line: &str, dir: &str) -> Option<LiveLine> {
        let parts: Vec<&str> = line.split(['[', ']']).filter(|part| !part.is_empty()).collect();
        let share: f64 = parts.iter().find_map(|part| part.strip_suffix('%')?.parse().ok())?;
        let left = parts.iter().find_map(|part| part.strip_prefix("eta 00m:")?.strip_suffix('s'));
        let left: f64 = left?.parse().ok().filter(|left| *left > 0.0)?;
        // The share of the run is the time that has passed, of that time and the time that is left.
        let passed = |share: f64| left * share / (100.0 - share);
        let rates = parts.iter().filter_map(|part| {
            let own = part.split(',').find_map(|text| text.strip_prefix(dir)?.strip_prefix('='))?;
            let (value, step) = shown(own.trim_end_matches(" IOPS"));
            Some((value - step).max(0.0))
        });
        let rates: Vec<f64> = rates.collect();
        let time = (passed(share - 0.05), passed(share + 0.05));
        Some(LiveLine { time, rates: rates.try_into().ok()? })
    }
}

/// Compares the lines of a run with its log. The counters of a job may be some milliseconds old, so only what a line counts
/// too much is wrong.
fn lines(c: &mut Comparisons, text: &str, log: &[Vec<u64>], (dir, letter): (u64, &str)) {
    let mut before = 0.0;
    let mut counted = [0.0; 2];
    for line in text.split(['\r', '\n']).filter_map(|line| LiveLine::of(line, letter)) {
        // On a busy machine a line may be missing. The rate is then that of a part of the time, at least half an interval.
        let length = match (line.time.0 - before).max(0.0) {
            length if length <= 0.26 => length,
            _ => 0.12,
        };
        before = line.time.1;
        let ms = (line.time.1 * 1000.0).ceil() as u64;
        let ended = || log.iter().filter(|row| row[0] <= ms && row[2] == dir);
        let truth = [ended().map(|row| row[3]).sum::<u64>(), ended().count() as u64];
        for at in 0..2 {
            counted[at] += line.rates[at] * length;
            let what = ["bytes", "I/Os"][at];
            let (counted, truth) = (counted[at], truth[at]);
            c.holds(
                &format!("live line: {counted} {what} of at most {truth} within {ms} ms"),
                counted <= truth as f64,
            );
        }
    }
}

#[test]
fn a_live_line_counts_no_io_before_its_time() {
    let place = Place::new();
    let ran = place.run(
        "--eta=always --eta-interval=250ms --output=o.txt --findings=off --name=j0 --ioengine=null \
         --rw=randrw --bssplit=4k/60:8k/40 --size=64m --rate_iops=1500,700 --time_based --runtime=2 --write_lat_log=l --log_offset=1",
    );
    let ran = ran.ok();
    let log = std::fs::read_to_string(place.path("l_lat.1.log")).unwrap();
    let row = |line: &str| line.split(", ").map(|field| field.parse().unwrap()).collect();
    let log: Vec<Vec<u64>> = log.lines().map(row).collect();
    let mut c = Comparisons::default();
    for direction in [(0, "r"), (1, "w")] {
        lines(&mut c, &ran.out, &log, direction);
    }
    println!("{} numbers compared", c.made);
    assert!(c.wrong.is_empty(), "{}\n{}", c.wrong.join("\n"), ran.out);
}
