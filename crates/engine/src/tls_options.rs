//! What an engine says about its connections with TLS, in builds with and without TLS.

use std::path::Path;

/// How messages name the options of an engine that concern TLS.
#[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "only connections use it"))]
#[derive(Debug)]
pub(crate) struct TlsNames {
    /// What asks for TLS.
    pub(crate) on: &'static str,
    /// What names a file with authorities.
    pub(crate) authorities: &'static str,
    /// What turns the check of the server off.
    pub(crate) unchecked: &'static str,
    pub(crate) host: &'static str,
    /// What asks for a connection without TLS.
    pub(crate) off: &'static str,
}

/// Which servers a job trusts.
#[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "only connections use it"))]
#[derive(Debug, Clone, Copy)]
pub(crate) enum TlsTrust<'a> {
    /// Any server.
    Any,
    /// Those whose certificate an authority has signed: one of a file, or of the machine.
    Authorities(Option<&'a Path>),
}

/// The certificate by which a server knows a client, and its key: files in PEM format.
#[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "only connections use it"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TlsIdentity<'a> {
    pub(crate) certificate: &'a Path,
    pub(crate) key: &'a Path,
}
