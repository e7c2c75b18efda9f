//! Targets on servers with storage: their addresses, and what the servers answer before the run.

use std::path::PathBuf;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::ceph::POOL;
use fiord_job::option::table::remote::{BRICK, ENDPOINT_TIMEOUT};
use fiord_types::Nanos;

use crate::machine::endpoints::EndpointError;
use crate::machine::survey::Survey;
use crate::model::{EndpointPlan, EnginePlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use crate::target::paths;

/// The targets of a job. `address`: the value of the option that names the target, `None` if `filename` and its like name
/// targets. `server`: the server, without secrets, if the addresses do not contain it.
pub(super) fn plan(
    job: Reading,
    address: Option<PathBuf>,
    server: Option<String>,
    messages: &mut Messages,
) -> EndpointPlan {
    let timeout = job.get(ENDPOINT_TIMEOUT);
    if timeout == Nanos(0) {
        let what = "`endpoint_timeout=0` gives a server no time to answer";
        messages
            .push(job.error(ENDPOINT_TIMEOUT, what).help("To fix: write a time, such as `30s`"));
    }
    EndpointPlan { address, server, timeout }
}

/// Asks the server about each target. Returns the targets, or none after an error.
pub(super) fn ask(
    job: Reading,
    engine: &EnginePlan,
    targets: Vec<PathBuf>,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Vec<PathBuf> {
    if !messages.errors.is_empty() {
        // The options are wrong, so that no server need be asked.
        return Vec::new();
    }
    for target in &targets {
        if let Err(why) = survey.ask(engine, target) {
            let option = match why.property {
                true => property_option(job, engine),
                false => paths::naming(job),
            };
            messages.push(refused(job, option, why));
            return Vec::new();
        }
    }
    targets
}

/// The option at which an error points that is about something else than the address
/// ([`EndpointError::property`](crate::EndpointError)).
fn property_option(job: Reading, engine: &EnginePlan) -> &'static OptionDef {
    if engine.rados().is_some() || engine.rbd().is_some() {
        POOL.def()
    } else if engine.gfapi().is_some() {
        BRICK.def()
    } else {
        paths::naming(job)
    }
}

/// The error about a target that does not answer, or refuses.
pub(super) fn refused(job: Reading, option: &'static OptionDef, why: EndpointError) -> Diagnostic {
    let error = job.error(option, why.what);
    match why.help {
        Some(help) => error.help(help),
        None => error,
    }
}
