//! The connections that are made before the run.

use fiord_sys::poll;
use fiord_types::Errno;

use super::Http;
use super::lane::LaneContext;
use crate::endpoint::{LOOK, shown};
use crate::error::FailureCause;
use crate::{EngineError, Time};

impl Http {
    /// Makes the connections that do not exist.
    pub(super) fn connect_all(&mut self) -> Result<(), EngineError> {
        let deadline = self.clock.now().saturating_add(self.requests.timeout().0);
        let mut open: Vec<usize> = (0..self.lanes.len()).collect();
        while !open.is_empty() && !self.end.is_stopped() {
            let mut failed = None;
            open.retain(|index| {
                let (lane, server) = (&mut self.lanes[*index], *index % self.servers.len());
                let context = LaneContext {
                    server: &self.servers[server],
                    tls: self.tls.as_ref(),
                    mode: self.plan.mode,
                    wait: false,
                    verbose: self.plan.verbose,
                    clock: self.clock,
                };
                while !lane.is_ready() {
                    match lane.establish(&context) {
                        Ok(true) => {}
                        Ok(false) => return true,
                        Err(failure) => {
                            failed = Some((server, failure));
                            return true;
                        }
                    }
                }
                false
            });
            if let Some((server, failure)) = failed {
                return Err(self.no_connection(server, failure.errno, failure.why));
            }
            if let Some(index) = open.first() {
                let mut entries: Vec<_> =
                    open.iter().filter_map(|at| self.lanes[*at].entry()).collect();
                poll::wait(&mut entries, Some(LOOK))
                    .map_err(|error| EngineError::from_sys("ioengine=http", &error))?;
                if self.clock.now() >= deadline {
                    let why = format!("no connection within {}", shown(self.requests.timeout()));
                    let help = "To fix: check the server and the network, or set a longer `endpoint_timeout`";
                    let why = FailureCause::from(why).help(help);
                    return Err(self.no_connection(
                        index % self.servers.len(),
                        Errno::ETIMEDOUT,
                        why,
                    ));
                }
            }
        }
        // These handshakes are in no latency.
        self.lanes.iter_mut().for_each(|lane| lane.handshake = None);
        Ok(())
    }

    fn no_connection(&self, server: usize, errno: Errno, why: FailureCause) -> EngineError {
        let host = &self.servers[server].named.host;
        let FailureCause { what, help } = why;
        EngineError { what: format!("ioengine=http: {host}: {what}"), help, errno: Some(errno) }
    }
}
