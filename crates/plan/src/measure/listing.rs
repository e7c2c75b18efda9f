//! What reports say about jobs that were not planned, because something in them is wrong.

use fiord_job::command::Invocation;
use fiord_job::option::table::{DESCRIPTION, GROUP_REPORTING, NUMJOBS};

use crate::measure::{groups, reporting};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// More jobs are not listed: `numjobs` itself may be what is wrong.
const MAX_JOBS: usize = 4096;

/// A job as reports list it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobListing {
    pub name: String,
    pub description: Option<String>,
    group: u32,
    /// `group_reporting`.
    pub is_grouped: bool,
    /// The options that it sets: name and value.
    pub options: Vec<(String, String)>,
}

impl JobListing {
    /// Number of the reporting group, from 0.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.group
    }
}

/// The options of the global sections, and the jobs of an invocation, as reports list them. Leaves out jobs beyond 4096.
#[must_use]
pub fn listings(invocation: &Invocation) -> (Vec<(String, String)>, Vec<JobListing>) {
    let messages = Messages::default();
    let jobs = Reading::of_all(&invocation.jobs, &messages);
    let listing = |(job, groups): (&Reading, groups::Groups)| JobListing {
        name: job.spec.name.clone(),
        description: job.get(DESCRIPTION),
        group: groups.group,
        is_grouped: job.get(GROUP_REPORTING),
        options: reporting::listed(job.spec.settings.iter().filter(|s| !s.global)),
    };
    let instances = |section: (&Reading, groups::Groups)| {
        let count = section.0.get(NUMJOBS).max(1) as usize;
        std::iter::repeat_n(listing(section), count.min(MAX_JOBS))
    };
    let listed = jobs.iter().zip(groups::number(&jobs)).flat_map(instances).take(MAX_JOBS);
    (reporting::listed(invocation.globals.iter()), listed.collect())
}
