//! The I/Os that a job would make, from fiord's own load generator.

use fiord_formats::trace::{TraceIo, TraceKind, TraceTarget};
use fiord_job::load::MachineLoader;
use fiord_load::{Next, Source, any_source};
use fiord_types::{Bytes, Dir, Nanos};

use super::job::JobModel;
use crate::rejected::{self, Rejected};
use crate::trace::profile::TraceProfile;

/// Maximum number of I/Os that are simulated for the final comparison.
const MAX_IOS: u64 = 8_000_000;

/// How many of `ios` I/Os are simulated.
pub(super) fn most(ios: u64) -> u64 {
    ios.min(MAX_IOS)
}

/// Profiles the first I/Os of a job. No target is touched.
pub(super) fn profile(job: &JobModel, ios: u64) -> Result<TraceProfile, Rejected> {
    let mut args: Vec<String> =
        ["--name=job", "--ioengine=null", "--filename=data"].map(String::from).into();
    args.extend(job.pattern().into_iter().map(|option| format!("--{option}")));
    let plan = rejected::plan(&rejected::parse(&args, &mut MachineLoader)?)?;
    let mut profile = TraceProfile::default();
    let Some(Ok(mut source)) = plan.jobs.first().map(any_source) else { return Ok(profile) };
    let (mut left, mut restarts) = (ios, 0);
    while left > 0 && restarts < 2 {
        match source.next() {
            Next::Io(io) => {
                let kind = match io.dir {
                    Dir::Read => TraceKind::Read,
                    Dir::Write => TraceKind::Write,
                    Dir::Trim => TraceKind::Trim,
                };
                let (offset, len) = (Bytes(io.offset), Bytes::from(io.len));
                profile.io(&TraceIo::new(Nanos::ZERO, TraceTarget::new(0), kind, offset, len));
                (left, restarts) = (left - 1, 0);
            }
            Next::End => {
                source.restart();
                restarts += 1;
            }
            _ => {}
        }
    }
    Ok(profile)
}
