//! What reports say about jobs that were not planned, because something in them is wrong.

use fiord_job::command::Invocation;
use fiord_job::option::table::{DESCRIPTION, GROUP_REPORTING, NUMJOBS};

use crate::measure::{groups, reporting};
use crate::options::reading::Reading;

/// A section as reports list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobListing {
    /// The name of its jobs.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Number of the reporting group, from 0.
    pub group: u32,
    /// `group_reporting`.
    pub is_grouped: bool,
    /// The options that it sets: name and value.
    pub options: Vec<(String, String)>,
    /// Number of its jobs (`numjobs`).
    pub instances: u32,
}

/// The options of the global sections, and the sections of an invocation, as reports list them.
#[must_use]
pub fn listings(invocation: &Invocation) -> (Vec<(String, String)>, Vec<JobListing>) {
    let jobs: Vec<Reading> = invocation.jobs.iter().map(Reading::new).collect();
    let listing = |(job, groups): (&Reading, groups::Groups)| JobListing {
        name: job.spec.name.clone(),
        description: job.get(DESCRIPTION),
        group: groups.group,
        is_grouped: job.get(GROUP_REPORTING),
        options: reporting::listed(job.spec.settings.iter().filter(|s| !s.global)),
        instances: job.get(NUMJOBS),
    };
    let listed = jobs.iter().zip(groups::number(&jobs)).map(listing).collect();
    (reporting::listed(invocation.globals.iter()), listed)
}
