//! The load of a job: which I/Os it makes, with which bytes, and when. Issues no system calls.
//!
//! A [`Source`] decides which I/O comes next, a [`Content`] fills the buffers of writes, and [`pace`]
//! decides when an I/O is due. All are created once from the plan of a job and then driven by the
//! worker, which is compiled for each type of source: see [`source::with_source`] and
//! [`content::AnyContent`].
//!
//! # Example
//!
//! A job that writes 16 blocks at random offsets, each exactly once:
//!
//! ```
//! use fiord_load::{AnyContent, Content, Next, Source, any_source};
//! use fiord_plan::{EnginePlan, JobPlan, Mix};
//! use fiord_types::Dir;
//!
//! let mut job = JobPlan::plain(EnginePlan::Null, 16 * 4096);
//! job.load.mix = Mix::Write;
//! job.load.random = true;
//!
//! let mut source = any_source(&job)?;
//! let mut content = AnyContent::of(&job, 0)?;
//! let mut buffer = vec![0; 4096];
//! content.prepare(&mut buffer);
//!
//! let mut offsets = Vec::new();
//! while let Next::Io(io) = source.next() {
//!     assert_eq!((io.dir, io.len), (Dir::Write, 4096));
//!     content.fill(&mut buffer, &io);
//!     offsets.push(io.offset);
//! }
//! assert_eq!(source.next(), Next::End);
//! offsets.sort();
//! assert!(offsets.iter().copied().eq((0..16).map(|block| block * 4096)));
//! # Ok::<(), fiord_load::LoadError>(())
//! ```
//!
//! # Modules
//!
//! | question | module |
//! |---|---|
//! | which source a job gets | [`source`] |
//! | one file, one direction, one block size | `source/plain.rs` |
//! | random reads and writes of one file | `source/mixed.rs` |
//! | everything else | `source/general.rs` |
//! | which direction, size and file is next | `source/directions.rs`, `sizes.rs`, `files.rs` |
//! | sequential offsets, `rw=…:N`, `percentage_random`, the end of a file | `source/cursor.rs` |
//! | random offsets, with and without a map | `source/offsets.rs`, `permute.rs`, `bitmap.rs` |
//! | `random_distribution`: which block | `source/spread.rs` |
//! | the distributions behind it, and how ranks are drawn with integers | `source/laws.rs`, `ranks.rs` |
//! | how skewed a load is | [`skew`] |
//! | `zonemode=strided` | `source/strided.rs` |
//! | the I/Os of a trace | `source/replay.rs` |
//! | the cycles of an engine that does no I/O | `source/cycles.rs` |
//! | priority and placement of single I/Os | `source/attributes.rs` |
//! | trims of several ranges | `source/ranges.rs` |
//! | when a pass and a loop end (`io_size`, `number_ios`, `loops`) | `source/limits.rs` |
//! | when written data is flushed (`fsync=N` and similar options) | `source/flushes.rs` |
//! | which bytes are written | [`content`] |
//! | when an I/O is due: rates, think times, flows | [`pace`] |
//! | which write each block of a target contains (`verify`) | [`verify`] |

#![forbid(unsafe_code)]

use fiord_types::{Dir, FileIndex};

pub mod content;
mod error;
pub mod pace;
pub mod rng;
pub mod skew;
pub mod source;
pub mod verify;

pub use content::AnyContent;
pub use error::LoadError;
pub use fiord_plan::{IoAttributes, TrimRange, WriteCommand};
pub use source::{AnySource, SourceVisitor, any_source, with_source};

/// An I/O that a source asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// Direction of the transfer.
    pub dir: Dir,
    /// Index of the file in the plan.
    pub file: FileIndex,
    /// First byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
    /// Priority, placement and kind of write command.
    pub attributes: IoAttributes,
}

/// How a file is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// `fsync(2)`.
    Fsync,
    /// `fdatasync(2)`.
    Fdatasync,
    /// `sync_file_range(2)` with these flags, over the range that was written since the last one.
    Range(u32),
}

/// What the worker has to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Make this I/O.
    Io(Io),
    /// Flush the file now: kind of flush, index of the file, first byte and length of the range (0
    /// and 0: the whole file), and whether all I/Os issued before must complete first
    /// (`write_barrier`).
    Flush(Flush, FileIndex, u64, u64, bool),
    /// Open this file before the next I/O. Only if `openfiles` is less than the number of files.
    Open(FileIndex),
    /// Close this file. No more I/O goes to it in this loop.
    Close(FileIndex),
    /// The job has visited the whole file and starts over in it: drop its cached pages before the
    /// next I/O. Only with [`fiord_plan::JobPlan::drops_cache_each_pass`].
    Again(FileIndex),
    /// This loop is done. Call [`Source::restart`] for the next one.
    End,
}

/// Why the worker did not make an I/O that the source asked for (`zonemode=zbd`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Displaced {
    /// The worker makes a write in its place.
    Exchanged,
    /// Nothing takes its place: the file is done in this pass.
    Over,
    /// All zones are full, and the job keeps what it has written in a pass (`verify`). The file is done, unless the pass
    /// has just begun: then the next write resets a zone.
    Filled,
    /// A sequential write reached the end of the zones. The file is done once the job has written
    /// `lap` bytes in this pass. If other jobs filled some of the zones, it has not, and continues
    /// in the first zone.
    Passed {
        /// Number of bytes of the job's writes that fill all zones once.
        lap: u64,
    },
}

/// Decides which I/O is next.
///
/// The worker calls [`next`](Self::next) once per I/O, on its hot path. An implementation
///
/// - must depend only on the plan and its own seeded generators, so that a job with the same seed makes
///   the same I/Os. It must not read a clock, issue a system call or share state with other jobs;
/// - must not allocate memory after construction, because the cost of a source is part of every I/O
///   that the user measures;
/// - must return only I/Os of at least 1 byte (a cycle of an engine that does no I/O has none), and reads and writes no longer than the largest block of
///   the job, because buffers have that length;
/// - must count what it returns and answer [`Next::End`] at the limits of the job (`io_size`,
///   `number_ios`). The worker counts only time (`runtime`, `ramp_time`).
///
/// `source/tests/promises.rs` checks bounds, sizes, limits and repeatability on random mixtures of
/// options.
///
/// ```
/// use fiord_load::{Next, Source, any_source};
/// use fiord_plan::{EnginePlan, JobPlan};
///
/// // Two sequential reads of 4 KiB, then the end, until the next loop begins.
/// let mut source = any_source(&JobPlan::plain(EnginePlan::Null, 2 * 4096))?;
/// let mut offset = || match source.next() {
///     Next::Io(io) => Some(io.offset),
///     _ => None,
/// };
/// assert_eq!([offset(), offset(), offset(), offset()], [Some(0), Some(4096), None, None]);
/// source.restart();
/// assert!(matches!(source.next(), Next::Io(_)));
/// # Ok::<(), fiord_load::LoadError>(())
/// ```
pub trait Source {
    /// What to do next. After [`Next::End`] it keeps answering `End` until
    /// [`restart`](Self::restart).
    fn next(&mut self) -> Next;
    /// [`Source::next`] for loops without hooks, which run at the limit of the machine: at least the code of the
    /// quickest sources is inlined.
    #[inline(always)]
    fn next_inlined(&mut self) -> Next {
        self.next()
    }
    /// Like [`next`](Self::next), but if the next step is an I/O of a mix of reads and writes, it
    /// goes in direction `dir`. The worker calls it when rates decide the direction instead of the
    /// mix. Sources of one direction, and sources that pair trims with writes, ignore `dir`.
    #[inline]
    fn next_of(&mut self, _dir: Dir) -> Next {
        self.next()
    }
    /// The next I/O that completes what the source has begun: the write of a block that it has trimmed (`trimwrite`).
    /// [`Next::End`]: everything is complete. The worker calls it once the job begins nothing new.
    fn owed(&mut self) -> Next {
        Next::End
    }
    /// With `zonemode=zbd`: the worker made the last I/O as `io`, which may lie elsewhere or be
    /// shorter. Only now it counts as issued; sequential I/O continues after it.
    fn placed(&mut self, _io: &Io) {}
    /// With `zonemode=zbd`: the worker did not make the last I/O, `io`.
    fn displaced(&mut self, _io: &Io, _why: Displaced) {}
    /// The ranges of the last trim, if trims have several (`num_range`); otherwise empty. The
    /// offset of that trim is the offset of its first range, its length the sum of the lengths.
    #[inline]
    fn ranges(&self) -> &[TrimRange] {
        &[]
    }
    /// Begins the next loop (`loops`). The worker calls it after [`Next::End`], once for each loop
    /// that is left.
    ///
    /// A loop continues where the last one stopped, or at the start if all files were done. If
    /// [`next`](Self::next) answers [`Next::End`] right after it, there is nothing left to do.
    /// After the last loop the source starts to count from 0 again.
    fn restart(&mut self);
}

/// Fills the buffers of writes.
///
/// The worker never calls it for an I/O that transfers no data. An implementation must write only
/// to the slice that it gets. It must not expect that a buffer still holds what it put there if the
/// job also reads, because reads go to the same buffers. Its cost is part of every write that the
/// user measures.
///
/// ```
/// use fiord_load::{Content, Io, Next, Source, any_source};
/// use fiord_plan::{EnginePlan, JobPlan};
///
/// /// Fills each buffer with the number of its block.
/// struct BlockNumbers;
///
/// impl Content for BlockNumbers {
///     fn prepare(&mut self, _buffer: &mut [u8]) {}
///     fn fill(&mut self, buffer: &mut [u8], io: &Io) {
///         buffer.fill((io.offset / 4096) as u8);
///     }
/// }
///
/// let mut source = any_source(&JobPlan::plain(EnginePlan::Null, 2 * 4096))?;
/// let mut buffer = [0; 4096];
/// while let Next::Io(io) = source.next() {
///     BlockNumbers.fill(&mut buffer, &io);
/// }
/// assert_eq!(buffer, [1; 4096]);
/// # Ok::<(), fiord_load::LoadError>(())
/// ```
pub trait Content {
    /// Called once per slot before the first I/O. `buffer` is the whole buffer of the slot.
    fn prepare(&mut self, buffer: &mut [u8]);
    /// Called before each write. `buffer` is the part of the slot's buffer that `io` will write;
    /// its length is `io.len`.
    fn fill(&mut self, buffer: &mut [u8], io: &Io);
}
