//! Cuts the sums of a recorder into windows.
//!
//! A window costs nothing for each I/O: it is the difference between two states of the recorder. The worker cuts before
//! it records the first I/O that completed after the end of a window, so that each I/O is in the window in which it
//! completed. A window includes its end.

use fiord_formats::log::LogKind;
use fiord_plan::LogPlan;
use fiord_stat::histogram::Histogram;
use fiord_stat::recorder::{Recorder, Times};
use fiord_stat::summary::Summary;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::{LatencySum, WindowBins, WindowKind, WindowRecord, WindowSums};

/// The windows of a job: those of latencies, bandwidth, IOPS and histograms may have different lengths.
#[derive(Debug)]
pub(super) struct WindowTracks {
    tracks: Vec<Track>,
    /// The largest latencies of the current window, if the log has them.
    maxima: Option<Box<PerDir<Times>>>,
}

/// Windows of one length.
#[derive(Debug)]
struct Track {
    kind: WindowKind,
    /// Length of a window, ns.
    length: u64,
    /// When the current window ends, ns since the begin of the log.
    next: u64,
    /// The recorder's sums when the current window began.
    base: PerDir<WindowSums>,
    /// The recorder's histograms at that time.
    histograms: PerDir<Histogram>,
    /// What the recorder has forgotten of the current window.
    carried: PerDir<Histogram>,
    /// Windows before the current one in which nothing completed, since the last record.
    empty: u64,
    /// A record was made.
    has_records: bool,
}

impl WindowTracks {
    /// The windows of a log. `maxima`: it has the largest latencies of windows.
    pub(super) fn of(plan: &LogPlan, maxima: bool) -> Self {
        let has = |wanted: &[LogKind]| plan.files.iter().any(|file| wanted.contains(&file.kind));
        let latencies =
            [LogKind::TotalLatency, LogKind::SubmissionLatency, LogKind::CompletionLatency];
        let single = plan.window.is_none();
        let tracks = [
            (WindowKind::Latency, plan.window, has(&latencies)),
            (
                WindowKind::Bandwidth,
                Some(plan.bandwidth_window),
                !single && has(&[LogKind::Bandwidth]),
            ),
            (WindowKind::Iops, Some(plan.iops_window), !single && has(&[LogKind::Iops])),
            (WindowKind::Histogram, plan.histogram_window, has(&[LogKind::Histogram])),
        ];
        let tracks = tracks.into_iter().filter(|(.., wanted)| *wanted);
        let tracks = tracks.filter_map(|(kind, length, _)| {
            let length = length.filter(|length| length.0 > 0)?.0;
            Some(Track {
                kind,
                length,
                next: length,
                base: PerDir::default(),
                histograms: PerDir::default(),
                carried: PerDir::default(),
                empty: 0,
                has_records: false,
            })
        });
        WindowTracks { tracks: tracks.collect(), maxima: maxima.then(Box::default) }
    }

    /// Whether single I/Os matter, because windows have maxima.
    pub(super) fn has_maxima(&self) -> bool {
        self.maxima.is_some()
    }

    /// Notes the latencies of an I/O.
    #[inline]
    pub(super) fn follow(&mut self, dir: Dir, times: &Times) {
        if let Some(maxima) = &mut self.maxima {
            let most = &mut maxima[dir];
            most.slat = most.slat.max(times.slat);
            most.clat = most.clat.max(times.clat);
            most.lat = most.lat.max(times.lat);
        }
    }

    /// When the next window ends, ns since the begin of the log; `u64::MAX`: there are no windows.
    pub(super) fn due(&self) -> u64 {
        self.tracks.iter().map(|track| track.next).min().unwrap_or(u64::MAX)
    }

    /// The first windows begin now, with an empty recorder.
    pub(super) fn begin(&mut self) {
        for track in &mut self.tracks {
            track.base = PerDir::default();
            (track.histograms, track.carried) = (PerDir::default(), PerDir::default());
        }
    }

    /// The recorder is about to forget all of its sums. The current windows keep them.
    pub(super) fn carry_over(&mut self, recorder: &Recorder) {
        for track in &mut self.tracks {
            for dir in Dir::ALL {
                // The recorder begins again at 0.
                track.base[dir] = track.base[dir].minus(&sums_of(recorder, dir));
                if track.kind == WindowKind::Histogram {
                    let window = recorder.dirs[dir].clat_hist.since(&track.histograms[dir]);
                    track.carried[dir].merge(&window);
                    track.histograms[dir] = Histogram::new();
                }
            }
        }
    }

    /// Ends the windows that ended before `since`, ns since the begin of the log.
    pub(super) fn cut(
        &mut self,
        since: u64,
        recorder: &Recorder,
        emit: &mut dyn FnMut(&WindowRecord),
    ) {
        for track in self.tracks.iter_mut().filter(|track| track.next < since) {
            let end = track.next;
            let record = track.record(end, track.length, recorder, &mut self.maxima);
            match record.is_empty() {
                true => track.empty += 1,
                false => track.emit(record, emit),
            }
            let skipped = (since - 1 - end) / track.length;
            track.empty += skipped;
            track.next = end.saturating_add((skipped + 1).saturating_mul(track.length));
        }
    }

    /// Ends the last windows at `since`, ns since the begin of the log.
    pub(super) fn finish(
        &mut self,
        since: u64,
        recorder: &Recorder,
        emit: &mut dyn FnMut(&WindowRecord),
    ) {
        for track in &mut self.tracks {
            let began = track.next - track.length;
            let length = since.saturating_sub(began);
            let record = track.record(since, length, recorder, &mut self.maxima);
            // The rate of a short rest says nothing: I/Os complete there, and none begins.
            let is_rate = matches!(track.kind, WindowKind::Bandwidth | WindowKind::Iops);
            let too_short = is_rate && track.has_records && length < track.length / 2;
            if !record.is_empty() && !too_short {
                track.emit(record, emit);
            } else if track.empty > 0 {
                let nothing = WindowRecord {
                    end: Nanos(began),
                    length: Nanos::ZERO,
                    sums: PerDir::default(),
                    bins: PerDir::default(),
                    ..record
                };
                track.emit(nothing, emit);
            }
        }
    }
}

impl Track {
    /// The record of the current window, which ends at `end` and is `length` long. The next window begins.
    fn record(
        &mut self,
        end: u64,
        length: u64,
        recorder: &Recorder,
        maxima: &mut Option<Box<PerDir<Times>>>,
    ) -> WindowRecord {
        let mut sums = PerDir::from_fn(|dir| sums_of(recorder, dir).minus(&self.base[dir]));
        if let Some(maxima) = maxima.as_mut().filter(|_| self.kind == WindowKind::Latency) {
            for (dir, sums) in Dir::ALL.into_iter().zip(sums.values_mut()) {
                let Times { slat, clat, lat } = std::mem::take(&mut maxima[dir]);
                (sums.slat.most, sums.clat.most, sums.lat.most) = (slat, clat, lat);
            }
        }
        let mut bins = PerDir::default();
        if self.kind == WindowKind::Histogram {
            bins = PerDir::from_fn(|dir| {
                let mut window = recorder.dirs[dir].clat_hist.since(&self.histograms[dir]);
                window.merge(&self.carried[dir]);
                WindowBins::of(window.counts())
            });
        }
        self.begin_window(recorder);
        WindowRecord {
            kind: self.kind,
            end: Nanos(end),
            length: Nanos(length),
            empty_before: 0,
            normal: Nanos(self.length),
            sums,
            bins,
        }
    }

    /// The next window begins with what the recorder has now.
    fn begin_window(&mut self, recorder: &Recorder) {
        self.base = PerDir::from_fn(|dir| sums_of(recorder, dir));
        if self.kind == WindowKind::Histogram {
            self.histograms = PerDir::from_fn(|dir| recorder.dirs[dir].clat_hist.clone());
            self.carried = PerDir::default();
        }
    }

    fn emit(&mut self, record: WindowRecord, emit: &mut dyn FnMut(&WindowRecord)) {
        self.has_records = true;
        emit(&WindowRecord { empty_before: std::mem::take(&mut self.empty), ..record });
    }
}

impl WindowRecord {
    /// Whether nothing completed in the window.
    fn is_empty(&self) -> bool {
        match self.kind {
            WindowKind::Histogram => self.bins.values().all(WindowBins::is_empty),
            _ => self.sums.values().all(|sums| sums.ios == 0),
        }
    }
}

impl WindowSums {
    /// The difference. It may be below 0 between a restart of the measurement and the end of the window; then it wraps.
    fn minus(&self, base: &WindowSums) -> WindowSums {
        let latency = |now: LatencySum, then: LatencySum| LatencySum {
            n: now.n.wrapping_sub(then.n),
            sum: Nanos(now.sum.0.wrapping_sub(then.sum.0)),
            most: Nanos::ZERO,
        };
        WindowSums {
            ios: self.ios.wrapping_sub(base.ios),
            bytes: Bytes(self.bytes.0.wrapping_sub(base.bytes.0)),
            slat: latency(self.slat, base.slat),
            clat: latency(self.clat, base.clat),
            lat: latency(self.lat, base.lat),
        }
    }
}

fn sums_of(recorder: &Recorder, dir: Dir) -> WindowSums {
    let latency = |summary: &Summary| LatencySum {
        n: summary.n(),
        sum: Nanos(summary.sum()),
        most: Nanos::ZERO,
    };
    let lat_is_clat = recorder.lat_is_clat;
    let recorder = &recorder.dirs[dir];
    WindowSums {
        ios: recorder.ios,
        bytes: recorder.bytes,
        slat: latency(&recorder.slat),
        clat: latency(&recorder.clat),
        lat: latency(if lat_is_clat { &recorder.clat } else { &recorder.lat }),
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, JobPlan, LogFilePlan, LogForm, LogWindowValue};
    use fiord_stat::recorder::axes;

    use super::*;

    fn tracks(kinds: &[LogKind]) -> WindowTracks {
        let length = Nanos(100);
        let plan = LogPlan {
            files: kinds
                .iter()
                .map(|&kind| LogFilePlan { kind, name: "x".into(), path: "x".into() })
                .collect(),
            append: false,
            form: LogForm::Text,
            columns: Default::default(),
            window: Some(length),
            bandwidth_window: length,
            iops_window: length,
            value: LogWindowValue::Max,
            histogram_window: Some(length),
            coarseness: Default::default(),
            empty_windows: false,
            clock: None,
            cpus: None,
        };
        assert_eq!(JobPlan::plain(EnginePlan::Null, 1).log, None);
        WindowTracks::of(&plan, true)
    }

    fn complete(tracks: &mut WindowTracks, recorder: &mut Recorder, latency: u64) {
        let times = Times { clat: Nanos(latency), ..Times::default() };
        recorder.complete::<{ axes::SYNC }>(Dir::Read, Bytes(4096), times);
        tracks.follow(Dir::Read, &times);
    }

    /// For each record: its end, length, empty windows before it, I/Os, sum and maximum of latencies, counts in bins.
    type Seen = Vec<(u64, u64, u64, u64, u64, u64, u64)>;

    fn note(seen: &mut Seen) -> impl FnMut(&WindowRecord) {
        |record| {
            let sums = &record.sums[Dir::Read];
            let bins = record.bins[Dir::Read].expand().iter().sum();
            let (sum, most) = (sums.clat.sum.0, sums.clat.most.0);
            seen.push((
                record.end.0,
                record.length.0,
                record.empty_before,
                sums.ios,
                sum,
                most,
                bins,
            ));
        }
    }

    #[test]
    fn windows_have_the_ios_that_completed_in_them() {
        let mut tracks = tracks(&[LogKind::CompletionLatency]);
        let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
        let mut seen = Vec::new();
        tracks.begin();
        complete(&mut tracks, &mut recorder, 30);
        complete(&mut tracks, &mut recorder, 50);
        // The next I/O completes at 420.
        assert_eq!(tracks.due(), 100);
        tracks.cut(420, &recorder, &mut note(&mut seen));
        assert_eq!(tracks.due(), 500);
        complete(&mut tracks, &mut recorder, 7);
        // Measuring begins again.
        tracks.carry_over(&recorder);
        recorder.reset();
        complete(&mut tracks, &mut recorder, 9);
        tracks.cut(501, &recorder, &mut note(&mut seen));
        complete(&mut tracks, &mut recorder, 11);
        tracks.finish(530, &recorder, &mut note(&mut seen));
        let expected =
            [(100, 100, 0, 2, 80, 50, 0), (500, 100, 3, 2, 16, 9, 0), (530, 30, 0, 1, 11, 11, 0)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn histograms_keep_what_the_recorder_forgets() {
        let mut tracks = tracks(&[LogKind::Histogram]);
        let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
        let mut seen = Vec::new();
        tracks.begin();
        complete(&mut tracks, &mut recorder, 30);
        tracks.carry_over(&recorder);
        recorder.reset();
        complete(&mut tracks, &mut recorder, 40);
        tracks.cut(101, &recorder, &mut note(&mut seen));
        complete(&mut tracks, &mut recorder, 50);
        // The last histogram is written, however short its window is.
        tracks.finish(101, &recorder, &mut note(&mut seen));
        let counts: Vec<_> = seen.iter().map(|record| (record.0, record.6)).collect();
        assert_eq!(counts, [(100, 2), (101, 1)]);
    }

    #[test]
    fn a_short_last_window_has_no_rate() {
        let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
        for (last, expected) in [(149, 1), (150, 2)] {
            let mut tracks = tracks(&[LogKind::Bandwidth]);
            let mut seen = Vec::new();
            recorder.reset();
            tracks.begin();
            complete(&mut tracks, &mut recorder, 1);
            tracks.cut(101, &recorder, &mut note(&mut seen));
            complete(&mut tracks, &mut recorder, 1);
            tracks.finish(last, &recorder, &mut note(&mut seen));
            assert_eq!(seen.len(), expected);
        }
        // The only window always has one.
        let mut tracks = tracks(&[LogKind::Iops]);
        let mut seen = Vec::new();
        recorder.reset();
        tracks.begin();
        complete(&mut tracks, &mut recorder, 1);
        tracks.finish(3, &recorder, &mut note(&mut seen));
        assert_eq!(seen.len(), 1);
    }
}
