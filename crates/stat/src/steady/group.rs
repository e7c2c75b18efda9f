//! Several jobs that are judged as one (`group_reporting`).

use std::collections::VecDeque;

use super::window::{Criterion, Sample, Window};
use crate::report::SteadyState;

/// Intervals of a member that are kept while others have not come as far.
const BACKLOG: usize = 4096;

/// What one job did in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The interval's length, ns.
    pub ns: u64,
    /// I/Os completed in it.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The sum of their completion latencies, ns.
    pub latency: u64,
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
    parts: VecDeque<Part>,
}

/// The window that the intervals of all members go to, each with its like of the others. Nothing
/// is judged before the last one has begun.
#[derive(Debug)]
pub struct Group {
    window: Window,
    members: Vec<Member>,
}

impl Group {
    /// Of so many jobs, none of which has begun.
    pub fn new(criterion: Criterion, samples: usize, members: usize) -> Self {
        let member = || Member { stage: Stage::NotBegun, parts: VecDeque::new() };
        Group {
            window: Window::new(criterion, samples),
            members: std::iter::repeat_with(member).take(members).collect(),
        }
    }

    /// A member begins: what others did before was another load.
    pub fn begin(&mut self, member: usize) {
        self.members[member].stage = Stage::Runs;
        self.members.iter_mut().for_each(|m| m.parts.clear());
    }

    /// A member has done this in its next interval. Returns whether steady state is attained.
    pub fn take(&mut self, member: usize, part: Part) -> bool {
        let parts = &mut self.members[member].parts;
        if parts.len() == BACKLOG {
            parts.pop_front();
        }
        parts.push_back(part);
        self.combine();
        self.window.attained()
    }

    /// A member has ended, or will never begin.
    pub fn ended(&mut self, member: usize) {
        self.members[member].stage = Stage::Ended;
        self.combine();
    }

    /// Whether steady state was attained.
    pub fn attained(&self) -> bool {
        self.window.attained()
    }

    /// What the report shows.
    pub fn report(&self, spec: String, duration_s: u64) -> SteadyState {
        self.window.report(spec, duration_s)
    }

    fn combine(&mut self) {
        let has = |m: &Member| match m.stage {
            Stage::NotBegun => false,
            Stage::Runs => !m.parts.is_empty(),
            Stage::Ended => true,
        };
        while self.members.iter().all(has) {
            let parts: Vec<Part> =
                self.members.iter_mut().filter_map(|m| m.parts.pop_front()).collect();
            if parts.is_empty() {
                return;
            }
            self.window.push(together(&parts));
        }
    }
}

/// The rates add up; the latency is that of the mean I/O.
fn together(parts: &[Part]) -> Sample {
    let rate = |n: u64, ns: u64| u128::from(n) * 1_000_000_000 / u128::from(ns.max(1));
    let sum = |of: fn(&Part) -> u64| parts.iter().map(|p| rate(of(p), p.ns)).sum::<u128>();
    let ios: u64 = parts.iter().map(|p| p.ios).sum();
    let latency: u64 = parts.iter().fold(0, |all, p| all.saturating_add(p.latency));
    let fits = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
    Sample {
        iops: fits(sum(|p| p.ios)),
        bw: fits(sum(|p| p.bytes)),
        lat_ns: latency.checked_div(ios).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::{Limit, Measure, Rule};
    use super::*;

    fn group(members: usize) -> Group {
        let rule = Rule::Deviation(Limit { value: 1.0, percent: true });
        Group::new(Criterion { measure: Measure::Iops, rule }, 2, members)
    }
    fn part(ios: u64) -> Part {
        Part { ns: 500_000_000, ios, bytes: ios * 4096, latency: ios * 100 }
    }

    #[test]
    fn rates_of_members_add_up() {
        let mut group = group(2);
        group.begin(0);
        group.begin(1);
        // One is ahead of the other: intervals are paired all the same.
        assert!(!group.take(0, part(100)) && !group.take(0, part(300)));
        assert!(!group.take(1, part(900)));
        assert!(group.take(1, part(700)));
        let report = group.report(String::new(), 1);
        assert_eq!((report.iops_data, report.lat_mean), (vec![2000, 2000], 100));
        assert_eq!(report.bw_mean, 2000 * 4096);
    }

    #[test]
    fn what_was_before_all_had_begun_does_not_count() {
        let mut group = group(2);
        group.begin(0);
        assert!((0..10).all(|_| !group.take(0, part(1))));
        group.begin(1);
        for _ in 0..2 {
            group.take(0, part(5));
            group.take(1, part(5));
        }
        assert!(group.attained());
        assert_eq!(group.report(String::new(), 1).iops_data, [20, 20]);
    }

    #[test]
    fn those_that_have_ended_are_not_waited_for() {
        let mut group = group(3);
        group.ended(2);
        group.begin(0);
        group.begin(1);
        group.take(1, part(7));
        group.ended(1);
        group.take(0, part(5));
        group.take(0, part(12));
        assert_eq!(group.report(String::new(), 1).iops_data, [24, 24]);
    }
}
