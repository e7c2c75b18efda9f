//! Reporting groups and stonewalls.

use fiord_job::option::table::{NEW_GROUP, STONEWALL};

use crate::options::reading::Reading;

/// The groups of one section, which all its instances share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Number of the reporting group, from 0.
    pub(crate) group: u32,
    /// Number of the group of jobs between two stonewalls, from 0.
    pub(crate) stonewall_group: u32,
    /// The section starts with a stonewall.
    pub(crate) stonewall: bool,
}

/// Numbers the groups of all sections. `stonewall` and `new_group` start a new group, except in the
/// first section, which is always in group 0. Every further job file starts with a stonewall.
pub(crate) fn number(jobs: &[Reading]) -> Vec<Groups> {
    let mut now = Groups { group: 0, stonewall_group: 0, stonewall: false };
    let mut all = Vec::with_capacity(jobs.len());
    for (i, job) in jobs.iter().enumerate() {
        now.stonewall = job.get(STONEWALL) || job.spec.new_group;
        if i > 0 {
            now.group += u32::from(now.stonewall || job.get(NEW_GROUP));
            now.stonewall_group += u32::from(now.stonewall);
        }
        all.push(now);
    }
    all
}
