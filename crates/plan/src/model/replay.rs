//! What a job replays (`read_iolog`), and where it records its I/Os (`write_iolog`).

use std::io::{self, BufReader, Cursor, Read, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fiord_formats::trace::blktrace::{self, BlktraceReader, MergeSource, MergeSummary};
use fiord_formats::trace::{
    self, InvalidLines, TraceError, TraceKind, TraceName, TraceOptions, TraceReader,
};
use fiord_types::{Bytes, Dir, FileIndex, Nanos, PerDir};

/// Size of the buffer through which a trace is read, bytes.
const BUFFER: usize = 256 << 10;
/// Maximum part in bytes in which a longer trim is carried out.
const MAX_TRIM: u64 = 1 << 30;

/// `read_iolog`: the trace that a job replays instead of generating I/Os.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayPlan {
    /// Where the trace is.
    pub input: TraceInput,
    /// `replay_invalid=skip`: invalid lines are skipped and counted.
    pub skips_invalid: bool,
    /// `replay_no_stall=0`: I/Os are issued at their recorded times.
    pub timed: bool,
    /// `replay_time_scale`: speed in per cent of the recorded one.
    pub speed_percent: NonZeroU32,
    /// `replay_scale`: offsets are divided by this number.
    pub divisor: NonZeroU32,
    /// `replay_align`: offsets are rounded down to a multiple of this power of two.
    pub align: Option<Bytes>,
    /// `replay_skip`: kinds of I/O that are not replayed.
    pub skipped: Vec<TraceKind>,
    /// The files of the names in the trace.
    pub targets: ReplayTargets,
    /// Writes that the trace marks as durable (FUA) have a flag of their own. Without it, an fdatasync follows them.
    pub durable_flag: bool,
    /// What the trace contains; `None` if it is a stream, which can be read only once.
    pub contents: Option<TraceContents>,
}

/// Where a trace comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceInput {
    /// One file, or the files of all CPUs of a block trace, which are merged by time.
    Files(Vec<PathBuf>),
    /// Standard input, a FIFO or a socket.
    Stream(TraceStream),
    /// Several block traces, which are merged in a file first (`merge_blktrace_file`).
    Merged(MergePlan),
}

impl TraceInput {
    /// The path of the first file or of the stream, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            TraceInput::Files(paths) => paths.first().map_or(Path::new(""), PathBuf::as_path),
            TraceInput::Stream(stream) => &stream.path,
            TraceInput::Merged(merge) => &merge.file,
        }
    }
}

/// Block traces that are merged by time in one.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePlan {
    /// The merged trace.
    pub file: PathBuf,
    pub sources: Vec<MergedTrace>,
}

/// One of several block traces that are merged.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedTrace {
    /// File of the trace, or the files of all CPUs.
    pub files: Vec<PathBuf>,
    /// `merge_blktrace_scalars`: its duration in per cent of the recorded one.
    pub scalar: f64,
    /// `merge_blktrace_iters`: how many times it occurs.
    pub iterations: NonZeroU32,
}

/// Opens a file of a trace.
pub type OpenTraceFile<'a> = dyn Fn(&Path) -> io::Result<Box<dyn Read + Send>> + 'a;

impl MergePlan {
    /// Writes the merged trace to `out`.
    ///
    /// # Errors
    /// A trace cannot be read, or writing fails.
    pub fn write(
        &self,
        open: &OpenTraceFile,
        out: &mut impl Write,
    ) -> Result<MergeSummary, TraceError> {
        let source = |trace: &MergedTrace| {
            let files = trace.files.clone();
            let open = move || {
                let open =
                    |path: &PathBuf| open(path).map(|file| Box::new(BufReader::new(file)) as _);
                files.iter().map(open).collect()
            };
            MergeSource {
                open: Box::new(open),
                scalar: trace.scalar,
                iterations: u64::from(trace.iterations.get()),
            }
        };
        blktrace::merge(self.sources.iter().map(source).collect(), out)
    }
}

/// A trace that can be read only once. The planner has read its beginning.
#[derive(Debug, Clone)]
pub struct TraceStream {
    path: PathBuf,
    rest: Arc<Mutex<Option<StreamRest>>>,
}

/// What the planner has read of a stream, and the rest.
pub struct StreamRest {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The source of all other bytes.
    pub tail: Box<dyn Read + Send>,
}

impl std::fmt::Debug for StreamRest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamRest").field("head", &self.head.len()).finish_non_exhaustive()
    }
}

impl TraceStream {
    /// A stream whose first bytes have been read.
    #[must_use]
    pub fn new(path: PathBuf, rest: StreamRest) -> Self {
        TraceStream { path, rest: Arc::new(Mutex::new(Some(rest))) }
    }

    /// Passes the bytes that have been read to `look`, unless the stream was taken.
    pub(crate) fn look_at_head(&self, look: impl FnOnce(&[u8])) {
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rest) = &*rest {
            look(&rest.head);
        }
    }

    /// The bytes of the stream. `None`: they were taken before.
    #[must_use]
    pub fn take(&self) -> Option<StreamRest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Two streams are equal if they are the same stream.
impl PartialEq for TraceStream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rest, &other.rest)
    }
}

impl Eq for TraceStream {}

/// The files on which the I/Os of a trace are replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayTargets {
    /// `replay_redirect`: all on the first file of the job.
    One(ReplayFit),
    /// Each name of the trace has its file; `None`: its I/Os are skipped.
    Named(Vec<(TraceName, Option<(FileIndex, ReplayFit)>)>),
}

/// How offsets are changed so that they lie on the target (`replay_beyond=scale`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayFit {
    /// Largest end of an I/O in the trace, and size of the target. `None`: offsets stay.
    pub scaled: Option<(Bytes, Bytes)>,
    /// Scaled offsets are multiples of this; 0 and 1: any offset.
    pub grid: Bytes,
}

impl ReplayFit {
    /// The offset of an I/O on the target.
    #[inline]
    #[must_use]
    pub fn place(&self, offset: u64, len: u64) -> u64 {
        let Some((from, to)) = self.scaled else { return offset };
        let scaled = u128::from(offset) * u128::from(to.0) / u128::from(from.0.max(1));
        let most = to.0.saturating_sub(len);
        let place = (scaled as u64).min(most);
        let grid = self.grid.0.max(1);
        place / grid * grid
    }
}

impl ReplayPlan {
    /// How the trace is read.
    #[must_use]
    pub fn reading(&self) -> TraceOptions {
        let invalid = if self.skips_invalid { InvalidLines::Skip } else { InvalidLines::Stop };
        TraceOptions { invalid, ..TraceOptions::default() }
    }

    /// Opens the trace. `open` opens a file of it. Merged traces must have been written.
    ///
    /// # Errors
    /// A file cannot be opened, or its format is unknown. A stream was opened before.
    pub fn open(&self, open: &OpenTraceFile) -> Result<Box<dyn TraceReader + Send>, TraceError> {
        let options = self.reading();
        match &self.input {
            TraceInput::Files(paths) => {
                let mut sources = Vec::with_capacity(paths.len());
                for path in paths {
                    let source = open(path).map_err(TraceError::Read)?;
                    sources.push(BufReader::with_capacity(BUFFER / paths.len().max(1), source));
                }
                if sources.len() > 1 {
                    return Ok(Box::new(BlktraceReader::new(sources, &options)));
                }
                trace::open(sources.pop().ok_or(TraceError::Empty)?, &options)
            }
            TraceInput::Stream(stream) => {
                let taken = || io::Error::other("it has been read already");
                let rest = stream.take().ok_or_else(|| TraceError::Read(taken()))?;
                let whole = Cursor::new(rest.head).chain(rest.tail);
                trace::open(BufReader::with_capacity(BUFFER, whole), &options)
            }
            TraceInput::Merged(merge) => {
                let source = open(&merge.file).map_err(TraceError::Read)?;
                trace::open(BufReader::with_capacity(BUFFER, source), &options)
            }
        }
    }

    /// The offset of an I/O after `replay_scale` and `replay_align`, before [`ReplayFit::place`].
    #[inline]
    #[must_use]
    pub fn offset(&self, recorded: u64) -> u64 {
        let divisor = u64::from(self.divisor.get());
        let offset = if divisor > 1 { recorded / divisor } else { recorded };
        match self.align {
            Some(align) => offset & !(align.0 - 1),
            None => offset,
        }
    }

    /// Time of an I/O since the first one, from its recorded time.
    #[inline]
    #[must_use]
    pub fn due(&self, since_first: Nanos) -> Nanos {
        let percent = self.speed_percent.get();
        if percent == 100 {
            return since_first;
        }
        let scaled = u128::from(since_first.0) * 100 / u128::from(percent);
        Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// Whether I/Os of a kind are replayed.
    #[inline]
    #[must_use]
    pub fn replays(&self, kind: TraceKind) -> bool {
        !self.skipped.contains(&kind)
    }

    /// Length of the parts in which an I/O of `len` bytes is carried out. A trim can be longer than an I/O.
    #[inline]
    #[must_use]
    pub fn part(kind: TraceKind, len: u64) -> u64 {
        if kind == TraceKind::Trim { len.min(MAX_TRIM) } else { len }
    }
}

/// What a trace contains, without the I/Os that are skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContents {
    /// Number of I/Os by direction.
    pub ios: PerDir<u64>,
    /// Number of bytes by direction.
    pub bytes: PerDir<Bytes>,
    /// Smallest and largest I/O by direction.
    pub blocks: PerDir<Option<(Bytes, Bytes)>>,
    pub flushes: bool,
    /// Time from the first I/O to the last.
    pub span: Nanos,
    /// Largest number of I/Os in flight; `None` if the trace does not record completions.
    pub depth: Option<u32>,
}

impl TraceContents {
    /// Number of reads, writes and trims.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.ios.values().sum()
    }

    /// Directions that occur.
    pub fn dirs(&self) -> impl Iterator<Item = Dir> {
        Dir::ALL.into_iter().filter(|dir| self.ios[*dir] > 0)
    }
}

/// `write_iolog`: the log of a job's I/Os.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IologPlan {
    /// The log. Jobs with the same path share it.
    pub path: PathBuf,
    /// `write_iolog_at=completion`: lines have latency and result.
    pub at_completion: bool,
}
