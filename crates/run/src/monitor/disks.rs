//! Disk counters over the run, for `disk_util`.

use fiord_plan::{FileKind, Plan};
use fiord_stat::report::{DiskCounts, DiskReport};
use fiord_sys::diskstats::{self, Activity};

/// The disks under the targets. Their counters are read once at the start and once for each report, so that a
/// run of a millisecond is measured as exactly as one of an hour.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    watch: diskstats::DiskWatch,
}

impl Disks {
    /// Starts to watch the disks of all jobs with `disk_util`.
    pub(crate) fn start(plan: &Plan) -> Self {
        let mut watch = diskstats::DiskWatch::default();
        let mut finder = diskstats::DiskFinder::default();
        for job in plan.jobs.iter().filter(|job| job.reporting.disk_util) {
            let real = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
            for file in job.target.files.iter().filter(|file| real(file.kind)) {
                // A disk that cannot be watched is missing in the report; that must not stop the run.
                let _ = watch.add_disks(&finder.find(&file.path));
            }
        }
        Disks { watch }
    }

    /// The activity of each disk so far. Leaves out disks that have disappeared.
    pub(crate) fn report(&self) -> Vec<DiskReport> {
        let activity = self.watch.activity().unwrap_or_default();
        activity.iter().map(disk).collect()
    }
}

fn disk(activity: &Activity) -> DiskReport {
    let members: Vec<DiskReport> = activity.members.iter().map(disk).collect();
    let c = &activity.counters;
    DiskReport {
        name: activity.name.clone(),
        counts: DiskCounts {
            ios: [c.read_ios, c.write_ios],
            sectors: [c.read_bytes, c.write_bytes].map(|bytes| bytes.0 / 512),
            merges: [c.read_merges, c.write_merges],
            time: [c.read_time, c.write_time],
            in_queue: c.in_queue,
            util: activity.utilisation(),
        },
        aggregate: DiskCounts::aggregate(&members),
        members,
    }
}
