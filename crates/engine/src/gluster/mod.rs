//! `gfapi` and `gfapi_async`: files of a GlusterFS volume, through libgfapi.
//!
//! | question | module |
//! |---|---|
//! | which functions of the library are called | `abi` |
//! | how does a job connect, and open and lay out its files | `volume` |
//! | how does a job make one call at a time | `calls` |
//! | how does a job have many requests in flight | `requests` |

mod abi;
mod calls;
mod requests;
mod volume;

use std::path::Path;

use fiord_plan::model::GfapiPlan;
use fiord_plan::{EndpointError, EndpointFacts};
use fiord_types::Bytes;

pub use self::calls::Gfapi;
pub(crate) use self::requests::GfapiClient;

use self::volume::{Volume, text};
use crate::callback::connecting::patiently;
use crate::error::{about_the_library, about_the_server};
use crate::{EndSignal, EngineError};

/// Asks the volume of a plan for the size of a file, and keeps the connection for the next question.
pub(crate) fn ask(
    engine: &'static str,
    plan: &GfapiPlan,
    path: &Path,
) -> Result<Option<EndpointFacts>, EndpointError> {
    abi::gluster(engine).map_err(about_the_library)?;
    let (asked, name) = (plan.clone(), path.to_string_lossy().into_owned());
    let timeout = plan.endpoint.timeout;
    let size = patiently(engine, timeout, &EndSignal::default(), move || {
        let path = text(&name)?;
        let volume = Volume::idle_or_new(engine, &asked).map_err(about_the_server)?;
        let size = volume.size(&path).map_err(|errno| EngineError {
            what: format!(
                "ioengine={engine}: cannot look up the file `{name}` on the volume `{}`: {errno}",
                asked.volume
            ),
            help: Some("To fix: check the name and the directories on the way to it".into()),
            errno: Some(errno),
        })?;
        volume.keep(&asked);
        Ok::<_, EndpointError>(size)
    })?;
    let growable = |size: Option<u64>| EndpointFacts {
        growable: true,
        ..EndpointFacts::fixed(Bytes(size.unwrap_or(0)))
    };
    Ok(size.map(growable))
}
