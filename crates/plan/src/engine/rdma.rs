//! The peer of `rdma`: which end waits for the other, and at which address.

use std::path::PathBuf;

use fiord_job::option::table::net::{BINDNAME, HOSTNAME, VERB};
use fiord_job::option::table::{FILENAME, IODEPTH, NRFILES};

use super::net::{LAST_PORT, host_and_port, port};
use crate::load;
use crate::model::{EnginePlan, Load, Mix, RdmaPlan};
use crate::options::reading::Reading;

/// Reads the options of `rdma`. As in fio, the job that writes connects, and the job that reads waits.
pub(crate) fn options(job: Reading) -> RdmaPlan {
    let waits = matches!(load::mix(job).0, Mix::Read);
    let bind = Some(job.get(BINDNAME).to_owned()).filter(|name| !name.is_empty());
    RdmaPlan { verb: job.get(VERB), waits, bind: bind.filter(|_| !waits) }
}

/// The address that one instance connects to or waits at. Each instance has a port of its own.
pub(crate) fn addresses(job: Reading, plan: &RdmaPlan, instance: u32) -> Vec<PathBuf> {
    let named = job.get(FILENAME).unwrap_or_default();
    if named.len() > 1 || job.get(NRFILES) > 1 {
        let option = if named.len() > 1 { FILENAME.def() } else { NRFILES.def() };
        let what = "a job with `ioengine=rdma` has one connection";
        job.report(job.error(option, what).help("To fix: use `numjobs` for more connections"));
    }
    let port = port(job, Some(LAST_PORT), instance);
    let bind = Some(job.get(BINDNAME)).filter(|name| !name.is_empty());
    let host = match plan.waits {
        true => bind.map_or_else(|| "0.0.0.0".to_owned(), Into::into),
        false => job.get(HOSTNAME).or(named.into_iter().next()).unwrap_or_default(),
    };
    if host.is_empty() {
        let what = "connect with no host to connect to: the job sets no `hostname`";
        job.report(
            job.error(HOSTNAME, what)
                .help("To fix: write `hostname=ADDRESS`; a job that reads waits for a connection"),
        );
        return Vec::new();
    }
    vec![host_and_port(&host, port)]
}

/// Refuses a depth for which no message can list the buffers.
pub(super) fn check(job: Reading, engine: &EnginePlan, _: &Load) {
    const DEEPEST: u32 = RdmaPlan::MAX_IN_FLIGHT;
    let depth = job.get(IODEPTH);
    if engine.rdma().is_some() && depth > DEEPEST {
        let what = format!("`ioengine=rdma` has at most {DEEPEST} I/Os in flight, not {depth}");
        job.report(job.error(IODEPTH, what).help(format!("To fix: write at most {DEEPEST}")));
    }
}
