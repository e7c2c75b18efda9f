//! How rows become bytes: text, fio's compressed format, or fiord's compact one.

use fiord_formats::log::compact::{CompactWriter, LogDefinition, LogIndex};
use fiord_formats::log::fz::FzEncoder;
use fiord_formats::log::histogram::{self, Coarseness, HistogramRow};
use fiord_formats::log::text::RowWriter;
use fiord_formats::log::{LogColumns, LogKind, LogRow};
use fiord_plan::{JobPlan, LogFilePlan, LogForm, LogPlan};
use fiord_types::{Bytes, Dir, Nanos};

/// Compressed bytes after which a stream ends, so that the writer needs little memory.
const STREAM: usize = 64 << 10;
/// Up to this many compressed logs keep the state of their compression, which takes 300 kB each.
const ENCODERS: usize = 24;
/// Memory of the rows that compact logs collect, bytes.
const COMPACT: usize = 8 << 20;

/// How the rows of a log become bytes.
#[derive(Debug)]
pub(super) enum RowForm {
    Text(Box<RowWriter>),
    Compressed(CompressedRows),
    Histogram(Coarseness),
    Compact(Box<CompactRows>),
}

impl RowForm {
    /// The form of a log of a job.
    pub(super) fn of(job: &JobPlan, log: &LogPlan, file: &LogFilePlan) -> Self {
        match (log.form, file.kind) {
            (LogForm::Compact, _) => RowForm::Compact(Box::new(CompactRows::of(job, log, file))),
            (_, LogKind::Histogram) => RowForm::Histogram(log.coarseness),
            (LogForm::Compressed, _) => RowForm::Compressed(CompressedRows {
                columns: log.columns,
                encoder: None,
                keeps: true,
            }),
            (LogForm::Text, _) => RowForm::Text(Box::new(RowWriter::new(log.columns))),
        }
    }

    /// Adds a histogram, in a log of histograms.
    pub(super) fn histogram(
        &mut self,
        time_ms: u64,
        dir: Dir,
        block: Bytes,
        bins: &[u64],
        rows: &mut Vec<u8>,
    ) {
        match self {
            RowForm::Histogram(coarseness) => {
                histogram::write(time_ms, dir, block, bins, *coarseness, rows);
            }
            RowForm::Compact(compact) => compact.push_histogram(time_ms, dir, block, bins),
            RowForm::Text(_) | RowForm::Compressed(_) => {}
        }
    }
}

/// Divides the memory for rows that are not written yet among the logs of a run.
pub(super) fn share_memory<'a>(forms: impl Iterator<Item = &'a mut RowForm>) {
    let (mut compressed, mut compact) = (Vec::new(), Vec::new());
    for form in forms {
        match form {
            RowForm::Compressed(rows) => compressed.push(rows),
            RowForm::Compact(rows) => compact.push(rows),
            RowForm::Text(_) | RowForm::Histogram(_) => {}
        }
    }
    if compressed.len() > ENCODERS {
        compressed.iter_mut().for_each(|rows| rows.keeps = false);
    }
    let share = COMPACT / compact.len().max(1);
    compact.iter_mut().for_each(|rows| rows.writer.limit_memory(share));
}

/// The compressor of a log.
#[derive(Debug)]
pub(super) struct CompressedRows {
    columns: LogColumns,
    /// The stream that has begun.
    encoder: Option<Box<FzEncoder>>,
    /// The stream continues over several writes.
    keeps: bool,
}

impl CompressedRows {
    /// Adds a row.
    pub(super) fn push(&mut self, row: &LogRow) {
        let columns = self.columns;
        self.encoder.get_or_insert_with(|| Box::new(FzEncoder::new(columns))).push(row);
    }

    /// Appends what was compressed to `rows`. `flush`: even if it is little.
    pub(super) fn write(&mut self, flush: bool, rows: &mut Vec<u8>) {
        let Some(encoder) = &mut self.encoder else { return };
        if flush || !self.keeps || encoder.compressed() >= STREAM {
            encoder.finish_stream(rows);
        }
        if !self.keeps {
            self.encoder = None;
        }
    }
}

/// A compact log: a file with one log.
#[derive(Debug)]
pub(super) struct CompactRows {
    /// The start of the file, until it is written.
    start: Vec<u8>,
    writer: CompactWriter,
    log: LogIndex,
    coarseness: Coarseness,
}

impl CompactRows {
    fn of(job: &JobPlan, log: &LogPlan, file: &LogFilePlan) -> Self {
        let mut start = Vec::new();
        let mut writer = CompactWriter::new(&mut start);
        let window = match file.kind {
            LogKind::Histogram => log.histogram_window,
            _ if log.window.is_none() => None,
            LogKind::Bandwidth => Some(log.bandwidth_window),
            LogKind::Iops => Some(log.iops_window),
            _ => log.window,
        };
        let coarseness = log.coarseness;
        let log = writer.define(&LogDefinition {
            name: file.name.clone(),
            thread: job.identity.index.get() as u32 + 1,
            kind: file.kind,
            columns: log.columns,
            window_ms: window.unwrap_or(Nanos::ZERO).0 / 1_000_000,
            coarseness,
        });
        CompactRows { start, writer, log, coarseness }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: &LogRow) {
        self.writer.push(self.log, row);
    }

    fn push_histogram(&mut self, time_ms: u64, dir: Dir, block: Bytes, bins: &[u64]) {
        let mut counts = bins.to_vec();
        counts.resize(Coarseness::default().bins(), 0);
        let row = HistogramRow { time_ms, dir, block, counts }.coarser(self.coarseness);
        if let Some(row) = row {
            self.writer.push_histogram(self.log, &row);
        }
    }

    /// Appends whole blocks to `rows`. `flush`: the rows so far become one.
    pub(super) fn write(&mut self, flush: bool, rows: &mut Vec<u8>) {
        rows.append(&mut self.start);
        match flush {
            true => self.writer.flush(rows),
            false => self.writer.take_ready(rows),
        }
    }
}
