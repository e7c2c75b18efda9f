//! `nbd`: the export.

use std::path::PathBuf;

use fiord_job::option::table::remote::URI;

use super::endpoint;
use crate::model::NbdPlan;
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Reads the options of `nbd`.
pub(super) fn options(job: Reading, messages: &mut Messages) -> NbdPlan {
    let uri = job.get(URI).filter(|uri| !uri.is_empty());
    if uri.is_none() {
        let what = "`ioengine=nbd` has no target: the job sets no `uri`";
        let help = "To fix: name the server and its export: `uri=nbd://HOST:PORT/EXPORT` or \
                    `uri=nbd+unix:///EXPORT?socket=PATH`";
        messages.push(job.error(URI, what).help(help));
    }
    let address = PathBuf::from(uri.unwrap_or_default());
    NbdPlan { endpoint: endpoint::plan(job, Some(address), None, messages) }
}
