//! The report as one line per job, with semicolons between the fields (`--minimal`).

use std::io::{self, Write};

use fiord_stat::report::*;

use crate::number::errno;
use crate::plainly::plainly;

/// Number of percentile fields in every row, including unused ones.
const PERCENTILE_FIELDS: usize = 20;

/// The version of the format, which determines the fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// No fio version and no disks; the description is on a separate line.
    V2,
    /// fio's default; without trims.
    V3,
    /// With trims.
    V4,
    /// With samples of bandwidth and IOPS.
    V5,
}

impl TerseVersion {
    /// Returns the version with this number on the command line.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            2 => TerseVersion::V2,
            3 => TerseVersion::V3,
            4 => TerseVersion::V4,
            5 => TerseVersion::V5,
            _ => return None,
        })
    }
    /// Returns the number of the version, the first field of a line.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32 + 2
    }
}

/// Writes a line for each job.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn terse(report: &Report, version: TerseVersion, out: &mut dyn Write) -> io::Result<()> {
    plainly(out, |out| report.jobs.iter().try_for_each(|job| line(report, job, version, out)))
}

fn line(
    report: &Report,
    job: &JobReport,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{}", version.number())?;
    if version > TerseVersion::V2 {
        write!(out, ";{}", report.version)?;
    }
    write!(out, ";{};{};{}", job.name, job.group_id, errno(job.error))?;
    for d in &job.dirs {
        if d.kind != DirKind::Trim || version != TerseVersion::V3 {
            direction(job, d, version, out)?;
        }
    }
    write!(out, ";{:.6}%;{:.6}%", job.usr_cpu, job.sys_cpu)?;
    write!(out, ";{};{};{}", job.ctx, job.majf, job.minf)?;
    for share in job.depth_level {
        write!(out, ";{share:.1}%")?;
    }
    // Here the first bucket includes I/Os below one microsecond.
    write!(out, ";{:.2}%", job.latency_under_2us)?;
    for share in job.latency_us[1..].iter().chain(&job.latency_ms) {
        write!(out, ";{share:.2}%")?;
    }
    if version > TerseVersion::V2 {
        report.disks.iter().try_for_each(|d| disk(d, out))?;
    }
    if let Some(errors) = &job.errors {
        write!(out, ";{};{}", errors.total, errno(errors.first))?;
    }
    match &job.description {
        Some(text) if version == TerseVersion::V2 => writeln!(out, "\n;{text}"),
        Some(text) => writeln!(out, ";{text}"),
        None => writeln!(out),
    }
}

fn direction(
    job: &JobReport,
    d: &DirReport,
    version: TerseVersion,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, ";{};{}", d.io_bytes.0 / 1024, d.bw.0 / 1024)?;
    write!(out, ";{};{}", d.iops as u64, d.runtime.as_millis())?;
    latency(&d.slat, out)?;
    latency(&d.clat, out)?;
    percentiles(job, d, out)?;
    latency(&d.lat, out)?;
    let bw = &d.bw_samples;
    write!(out, ";{};{};{:.6}%;{:.6};{:.6}", bw.min, bw.max, bw.agg, bw.mean, bw.dev)?;
    if version == TerseVersion::V5 {
        let iops = &d.iops_samples;
        write!(out, ";{};{};{}", bw.samples, iops.min, iops.max)?;
        write!(out, ";{:.6};{:.6};{}", iops.mean, iops.dev, iops.samples)?;
    }
    Ok(())
}

/// Writes the percentiles of total latencies if they were recorded, otherwise those of completion latencies.
/// The line names the requested percentages even if nothing was recorded.
fn percentiles(job: &JobReport, d: &DirReport, out: &mut dyn Write) -> io::Result<()> {
    let found = match d.lat.percentiles.is_empty() {
        true => &d.clat.percentiles,
        false => &d.lat.percentiles,
    };
    for i in 0..PERCENTILE_FIELDS {
        let ns = found.get(i).map_or(0, |(_, time)| time.0);
        match job.percentile_list.get(i) {
            Some(p) => write!(out, ";{p:.6}%={}", ns / 1000)?,
            None => write!(out, ";0%=0")?,
        }
    }
    Ok(())
}

/// Writes minimum, maximum, mean and deviation in microseconds.
fn latency(s: &LatencySummary, out: &mut dyn Write) -> io::Result<()> {
    write!(out, ";{};{}", s.min.as_micros(), s.max.as_micros())?;
    write!(out, ";{:.6};{:.6}", s.mean / 1000.0, s.stddev / 1000.0)
}

/// Writes the fields of a disk, of all its members together under the name `slaves`, and of each member.
fn disk(disk: &DiskReport, out: &mut dyn Write) -> io::Result<()> {
    let row = |name: &str, c: &DiskCounts, out: &mut dyn Write| {
        write!(
            out,
            ";{name};{};{};{};{};{};{};{};{:.2}%",
            c.ios[0],
            c.ios[1],
            c.merges[0],
            c.merges[1],
            c.time[0].as_millis(),
            c.time[1].as_millis(),
            c.in_queue.as_millis(),
            c.util
        )
    };
    row(&disk.name, &disk.counts, out)?;
    if let Some(aggregate) = &disk.aggregate {
        row("slaves", aggregate, out)?;
    }
    disk.members.iter().try_for_each(|m| self::disk(m, out))
}
