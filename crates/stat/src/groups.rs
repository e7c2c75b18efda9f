//! Run status groups: the totals of the jobs that run together.

use fiord_types::{Bytes, Nanos};

use crate::report::{DirKind, DirReport, GroupDir, GroupReport, JobReport};

/// Computes the run status groups from the entries of the report.
#[must_use]
pub fn groups(jobs: &[JobReport]) -> Vec<GroupReport> {
    let mut groups: Vec<GroupReport> = Vec::new();
    for job in jobs {
        let position = groups.iter().position(|g| g.id == job.group_id).unwrap_or_else(|| {
            groups.push(GroupReport { id: job.group_id, style: job.style, dirs: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[position];
        // A group uses the number style of its last entry, as in fio.
        group.style = job.style;
        for d in job.dirs.iter().filter(|d| d.io_bytes > Bytes::ZERO) {
            // The mixed row spans the rates of the single directions, if they are reported.
            let parts =
                job.dirs.iter().filter(|p| p.kind != DirKind::Mixed && p.io_bytes > Bytes::ZERO);
            let rates = parts.map(|p| p.bw);
            let span = match d.kind {
                DirKind::Mixed => rates.clone().min().zip(rates.max()),
                _ => None,
            };
            add_to_group(group, d, span.unwrap_or((d.bw, d.bw)));
        }
    }
    for d in groups.iter_mut().flat_map(|g| &mut g.dirs) {
        d.agg_bw = per_second(d.io_bytes, d.max_run);
    }
    groups
}

fn add_to_group(group: &mut GroupReport, d: &DirReport, (min_bw, max_bw): (Bytes, Bytes)) {
    match group.dirs.iter_mut().find(|x| x.kind == d.kind) {
        Some(row) => {
            row.io_bytes = row.io_bytes.saturating_add(d.io_bytes);
            row.min_bw = row.min_bw.min(min_bw);
            row.max_bw = row.max_bw.max(max_bw);
            row.min_run = row.min_run.min(d.runtime);
            row.max_run = row.max_run.max(d.runtime);
        }
        None => {
            group.dirs.push(GroupDir {
                kind: d.kind,
                agg_bw: Bytes::ZERO,
                min_bw,
                max_bw,
                io_bytes: d.io_bytes,
                min_run: d.runtime,
                max_run: d.runtime,
            });
            group.dirs.sort_by_key(|x| x.kind as u8);
        }
    }
}

/// The bytes per second over a run time in whole milliseconds; 0 without a run time.
pub(crate) fn per_second(bytes: Bytes, runtime: Nanos) -> Bytes {
    let rate = (u128::from(bytes.0) * 1000).checked_div(u128::from(runtime.as_millis()));
    Bytes(u64::try_from(rate.unwrap_or(0)).unwrap_or(u64::MAX))
}
