//! Makes the rows of one job from the records of its worker.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fiord_formats::log::text::RowWriter;
use fiord_formats::log::{LogColumns, LogKind, LogRow};
use fiord_plan::{IoPrio, JobPlan, LogPlan, LogWindowValue};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::channel::LogChannel;
use super::files::LogFiles;
use super::form::RowForm;
use super::{LatencySum, LoggedIo, WindowBins, WindowKind, WindowRecord, WindowSums};

/// I/Os that are taken from a ring at once.
const BLOCK: usize = 2048;

/// Turns the records of a worker into rows of its logs.
#[derive(Debug)]
pub(super) struct JobSink {
    pub(super) channel: Arc<LogChannel>,
    files: Vec<KindSink>,
    facts: RowFacts,
    /// All rows are written.
    pub(super) done: bool,
}

/// What rows depend on besides the records.
#[derive(Debug)]
struct RowFacts {
    value: LogWindowValue,
    /// Windows without an I/O have rows, in these directions.
    empty: PerDir<bool>,
    /// By number in [`LoggedIo::priority`].
    priorities: Vec<u16>,
}

/// One log of a job.
#[derive(Debug)]
struct KindSink {
    kind: LogKind,
    /// Number of its file.
    file: usize,
    /// The log has rows of this direction alone.
    only: Option<Dir>,
    /// The log has rows of single I/Os.
    single: bool,
    form: RowForm,
}

/// Memory that all sinks use in turn.
#[derive(Debug, Default)]
pub(super) struct RowBuffers {
    block: Vec<LoggedIo>,
    rows: Vec<u8>,
}

impl JobSink {
    /// The sink of a job. `files`: the number of each file of its plan.
    pub(super) fn of(
        job: &JobPlan,
        log: &LogPlan,
        files: &[usize],
        channel: Arc<LogChannel>,
    ) -> Self {
        let record = &job.record;
        let times = record.clat || record.lat || record.slat || record.bandwidth;
        let sinks = log.files.iter().zip(files).map(|(planned, file)| KindSink {
            kind: planned.kind,
            file: *file,
            only: None,
            single: log.window.is_none()
                && match planned.kind {
                    // As in fio, a job without measurements has no such rows.
                    LogKind::Bandwidth => record.bandwidth,
                    LogKind::Iops => times,
                    LogKind::Histogram => false,
                    _ => true,
                },
            form: RowForm::of(job, log, planned),
        });
        let own = job.process.ioprio.map_or(0, IoPrio::bits);
        let others = job.load.priorities.iter().flat_map(|list| &list.values);
        let facts = RowFacts {
            value: log.value,
            empty: PerDir::from_fn(|dir| log.empty_windows && job.load.mix.has(dir)),
            priorities: std::iter::once(own).chain(others.map(|value| value.bits())).collect(),
        };
        JobSink { channel, files: sinks.collect(), facts, done: false }
    }

    /// The sink of the bandwidth of all jobs together: a file for each direction.
    pub(super) fn of_all(files: PerDir<usize>, channel: Arc<LogChannel>) -> Self {
        let sink = |dir| KindSink {
            kind: LogKind::Bandwidth,
            file: files[dir],
            only: Some(dir),
            single: false,
            form: RowForm::Text(Box::new(RowWriter::new(LogColumns::default()))),
        };
        let facts =
            RowFacts { value: LogWindowValue::Avg, empty: PerDir::all(true), priorities: vec![0] };
        JobSink { channel, files: Dir::ALL.map(sink).into(), facts, done: false }
    }

    /// Writes what the worker has recorded. `flush`: also rows that a form collects. `over`: the run is over, so no
    /// more records come.
    pub(super) fn write(
        &mut self,
        files: &mut LogFiles,
        scratch: &mut RowBuffers,
        flush: bool,
        over: bool,
    ) {
        if self.done {
            return;
        }
        let ended = self.channel.has_ended() || over;
        while let Some(ring) = &self.channel.ring {
            scratch.block.clear();
            if ring.take(BLOCK, &mut scratch.block) == 0 {
                break;
            }
            let submission = self.channel.submission.load(Ordering::Relaxed);
            let epoch = self.channel.epoch_ms.load(Ordering::Relaxed);
            // The log whose rows were made last.
            let mut last = None;
            for sink in self.files.iter_mut().filter(|sink| sink.single) {
                if sink.kind == LogKind::SubmissionLatency && !submission {
                    continue;
                }
                if !last.is_some_and(|kind| sink.has_rows_of(kind, &scratch.block)) {
                    scratch.rows.clear();
                    sink.add_ios(&scratch.block, epoch, &self.facts, &mut scratch.rows);
                }
                last = Some(sink.kind);
                sink.write(files, &mut scratch.rows, false);
            }
            scratch.rows.clear();
        }
        while let Some(record) = self.channel.take_window() {
            let submission = self.channel.submission.load(Ordering::Relaxed);
            let epoch = self.channel.epoch_ms.load(Ordering::Relaxed);
            for sink in self.files.iter_mut().filter(|sink| sink.shows(record.kind)) {
                if sink.kind != LogKind::SubmissionLatency || submission {
                    sink.add_window(&record, epoch, &self.facts, &mut scratch.rows);
                    sink.write(files, &mut scratch.rows, false);
                    scratch.rows.clear();
                }
            }
        }
        if flush || ended {
            for sink in &mut self.files {
                sink.write(files, &mut scratch.rows, true);
                scratch.rows.clear();
            }
        }
        if ended {
            self.done = true;
            self.channel.set_done();
        }
    }

    /// How the rows of each log become bytes.
    pub(super) fn forms(&mut self) -> impl Iterator<Item = &mut RowForm> {
        self.files.iter_mut().map(|sink| &mut sink.form)
    }

    /// Whether the worker is faster than the writer.
    pub(super) fn is_filling(&self) -> bool {
        !self.done && self.channel.ring.as_ref().is_some_and(|ring| ring.is_filling())
    }
}

impl KindSink {
    /// Whether it shows windows of a kind.
    fn shows(&self, windows: WindowKind) -> bool {
        match self.kind {
            LogKind::Bandwidth => windows == WindowKind::Bandwidth,
            LogKind::Iops => windows == WindowKind::Iops,
            LogKind::Histogram => windows == WindowKind::Histogram,
            _ => windows == WindowKind::Latency,
        }
    }

    /// Whether its rows of these I/Os are also those of a log of kind `other` of the job: without submission latencies,
    /// total latencies are completion latencies, so the rows are made once. In other forms, rows depend on those before.
    fn has_rows_of(&self, other: LogKind, ios: &[LoggedIo]) -> bool {
        let kinds = [LogKind::TotalLatency, LogKind::CompletionLatency];
        let RowForm::Text(writer) = &self.form else { return false };
        kinds.contains(&self.kind)
            && kinds.contains(&other)
            && !writer.columns().issue_time
            && ios.iter().all(|io| io.slat == Nanos::ZERO)
    }

    /// Makes the rows of single I/Os.
    fn add_ios(&mut self, ios: &[LoggedIo], epoch: u64, facts: &RowFacts, rows: &mut Vec<u8>) {
        let kind = self.kind;
        let row = |io: &LoggedIo| single_row(kind, io, epoch, &facts.priorities);
        match &mut self.form {
            RowForm::Text(writer) => writer.push_all(ios.iter().map(row), rows),
            RowForm::Compressed(encoder) => ios.iter().for_each(|io| encoder.push(&row(io))),
            RowForm::Compact(compact) => ios.iter().for_each(|io| compact.push(&row(io))),
            RowForm::Histogram(_) => {}
        }
    }

    /// Makes the rows of a window, and of those before it in which nothing completed.
    fn add_window(
        &mut self,
        record: &WindowRecord,
        epoch: u64,
        facts: &RowFacts,
        rows: &mut Vec<u8>,
    ) {
        let only = self.only;
        let shown = |dir: Dir| only.is_none_or(|only| only == dir);
        let zeros = PerDir::from_fn(|dir| facts.empty[dir] && shown(dir));
        if zeros.values().any(|zeros| *zeros) {
            let began = record.end.saturating_sub(record.length);
            for before in (0..record.empty_before).rev() {
                let end = began.saturating_sub(Nanos(record.normal.0.saturating_mul(before)));
                for dir in Dir::ALL.into_iter().filter(|dir| zeros[*dir]) {
                    self.add_row(time(end, epoch), dir, (0, 0), &[], Bytes::ZERO, rows);
                }
            }
        }
        for dir in Dir::ALL.into_iter().filter(|dir| shown(*dir)) {
            let (sums, bins) = (&record.sums[dir], &record.bins[dir]);
            let (n, value) = window_value(self.kind, sums, bins, record.length, facts.value);
            let bins = bins.expand();
            if n > 0 || zeros[dir] && record.length > Nanos::ZERO {
                let block = Bytes(sums.bytes.0.checked_div(sums.ios).unwrap_or(0));
                self.add_row(time(record.end, epoch), dir, value, &bins, block, rows);
            }
        }
    }

    /// Makes one row of a window. `value`: the value and the maximum.
    fn add_row(
        &mut self,
        time_ms: u64,
        dir: Dir,
        (value, maximum): (u64, u64),
        bins: &[u64],
        block: Bytes,
        rows: &mut Vec<u8>,
    ) {
        if self.kind == LogKind::Histogram {
            return self.form.histogram(time_ms, dir, block, bins, rows);
        }
        let row = LogRow { time_ms, value, maximum: Some(maximum), ..LogRow::new(dir) };
        match &mut self.form {
            RowForm::Text(writer) => writer.push(&row, rows),
            RowForm::Compressed(encoder) => encoder.push(&row),
            RowForm::Compact(compact) => compact.push(&row),
            RowForm::Histogram(_) => {}
        }
    }

    /// Writes rows to the file, after those that the form appends to them. `flush`: rows that the form collects are
    /// written, even if they are few.
    fn write(&mut self, files: &mut LogFiles, rows: &mut Vec<u8>, flush: bool) {
        match &mut self.form {
            RowForm::Compressed(compressed) => compressed.write(flush, rows),
            RowForm::Compact(compact) => compact.write(flush, rows),
            RowForm::Text(_) | RowForm::Histogram(_) => {}
        }
        if let Some(file) = files.get(self.file) {
            file.write(rows, matches!(self.form, RowForm::Text(_) | RowForm::Histogram(_)));
        }
    }
}

/// The time of a row, ms.
fn time(time: Nanos, epoch: u64) -> u64 {
    time.0 / 1_000_000 + epoch
}

/// The row of a single I/O.
#[inline(always)]
fn single_row(kind: LogKind, io: &LoggedIo, epoch: u64, priorities: &[u16]) -> LogRow {
    let (end, issued) = (io.end, io.issued());
    let (at, value, issue_time) = match kind {
        // Units of 1000 bytes per second, as in fio.
        LogKind::Bandwidth => (end, u64::from(io.len) * 1_000_000 / io.clat.0.max(1), Nanos::ZERO),
        LogKind::SubmissionLatency => (issued, io.slat.0, issued),
        LogKind::CompletionLatency => (end, io.clat.0, issued),
        LogKind::TotalLatency => (end, io.lat().0, Nanos::ZERO),
        LogKind::Iops | LogKind::Histogram => (end, 1, Nanos::ZERO),
    };
    LogRow {
        time_ms: time(at, epoch),
        value,
        maximum: None,
        dir: io.dir,
        block: Bytes(io.len.into()),
        offset: Some(io.offset),
        priority: priorities.get(usize::from(io.priority)).copied().unwrap_or(0),
        issue_time: Some(issue_time),
    }
}

/// How many I/Os a window has in one direction, its value and its maximum.
fn window_value(
    kind: LogKind,
    sums: &WindowSums,
    bins: &WindowBins,
    length: Nanos,
    wanted: LogWindowValue,
) -> (u64, (u64, u64)) {
    let rate = |amount: u64, unit: u64| {
        let per_second = u128::from(amount) * 1_000_000_000 / u128::from(length.0.max(1));
        let value = u64::try_from(per_second / u128::from(unit)).unwrap_or(u64::MAX);
        (value, value)
    };
    let latency = |sum: &LatencySum| {
        let mean = sum.sum.0.wrapping_add(sum.n / 2).checked_div(sum.n).unwrap_or(0);
        let value = if wanted == LogWindowValue::Max { sum.most.0 } else { mean };
        (sum.n, (value, sum.most.0))
    };
    match kind {
        LogKind::Bandwidth => (sums.ios, rate(sums.bytes.0, 1024)),
        LogKind::Iops => (sums.ios, rate(sums.ios, 1)),
        LogKind::TotalLatency => latency(&sums.lat),
        LogKind::SubmissionLatency => latency(&sums.slat),
        LogKind::CompletionLatency => latency(&sums.clat),
        LogKind::Histogram => (u64::from(!bins.is_empty()), (0, 0)),
    }
}
