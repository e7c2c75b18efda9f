//! Runs jobs on many hosts: connects the [conductor](crate::conductor) with a fabric, the clock and the user.

#[cfg(test)]
mod tests;

use fiord_sys::clock;
use fiord_types::{Bytes, HostIndex, Nanos};

use crate::conductor::{HostsAction, HostsConductor, HostsEvent, HostsRequest, KeptPart, RunOrder};
use crate::contract::Fabric;
use crate::message::{KeepNumber, ToHost, encode};
use crate::outcome::HostsOutcome;

/// The coordinator's surroundings. The calls come from the thread that also sends the heartbeats: a call that blocks for
/// some seconds loses all hosts, so an implementation hands slow work, such as printing, to another thread.
pub trait HostsOutside {
    /// The number of a signal that wants the run to end and was not returned before. The first one ends the jobs on all
    /// hosts, the second one ends the run without their results.
    fn interrupt(&mut self) -> Option<i32>;

    /// What the user wants of the hosts and was not returned before.
    fn request(&mut self) -> Option<HostsRequest> {
        None
    }

    /// Something has happened.
    fn event(&mut self, event: HostsEvent);

    /// A part of a log has arrived. The parts of a log arrive in order. The name is the host's word: it must not become a
    /// path unless it is one that the jobs' own options name. After the last part, [`HostsOutside::request`] returns
    /// [`HostsRequest::Kept`]; the host keeps its own copy until then.
    fn log(&mut self, part: LogPart<'_>);

    /// A part of a file has arrived that the host waits for: [`HostsOutside::request`] returns [`HostsRequest::Kept`] when it
    /// is durable. The caller of [`drive`] makes [`Fabric::receive`] return then.
    fn keep(&mut self, part: KeptPart);
}

/// A part of a log of a host.
#[derive(Debug, Clone, Copy)]
pub struct LogPart<'a> {
    pub host: HostIndex,
    /// The name that the host gave.
    pub name: &'a str,
    /// The number of the log, for the answer.
    pub number: KeepNumber,
    /// Where the part begins.
    pub offset: Bytes,
    pub bytes: &'a [u8],
    /// The log ends with this part.
    pub last: bool,
}

/// Runs the jobs of an order on the hosts that the peers of a fabric are, and returns when all have ended, are lost, or
/// are not waited for any more. All connections are closed then, but the fabric may still have to send the last messages.
pub fn drive(
    fabric: &mut dyn Fabric,
    order: &RunOrder,
    outside: &mut dyn HostsOutside,
) -> HostsOutcome {
    drive_at(fabric, order, outside, &|| Nanos(clock::monotonic()))
}

/// Runs the jobs by any clock. The fabric must use the same one.
fn drive_at(
    fabric: &mut dyn Fabric,
    order: &RunOrder,
    outside: &mut dyn HostsOutside,
    now: &dyn Fn() -> Nanos,
) -> HostsOutcome {
    let mut conductor = HostsConductor::new(order, now());
    loop {
        while let Some(signal) = outside.interrupt() {
            conductor.interrupt(signal, now());
        }
        while let Some(request) = outside.request() {
            conductor.request(request);
        }
        conductor.advance(now());
        while let Some(action) = conductor.next_action() {
            act(action, fabric, outside, now);
        }
        if conductor.is_over() {
            return conductor.outcome();
        }
        if let Some(arrival) = fabric.receive(conductor.deadline()) {
            conductor.arrive(arrival);
        }
    }
}

fn act(
    action: HostsAction,
    fabric: &mut dyn Fabric,
    outside: &mut dyn HostsOutside,
    now: &dyn Fn() -> Nanos,
) {
    match action {
        HostsAction::Send { to, message } => fabric.send(to, message),
        HostsAction::Probe { to } => fabric.send(to, encode(&ToHost::Probe { sent: now() }, &[])),
        HostsAction::Trust { host } => fabric.trust(host),
        HostsAction::Refuse { host, why } => fabric.refuse(host, &why),
        HostsAction::Close { host } => fabric.close(host),
        HostsAction::Abandon { host } => fabric.abandon(host),
        HostsAction::Event(event) => outside.event(event),
        HostsAction::Keep(part) => outside.keep(part),
        HostsAction::Log { host, name, number, offset, bytes, last } => {
            outside.log(LogPart { host, name: &name, number, offset, bytes: &bytes, last });
        }
    }
}
