//! `gfapi` and `gfapi_async`: volume and server.

use fiord_job::option::handle::Opt;
use fiord_job::option::table::remote::{BRICK, VOLUME};
use fiord_job::option::table::{IOENGINE, UNLINK, UNLINK_EACH_LOOP};
use fiord_types::Dir;

use super::endpoint;
use crate::load;
use crate::model::GfapiPlan;
use crate::options::reading::Reading;

pub(super) fn options(job: Reading) -> GfapiPlan {
    let required = |option: Opt<Option<String>>, help: &str| {
        let value = job.get(option).filter(|text| !text.is_empty());
        if value.is_none() {
            let (engine, name) = (job.get(IOENGINE), option.name());
            let what = format!("`ioengine={engine}` needs `{name}`, which the job does not set");
            job.report(job.error(option, what).help(help));
        }
        value.unwrap_or_default()
    };
    let volume = required(VOLUME, "To fix: name the volume: `volume=bench`");
    let server = required(BRICK, "To fix: name a server of the volume: `brick=gluster1`");
    for option in [UNLINK, UNLINK_EACH_LOOP].into_iter().filter(|option| job.get(*option)) {
        let what = format!("`ioengine={}` does not remove files of a volume", job.get(IOENGINE));
        let help =
            format!("To fix: leave out `{}`, and remove the files with a client", option.name());
        job.report(job.error(option, what).help(help));
    }
    let shown = format!("the volume `{volume}` of {server}");
    let endpoint = endpoint::plan(job, None, Some(shown));
    GfapiPlan { endpoint, volume, server, lays_out: load::mix(job).0.has(Dir::Read) }
}
