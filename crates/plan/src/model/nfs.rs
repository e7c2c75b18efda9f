//! The options of `nfs`.

use super::EndpointPlan;

/// The options of a job with `ioengine=nfs`. `filename` and similar options name files below the export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsPlan {
    /// The timeout, and server and export for messages.
    pub endpoint: EndpointPlan,
    /// `nfs_url`: server, export and options of the connection.
    pub url: String,
    /// NFS 4; otherwise NFS 3.
    pub is_version_4: bool,
    /// The job reads parts of its files that it may not have written.
    pub reads: bool,
}
