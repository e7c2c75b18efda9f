//! The options of `libiscsi`.

use std::path::Path;

use super::EndpointPlan;

/// The options of a job with `ioengine=libiscsi`. `filename` names logical units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiPlan {
    pub endpoint: EndpointPlan,
    /// `initiator`: the name by which targets know this client.
    pub initiator: String,
}

/// The URL of a logical unit without user and password, for messages.
///
/// ```
/// use fiord_plan::iscsi_shown;
///
/// assert_eq!(iscsi_shown("iscsi://me%secret@host/iqn.x/1".as_ref()), "iscsi://host/iqn.x/1");
/// ```
#[must_use]
pub fn iscsi_shown(url: &Path) -> String {
    let text = url.to_string_lossy();
    let Some((scheme, rest)) = text.split_once("://") else { return text.into_owned() };
    let (portal, unit) = rest.split_once('/').unwrap_or((rest, ""));
    let portal = portal.rsplit_once('@').map_or(portal, |(_, portal)| portal);
    format!("{scheme}://{portal}/{unit}")
}
