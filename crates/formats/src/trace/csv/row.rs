//! What a line of a CSV trace says.

use fiord_types::{Bytes, Nanos};

use crate::trace::record::{TraceFlags, TraceKind};

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CsvRow<'a> {
    /// By the clock of the trace.
    pub(super) issued: Nanos,
    /// Two parts of the name of the volume; the second one can be empty.
    pub(super) volume: (&'a [u8], &'a [u8]),
    pub(super) kind: TraceKind,
    pub(super) offset: Bytes,
    pub(super) len: Bytes,
    pub(super) flags: TraceFlags,
    pub(super) latency: Option<Nanos>,
}
