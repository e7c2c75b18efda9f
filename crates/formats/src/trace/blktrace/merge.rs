//! Merges traces by time in one trace (`merge_blktrace_file`).

use std::io::{self, BufRead, Write};

use fiord_types::Nanos;

use super::read::WINDOW;
use super::record::{BlktraceRecord, CpuFiles};
use crate::trace::error::TraceError;
use crate::trace::window::SortWindow;

/// Opens the files of a trace: one, or one for each CPU.
pub type OpenTrace<'a> = dyn FnMut() -> io::Result<Vec<Box<dyn BufRead + 'a>>> + 'a;

/// A trace to merge.
pub struct MergeSource<'a> {
    /// Opens the trace. Called once for each iteration.
    pub open: Box<OpenTrace<'a>>,
    /// Time scale in per cent (`merge_blktrace_scalars`): 50 halves all gaps.
    pub scalar: f64,
    /// How often the trace runs, one run after the other (`merge_blktrace_iters`).
    pub iterations: u64,
}

/// What [`merge`] wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeSummary {
    /// Records of the merged trace.
    pub records: u64,
    /// Time of its last record; the first one has time 0.
    pub length: Nanos,
}

/// Merges traces. Each begins at time 0. Messages (such as the names of processes) and payloads are left out. The
/// merged trace is little endian and numbers its records from 1; `blkparse`, fio and fiord can read it. Memory does
/// not depend on the length of the traces.
///
/// # Errors
/// A trace cannot be opened or read ([`TraceError::File`] says which one), or writing fails.
pub fn merge(
    sources: Vec<MergeSource<'_>>,
    out: &mut impl Write,
) -> Result<MergeSummary, TraceError> {
    let mut runs: Vec<Run> = sources.into_iter().map(Run::new).collect();
    let mut heads = Vec::new();
    for (number, run) in runs.iter_mut().enumerate() {
        heads.push(run.next(number)?);
    }
    let mut summary = MergeSummary::default();
    let mut bytes = Vec::with_capacity(64);
    loop {
        let times = heads.iter().enumerate().filter_map(|(n, head)| Some((head.as_ref()?.time, n)));
        let Some((time, number)) = times.min() else { break };
        let next = runs[number].next(number)?;
        if let Some(mut record) = std::mem::replace(&mut heads[number], next) {
            summary.records += 1;
            summary.length = time;
            record.sequence = summary.records as u32;
            bytes.clear();
            record.write(&mut bytes);
            out.write_all(&bytes).map_err(TraceError::Write)?;
        }
    }
    out.flush().map_err(TraceError::Write)?;
    Ok(summary)
}

/// One trace with all of its iterations.
struct Run<'a> {
    source: MergeSource<'a>,
    iterations_left: u64,
    current: Option<Iteration<'a>>,
    /// Where the next iteration begins, in time of the merged trace.
    end: Nanos,
}

struct Iteration<'a> {
    files: CpuFiles<Box<dyn BufRead + 'a>>,
    window: SortWindow<BlktraceRecord>,
    ended: bool,
    /// Time of its first record in its trace.
    first: Option<Nanos>,
    /// Time of its first record in the merged trace.
    base: Nanos,
}

impl<'a> Run<'a> {
    fn new(source: MergeSource<'a>) -> Self {
        Run { iterations_left: source.iterations, source, current: None, end: Nanos::ZERO }
    }

    /// The next record, with its time in the merged trace. `number` is the index of this trace.
    fn next(&mut self, number: usize) -> Result<Option<BlktraceRecord>, TraceError> {
        loop {
            if let Some(iteration) = &mut self.current {
                let record = iteration.next(self.source.scalar).map_err(in_file(number))?;
                if let Some(record) = record {
                    self.end = self.end.max(record.time);
                    return Ok(Some(BlktraceRecord { time: self.end, ..record }));
                }
                self.current = None;
            }
            if self.iterations_left == 0 {
                return Ok(None);
            }
            self.iterations_left -= 1;
            let files = (self.source.open)().map_err(TraceError::Read).map_err(in_file(number))?;
            self.current = Some(Iteration {
                files: CpuFiles::new(files),
                window: SortWindow::new(WINDOW),
                ended: false,
                first: None,
                base: self.end,
            });
        }
    }
}

impl Iteration<'_> {
    fn next(&mut self, scalar: f64) -> Result<Option<BlktraceRecord>, TraceError> {
        while !self.ended && !self.window.is_full() {
            match self.files.next()? {
                None => self.ended = true,
                Some(record) if record.is_message() => {}
                Some(record) => self.window.put(record.time, record),
            }
        }
        let Some((time, record)) = self.window.take() else { return Ok(None) };
        let passed = time.saturating_sub(*self.first.get_or_insert(time));
        // Exact for the usual scale of 100 per cent.
        let scaled = match scalar {
            100.0 => passed,
            _ => Nanos((passed.0 as f64 * (scalar / 100.0)).round() as u64),
        };
        Ok(Some(BlktraceRecord { time: self.base.saturating_add(scaled), ..record }))
    }
}

/// Names the trace in an error.
fn in_file(file: usize) -> impl Fn(TraceError) -> TraceError {
    move |source| TraceError::File { file, source: Box::new(source) }
}
