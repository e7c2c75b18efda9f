//! The options of `nbd`.

pub use fiord_formats::nbd::uri::{NbdServer, NbdTls, NbdUri};

use super::EndpointPlan;

/// The options of a job with `ioengine=nbd`. The address is the URI of the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdPlan {
    /// Where the job connects to.
    pub endpoint: EndpointPlan,
    /// `uri`: the server and the export.
    pub uri: NbdUri,
}
