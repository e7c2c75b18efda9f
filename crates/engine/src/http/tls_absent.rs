//! TLS in a build without the cargo feature `tls`: jobs with `https=on` are refused.

use std::convert::Infallible;
use std::os::fd::{OwnedFd, RawFd};

use fiord_plan::{HttpPlan, HttpTls};

use super::failure::RequestFailure;
use super::transport::Moved;
use crate::EngineError;

pub(super) use self::{NoTlsClient as TlsClient, NoTlsStream as TlsStream};

/// What all connections of a job share. This build has no TLS.
pub(super) struct NoTlsClient(Infallible);

impl NoTlsClient {
    /// `None`: the job uses no TLS.
    ///
    /// # Errors
    ///
    /// The job uses TLS.
    pub(super) fn new(plan: &HttpPlan) -> Result<Option<NoTlsClient>, EngineError> {
        match plan.tls {
            HttpTls::Off => Ok(None),
            HttpTls::Insecure | HttpTls::Checked { .. } => {
                let what = "`https` needs TLS, which this build does not have";
                Err(EngineError::plain(what).help("To fix: rebuild with `--features tls`"))
            }
        }
    }

    pub(super) fn wrap(&self, _: OwnedFd, _: &str) -> Result<Box<NoTlsStream>, RequestFailure> {
        match self.0 {}
    }
}

/// A connection with TLS. This build has none.
pub(super) struct NoTlsStream(Infallible);

impl NoTlsStream {
    pub(super) fn fd(&self) -> RawFd {
        match self.0 {}
    }
    pub(super) fn wants_write(&self) -> bool {
        match self.0 {}
    }
    pub(super) fn shake_hands(&mut self, _: bool) -> Moved {
        match self.0 {}
    }
    pub(super) fn send(&mut self, _: &[u8], _: &[u8], _: bool) -> Moved {
        match self.0 {}
    }
    pub(super) fn receive(&mut self, _: &mut [u8], _: bool) -> Moved {
        match self.0 {}
    }
}
