//! `nbd`: the export.

use std::path::PathBuf;

use fiord_job::option::table::remote::URI;

use super::endpoint;
use crate::model::{NbdPlan, NbdServer, NbdUri};
use crate::options::reading::Reading;

/// What the user can do about a URI that is wrong.
const REMEDY: &str = "To fix: name the server and its export: `uri=nbd://HOST:PORT/EXPORT` or \
                      `uri=nbd+unix:///EXPORT?socket=PATH`, or `nbds` instead of `nbd` for TLS";

pub(super) fn options(job: Reading) -> NbdPlan {
    let text = job.get(URI).unwrap_or_default();
    let uri = NbdUri::parse(&text);
    if text.is_empty() {
        let what = "`ioengine=nbd` has no target: the job sets no `uri`";
        job.report(job.error(URI, what).help(REMEDY));
    } else if let Err(error) = &uri {
        let what = format!("the URI `{text}` {error}");
        job.report(job.error(URI, what).help(REMEDY));
    }
    let none = NbdUri { server: NbdServer::Unix(PathBuf::new()), export: String::new(), tls: None };
    let endpoint = endpoint::plan(job, Some(PathBuf::from(text)), None);
    NbdPlan { endpoint, uri: uri.unwrap_or(none) }
}
