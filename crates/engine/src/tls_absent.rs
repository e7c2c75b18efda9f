//! TLS in a build without the cargo feature `tls`: jobs that ask for it are refused.

use std::convert::Infallible;
use std::os::fd::{OwnedFd, RawFd};

use crate::EngineError;
use crate::socket_calls::Moved;
use crate::tls_options::{TlsIdentity, TlsNames, TlsTrust};

pub(crate) use self::{NoTlsClient as TlsClient, NoTlsStream as TlsStream};

/// What all connections of a job share. This build has no TLS.
#[derive(Debug)]
pub(crate) struct NoTlsClient(Infallible);

impl NoTlsClient {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always.
    pub(crate) fn new(
        _: TlsTrust<'_>,
        _: Option<TlsIdentity<'_>>,
        names: &'static TlsNames,
    ) -> Result<NoTlsClient, EngineError> {
        let what = format!("{} needs TLS, which this build does not have", names.on);
        Err(EngineError::plain(what).help("To fix: rebuild with `--features tls`"))
    }

    pub(crate) fn wrap(&self, _: OwnedFd, _: &str) -> Result<Box<NoTlsStream>, Infallible> {
        match self.0 {}
    }
}

/// A connection with TLS. This build has none.
pub(crate) struct NoTlsStream(Infallible);

impl NoTlsStream {
    pub(crate) fn fd(&self) -> RawFd {
        match self.0 {}
    }
    pub(crate) fn wants_write(&self) -> bool {
        match self.0 {}
    }
    pub(crate) fn keep(&mut self, _: &[u8]) -> usize {
        match self.0 {}
    }
    pub(crate) fn flush(&mut self, _: bool) -> Result<(), Moved> {
        match self.0 {}
    }
    pub(crate) fn shake_hands(&mut self, _: bool) -> Moved {
        match self.0 {}
    }
    pub(crate) fn send(&mut self, _: &[u8], _: &[u8], _: bool) -> Moved {
        match self.0 {}
    }
    pub(crate) fn receive(&mut self, _: &mut [u8], _: bool) -> Moved {
        match self.0 {}
    }
}
