//! Targets on servers with storage: their addresses, and what the servers answer before the run.

use std::path::PathBuf;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::IOENGINE;
use fiord_job::option::table::ceph::POOL;
use fiord_job::option::table::remote::{BRICK, ENDPOINT_TIMEOUT};
use fiord_types::Nanos;

use crate::files::paths;
use crate::machine::endpoints::{EndpointError, EndpointSubject};
use crate::machine::survey::Survey;
use crate::model::{EndpointPlan, EnginePlan};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

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

/// Asks the server about each target. Returns the targets, or none after an error, or if the job cannot run.
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
            let option = match why.about {
                EndpointSubject::Server => server_option(job, engine),
                _ => paths::naming(job),
            };
            refuse(job, option, why, messages);
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
pub(super) fn refuse(
    job: Reading,
    option: &'static OptionDef,
    why: EndpointError,
    messages: &mut Messages,
) {
    let option = if why.about == EndpointSubject::Library { IOENGINE.def() } else { option };
    let message: Diagnostic = job.error(option, why.what.as_str());
    let message = match &why.help {
        Some(help) => message.help(help.as_str()),
        None => message,
    };
    match why.about.refuses_the_run() {
        true => messages.push(message),
        false => messages.cannot_run(why, message),
    }
}
