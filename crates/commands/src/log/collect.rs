//! The values of logs, in all and over time.

use std::collections::BTreeMap;
use std::path::Path;

use fiord_formats::log::compact::{LogDefinition, LogIndex};
use fiord_formats::log::histogram::{Coarseness, HistogramRow};
use fiord_formats::log::{LogKind, LogRow};
use fiord_stat::histogram::Histogram;
use fiord_types::{Bytes, Dir, Nanos};

use super::error::ShowLogError;
use super::source::LogVisitor;
use super::timeline::LogTimeline;

/// The values of logs.
#[derive(Debug)]
pub(super) struct Collected {
    /// One for each log and direction, in the order of the files.
    pub(super) tracks: Vec<LogTrack>,
    /// One for each kind and direction.
    pub(super) timelines: Vec<LogTimeline>,
    /// The percentiles that the user wants.
    pub(super) percentiles: Vec<f64>,
    /// Logs without rows.
    pub(super) empty: Vec<String>,
}

impl Collected {
    /// What the reader has to know about the values.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.tracks.iter().any(|track| track.kind.is_latency() && track.is_windowed()) {
            notes.push(
                "latencies of logs with log_avg_msec are means of windows: their percentiles hide single slow I/Os. \
                 To fix: record histograms (write_hist_log, log_hist_msec)"
                    .to_owned(),
            );
        }
        let coarse: Vec<u8> = self.tracks.iter().filter_map(|track| track.coarseness).collect();
        let (least, most) = (coarse.iter().min(), coarse.iter().max());
        if let (Some(least), Some(most)) = (least, most)
            && most > least
        {
            notes.push(format!(
                "histogram logs of coarseness {least} to {most} were merged: percentiles are as coarse as {most}"
            ));
        }
        notes
    }
}

/// A log in one direction.
#[derive(Debug)]
pub(super) struct LogTrack {
    /// The file, and in a compact file also the log.
    pub(super) name: String,
    pub(super) kind: LogKind,
    pub(super) dir: Dir,
    pub(super) coarseness: Option<u8>,
    rows: u64,
    first: u64,
    last: u64,
    ios: u64,
    /// Values: latencies in nanoseconds, KiB/s or IOPS. Rates of single I/Os are left out: they mean nothing.
    pub(super) values: Histogram,
    pub(super) sum: f64,
    least: u64,
    most: u64,
    /// Bytes or I/Os that were moved, and the milliseconds that this took.
    pub(super) amount: f64,
    /// Rows of windows, which have no block size.
    windowed: u64,
    /// Length of a window, from the definition or from the distance of rows.
    window: Option<u64>,
    /// Windows whose length is not known yet: those of the first time in the log.
    waiting: Vec<Waiting>,
    /// End of the last window.
    before: Option<u64>,
}

/// A window of a log, which ends at a time in milliseconds.
#[derive(Debug)]
struct Waiting {
    end: u64,
    values: WindowValues,
}

#[derive(Debug)]
enum WindowValues {
    /// KiB/s or IOPS.
    Rate(u64),
    /// Mean and maximum in nanoseconds.
    Latency(u64, u64),
    Histogram(HistogramRow),
}

impl LogTrack {
    fn new(name: String, definition: &LogDefinition, dir: Dir) -> Self {
        let histogram = definition.kind == LogKind::Histogram;
        LogTrack {
            name,
            kind: definition.kind,
            dir,
            coarseness: histogram.then_some(definition.coarseness.get()),
            rows: 0,
            first: u64::MAX,
            last: 0,
            ios: 0,
            values: Histogram::new(),
            sum: 0.0,
            least: u64::MAX,
            most: 0,
            amount: 0.0,
            windowed: 0,
            window: Some(definition.window_ms).filter(|window| *window > 0),
            waiting: Vec::new(),
            before: None,
        }
    }

    /// Whether the rows are windows, not single I/Os or histograms.
    pub(super) fn is_windowed(&self) -> bool {
        self.windowed > 0
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// I/Os of a histogram log.
    pub(super) fn ios(&self) -> u64 {
        self.ios
    }

    /// Times of the first and the last row in milliseconds.
    pub(super) fn times(&self) -> (u64, u64) {
        (self.first, self.last)
    }

    /// The smallest and the largest value.
    pub(super) fn extremes(&self) -> (u64, u64) {
        (self.least, self.most)
    }

    fn add(&mut self, time: u64) {
        self.rows += 1;
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    fn add_value(&mut self, value: u64, maximum: Option<u64>, count: u64) {
        self.values.record_n(Nanos(value), count);
        self.sum += value as f64 * count as f64;
        self.least = self.least.min(value);
        self.most = self.most.max(value).max(maximum.unwrap_or_default());
    }

    /// Milliseconds between the start of the first row and the last one.
    pub(super) fn duration(&self) -> u64 {
        let first = self.first.saturating_sub(self.window.unwrap_or_default());
        self.last.saturating_sub(first).max(1)
    }

    /// The windows whose start is known when `next` arrives: with it, unless it is of the first time. `None`: the log
    /// ends.
    fn known(&mut self, next: Option<Waiting>) -> Vec<Waiting> {
        let Some(next) = next else { return std::mem::take(&mut self.waiting) };
        let first = self.waiting.first().map_or(next.end, |first| first.end);
        let distance = next.end.saturating_sub(self.before.unwrap_or(first));
        if distance > 0 {
            self.window = Some(self.window.map_or(distance, |window| window.min(distance)));
        }
        self.waiting.push(next);
        match self.window {
            Some(_) => std::mem::take(&mut self.waiting),
            None => Vec::new(),
        }
    }

    /// The start of a window.
    fn start_of(&mut self, end: u64) -> u64 {
        // The only window of a log covers the time since the start, or a second on another clock.
        let only = if end < 86_400_000 { end } else { 1000 };
        let window = self.window.unwrap_or(only).max(1);
        let before = self.before.replace(end).filter(|before| *before < end);
        // Windows that are nearly adjacent have no gap: fio's are up to some milliseconds longer than log_avg_msec.
        let adjacent = before.filter(|before| end - before < window + window / 2);
        adjacent.unwrap_or(end.saturating_sub(window))
    }
}

/// Collects the values of logs.
#[derive(Debug)]
pub(super) struct Collector {
    window: Option<u64>,
    percentiles: Vec<f64>,
    file: String,
    /// Definitions of the logs of the current file, and the index of its tracks by direction.
    logs: Vec<(LogDefinition, [Option<usize>; 3])>,
    tracks: Vec<LogTrack>,
    timelines: BTreeMap<(LogKind, Dir), LogTimeline>,
    empty: Vec<String>,
}

impl Collector {
    pub(super) fn new(window: Option<u64>, percentiles: &[f64]) -> Self {
        let mut percentiles = percentiles.to_vec();
        percentiles.sort_by(f64::total_cmp);
        Collector {
            window,
            percentiles,
            file: String::new(),
            logs: Vec::new(),
            tracks: Vec::new(),
            timelines: BTreeMap::new(),
            empty: Vec::new(),
        }
    }

    /// The next rows are those of another file.
    pub(super) fn begin(&mut self, path: &Path) {
        self.end_file();
        self.file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    }

    fn end_file(&mut self) {
        let several = self.logs.len() > 1;
        for (definition, tracks) in std::mem::take(&mut self.logs) {
            if tracks.iter().all(Option::is_none) {
                self.empty.push(name_of(&self.file, &definition, several));
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<Collected, ShowLogError> {
        self.end_file();
        for index in 0..self.tracks.len() {
            self.add_window(index, None)?;
        }
        let timelines = self.timelines.into_values().collect();
        let Collector { tracks, percentiles, empty, .. } = self;
        Ok(Collected { tracks, timelines, percentiles, empty })
    }

    /// The track of a direction of a log.
    fn track(&mut self, log: LogIndex, dir: Dir) -> usize {
        let several = self.logs.len() > 1;
        let (definition, tracks) = &mut self.logs[log.0 as usize];
        let all = &mut self.tracks;
        *tracks[Dir::ALL.iter().position(|d| *d == dir).unwrap_or_default()].get_or_insert_with(
            || {
                let name = name_of(&self.file, definition, several);
                all.push(LogTrack::new(name, definition, dir));
                all.len() - 1
            },
        )
    }

    fn timeline(&mut self, track: usize) -> &mut LogTimeline {
        let given = self.window;
        let LogTrack { kind, dir, window, .. } = self.tracks[track];
        let least = window.unwrap_or(1);
        self.timelines
            .entry((kind, dir))
            .or_insert_with(|| LogTimeline::new(kind, dir, given, least))
    }

    /// Adds a window to the timeline as soon as its start is known. `None`: the log ends.
    fn add_window(&mut self, index: usize, window: Option<Waiting>) -> Result<(), ShowLogError> {
        for Waiting { end, values } in self.tracks[index].known(window) {
            // A window belongs to the time before its end.
            let within = end.saturating_sub(1);
            let track = &mut self.tracks[index];
            match values {
                WindowValues::Latency(mean, most) => {
                    track.before = Some(end);
                    let timeline = self.timeline(index);
                    timeline.add_latency(within, Nanos(mean), 1)?;
                    timeline.note_maximum(within, Nanos(most))?;
                }
                WindowValues::Histogram(row) => {
                    track.before = Some(end);
                    let coarseness = row.coarseness().unwrap_or_default();
                    let timeline = self.timeline(index);
                    for (bin, &count) in row.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                        timeline.add_latency(within, middle_of(coarseness, bin), count)?;
                    }
                }
                WindowValues::Rate(value) => {
                    let start = track.start_of(end);
                    let unit = if track.kind == LogKind::Bandwidth { 1024.0 } else { 1.0 };
                    let amount = value as f64 * unit * end.saturating_sub(start) as f64 / 1000.0;
                    track.amount += amount;
                    self.timeline(index).add_amount(start, end, amount)?;
                }
            }
        }
        Ok(())
    }
}

impl LogVisitor for Collector {
    fn define(&mut self, _: LogIndex, definition: &LogDefinition) -> Result<(), ShowLogError> {
        self.logs.push((definition.clone(), [None; 3]));
        Ok(())
    }

    fn row(&mut self, log: LogIndex, row: &LogRow) -> Result<(), ShowLogError> {
        let index = self.track(log, row.dir);
        let track = &mut self.tracks[index];
        let (kind, time) = (track.kind, row.time_ms);
        let window = row.block == Bytes::ZERO;
        track.add(time);
        track.windowed += u64::from(window);
        let most = row.maximum.unwrap_or_default().max(row.value);
        if window {
            track.add_value(row.value, row.maximum, 1);
            let values = match kind.is_latency() {
                true => WindowValues::Latency(row.value, most),
                false => WindowValues::Rate(row.value),
            };
            return self.add_window(index, Some(Waiting { end: time, values }));
        }
        if kind.is_latency() {
            track.add_value(row.value, None, 1);
            return self.timeline(index).add_latency(time, Nanos(row.value), 1);
        }
        let amount = match kind {
            LogKind::Bandwidth => row.block.0 as f64,
            _ => row.value as f64,
        };
        track.amount += amount;
        self.timeline(index).add_amount(time, time, amount)
    }

    fn histogram(&mut self, log: LogIndex, row: &HistogramRow) -> Result<(), ShowLogError> {
        let index = self.track(log, row.dir);
        let coarseness = row.coarseness().unwrap_or_default();
        let track = &mut self.tracks[index];
        track.add(row.time_ms);
        for (bin, &count) in row.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            track.ios = track.ios.saturating_add(count);
            track.add_value(middle_of(coarseness, bin).0, None, count);
        }
        let values = WindowValues::Histogram(row.clone());
        self.add_window(index, Some(Waiting { end: row.time_ms, values }))
    }
}

fn middle_of(coarseness: Coarseness, bin: usize) -> Nanos {
    let (from, to) = coarseness.bounds(bin);
    Nanos(from.0 + (to.0 - from.0) / 2)
}

fn name_of(file: &str, definition: &LogDefinition, several: bool) -> String {
    match several {
        true => format!("{file}: {}", definition.file_name()),
        false => file.to_owned(),
    }
}
