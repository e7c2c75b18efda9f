//! Which end of a connection between two hosts (`peer`) waits for the other.

use fiord_job::option::def::Scope;
use fiord_job::option::table::net::{LISTEN, PROTOCOL, Protocol};
use fiord_job::option::table::{RW, Rw};
use fiord_job::spec::JobSpec;

/// Whether an option says which end listens, as for TCP. Otherwise the end that reads waits.
pub(crate) fn listens_by_option(job: &JobSpec) -> bool {
    let has_option = match LISTEN.def().scope {
        Scope::Engine(engines) => engines.contains(&job.engine().name),
        _ => false,
    };
    has_option && matches!(job.get(PROTOCOL), Protocol::Tcp | Protocol::Tcpv6)
}

/// Whether the end on the peer of the job waits, which the job file does not contain.
pub(crate) fn answering_end_waits(job: &JobSpec) -> bool {
    listens_by_option(job) || !matches!(job.get(RW).word, Rw::Read | Rw::RandRead)
}
