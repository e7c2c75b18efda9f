//! Terse lines: `--output-format=terse` and `--minimal` of fio 3 and of fiord, versions 2 to 5.
//!
//! A line has one job. Its fields are separated by semicolons, which names and descriptions may contain, too. The reader
//! therefore looks for the first percentile (`1.000000%=12`): what stands before it has a fixed length up to the name.
//!
//! The format contains less than JSON. Rates are in KiB/s, latencies and percentiles in microseconds, and there are
//! neither options nor histograms. The number of I/Os is computed from their rate and the run time. A line does not
//! say whether its percentiles are those of completion or of total latencies: they count as completion latencies
//! unless the job recorded only total ones. Lines of status reports (`--status-interval`) look like those of further
//! jobs.
//!
//! Source of the fields: fio's manual, section "Terse output", and its output.

use fiord_stat::report::*;
use fiord_types::{Bytes, Errno, Nanos};

use super::job::{counts, issued};

/// Fields of a direction before its percentiles: four rates, four of submission and four of completion latency.
const BEFORE_PERCENTILES: usize = 12;

/// Percentile fields of a direction, including unused ones.
const PERCENTILES: usize = 20;

/// Fields of a disk.
const DISK: usize = 9;

/// The name that fio gives to the sum of a disk's members.
const MEMBERS: &str = "slaves";

/// Reads all terse lines of a text as one report. Returns `None` if there are none.
pub(super) fn read(text: &str) -> Option<Report> {
    let mut report = Report::default();
    // A description follows on a line of its own in version 2.
    let mut described = None;
    for line in text.lines() {
        if let (Some(text), Some(at)) = (line.strip_prefix(';'), described.take()) {
            let job: &mut JobReport = &mut report.jobs[at];
            job.description = Some(text.to_owned());
            continue;
        }
        let Some(entry) = entry(line) else { continue };
        described = (entry.version.is_empty()).then_some(report.jobs.len());
        report.version = entry.version;
        report.disks = entry.disks;
        report.jobs.push(entry.job);
    }
    report.groups = fiord_stat::job::groups(&report.jobs);
    (!report.jobs.is_empty()).then_some(report)
}

/// A line.
struct Entry {
    /// The program that wrote it; empty in version 2.
    version: String,
    job: JobReport,
    disks: Vec<DiskReport>,
}

/// The fields of a line that were not yet read. Those after the end are empty.
struct Fields<'a>(std::slice::Iter<'a, &'a str>);

impl<'a> Fields<'a> {
    fn text(&mut self) -> &'a str {
        self.0.next().copied().unwrap_or_default()
    }

    fn number(&mut self) -> f64 {
        let number: f64 = self.text().trim_end_matches('%').parse().unwrap_or(0.0);
        if number.is_finite() { number } else { 0.0 }
    }

    fn whole(&mut self) -> u64 {
        whole(self.text())
    }

    fn kib(&mut self) -> Bytes {
        Bytes(self.whole().saturating_mul(1024))
    }

    fn numbers<const N: usize>(&mut self) -> [f64; N] {
        [(); N].map(|()| self.number())
    }

    /// Minimum, maximum, mean and deviation, in microseconds. `n` is the number of I/Os.
    fn latency(&mut self, n: u64) -> LatencySummary {
        let (min, max) = (self.whole(), self.whole());
        let (mean, stddev) = (self.number() * 1000.0, self.number() * 1000.0);
        let (min, max) = (Nanos::from_micros(min), Nanos::from_micros(max));
        LatencySummary { min, max, mean, stddev, n, ..LatencySummary::default() }
    }

    fn percentiles(&mut self) -> Vec<(f64, Nanos)> {
        let one = |field: &str| {
            let (percent, us) = field.split_once("%=")?;
            let percent: f64 = percent.parse().ok()?;
            (percent > 0.0 && percent <= 100.0).then(|| (percent, Nanos::from_micros(whole(us))))
        };
        (0..PERCENTILES).filter_map(|_| one(self.text())).collect()
    }

    fn rate(&mut self, aggregate: bool) -> RateSummary {
        let (min, max) = (self.whole(), self.whole());
        let agg = if aggregate { self.number() } else { 0.0 };
        RateSummary { min, max, agg, mean: self.number(), dev: self.number(), samples: 0 }
    }
}

/// An integer; 0 if the text is not one.
fn whole(text: &str) -> u64 {
    // Larger numbers could overflow in sums.
    text.parse().unwrap_or(0).min(u64::MAX >> 16)
}

fn entry(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.trim_end().split(';').collect();
    let terse: u32 = fields[0].parse().ok().filter(|version| (2..=5).contains(version))?;
    let head = if terse == 2 { 1 } else { 2 };
    let start = fields.iter().position(|field| field.contains("%="))?;
    let start = start.checked_sub(BEFORE_PERCENTILES).filter(|start| *start >= head + 3)?;
    let length = BEFORE_PERCENTILES + PERCENTILES + if terse == 5 { 15 } else { 9 };
    let is_dir = |at: usize| {
        let percentile = fields.get(at + BEFORE_PERCENTILES);
        percentile.is_some_and(|field| field.contains("%="))
    };
    let dirs = (0..4).take_while(|dir| is_dir(start + dir * length)).count();
    let kinds: &[DirKind] = match (dirs, terse) {
        (1, _) => &[DirKind::Mixed],
        (_, 3) => &[DirKind::Read, DirKind::Write, DirKind::Mixed],
        _ => &[DirKind::Read, DirKind::Write, DirKind::Trim, DirKind::Mixed],
    };
    let mut rest = Fields(fields[start..].iter());
    let dirs: Vec<DirReport> =
        kinds.iter().take(dirs).map(|kind| direction(*kind, terse, &mut rest)).collect();
    let error = i32::try_from(whole(fields[start - 1])).unwrap_or(i32::MAX);
    let named = JobReport {
        name: fields[head..start - 2].join(";"),
        group_id: u32::try_from(whole(fields[start - 2])).unwrap_or(u32::MAX),
        members: 1,
        error: (error != 0).then(|| Errno::from_raw(error)),
        failed: error != 0,
        ..JobReport::default()
    };
    let mut job = job(named, dirs, &mut rest);
    let rest = rest.0.as_slice();
    let (disks, rest) = if terse == 2 { (Vec::new(), rest) } else { disks(rest) };
    end(&mut job, rest);
    let version = if terse == 2 { String::new() } else { fields[1].to_owned() };
    Some(Entry { version, job, disks })
}

fn direction(kind: DirKind, terse: u32, fields: &mut Fields<'_>) -> DirReport {
    let (io_bytes, bw) = (fields.kib(), fields.kib());
    let (iops, runtime) = (fields.number(), Nanos::from_millis(fields.whole()));
    // The cast saturates.
    let ios = ((iops * runtime.as_secs_f64()).round() as u64).min(u64::MAX >> 16);
    let (slat, mut clat) = (fields.latency(ios), fields.latency(ios));
    let percentiles = fields.percentiles();
    let mut lat = fields.latency(ios);
    let only_total = clat.mean == 0.0 && lat.mean > 0.0;
    (if only_total { &mut lat } else { &mut clat }).percentiles = percentiles;
    let mut bw_samples = fields.rate(true);
    let mut iops_samples = RateSummary::default();
    if terse == 5 {
        bw_samples.samples = fields.whole();
        iops_samples = fields.rate(false);
        iops_samples.samples = fields.whole();
    }
    DirReport {
        kind,
        io_bytes,
        bw,
        iops,
        runtime,
        total_ios: ios,
        short_ios: 0,
        drop_ios: 0,
        slat,
        clat,
        lat,
        priorities: Vec::new(),
        bw_samples,
        iops_samples,
    }
}

fn job(named: JobReport, dirs: Vec<DirReport>, fields: &mut Fields<'_>) -> JobReport {
    let (usr_cpu, sys_cpu) = (fields.number(), fields.number());
    let (ctx, majf, minf) = (fields.whole(), fields.whole(), fields.whole());
    let depth_level = fields.numbers();
    let latency_us: [f64; 10] = fields.numbers();
    let unified = match dirs.as_slice() {
        [_] => Unified::Mixed,
        [.., last] if last.kind == DirKind::Mixed => Unified::Both,
        _ => Unified::Separate,
    };
    let listed = |dir: &DirReport| {
        let all = [&dir.clat.percentiles, &dir.lat.percentiles].into_iter().flatten();
        all.map(|(percent, _)| *percent).collect::<Vec<f64>>()
    };
    JobReport {
        runtime: dirs.iter().map(|dir| dir.runtime).max().unwrap_or(Nanos::ZERO),
        issued: issued(&dirs, &SyncReport::default(), unified),
        short: counts(&dirs, |dir| dir.short_ios),
        dropped: counts(&dirs, |dir| dir.drop_ios),
        percentile_list: dirs.first().map(listed).unwrap_or_default(),
        percentile_decimals: 2,
        unified,
        dirs,
        usr_cpu,
        sys_cpu,
        ctx,
        majf,
        minf,
        depth_level,
        latency_under_2us: latency_us[0],
        latency_us,
        latency_ms: fields.numbers(),
        ..named
    }
}

/// The disks at the beginning of these fields, and the fields after them.
fn disks<'a>(mut fields: &'a [&'a str]) -> (Vec<DiskReport>, &'a [&'a str]) {
    let mut disks: Vec<DiskReport> = Vec::new();
    while let Some((row, rest)) = fields.split_at_checked(DISK) {
        let counted = row[1..DISK - 1].iter().all(|field| field.parse::<u64>().is_ok());
        if !counted || !row[DISK - 1].ends_with('%') {
            break;
        }
        let counts = disk_counts(&mut Fields(row[1..].iter()));
        match disks.last_mut() {
            Some(disk) if row[0] == MEMBERS => disk.aggregate = Some(counts),
            _ => {
                let name = row[0].to_owned();
                disks.push(DiskReport { name, counts, ..DiskReport::default() });
            }
        }
        fields = rest;
    }
    (disks, fields)
}

fn disk_counts(fields: &mut Fields<'_>) -> DiskCounts {
    let mut pair = || [fields.whole(), fields.whole()];
    let (ios, merges, time) = (pair(), pair(), pair().map(Nanos::from_millis));
    let in_queue = Nanos::from_millis(fields.whole());
    DiskCounts { ios, merges, time, in_queue, util: fields.number(), ..DiskCounts::default() }
}

/// The optional end of a line: the errors that the job survived (two numbers), and its description.
fn end(job: &mut JobReport, mut fields: &[&str]) {
    if let [total, first, rest @ ..] = fields
        && let (Ok(total), Ok(first)) = (total.parse(), first.parse::<i32>())
    {
        let known = (first != 0).then(|| Errno::from_raw(first));
        job.errors = Some(ErrorReport { total, first: known, first_text: "Success".into() });
        job.failed &= total == 0;
        fields = rest;
    }
    job.description = (!fields.is_empty()).then(|| fields.join(";"));
}
