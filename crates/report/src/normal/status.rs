//! Run status groups and disks.

use std::io::{self, Write};

use fiord_stat::report::{CoreBandwidth, DirKind, DiskCounts, DiskReport, GroupReport};
use fiord_types::Nanos;

use crate::style::{rates, sizes};

/// Writes a group after an empty line.
pub(super) fn group(group: &GroupReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nRun status group {} (all jobs):", group.id)?;
    for d in &group.dirs {
        let name = match d.kind {
            DirKind::Read => "READ",
            DirKind::Write => "WRITE",
            DirKind::Trim => "TRIM",
            DirKind::Mixed => "MIXED",
        };
        let (agg, agg_other) = rates(d.agg_bw, group.style);
        let (min, min_other) = rates(d.min_bw, group.style);
        let (max, max_other) = rates(d.max_bw, group.style);
        let (io, io_other) = sizes(d.io_bytes, group.style);
        writeln!(
            out,
            "{name:>7}: bw={agg} ({agg_other}), {min}-{max} ({min_other}-{max_other}), \
             io={io} ({io_other}), run={}-{}msec",
            d.min_run.as_millis(),
            d.max_run.as_millis()
        )?;
    }
    Ok(())
}

/// Writes the bandwidth of groups per core, in millions of bytes per second.
pub(super) fn cores(groups: &[CoreBandwidth], out: &mut dyn Write) -> io::Result<()> {
    for group in groups {
        let CoreBandwidth { group_id, cores, bw, bw_per_core } = group;
        let (bw, per_core) = (bw.0 as f64 / 1e6, bw_per_core / 1e6);
        let core = if *cores == 1 { "core" } else { "cores" };
        writeln!(
            out,
            "\nBandwidth by core, group {group_id}: {bw:.1} MB/s, {per_core:.1} MB/s per core \
             ({cores} {core})"
        )?;
    }
    Ok(())
}

/// Writes all disks after an empty line, or nothing if there are none.
pub(super) fn disks(disks: &[DiskReport], out: &mut dyn Write) -> io::Result<()> {
    if disks.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nDisk stats (read/write):")?;
    disks.iter().try_for_each(|d| disk(d, out))
}

/// Writes a disk and, below it, its members. Disks with members are indented by two more columns.
fn disk(disk: &DiskReport, out: &mut dyn Write) -> io::Result<()> {
    let c = &disk.counts;
    let margin = if disk.aggregate.is_some() { "    " } else { "  " };
    write!(
        out,
        "{margin}{}: ios={}, sectors={}, merge={}, ticks={}, in_queue={}, util={:.2}%",
        disk.name,
        pair(c.ios),
        pair(c.sectors),
        pair(c.merges),
        pair(c.time.map(Nanos::as_millis)),
        c.in_queue.as_millis(),
        c.util
    )?;
    if let Some(a) = &disk.aggregate {
        let DiskCounts { ios, sectors, merges, time, in_queue, util } = *a;
        write!(
            out,
            ", aggrios={}, aggsectors={}, aggrmerge={}, aggrticks={}, aggrin_queue={}, \
             aggrutil={util:.2}%",
            pair(ios),
            pair(sectors),
            pair(merges),
            pair(time.map(Nanos::as_millis)),
            in_queue.as_millis()
        )?;
    }
    writeln!(out)?;
    disk.members.iter().try_for_each(|m| self::disk(m, out))
}

fn pair(both: [u64; 2]) -> String {
    format!("{}/{}", both[0], both[1])
}
