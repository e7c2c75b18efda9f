//! An instance of a job, as far as it decides on the files.

use std::path::Path;

use crate::files::sizes::Wanted;
use crate::files::usage::{Candidate, Usage};
use crate::model::Load;
use crate::options::reading::Reading;

/// An instance of a job whose files are planned.
#[derive(Clone, Copy)]
pub(crate) struct JobInstance<'a> {
    pub(crate) job: Reading<'a>,
    /// The number of the instance in its section, from 0.
    pub(crate) number: u32,
    /// How many instances the section has.
    pub(crate) instances: u32,
    pub(crate) load: &'a Load,
    /// The sizes that the job asks for.
    pub(crate) wanted: &'a Wanted,
    pub(crate) usage: Usage,
}

impl<'a> JobInstance<'a> {
    /// A path that the instance uses.
    pub(crate) fn candidate<'p>(&self, path: &'p Path) -> Candidate<'p>
    where
        'a: 'p,
    {
        Candidate { job: self.job, path, usage: self.usage }
    }
}
