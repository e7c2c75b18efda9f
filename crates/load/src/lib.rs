//! Where, when and with what bytes an I/O is made. Issues no system call.
//!
//! [`Source`] says what is next, [`Content`] fills buffers. Both are made from a job's plan, once,
//! and are then driven by the worker, which is monomorphised over them: see
//! [`source::with_source`] and [`content::with_content`].

pub mod content;
pub mod error;
pub mod rng;
pub mod source;

pub use content::{ContentVisitor, with_content};
pub use error::LoadError;
pub use fiord_plan::Dir;
pub use source::{SourceVisitor, with_source};

/// One I/O to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Its direction.
    pub dir: Dir,
    /// Index of the file in the plan.
    pub file: u32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

/// A flush of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// `fsync(2)`.
    Fsync,
    /// `fdatasync(2)`.
    Fdatasync,
    /// `sync_file_range(2)` with these flags over what was written since the last one.
    Range(u32),
}

/// What a source answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Do this.
    Io(Io),
    /// Flush this file now: kind, file, offset and length (0, 0: all of it). Everything issued
    /// before it must have completed first when the bool is set (`write_barrier`).
    Flush(Flush, u32, u64, u64, bool),
    /// Open this file before the next I/O (only with fewer `openfiles` than files).
    Open(u32),
    /// Close this file: no more I/O goes to it in this loop.
    Close(u32),
    /// This loop's work is done.
    End,
}

/// Decides what is next. Draws everything from its own seed: no clock, no system call, no allocation
/// after construction.
pub trait Source {
    /// The next thing to do.
    fn next(&mut self) -> Next;
    /// Starts over for the next loop (`loops`, `time_based`).
    fn restart(&mut self);
}

/// Puts bytes into the buffer of a write. Never called for an op that carries no data.
pub trait Content {
    /// Once a slot, before the first I/O: `buffer` is the whole slot buffer.
    fn prepare(&mut self, buffer: &mut [u8]);
    /// Before each write.
    fn fill(&mut self, buffer: &mut [u8], io: &Io);
}
