//! Targets on servers with storage: their addresses, and what the servers answer before the run.

use std::path::{Path, PathBuf};

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::ceph::POOL;
use fiord_job::option::table::remote::{BRICK, ENDPOINT_TIMEOUT};
use fiord_job::option::table::{BS, IOENGINE};
use fiord_types::Nanos;

use crate::files::paths;
use crate::files::region::Extent;
use crate::files::usage::Candidate;
use crate::machine::survey::Survey;
use crate::model::{EndpointError, EndpointPlan, EndpointSubject, EnginePlan, FileKind};
use crate::options::reading::Reading;

/// The targets of a job. `address`: the value of the option that names the target, `None` if `filename` and similar
/// options name targets. `server`: the server, without secrets, if the addresses do not contain it.
pub(super) fn plan(job: Reading, address: Option<PathBuf>, server: Option<String>) -> EndpointPlan {
    let timeout = job.get(ENDPOINT_TIMEOUT);
    if timeout == Nanos(0) {
        let what = "`endpoint_timeout=0` gives a server no time to answer";
        job.report(job.error(ENDPOINT_TIMEOUT, what).help("To fix: write a time, such as `30s`"));
    }
    EndpointPlan { address, server, timeout }
}

/// Asks the server about each target. Returns the targets, or none after an error, or if the job cannot run.
pub(super) fn ask(
    job: Reading,
    engine: &EnginePlan,
    targets: Vec<PathBuf>,
    survey: &mut Survey,
) -> Vec<PathBuf> {
    if job.messages.error_count() > 0 {
        // The options are wrong, so that no server need be asked.
        return Vec::new();
    }
    for target in &targets {
        if let Err(why) = survey.ask(engine, target) {
            let option = match why.about {
                EndpointSubject::Server => server_option(job, engine),
                _ => paths::naming(job),
            };
            refuse(job, option, why);
            return Vec::new();
        }
    }
    targets
}

/// The option at which an error about the server points.
fn server_option(job: Reading, engine: &EnginePlan) -> &'static OptionDef {
    if engine.rados().is_some() || engine.rbd().is_some() {
        POOL.def()
    } else if engine.gfapi().is_some() {
        BRICK.def()
    } else {
        paths::naming(job)
    }
}

/// Records that a target does not answer, or refuses. `option`: where the message points, unless this machine lacks the
/// engine.
pub(super) fn refuse(job: Reading, option: &'static OptionDef, why: EndpointError) {
    let option = if why.about == EndpointSubject::Library { IOENGINE.def() } else { option };
    let message: Diagnostic = job.error(option, why.what.as_str());
    let message = match &why.help {
        Some(help) => message.help(help.as_str()),
        None => message,
    };
    match why.about.refuses_the_run() {
        true => job.report(message),
        false => job.messages.cannot_run(why, message),
    }
}

/// The kind and the extent of the target at an address. `None`: the job cannot use it, and a message says why.
pub(super) fn target(candidate: Candidate, survey: &mut Survey) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, usage } = candidate;
    if refuse_blocks(job, path, usage.access.block, survey) {
        return None;
    }
    let extent = match survey.endpoint(path) {
        Some(facts) if facts.read_only && (usage.changes || usage.trims) => {
            job.report(read_only(job, path));
            return None;
        }
        Some(facts) if facts.growable => {
            let size = survey.planned(path).unwrap_or(0).max(facts.size.0);
            Extent::Growable(Some(size))
        }
        Some(facts) => Extent::Fixed(facts.size.0),
        None => Extent::Endless,
    };
    Some((FileKind::Endpoint, extent))
}

/// Refuses blocks that a target cannot transfer. `block`: the smallest, in bytes. Returns whether it did.
fn refuse_blocks(job: Reading, path: &Path, block: u32, survey: &Survey) -> bool {
    let Some(unit) = survey.endpoint(path).map(|facts| facts.block.0).filter(|unit| *unit > 0)
    else {
        return false;
    };
    let fits = u64::from(block).is_multiple_of(unit);
    if !fits {
        let what = format!(
            "`{}` needs multiples of its block size of {unit} bytes; the job uses {block}",
            path.display()
        );
        let help = format!("To fix: write `bs={}`", u64::from(block).next_multiple_of(unit));
        job.report(job.error(BS, what).help(help));
    }
    !fits
}

/// The error for a target that its server does not permit to change.
fn read_only(job: Reading, path: &Path) -> Diagnostic {
    let what = format!("the server forbids writes and trims: `{}` is read-only", path.display());
    job.error(paths::naming(job), what)
        .help("To fix: use `rw=read` or `rw=randread`, or let the server permit writes")
}
