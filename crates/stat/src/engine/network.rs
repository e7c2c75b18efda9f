//! The connections of a job that sends or receives over a network.

use fiord_types::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::zero_one;

/// Maximum number of connections that an entry of the report lists.
const MAX_LISTED: usize = 100;

/// The connections of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkReport {
    count: u64,
    /// The first of them.
    pub list: Vec<ConnectionReport>,
}

/// A connection when it was closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionReport {
    /// Address of this end; empty if it has none.
    pub local: String,
    /// Address of the peer; empty if the kernel does not know one peer.
    pub peer: String,
    /// Both ends are on this machine.
    #[serde(with = "zero_one")]
    pub loopback: bool,
    /// Size of the receive buffer, as the kernel counts it: twice what the job asked for.
    pub receive_buffer: Bytes,
    /// Size of the send buffer, as the kernel counts it.
    pub send_buffer: Bytes,
    /// The network interface with the local address, unless it is a loopback interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceReport>,
    /// What limited the connection; `None` if it is not one of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpReport>,
}

/// A network interface, and the work that it does in large pieces instead of packet by packet. `None`:
/// the kernel does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceReport {
    pub name: String,
    /// A device is behind it, which may be one of a virtual machine.
    #[serde(with = "zero_one")]
    pub has_device: bool,
    /// TCP segmentation offload.
    #[serde(with = "zero_one::option", skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// Generic segmentation offload.
    #[serde(with = "zero_one::option", skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// Generic receive offload.
    #[serde(with = "zero_one::option", skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
}

/// What the kernel knew about a TCP connection. The times are parts of the time with data that were
/// sent and not acknowledged; they are 0 on a side that only receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpReport {
    /// Time with data that were sent and not acknowledged.
    #[serde(rename = "busy_ns")]
    pub busy: Nanos,
    /// Part of `busy` in which the peer's receive window was full.
    #[serde(rename = "window_limited_ns")]
    pub window_limited: Nanos,
    /// Part of `busy` in which this side's send buffer was full.
    #[serde(rename = "send_buffer_limited_ns")]
    pub send_buffer_limited: Nanos,
    /// Smoothed round trip time.
    #[serde(rename = "round_trip_ns")]
    pub round_trip: Nanos,
    /// Smallest round trip time.
    #[serde(rename = "least_round_trip_ns")]
    pub least_round_trip: Nanos,
    /// Largest segment that this side sends.
    pub segment: Bytes,
    /// Bytes that the peer has acknowledged.
    pub acknowledged: Bytes,
    /// Bytes that this side has received.
    pub received: Bytes,
    /// Receive window that the peer offered last.
    pub peer_window: Bytes,
}

impl NetworkReport {
    /// Number of connections.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The report of these connections.
    pub fn of(all: impl IntoIterator<Item = ConnectionReport>) -> Self {
        let mut report = NetworkReport::default();
        for connection in all {
            report.count += 1;
            if report.list.len() < MAX_LISTED {
                report.list.push(connection);
            }
        }
        report
    }

    /// Adds the connections of another job.
    pub fn merge(&mut self, other: &NetworkReport) {
        self.count = self.count.saturating_add(other.count);
        let room = MAX_LISTED.saturating_sub(self.list.len());
        self.list.extend(other.list.iter().take(room).cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_counts_all_and_lists_the_first() {
        let of = |n: usize| NetworkReport::of(vec![ConnectionReport::default(); n]);
        let mut all = of(60);
        all.merge(&of(70));
        assert_eq!((all.count(), all.list.len()), (130, 100));
        assert_eq!(of(150).list.len(), 100);
    }
}
