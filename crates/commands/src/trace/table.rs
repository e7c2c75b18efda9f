//! The summary of a trace as text.

use std::fmt::Write as _;
use std::path::Path;

use fiord_formats::trace::{TraceKind, TraceNotes};
use fiord_types::{Bytes, Dir, Nanos};

use super::approximate::Approximation;
use super::profile::{BLOCK, FLAGS, TraceProfile};
use super::summary::{CACHES, HOTTEST, TraceSummary, sample_error};
use crate::amount;
use crate::columns::{Align, aligned};

/// Sizes that are shown for each direction.
const SIZES: usize = 6;
/// Targets that are shown.
const TARGETS: usize = 10;
/// Heights of a bar.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Widest row of bars.
const WIDTH: usize = 64;

pub(super) fn text(
    path: &Path,
    summary: &TraceSummary,
    jobs: &[Approximation],
    job_file: Option<&Path>,
) -> String {
    let profile = &summary.profile;
    let mut out = String::new();
    let active = summary.targets.iter().filter(|target| target.count.ios() > 0).count();
    let _ = writeln!(
        out,
        "{}: {}, {} I/Os in {} on {active} {}",
        path.display(),
        summary.format,
        profile.all_ios(),
        duration(profile.length()),
        if active == 1 { "target" } else { "targets" },
    );
    notes(&mut out, summary);
    if profile.all_ios() == 0 {
        return out;
    }
    out.push('\n');
    out += &kinds(profile);
    sizes(&mut out, profile);
    flags(&mut out, profile);
    out.push('\n');
    data(&mut out, profile);
    rate(&mut out, profile);
    depth(&mut out, profile);
    targets(&mut out, summary);
    for Approximation { job, differences } in jobs {
        let _ = writeln!(out, "\njob {}: how its I/Os differ from the trace", job.name);
        let mut rows = vec![["", "trace", "job", "difference"].map(String::from).to_vec()];
        rows.extend(differences.iter().map(|difference| {
            let percent = format!("{:.1} %", difference.percent);
            vec![difference.what.into(), difference.trace.clone(), difference.job.clone(), percent]
        }));
        out += &aligned(&rows, |column| if column == 3 { Align::Right } else { Align::Left });
    }
    if let Some(file) = job_file {
        let worst = jobs.iter().flat_map(|job| &job.differences);
        if let Some(worst) = worst.max_by(|a, b| a.percent.total_cmp(&b.percent)) {
            let _ = writeln!(
                out,
                "\nwrote {}: the largest difference is {:.1} % ({})",
                file.display(),
                worst.percent,
                worst.what
            );
        }
    }
    out
}

fn duration(time: Nanos) -> String {
    match time.as_secs() {
        0..100 => amount::latency(time.0 as f64),
        _ => amount::clock(time),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn notes(out: &mut String, summary: &TraceSummary) {
    let TraceNotes { skipped, first_skipped, backwards, furthest_back, ignored } = &summary.notes;
    if let Some(first) = first_skipped {
        let _ = writeln!(
            out,
            "invalid lines skipped: {skipped}; the first one is line {}: {}: {:?}",
            first.line, first.problem, first.text
        );
    }
    if *backwards > 0 {
        let _ = writeln!(
            out,
            "{backwards} timestamps go backwards, by at most {}: these I/Os have the time of the one before them",
            amount::latency(furthest_back.0 as f64)
        );
    }
    if *ignored > 0 {
        let _ = writeln!(out, "ignored records without an I/O, a merge or a completion: {ignored}");
    }
    let resolution = summary.format.resolution();
    if resolution >= Nanos::from_millis(1) {
        let _ = writeln!(
            out,
            "the timestamps have a resolution of {}: gaps between I/Os and bursts are unknown",
            amount::latency(resolution.0 as f64)
        );
    }
}

fn kinds(profile: &TraceProfile) -> String {
    let seconds = profile.length().as_secs_f64();
    let all = profile.all_ios() as f64;
    let header = [
        "",
        "I/Os",
        "share",
        "data",
        "mean size",
        "IOPS",
        "bandwidth",
        "sequential",
        "in 16 streams",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for kind in TraceKind::ALL {
        let count = profile.kind(kind);
        if count.ios() == 0 {
            continue;
        }
        let bytes = count.bytes().0;
        let per_second = |value: f64, text: &dyn Fn(f64) -> String| {
            if seconds > 0.0 { text(value / seconds) } else { "-".into() }
        };
        let mut row = vec![
            kind.name().to_string(),
            count.ios().to_string(),
            percent(count.ios() as f64 / all),
        ];
        if let Some(dir) = kind.dir() {
            let (sequential, in_streams) = profile.sequential(dir);
            row.push(amount::rounded(Bytes(bytes)));
            row.push(amount::rounded(Bytes(bytes / count.ios())));
            row.push(per_second(count.ios() as f64, &|rate| format!("{rate:.0}")));
            row.push(per_second(bytes as f64, &|rate| {
                format!("{}/s", amount::rounded(Bytes(rate as u64)))
            }));
            row.push(percent(sequential));
            row.push(percent(in_streams));
        } else {
            row.extend(["", ""].map(String::from));
            row.push(per_second(count.ios() as f64, &|rate| format!("{rate:.0}")));
            row.extend(["", "", ""].map(String::from));
        }
        rows.push(row);
    }
    aligned(&rows, |column| if column == 0 { Align::Left } else { Align::Right })
}

fn sizes(out: &mut String, profile: &TraceProfile) {
    for dir in Dir::ALL {
        let all = profile.sizes(dir).by_count();
        let total = profile.sizes(dir).total() as f64;
        if all.is_empty() {
            continue;
        }
        let shown = all.iter().take(SIZES).map(|(size, count)| {
            format!("{} {}", amount::exact(*size), percent(*count as f64 / total))
        });
        let mut parts: Vec<String> = shown.collect();
        if all.len() > SIZES {
            parts.push(format!("{} other sizes", all.len() - SIZES));
        }
        let _ = writeln!(out, "sizes, {}: {}", dir.name(), parts.join(", "));
    }
    let _ = writeln!(out, "alignment: {}", amount::exact(profile.alignment()));
}

fn flags(out: &mut String, profile: &TraceProfile) {
    let counts = profile.flags().into_iter().zip(FLAGS).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = counts.map(|(count, (_, name))| format!("{name} {count}")).collect();
    if !parts.is_empty() {
        let _ = writeln!(out, "flags: {}", parts.join(", "));
    }
}

fn data(out: &mut String, profile: &TraceProfile) {
    let set = profile.working_set();
    if set == Bytes::ZERO {
        return;
    }
    let of = |dir| amount::rounded(profile.working_set_of(dir));
    let _ = writeln!(
        out,
        "working set: {} (read {}, written {}){}",
        amount::rounded(set),
        of(Dir::Read),
        of(Dir::Write),
        error(profile.working_set_error())
    );
    let skew = profile.skew();
    let parts = HOTTEST.map(|data| format!("{} % get {}", data * 100.0, percent(skew.io_of(data))));
    let _ = writeln!(
        out,
        "skew: of {:.0} blocks in which I/Os begin, the hottest {} of the I/Os",
        skew.blocks(),
        parts.join(", ")
    );
    let sample = profile.sample();
    let caches = CACHES.map(|share| Bytes((set.0 as f64 * share) as u64));
    let hits = caches.into_iter().filter(|cache| *cache >= BLOCK).map(|cache| {
        let hits = sample.hits(cache.0 as f64 / BLOCK.0 as f64);
        format!(", {} in an LRU cache of {}", percent(hits), amount::binary(cache))
    });
    let _ = writeln!(
        out,
        "reuse: {} of the accessed blocks were accessed before{}{}",
        percent(sample.reused()),
        hits.collect::<String>(),
        error(sample_error(profile))
    );
}

/// The statistical error of an estimate; nothing if it is exact.
fn error(percent: f64) -> String {
    if percent > 0.0 { format!(", ± {percent:.1} %") } else { String::new() }
}

fn rate(out: &mut String, profile: &TraceProfile) {
    let (width, slices) = profile.rates().slices();
    let Some(peak_to_mean) = profile.rates().peak_to_mean() else { return };
    let together = slices.len().div_ceil(WIDTH);
    let counts: Vec<u64> = slices
        .chunks(together)
        .map(|part| part.iter().map(|slice| slice.all_ios()).sum())
        .collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| BARS[((count * 7).div_ceil(most)) as usize];
    let bars: String = counts.iter().map(bar).collect();
    let slice = Nanos(width.0.saturating_mul(together as u64));
    let peak = most as f64 / slice.as_secs_f64();
    let _ = writeln!(
        out,
        "rate: {bars} one character is {}, the highest {peak:.0} IOPS",
        amount::latency(slice.0 as f64)
    );
    let gaps = profile.rates().gap_variation();
    let gaps = gaps.map_or(String::new(), |variation| {
        format!("; gaps vary by {variation:.2} (0 is constant, 1 is random, more are bursts)")
    });
    let _ = writeln!(out, "bursts: the peak is {peak_to_mean:.1} × the mean rate{gaps}");
}

fn depth(out: &mut String, profile: &TraceProfile) {
    let depth = profile.depth();
    match (depth.mean(), depth.percentile(50.0), depth.percentile(99.0), depth.most()) {
        (Some(mean), Some(median), Some(p99), Some(most)) => {
            let _ = writeln!(out, "depth: mean {mean:.1}, median {median}, p99 {p99}, most {most}");
        }
        _ => out.push_str("depth: unknown, because the trace has no completions\n"),
    }
    for (dir, latency) in depth.latency().iter().filter(|(_, latency)| !latency.is_empty()) {
        let percentiles = latency.percentiles(&[50.0, 99.0, 99.9]);
        let parts: Vec<String> = percentiles
            .iter()
            .map(|(percent, time)| format!("p{percent} {}", amount::latency(time.0 as f64)))
            .collect();
        let _ = writeln!(out, "latency, {}: {}", dir.name(), parts.join(", "));
    }
}

fn targets(out: &mut String, summary: &TraceSummary) {
    let mut targets: Vec<_> =
        summary.targets.iter().filter(|target| target.count.ios() > 0).collect();
    if targets.len() < 2 {
        if let Some(target) = targets.first() {
            let _ = writeln!(out, "target: {}, up to {}", target.name, amount::rounded(target.end));
        }
        return;
    }
    targets.sort_by_key(|target| std::cmp::Reverse(target.count.ios()));
    let all = summary.profile.all_ios() as f64;
    let mut rows =
        vec![["target", "I/Os", "share", "data", "highest end"].map(String::from).to_vec()];
    rows.extend(targets.iter().take(TARGETS).map(|target| {
        vec![
            target.name.to_string(),
            target.count.ios().to_string(),
            percent(target.count.ios() as f64 / all),
            amount::rounded(target.count.bytes()),
            amount::rounded(target.end),
        ]
    }));
    out.push('\n');
    *out += &aligned(&rows, |column| if column == 0 { Align::Left } else { Align::Right });
    if targets.len() > TARGETS {
        let _ = writeln!(out, "and {} other targets", targets.len() - TARGETS);
    }
}
