//! The windows of logs, samples and rates: the worker ends those that are over before it records an I/O, so each I/O counts in
//! the window in which it completed. A window includes its end.

use fiord_stat::windows::WindowRecorder;
use fiord_types::{Dir, Nanos, PerDir};

use super::JobState;

impl JobState<'_> {
    /// Ends the windows that ended before `now`. Called before an I/O that completed at `now` is recorded.
    #[inline(always)]
    pub(crate) fn cut_windows(&mut self, now: u64) {
        if now >= self.cut_due {
            self.cut_windows_now(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn cut_windows_now(&mut self, now: u64) {
        if self.log.is_due(now) {
            self.log.cut(now, &self.recorder);
            // If the worker had to wait for the writer, housekeeping reads the clock again.
            self.control.schedule_housekeeping(0);
        }
        if let Some(samples) = self.samples.as_mut().filter(|samples| samples.due().0 < now) {
            samples.sample(Nanos(now), &self.recorder);
        }
        let uses = self.directions_in_use();
        if let Some(rates) = self.rates.as_mut().filter(|rates| rates.due().0 < now) {
            rates.cut(Nanos(now), self.recorder.totals(), uses);
        }
        self.schedule_cut();
    }

    /// Ends the last windows at `now`.
    pub(super) fn finish_windows(&mut self, now: u64) {
        self.log.finish(now, &self.recorder);
        if let Some(samples) = &mut self.samples {
            samples.sample(Nanos(now), &self.recorder);
        }
        let uses = self.directions_in_use();
        if let Some(rates) = &mut self.rates {
            rates.finish(Nanos(now), self.recorder.totals(), uses);
        }
    }

    /// Rates whose windows begin at `now`.
    pub(super) fn fresh_rates(&self, now: u64) -> Option<WindowRecorder> {
        let record = &self.job.record;
        let lengths = (record.bandwidth_window, record.iops_window);
        record.bandwidth.then(|| WindowRecorder::begin(lengths, Nanos(now)))
    }

    /// Notes when windows must be ended next.
    pub(super) fn schedule_cut(&mut self) {
        let samples = self.samples.as_ref().map_or(u64::MAX, |samples| samples.due().0);
        let rates = self.rates.as_ref().map_or(u64::MAX, |rates| rates.due().0);
        let ended = samples.min(rates).saturating_add(1);
        self.cut_due = self.log.due().min(ended);
    }

    /// The directions in which the job does I/O now: reads while it reads back what it wrote, else those of its load.
    fn directions_in_use(&self) -> PerDir<bool> {
        if !self.job.engine.def().does_io {
            return PerDir::all(false);
        }
        match self.hooks.read_back() {
            Some(_) => PerDir::new(true, false, false),
            None => PerDir::from_fn(|dir: Dir| self.job.load.mix.has(dir)),
        }
    }
}
