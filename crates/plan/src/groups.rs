//! Reporting groups and stonewalls.

use crate::reading::Reading;

/// The groups of one section; all its instances share them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Groups {
    /// Reporting group.
    pub(crate) group: u32,
    /// Jobs between two stonewalls.
    pub(crate) stonewall_group: u32,
    /// The section begins with a stonewall.
    pub(crate) stonewall: bool,
}

/// Numbers the groups of all sections: `stonewall` and `new_group` begin a new one, except at the
/// first section, which is in group 0 whatever it says. A second job file begins with a stonewall.
pub(crate) fn number(jobs: &[Reading]) -> Vec<Groups> {
    let mut now = Groups { group: 0, stonewall_group: 0, stonewall: false };
    let mut all = Vec::with_capacity(jobs.len());
    for (i, job) in jobs.iter().enumerate() {
        now.stonewall = job.flag("stonewall") || job.spec.new_group;
        if i > 0 {
            now.group += u32::from(now.stonewall || job.flag("new_group"));
            now.stonewall_group += u32::from(now.stonewall);
        }
        all.push(now);
    }
    all
}
