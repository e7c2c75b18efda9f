//! The part of each file that one of several hosts uses (`--hosts-data=split`).

use std::num::NonZeroU32;

use fiord_job::option::table::{FILL_DEVICE, IOENGINE, READ_IOLOG, SIZE};
use fiord_types::{Bytes, HostIndex};

use crate::files::region::Region;
use crate::files::usage::Candidate;
use crate::model::{EngineAccess, EnginePlan, Zones};
use crate::options::reading::Reading;

/// Which part of its files a host uses: of N hosts, each uses one N-th of each file, in the order of their ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostShare {
    /// The number of this host, from 0.
    pub rank: HostIndex,
    /// How many hosts there are.
    pub ranks: NonZeroU32,
}

impl HostShare {
    /// The part of a region. It begins at a multiple of `unit` from the beginning of the region. All parts together are
    /// the whole region; they differ by at most one unit, apart from the rest that is shorter than one.
    fn of(self, region: Region, unit: Bytes) -> Region {
        let units = u128::from(region.len.0 / unit.0.max(1));
        let begin = |rank: u32| {
            let part = units * u128::from(rank) / u128::from(self.ranks.get());
            // A part of the units is not more than their number, which fits.
            unit.saturating_mul(part as u64)
        };
        let last = self.rank.0 + 1 >= self.ranks.get();
        let from = begin(self.rank.0);
        let to = if last { region.len } else { begin(self.rank.0 + 1) };
        let (offset, len) = (region.offset + from, to - from);
        let needed = region.needed.map(|needed| needed.min(offset + len));
        Region { offset, len, needed, ..region }
    }

    /// The part of a region that this host uses. `None`: a message says why there is none.
    pub(crate) fn part(
        self,
        candidate: Candidate,
        region: Region,
        zones: Option<Zones>,
    ) -> Option<Region> {
        let Candidate { job, path, usage } = candidate;
        let unit = zones.map_or(Bytes::from(usage.largest), |zones| zones.size);
        let part = self.of(region, unit);
        if part.len < unit {
            let (shown, ranks) = (path.display(), self.ranks);
            let what = format!(
                "`{shown}` is too small to give each of the {ranks} hosts a part of {unit} bytes: the job uses {} \
                 bytes of it",
                region.len
            );
            let help = "To fix: use a larger `size`, fewer hosts, or --hosts-data=same";
            job.report(job.error(SIZE, what).help(help));
            return None;
        }
        Some(part)
    }
}

/// Refuses jobs whose files have no parts.
pub(crate) fn check(job: Reading, engine: &EnginePlan, share: Option<HostShare>) {
    if share.is_none() {
        return;
    }
    if job.get(READ_IOLOG).is_some() {
        let what = "--hosts-data=split cannot split a trace";
        let help =
            "To fix: write --hosts-data=same, and give each host a trace: read_iolog=$host.log";
        job.report(job.error(READ_IOLOG, what).help(help));
    }
    if matches!(engine.def().access, EngineAccess::Names(_)) {
        let name = engine.def().name;
        let what = format!(
            "--hosts-data=split does not work with ioengine={name}: names cannot be split into parts"
        );
        let help = "To fix: write --hosts-data=private, and give each host a directory: directory=/data/$host";
        job.report(job.error(IOENGINE, what).help(help));
    }
    if job.get(FILL_DEVICE) && job.get(SIZE).is_none() {
        let what =
            "--hosts-data=split cannot split a file that grows until the file system is full";
        let help = "To fix: set `size`, or write --hosts-data=private";
        job.report(job.error(FILL_DEVICE, what).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_hosts_are_the_whole_region_in_order() {
        let whole = |len: u64| Region {
            offset: Bytes(512),
            len: Bytes(len),
            needed: Some(Bytes(512 + len)),
            asked: None,
        };
        for (ranks, len, unit) in [(1, 100, 10), (3, 100, 10), (7, 1 << 60, 4096), (4, 4099, 1000)]
        {
            let ranks = NonZeroU32::new(ranks).unwrap();
            let mut next = Bytes(512);
            for rank in 0..ranks.get() {
                let share = HostShare { rank: HostIndex(rank), ranks };
                let part = share.of(whole(len), Bytes(unit));
                assert_eq!(part.offset, next, "{share:?} of {len}");
                assert!((part.offset - Bytes(512)).is_multiple_of(Bytes(unit)));
                assert!(part.len.0.abs_diff(len / u64::from(ranks.get())) < 2 * unit);
                next = part.offset + part.len;
                assert_eq!(part.needed, Some(next));
            }
            assert_eq!(next, Bytes(512 + len));
        }
    }
}
