//! Compares the claims of findings with the record of the run.

use fiord_stat::claim::{ClaimedCoverage, ClaimedExtent, ClaimedNumber, ClaimedUnit};
use fiord_stat::finding::Finding;
use fiord_stat::histogram::Histogram;
use fiord_stat::report::DirKind;
use fiord_types::Nanos;
use serde_json::Value;

use crate::findings::claims::draw::{DrawnCase, DrawnSection, FILE, FileLayout, Rest};
use crate::findings::claims::record::{RecordedIo, SECTOR, SectionRecord};

/// A case that ran: what was drawn, what the jobs did, and what the report says.
pub(crate) struct RanCase<'a> {
    pub case: &'a DrawnCase,
    /// For each section, the records of its jobs, or one of all of them.
    pub records: Vec<Vec<SectionRecord>>,
    pub json: Value,
}

/// A job that a finding may be about: an instance, or all instances of a section together.
struct Subject<'a> {
    section: &'a DrawnSection,
    ios: Vec<&'a RecordedIo>,
    /// Number of jobs.
    jobs: u64,
    /// The measured part: its begin and end.
    span: (u64, u64),
}

/// What a record says about a number.
enum Truth {
    /// The number must be equal, but for the six decimals of JSON.
    Is(f64),
    /// The number must be at most as far from this value as the share says.
    Near(f64, f64),
    /// The number must be in this range.
    Between(f64, f64),
    /// The number is about the machine, and no record has it.
    OfTheMachine,
}

impl Truth {
    fn admits(&self, value: f64) -> bool {
        match self {
            Truth::Is(truth) => (truth - value).abs() <= 1e-6 * truth.abs().max(1.0),
            Truth::Near(truth, share) => (truth - value).abs() <= share * truth.abs(),
            Truth::Between(least, most) => (*least..=*most).contains(&value),
            Truth::OfTheMachine => true,
        }
    }

    fn text(&self) -> String {
        match self {
            Truth::Is(truth) => format!("{truth}"),
            Truth::Near(truth, share) => format!("{truth} ± {} %", share * 100.0),
            Truth::Between(least, most) => format!("{least} to {most}"),
            Truth::OfTheMachine => "anything".to_owned(),
        }
    }
}

/// Returns what is false in a finding. Counts the claims that were compared.
pub(crate) fn false_claims(
    ran: &RanCase<'_>,
    finding: &Finding,
    compared: &mut u64,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let names: Vec<&str> =
        finding.claim.jobs.iter().chain(&finding.job).map(String::as_str).collect();
    let known = |name: &str| ran.case.sections.iter().any(|section| section.name == name);
    wrong.extend(
        names.iter().filter(|name| !known(name)).map(|name| format!("there is no job {name}")),
    );
    wrong.extend(finding.claim.numbers.iter().filter_map(|number| unsaid(finding, number)));
    for extent in &finding.claim.extents {
        *compared += 1;
        for (at, section) in ran.case.sections.iter().enumerate() {
            let listed = finding.claim.jobs.contains(&section.name);
            let own = finding.claim.jobs.is_empty() && finding.job.as_ref() == Some(&section.name);
            if listed || own {
                wrong.extend(untouched(extent, finding, &ran.records[at]));
            }
        }
    }
    *compared += finding.claim.numbers.len() as u64;
    let subjects = subjects(ran, finding);
    // The finding does not say which instance it is about: one of them must fit, or all of them together.
    let told = subjects.iter().map(|subject| false_numbers(ran, finding, subject));
    wrong.extend(told.min_by_key(Vec::len).unwrap_or_default());
    wrong
}

/// The number is in a sentence, rounded, with all of its digits, or with one decimal.
fn unsaid(finding: &Finding, number: &ClaimedNumber) -> Option<String> {
    let text = format!("{} {}", finding.what, finding.evidence);
    let value = number.value;
    let forms = [number.to_string(), format!("{value}"), format!("{value:.1}")];
    // The sentence has the share of reads as `80 %`, and the numbers of an option in the option.
    (!forms.iter().any(|form| text.contains(form)) && number.name != "in_flight")
        .then(|| format!("the sentences do not have {number:?}"))
}

fn dir_of(kind: DirKind) -> usize {
    match kind {
        DirKind::Read => 0,
        DirKind::Write => 1,
        DirKind::Trim => 2,
        DirKind::Mixed => panic!("an extent of no direction"),
    }
}

/// Compares an extent with what the jobs of a section touched.
fn untouched(extent: &ClaimedExtent, finding: &Finding, jobs: &[SectionRecord]) -> Option<String> {
    let dir = dir_of(extent.direction);
    let reach = jobs.iter().map(|job| job.reach(dir)).max().unwrap_or(0).max(extent.to.0);
    let mut times = vec![0; reach.div_ceil(SECTOR) as usize];
    for job in jobs {
        let own = job.touches(dir, &extent.file, reach);
        times.iter_mut().zip(own).for_each(|(all, own)| *all += own);
    }
    let inside = (extent.from.0 / SECTOR) as usize..extent.to.0.div_ceil(SECTOR) as usize;
    let wanted = match finding.claim.jobs.len() {
        1 => finding.claim.numbers.iter().find(|n| n.name == "jobs").map_or(1, |n| n.value as u32),
        _ => 1,
    };
    match extent.touched {
        ClaimedCoverage::All => {
            let miss = times[inside.clone()].iter().position(|times| *times < wanted)?;
            let at = (inside.start + miss) as u64 * SECTOR;
            Some(format!("byte {at} was not touched by {wanted} jobs: {extent:?}"))
        }
        ClaimedCoverage::Within => {
            let outside = |(at, times): &(usize, &u32)| **times > 0 && !inside.contains(at);
            let (at, _) = times.iter().enumerate().find(outside)?;
            Some(format!("byte {} is outside of {extent:?}", at as u64 * SECTOR))
        }
        ClaimedCoverage::Other => Some(format!("an unknown relation: {extent:?}")),
    }
}

/// Returns the jobs that the numbers of a finding may be about.
fn subjects<'a>(ran: &'a RanCase<'_>, finding: &Finding) -> Vec<Subject<'a>> {
    let mut subjects = Vec::new();
    let entries = ran.json["jobs"].as_array().unwrap();
    let whole = |entries: &[&Value]| {
        let of = |entry: &Value, key: &str| entry["fiord"]["samples"][key].as_u64().unwrap_or(0);
        let begin = entries.iter().map(|entry| of(entry, "measured_ns")).min().unwrap_or(0);
        (begin, entries.iter().map(|entry| of(entry, "end_ns")).max().unwrap_or(0))
    };
    let mut together = None::<Subject<'_>>;
    for (section, records) in ran.case.sections.iter().zip(&ran.records) {
        if finding.claim.jobs.contains(&section.name) {
            let entry =
                entries.iter().filter(|entry| entry["jobname"].as_str() == finding.job.as_deref());
            let own =
                Subject { section, ios: Vec::new(), jobs: 0, span: whole(&Vec::from_iter(entry)) };
            let all = together.get_or_insert(own);
            all.ios.extend(records.iter().flat_map(|record| &record.ios));
            all.jobs += section.instances();
        }
        if finding.job.as_ref().is_some_and(|job| *job != section.name) {
            continue;
        }
        let own: Vec<&Value> =
            entries.iter().filter(|entry| entry["jobname"] == section.name.as_str()).collect();
        let jobs = section.instances();
        let all = records.iter().flat_map(|record| &record.ios).collect();
        subjects.push(Subject { section, ios: all, jobs, span: whole(&own) });
        for (at, record) in records.iter().enumerate().filter(|_| records.len() > 1) {
            let span = whole(own.get(at).or(own.first()).map_or(&[], std::slice::from_ref));
            subjects.push(Subject { section, ios: record.ios.iter().collect(), jobs: 1, span });
        }
    }
    subjects.extend(together);
    subjects
}

fn false_numbers(ran: &RanCase<'_>, finding: &Finding, subject: &Subject<'_>) -> Vec<String> {
    let check = |number: &ClaimedNumber| {
        let Some(truth) = truth(ran, finding, number, subject) else {
            return Some(format!("no rule for {}.{}", finding.id, number.name));
        };
        (!truth.admits(number.value)).then(|| {
            format!("{} is {}, the record says {}", number.name, number.value, truth.text())
        })
    };
    finding.claim.numbers.iter().filter_map(check).collect()
}

/// Returns what the record says about a number. `None`: the test does not know the number.
fn truth(
    ran: &RanCase<'_>,
    finding: &Finding,
    number: &ClaimedNumber,
    subject: &Subject<'_>,
) -> Option<Truth> {
    let said = |name: &str| {
        let own = finding.claim.numbers.iter().find(|number| number.name == name);
        own.map_or(f64::NAN, |number| number.value)
    };
    let option = |name: &str| subject.section.number(name).unwrap_or(f64::NAN);
    let name = number.name.as_str();
    Some(match (finding.id.as_str(), name) {
        (_, "jobs") => {
            Truth::Between(2.0, ran.case.sections.iter().map(|s| s.instances()).sum::<u64>() as f64)
        }
        ("too-short", _) => of_percentiles(ran, finding, name, subject)?,
        ("rate-missed" | "hidden-stalls", _) => of_rates(finding, number, subject, &said)?,
        ("ended-in-ramp", "ios") => Truth::Is(subject.ios.len() as f64),
        ("ended-in-ramp", "took") => Truth::Is(subject.ios.iter().map(|io| io.end).max()? as f64),
        ("ended-in-ramp", "ramp") => Truth::Is(match number.unit {
            ClaimedUnit::Ns => duration(subject.section.value("ramp_time")?),
            _ => size(subject.section.value("ramp_size")?),
        }),
        ("not-steady", "round_iops") => Truth::Between(0.0, peak(subject)),
        ("not-steady", "range") => {
            let all = finding.claim.numbers.iter().filter(|number| number.name == "round_iops");
            let all: Vec<f64> = all.map(|number| number.value).collect();
            let (least, most) =
                all.iter().fold((f64::MAX, 0.0_f64), |(a, b), n| (a.min(*n), b.max(*n)));
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            // Rounds are whole I/Os a second.
            Truth::Between((most - least - 1.0) / mean, (most - least + 1.0) / mean)
        }
        ("not-steady", "slope") => Truth::Between(0.0, 2.0 * said("range")),
        ("overlapping-writers" | "same-start-offset", "shared") => {
            let extent = &finding.claim.extents[0];
            Truth::Is((extent.to.0 - extent.from.0) as f64)
        }
        ("unwritten-data", _) => of_holes(ran, finding, name)?,
        ("zero-data", "blocks") => Truth::Between(1.0, 16.0),
        ("zero-data", "zero_blocks") => Truth::Between(said("blocks") / 2.0, said("blocks")),
        ("zero-data", "share") => Truth::Is(said("zero_blocks") / said("blocks")),
        ("size-per-job", "total") => Truth::Is(bytes(subject, None)),
        ("size-per-job", "data") => Truth::Between(1.0, bytes(subject, None)),
        ("size-per-job", "numjobs") => Truth::Is(subject.jobs as f64),
        // Without a report of the group, each instance has a finding of its own.
        ("buffered-not-synced" | "volatile-cache", "written") if subject.jobs > 1 => {
            Truth::Between(1.0, bytes(subject, Some(1)))
        }
        ("buffered-not-synced" | "volatile-cache", "written") => Truth::Is(bytes(subject, Some(1))),
        ("buffered-not-synced", "dirty") => Truth::Between(1.0, said("written")),
        ("cache-hits", "read") => Truth::Is(bytes(subject, Some(0))),
        ("cache-hits", "fetched") => Truth::Between(0.0, said("read")),
        ("cache-hits", "share") => Truth::Is((said("read") - said("fetched")) / said("read")),
        ("cached-working-set", "working_set") => Truth::Is(size(subject.section.value("size")?)),
        ("cached-working-set", "available") => Truth::OfTheMachine,
        ("cache-under-direct", _) => Truth::Between(0.0, (FILE / 4096) as f64),
        ("depth-ignored" | "aio-threads", "iodepth") => Truth::Is(option("iodepth")),
        ("aio-threads", "in_flight") => Truth::Between(1.0, 20.0),
        ("rate-and-rwmix", "rate") => {
            let rates = subject.section.value("rate_iops").or(subject.section.value("rate"))?;
            Truth::Is(rates.split(',').map(size).find(|rate| *rate > 0.0)?)
        }
        ("rate-and-rwmix", "reads_asked") => Truth::Is(option("rwmixread") / 100.0),
        ("unit-surprise", "bytes") => {
            let text = finding.what.split(['=', ' ']).nth(1)?;
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            let step = if text.contains('K') { 1e3 } else { 1e6 };
            Truth::Is(digits.parse::<f64>().ok()? * step)
        }
        ("unit-surprise", "less") => Truth::Between(0.02, 0.05),
        ("empty-zones", "reads") => Truth::Is(bytes(subject, Some(0)) / 65536.0),
        ("reads-beyond-pointer", _) => Truth::Between(0.0, 4.0 * 1024.0 * 1024.0),
        ("nothing-verified", _) => Truth::Is(bytes(subject, Some(0))),
        ("bad-data", "extents" | "damaged") => Truth::Between(1.0, bytes(subject, Some(1))),
        ("bad-data", _) => {
            Truth::Between(1.0, said(if name.ends_with("_bytes") { "damaged" } else { "extents" }))
        }
        ("replay-late", _) => of_replay(ran, name, subject, &said)?,
        ("volatile-cache", _) => Truth::OfTheMachine,
        ("existing-names", "names") => Truth::Is(option("nrfiles")),
        ("existing-names", "existing") => Truth::Is(0.0),
        ("no-data-moved", "block") => Truth::Is(size(subject.section.value("bs")?)),
        ("space-reserved", "range") => Truth::Is(size(subject.section.value("size")?)),
        ("space-reserved", "reserved") => Truth::Between(0.5, 1.0),
        ("dentry-cache", "calls") => {
            Truth::Is(option("nrfiles") * subject.section.number("loops").unwrap_or(1.0))
        }
        ("dentry-cache", _) => Truth::OfTheMachine,
        (
            "log-bound" | "generator-bound" | "depth-not-reached" | "split-or-merged"
            | "submission-blocks",
            _,
        )
        | ("noisy-neighbour" | "clock-source" | "contents-cost", _) => Truth::OfTheMachine,
        _ => return None,
    })
}

fn bytes(subject: &Subject<'_>, dir: Option<usize>) -> f64 {
    let own = subject.ios.iter().filter(|io| dir.is_none_or(|dir| io.dir == dir));
    own.map(|io| io.bytes).sum::<u64>() as f64
}

/// The largest rate in the time of a round, which is at least 0.3 s, because no job of less than 3 s has rounds.
fn peak(subject: &Subject<'_>) -> f64 {
    let mut ends: Vec<u64> = subject.ios.iter().map(|io| io.end).collect();
    ends.sort_unstable();
    let round = 300_000_000;
    let from = |at: usize| ends.partition_point(|end| *end < ends[at] + round) - at;
    (0..ends.len()).map(from).max().unwrap_or(0) as f64 * 1e9 / round as f64 + 1.0
}

/// The direction that a sentence is about. `None`: all together.
fn said_direction(finding: &Finding) -> Option<usize> {
    ["reads", "writes", "trims"].iter().position(|word| finding.what.contains(word))
}

/// The measured I/Os of the direction that a sentence is about.
fn measured<'a>(finding: &Finding, subject: &'a Subject<'_>) -> Vec<&'a RecordedIo> {
    let dir = said_direction(finding);
    // With `ramp_size`, each job ends its ramp at a moment of its own, and a report of several jobs has only one.
    let (begin, _) = match subject.section.value("ramp_size") {
        Some(_) => (0, 0),
        None => subject.span,
    };
    let own = subject.ios.iter().filter(|io| dir.is_none_or(|dir| io.dir == dir));
    // Jobs on files have no ramp.
    own.filter(|io| io.after_ramp && (io.end > begin || begin == 0 || io.file.is_some()))
        .copied()
        .collect()
}

fn of_percentiles(
    ran: &RanCase<'_>,
    finding: &Finding,
    name: &str,
    subject: &Subject<'_>,
) -> Option<Truth> {
    let highest =
        || finding.evidence.split(" above p").nth(1)?.split(',').next()?.parse::<f64>().ok();
    let mut ios = measured(finding, subject).len() as f64;
    // The record has the reads of a verify pass, which do not count as reads of the job.
    let logged = subject.ios.iter().any(|io| io.file.is_some());
    let ramps = ["ramp_size", "ramp_time"].iter().any(|name| subject.section.value(name).is_some());
    let verifies = subject.section.value("verify").is_some();
    if verifies && said_direction(finding) != Some(1) {
        ios = finding.claim.numbers.iter().find(|number| number.name == "ios")?.value;
    }
    Some(match name {
        // The ramps of jobs that are reported together end at different times.
        "ios" if subject.jobs > 1 && ramps => Truth::Near(ios, 0.02),
        "above" if subject.jobs > 1 && ramps => {
            Truth::Near(ios * (100.0 - highest()?) / 100.0, 0.02)
        }
        // The log of jobs on files has the I/Os of all instances.
        "ios" | "above" if logged && subject.jobs > 1 => Truth::Between(0.0, ios),
        "ios" => Truth::Is(ios),
        "above" => Truth::Is(ios * (100.0 - highest()?) / 100.0),
        "needed" => Truth::Is(1000.0 / (100.0 - highest()?)),
        // Another test compares these numbers of JSON with the record.
        "windows" | "mean" | "deviation" => {
            let key =
                [("windows", "iops_samples"), ("mean", "iops_mean"), ("deviation", "iops_stddev")];
            let (_, key) = key.iter().find(|(own, _)| *own == name)?;
            let entries = ran.json["jobs"].as_array()?;
            let own =
                entries.iter().filter(|entry| entry["jobname"] == subject.section.name.as_str());
            let rows =
                own.flat_map(|entry| ["read", "write", "trim", "mixed"].map(|dir| &entry[dir]));
            let value = finding.claim.numbers.iter().find(|number| number.name == name)?.value;
            let all: Vec<f64> = rows.filter_map(|row| row[*key].as_f64()).collect();
            let near = all.iter().min_by(|a, b| (*a - value).abs().total_cmp(&(*b - value).abs()));
            Truth::Near(*near?, 1e-5)
        }
        "half_width" => Truth::Between(0.1, f64::MAX),
        _ => return None,
    })
}

fn of_rates(
    finding: &Finding,
    number: &ClaimedNumber,
    subject: &Subject<'_>,
    said: &dyn Fn(&str) -> f64,
) -> Option<Truth> {
    let ios = measured(finding, subject);
    let seconds = (subject.span.1 - subject.span.0) as f64 / 1e9;
    let name = number.name.as_str();
    let in_bytes = subject.section.value("rate").is_some();
    Some(match name {
        "reached" => {
            let bytes = ios.iter().map(|io| io.bytes).sum::<u64>() as f64;
            let amount = if in_bytes { bytes } else { ios.len() as f64 };
            // Jobs that end at different times have a mean of their own.
            Truth::Near(amount / seconds, 0.02)
        }
        "asked" => {
            let text = subject.section.value(if in_bytes { "rate" } else { "rate_iops" })?;
            let rates: Vec<f64> = text.split(',').map(size).collect();
            let of = |dir: usize| *rates.get(dir).or(rates.last()).unwrap_or(&0.0);
            let rw = subject.section.value("rw")?;
            let used = |dir: usize| rw.contains("rw") || rw.contains(["read", "write"][dir]);
            let all = || (0..2).filter(|dir| used(*dir)).map(of).sum();
            let own = said_direction(finding).map_or_else(all, of);
            Truth::Is(own * subject.jobs as f64)
        }
        "share" => Truth::Is(said("reached") / said("asked")),
        "slowest" => Truth::Is(ios.iter().map(|io| io.latency).max()? as f64),
        "longest_wake" | "ready" => Truth::OfTheMachine,
        _ => {
            let (percentile, kind) = name.strip_prefix('p')?.split_once('_')?;
            let percentile: f64 = percentile.parse().ok()?;
            let mut histogram = Histogram::new();
            ios.iter().for_each(|io| histogram.record(Nanos(io.latency)));
            let (_, actual) = histogram.percentiles(&[percentile])[0];
            match kind {
                "actual" => Truth::Is(actual.as_f64()),
                // The record does not say when an I/O was due; it cannot have been due before the job started.
                _ => Truth::Between(actual.as_f64(), subject.span.1 as f64 * 1.02),
            }
        }
    })
}

/// Compares a finding about unwritten data with the layout of the file.
fn of_holes(ran: &RanCase<'_>, finding: &Finding, name: &str) -> Option<Truth> {
    let FileLayout { held, rest } = ran.case.file?;
    let extent = &finding.claim.extents[0];
    let (from, to) = (extent.from.0, extent.to.0.min(FILE));
    let unwritten = if rest == Rest::Hole { to.saturating_sub(from.max(held)) } else { 0 };
    let range = (to - from) as f64;
    Some(Truth::Is(match name {
        "range" => range,
        "unwritten" => unwritten as f64,
        "share" => unwritten as f64 / range,
        _ => return None,
    }))
}

fn of_replay(
    ran: &RanCase<'_>,
    name: &str,
    subject: &Subject<'_>,
    said: &dyn Fn(&str) -> f64,
) -> Option<Truth> {
    let (_, trace) = ran.case.files.first()?;
    let times = trace.lines().filter(|line| line.contains("read") || line.contains("write"));
    let times: Vec<u64> = times.filter_map(|line| line.split(' ').next()?.parse().ok()).collect();
    let mut issued: Vec<u64> = subject.ios.iter().map(|io| io.issue).collect();
    issued.sort_unstable();
    let late = issued.iter().zip(&times).map(|(at, time)| at.saturating_sub(time * 1000));
    let last = subject.ios.iter().map(|io| io.end).max()? as f64;
    Some(match name {
        "ios" => Truth::Is(subject.ios.len() as f64),
        "max_late" => Truth::Near(late.max()? as f64, 0.02),
        "late" | "median_late" => Truth::Between(0.0, said("max_late") * 1.02),
        "took" => Truth::Between(*issued.last()? as f64, last),
        "recorded" => {
            let end = trace.lines().last()?.split(' ').next()?.parse::<f64>().ok()? * 1000.0;
            Truth::Between(*times.last()? as f64 * 1000.0, end)
        }
        _ => return None,
    })
}

/// Reads a size such as `64k`, or 0.
pub(crate) fn size(text: &str) -> f64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let unit = match &text[digits.len()..] {
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    digits.parse::<f64>().unwrap_or(0.0) * unit
}

/// Reads a time such as `20ms` in nanoseconds. A bare number is in seconds.
fn duration(text: &str) -> f64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let unit = match &text[digits.len()..] {
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    };
    digits.parse::<f64>().unwrap_or(0.0) * unit
}
