//! The block of a job.

use std::io::{self, Write};

use fiord_stat::engine::RingCounts;
use fiord_stat::report::*;
use fiord_types::{Bytes, Nanos};

use super::{block_errors, distribution, faults, flash, latency, replay, requests, verify};
use crate::number::errno;
use crate::style;

/// What a block is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A job, or the jobs that `group_reporting` merges.
    Job,
    /// All jobs of all hosts. As in fio, its rates have no unit, and there is no line about the latency target.
    AllClients,
}

/// Writes the block, unless the job did nothing. `date` is the time of the report.
pub(crate) fn write(
    job: &JobReport,
    date: &str,
    kind: BlockKind,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !job.did_io() {
        return Ok(());
    }
    title(job, date, out)?;
    // The cycles of an engine that does no I/O have no run time, and so no rates to print.
    let did = |d: &&DirReport| d.runtime > Nanos::ZERO || d.io_bytes > Bytes::ZERO;
    for d in job.dirs.iter().filter(did) {
        direction(job, d, kind, out)?;
    }
    distribution::latencies(job, out)?;
    if job.sync.lat.n > 0 {
        writeln!(out, "  fsync/fdatasync/sync_file_range/syncfs:")?;
        latency::line("sync", &job.sync.lat, out)?;
        latency::percentiles("sync", &job.sync.lat, job.percentile_decimals, out)?;
    }
    writeln!(
        out,
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}",
        job.usr_cpu, job.sys_cpu, job.ctx, job.majf, job.minf
    )?;
    distribution::depths(job, out)?;
    if let Some(errors) = &job.errors {
        let ErrorReport { total, first, first_text } = errors;
        let first = errno(*first);
        writeln!(out, "     errors    : total={total}, first_error={first}/<{first_text}>")?;
    }
    if kind == BlockKind::Job {
        latency_target(job, out)?;
    }
    block_errors::write(job, out)?;
    if let Some(state) = &job.steady_state {
        steady_state(state, job.style, out)?;
    }
    intended(job, out)?;
    job.replay.as_ref().map_or(Ok(()), |results| replay::write(results, out))?;
    job.engine.flash.as_ref().map_or(Ok(()), |report| flash::write(report, out))?;
    job.engine.ring.map_or(Ok(()), |counts| ring(counts, out))?;
    job.engine.requests.as_ref().map_or(Ok(()), |summary| requests::write(summary, out))?;
    job.verify.as_ref().map_or(Ok(()), |results| verify::write(results, out))?;
    faults::write(job.engine.faults.as_ref(), out)
}

/// Writes what an io_uring with a submission thread counted.
fn ring(counts: RingCounts, out: &mut dyn Write) -> io::Result<()> {
    let count = counts.sq_thread_wakeups;
    let times = if count == 1 { "time" } else { "times" };
    writeln!(out, "  fiord: io_uring: the submission thread was woken {count} {times}")
}

fn latency_target(job: &JobReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        time_span(job.latency_target),
        time_span(job.latency_window),
        job.latency_percentile,
        job.latency_depth
    )
}

/// Writes latencies from the time at which an I/O was due. fio does not have them, so they come last.
fn intended(job: &JobReport, out: &mut dyn Write) -> io::Result<()> {
    for (kind, summary) in &job.intended {
        let name = match kind {
            DirKind::Read => "read",
            DirKind::Write => "write",
            DirKind::Trim => "trim",
            DirKind::Mixed => "mixed",
        };
        writeln!(out, "  fiord: {name} latency from the intended start:")?;
        latency::line("due", summary, out)?;
        latency::percentiles("due", summary, job.percentile_decimals, out)?;
    }
    Ok(())
}

fn title(job: &JobReport, date: &str, out: &mut dyn Write) -> io::Result<()> {
    let JobReport { name, group_id, members, pid, .. } = job;
    let error = errno(job.error);
    write!(out, "{name}: (groupid={group_id}, jobs={members}): err={error:2}")?;
    if error != 0 {
        write!(out, " ({})", job.error_text)?;
    }
    writeln!(out, ": pid={pid}: {date}")?;
    match &job.description {
        Some(text) => writeln!(out, "  Description  : [{text}]"),
        None => Ok(()),
    }
}

fn direction(
    job: &JobReport,
    d: &DirReport,
    kind: BlockKind,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (name, bare) = match d.kind {
        DirKind::Read => ("read", false),
        DirKind::Write => ("write", false),
        DirKind::Trim => ("trim", false),
        DirKind::Mixed => ("mixed", job.unified == Unified::Both),
    };
    let (own, other) = match bare || kind == BlockKind::AllClients {
        true => style::bare_rates(d.bw, job.style),
        false => style::rates(d.bw, job.style),
    };
    write!(
        out,
        "  {name}: IOPS={}, BW={own} ({other})({}/{}msec)",
        style::count(d.iops as u64, job.style),
        style::size(d.io_bytes, job.style),
        d.runtime.as_millis()
    )?;
    match job.zone_resets {
        Some(n) => writeln!(out, "; {n} zone resets")?,
        None => writeln!(out)?,
    }
    let series = [("slat", &d.slat), ("clat", &d.clat), ("lat", &d.lat)];
    for (name, summary) in series {
        latency::line(name, summary, out)?;
    }
    for p in &d.priorities {
        latency::line(&format!("    {}", priority(p)), &p.latency, out)?;
    }
    for (name, summary) in series {
        latency::percentiles(name, summary, job.percentile_decimals, out)?;
    }
    let all: u64 = d.priorities.iter().map(|p| p.latency.n).sum();
    for p in &d.priorities {
        let share = 100.0 * p.latency.n as f64 / all as f64;
        let name = format!("{} ({share:.2}% of IOs)", priority(p));
        latency::percentiles(&name, &p.latency, job.percentile_decimals, out)?;
    }
    samples(job, d, out)
}

/// Names the latencies and the priority: class, level and hint.
fn priority(p: &PriorityReport) -> String {
    let of = if p.total { "lat" } else { "clat" };
    format!("{of} prio {}/{}/{}", p.class, p.level, p.hint)
}

/// Writes the lines about bandwidth and IOPS over time.
fn samples(job: &JobReport, d: &DirReport, out: &mut dyn Write) -> io::Result<()> {
    let base = f64::from(job.style.kb_base);
    // Samples are in KiB/s in both bases; the names of the unit are fio's.
    let small = if job.style.kb_base == 1000 { "kB/s" } else { "KiB/s" };
    let bw = &d.bw_samples;
    if bw.samples > 0 {
        let (unit, by) = if bw.mean > base * base { ("MiB/s", base) } else { (small, 1.0) };
        writeln!(
            out,
            "   bw ({unit:>7}): min={:5}, max={:5}, per={:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
            bw.min / by as u64,
            bw.max / by as u64,
            bw.agg,
            bw.mean / by,
            bw.dev / by,
            bw.samples
        )?;
    }
    let iops = &d.iops_samples;
    if iops.samples > 0 {
        writeln!(
            out,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            iops.min, iops.max, iops.mean, iops.dev, iops.samples
        )?;
    }
    Ok(())
}

/// Formats a time with two decimals in the smallest unit in which it is less than 2000.
fn time_span(time: Nanos) -> String {
    let (mut value, mut unit) = (time.0 as f64, 0);
    while value >= 2000.0 && unit < 3 {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.2}{}", ["ns", "us", "ms", "s"][unit])
}

fn steady_state(state: &SteadyState, style: NumberStyle, out: &mut dyn Write) -> io::Result<()> {
    // The second rate counts thousands of KiB. fio does so only here.
    let (own, _) = style::rates(state.bw_mean, style);
    let (_, other) = style::rates(Bytes(state.bw_mean.0 / 1024 * 1000), style);
    let (name, latency) = match state.measure {
        SteadyMeasure::Iops => ("iops", String::new()),
        SteadyMeasure::Bandwidth => ("bw", String::new()),
        // As in fio, the number may have its own suffix before the unit.
        SteadyMeasure::Latency => {
            ("lat", format!("lat={}nsec, ", style::count(state.lat_mean.0, style)))
        }
    };
    let unit = if state.percent { "%" } else { "" };
    let verdict = match state.kind {
        SteadyKind::Deviation => format!("{name} mean dev={:.3}{unit}", state.criterion),
        SteadyKind::Slope => format!("{name} slope={:.3}{unit}", state.criterion),
        SteadyKind::Pts { slope_percent } => {
            format!("{name} range={:.3}%, {name} slope={slope_percent:.3}%", state.criterion)
        }
    };
    writeln!(
        out,
        "  steadystate  : attained={}, bw={own} ({other}), iops={}, {latency}{verdict}",
        if state.attained { "yes" } else { "no" },
        state.iops_mean,
    )
}
