//! Connections that end: what waits is sent, the peer gets time to read it, and its process is waited for.

use std::io::ErrorKind;

use fiord_types::Nanos;

use super::process::AgentProcess;
use super::wire::{OutQueue, Wire};

/// How long a peer may take to read what was sent and to end. The time begins anew when it takes bytes.
pub(super) const GRACE: Nanos = Nanos::from_secs(2);

/// How many reads discard what a peer sends too late, before the others get their turn.
const DISCARDS: usize = 16;

/// A connection that ends.
#[derive(Debug)]
pub(super) struct ClosingLink {
    wire: Option<Wire>,
    process: Option<AgentProcess>,
    queue: OutQueue,
    until: Nanos,
    /// The output has ended.
    half: bool,
    killed: bool,
}

impl ClosingLink {
    pub(super) fn new(
        wire: Option<Wire>,
        process: Option<AgentProcess>,
        queue: OutQueue,
        now: Nanos,
    ) -> ClosingLink {
        let until = now.saturating_add(GRACE);
        ClosingLink { wire, process, queue, until, half: false, killed: false }
    }

    /// The connection, and whether bytes wait for the peer.
    pub(super) fn wire(&self) -> Option<(&Wire, bool)> {
        self.wire.as_ref().map(|wire| (wire, !self.queue.is_empty()))
    }

    /// When [`ClosingLink::step`] must be called at the latest.
    pub(super) fn until(&self) -> Nanos {
        self.until
    }

    /// A process must be waited for.
    pub(super) fn has_process(&self) -> bool {
        self.process.is_some()
    }

    /// Continues to close the connection. Returns whether it has ended.
    pub(super) fn step(&mut self, buffer: &mut [u8], now: Nanos) -> bool {
        if let Some(wire) = &mut self.wire {
            match self.queue.write_to(wire) {
                Ok(0) => {}
                Ok(_) => self.until = now.saturating_add(GRACE),
                Err(_) => self.queue.clear(),
            }
            if self.queue.is_empty() && !self.half {
                self.half = true;
                wire.end_output();
            }
            // A connection that is closed with unread input is reset, and the peer would lose the last messages.
            if discard(wire, buffer) {
                self.wire = None;
            }
        }
        if let Some(process) = &mut self.process {
            process.read_errors();
            if process.has_ended() {
                self.process = None;
            }
        }
        if now >= self.until {
            self.end(now);
        }
        self.wire.is_none() && self.process.is_none()
    }

    /// Ends the connection, and kills the process. A process that waits in the kernel survives even that; then nothing waits
    /// for it.
    fn end(&mut self, now: Nanos) {
        self.wire = None;
        match &mut self.process {
            Some(process) if !self.killed => {
                (self.killed, self.until) = (true, now.saturating_add(GRACE));
                process.kill();
            }
            _ => self.process = None,
        }
    }
}

/// Reads and forgets what has arrived. Returns whether the input has ended.
fn discard(wire: &mut Wire, buffer: &mut [u8]) -> bool {
    for _ in 0..DISCARDS {
        match wire.read(buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
    false
}
