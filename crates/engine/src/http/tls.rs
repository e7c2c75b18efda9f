//! Whether a job uses TLS, and which servers it trusts.

use fiord_plan::{HttpPlan, HttpTls};

use crate::EngineError;
use crate::tls::TlsClient;
use crate::tls_options::{TlsNames, TlsTrust};

/// How messages name the options.
const NAMES: TlsNames = TlsNames {
    on: "https=on",
    authorities: "`http_ca_file=/path/ca.pem`",
    unchecked: "`https=insecure`",
    host: "`http_host`",
    off: "`https=off`",
};

/// What all connections of a job share. `None`: the job uses no TLS.
///
/// # Errors
///
/// The certificates of the authorities cannot be read.
pub(super) fn client(plan: &HttpPlan) -> Result<Option<TlsClient>, EngineError> {
    let trust = match &plan.tls {
        HttpTls::Off => return Ok(None),
        HttpTls::Insecure => TlsTrust::Any,
        HttpTls::Checked { authorities } => TlsTrust::Authorities(authorities.as_deref()),
    };
    TlsClient::new(trust, None, &NAMES).map(Some)
}
