//! Several jobs that are judged as one (`group_reporting`).

use std::collections::VecDeque;

use fiord_types::{Bytes, Nanos};

use super::window::{Criterion, Sample, Window};
use crate::report::SteadyState;

/// Maximum number of intervals of a member that are kept while other members are behind.
const BACKLOG: usize = 4096;

/// The I/Os of one job in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    pub length: Nanos,
    /// I/Os completed in the interval.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: Bytes,
    /// Sum of the completion latencies of these I/Os.
    pub latency: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    NotBegun,
    Runs,
    Ended,
}

#[derive(Debug)]
struct Member {
    stage: Stage,
    parts: VecDeque<IntervalCounts>,
}

/// Combines the intervals of all members, the n-th of each, into one window. It takes no samples before the last
/// member has begun.
#[derive(Debug)]
pub struct Group {
    window: Window,
    members: Vec<Member>,
}

impl Group {
    /// A group of `members` jobs, none of which has begun, with a window of `samples` samples.
    #[must_use]
    pub fn new(criterion: Criterion, samples: usize, members: usize) -> Self {
        let member = || Member { stage: Stage::NotBegun, parts: VecDeque::new() };
        Group {
            window: Window::new(criterion, samples),
            members: std::iter::repeat_with(member).take(members).collect(),
        }
    }

    /// Records that a member begins. Discards the earlier intervals of the others, because the load was different.
    pub fn begin(&mut self, member: usize) {
        self.members[member].stage = Stage::Runs;
        self.members.iter_mut().for_each(|m| m.parts.clear());
    }

    /// Adds the next interval of a member. Returns whether steady state is attained.
    pub fn take(&mut self, member: usize, part: IntervalCounts) -> bool {
        let parts = &mut self.members[member].parts;
        if parts.len() == BACKLOG {
            parts.pop_front();
        }
        parts.push_back(part);
        self.combine();
        self.window.attained()
    }

    /// Records that a member has ended or will never begin.
    pub fn ended(&mut self, member: usize) {
        self.members[member].stage = Stage::Ended;
        self.combine();
    }

    /// Whether steady state is attained.
    #[must_use]
    pub fn attained(&self) -> bool {
        self.window.attained()
    }

    /// The result for the report; see [`Window::report`].
    #[must_use]
    pub fn report(&self, spec: String, duration: Nanos) -> SteadyState {
        self.window.report(spec, duration)
    }

    fn combine(&mut self) {
        let has = |m: &Member| match m.stage {
            Stage::NotBegun => false,
            Stage::Runs => !m.parts.is_empty(),
            Stage::Ended => true,
        };
        while self.members.iter().all(has) {
            let parts: Vec<IntervalCounts> =
                self.members.iter_mut().filter_map(|m| m.parts.pop_front()).collect();
            if parts.is_empty() {
                return;
            }
            self.window.push(together(&parts));
        }
    }
}

/// Combines the intervals of all members: rates add up, the latency is the mean over all I/Os.
fn together(parts: &[IntervalCounts]) -> Sample {
    let rate = |n: u64, time: Nanos| u128::from(n) * 1_000_000_000 / u128::from(time.0.max(1));
    let sum =
        |of: fn(&IntervalCounts) -> u64| parts.iter().map(|p| rate(of(p), p.length)).sum::<u128>();
    let ios: u64 = parts.iter().map(|p| p.ios).sum();
    let latency = parts.iter().fold(Nanos::ZERO, |all, p| all.saturating_add(p.latency));
    let fits = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
    Sample {
        iops: fits(sum(|p| p.ios)),
        bw: Bytes(fits(sum(|p| p.bytes.0))),
        lat: Nanos(latency.0.checked_div(ios).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiord_types::{SteadyLimit, SteadyMeasure, SteadyRule};

    fn group(members: usize) -> Group {
        let rule = SteadyRule::Deviation(SteadyLimit { value: 1.0, percent: true });
        Group::new(Criterion { measure: SteadyMeasure::Iops, rule }, 2, members)
    }
    fn part(ios: u64) -> IntervalCounts {
        let length = Nanos::from_millis(500);
        IntervalCounts { length, ios, bytes: Bytes(ios * 4096), latency: Nanos(ios * 100) }
    }

    #[test]
    fn rates_of_members_add_up() {
        let mut group = group(2);
        group.begin(0);
        group.begin(1);
        // One member is ahead of the other: intervals are still paired by number.
        assert!(!group.take(0, part(100)) && !group.take(0, part(300)));
        assert!(!group.take(1, part(900)));
        assert!(group.take(1, part(700)));
        let report = group.report(String::new(), Nanos::from_secs(1));
        assert_eq!((report.iops_data, report.lat_mean), (vec![2000, 2000], Nanos(100)));
        assert_eq!(report.bw_mean, Bytes(2000 * 4096));
    }

    #[test]
    fn intervals_before_all_members_have_begun_do_not_count() {
        let mut group = group(2);
        group.begin(0);
        assert!((0..10).all(|_| !group.take(0, part(1))));
        group.begin(1);
        for _ in 0..2 {
            group.take(0, part(5));
            group.take(1, part(5));
        }
        assert!(group.attained());
        assert_eq!(group.report(String::new(), Nanos::from_secs(1)).iops_data, [20, 20]);
    }

    #[test]
    fn a_group_does_not_wait_for_members_that_have_ended() {
        let mut group = group(3);
        group.ended(2);
        group.begin(0);
        group.begin(1);
        group.take(1, part(7));
        group.ended(1);
        group.take(0, part(5));
        group.take(0, part(12));
        assert_eq!(group.report(String::new(), Nanos::from_secs(1)).iops_data, [24, 24]);
    }
}
