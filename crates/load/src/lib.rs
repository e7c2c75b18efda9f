//! Where, when and with what bytes an I/O is made. Issues no system call.
//!
//! [`Source`] says what is next, [`Content`] fills buffers. Both are made from a job's plan, once,
//! and are then driven by the worker, which is monomorphised over them: see
//! [`source::with_source`] and [`content::AnyContent`].
//!
//! | question | module |
//! |---|---|
//! | which source does a job get | [`source`] |
//! | one file, one direction, one block size | `source/plain.rs` |
//! | random reads and writes of one file | `source/mixed.rs` |
//! | everything else | `source/general.rs` |
//! | which direction, size, file is next | `source/directions.rs`, `sizes.rs`, `files.rs` |
//! | sequential, `:N`, `percentage_random`, the end of a file | `source/place.rs` |
//! | random offsets, with and without a map | `source/draws.rs`, `permute.rs`, `bitmap.rs` |
//! | `random_distribution`: which block | `source/spread.rs` |
//! | the laws behind it, and how ranks are drawn without arithmetic | `source/laws.rs`, `ranks.rs` |
//! | how uneven a load is | [`skew`] |
//! | `zonemode=strided` | `source/strided.rs` |
//! | priority and placement of single I/Os | `source/tags.rs` |
//! | trims of several ranges | `source/ranges.rs` |
//! | when a pass and a loop end (`io_size`, `number_ios`, `loops`) | `source/limits.rs` |
//! | `fsync=N` and its like | `source/flushes.rs` |
//! | what is written | [`content`] |
//! | when an I/O is due: rates, think times, flows | [`pace`] |

pub mod content;
mod error;
pub mod pace;
pub mod rng;
pub mod skew;
pub mod source;

pub use content::AnyContent;
pub use error::LoadError;
pub use fiord_plan::{Dir, Tag, TrimRange, WriteForm};
pub use source::{AnySource, SourceVisitor, any_source, with_source};

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
    /// What it carries beside that.
    pub tag: Tag,
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
    /// All of this file was gone through and it is begun anew: its cached pages go before the next
    /// I/O. Only with [`fiord_plan::JobPlan::drops_cache_each_pass`].
    Again(u32),
    /// This loop's work is done.
    End,
}

/// Why an I/O is not made (`zonemode=zbd`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Displaced {
    /// A write takes its place.
    Exchanged,
    /// Nothing takes it: the file is done in this pass.
    Over,
    /// A sequential write came to the end of the zones. One lap through them takes `lap` bytes of the
    /// job's writes. The file is done when the job wrote as much in this pass; where other jobs
    /// filled zones before it, it goes on in the first zone.
    Passed {
        /// Bytes.
        lap: u64,
    },
}

/// Decides what is next. Draws everything from its own seed: no clock, no system call, no allocation
/// after construction.
pub trait Source {
    /// The next thing to do.
    fn next(&mut self) -> Next;
    /// The same, with the next I/O in this direction: where rates and not the mix decide. Sources
    /// of one direction, and those of pairs (trims and their writes), know better and keep theirs.
    #[inline]
    fn next_of(&mut self, _dir: Dir) -> Next {
        self.next()
    }
    /// With `zonemode=zbd`: the last I/O goes to where its zone takes it, this is it. It counts as
    /// issued, and sequential I/O goes on behind it.
    fn placed(&mut self, _io: &Io) {}
    /// With `zonemode=zbd`: the last I/O, this one, is not made.
    fn displaced(&mut self, _io: &Io, _why: Displaced) {}
    /// The ranges of the trim that was handed out last, where trims have several (`num_range`): its
    /// offset is that of the first, its length the sum.
    #[inline]
    fn ranges(&self) -> &[TrimRange] {
        &[]
    }
    /// Begins the next loop (`loops`): call it after [`Next::End`], as often as there are loops left.
    /// A loop goes on where the last one stopped, or from the start when all files were used up; an
    /// [`Next::End`] right after it says that nothing is left. After the last loop all is counted
    /// anew.
    fn restart(&mut self);
}

/// Puts bytes into the buffer of a write. Never called for an op that carries no data.
pub trait Content {
    /// Once a slot, before the first I/O: `buffer` is the whole slot buffer.
    fn prepare(&mut self, buffer: &mut [u8]);
    /// Before each write.
    fn fill(&mut self, buffer: &mut [u8], io: &Io);
}
