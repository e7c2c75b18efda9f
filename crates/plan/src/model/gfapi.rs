//! The options of `gfapi` and `gfapi_async`.

use super::EndpointPlan;

/// The options of a job with `ioengine=gfapi` or `gfapi_async`. The addresses are the paths of files on the volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GfapiPlan {
    /// Where the job connects to.
    pub endpoint: EndpointPlan,
    pub volume: String,
    /// `brick`: the host name of a server of the volume.
    pub server: String,
    /// The job reads, so that its files are written before the run as far as they are missing.
    pub lays_out: bool,
}
