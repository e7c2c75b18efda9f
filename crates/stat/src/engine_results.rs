//! Merging of what the engines of several jobs report.

use crate::job::JobData;

impl JobData {
    /// Merges what the engines of the jobs report.
    pub(crate) fn merge_engines(&mut self, other: &JobData) {
        if let Some(network) = &other.network {
            self.network.get_or_insert_default().merge(network);
        }
        if let Some(flash) = &other.flash {
            self.flash.get_or_insert_default().merge(flash);
        }
        if let Some(requests) = &other.requests {
            self.requests.get_or_insert_default().merge(requests);
        }
        if let Some(faults) = &other.faults {
            self.faults.get_or_insert_default().merge(faults);
        }
    }
}
