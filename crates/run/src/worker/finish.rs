//! The end of a job's work: flushing, closing. What it takes is part of the measured time.

use fiord_engine::{Completions, Engine, Op, OpKind, Outcome, Queued, Tag, Want};
use fiord_load::{Dir, Source};

use super::session::{Fill, Session};
use crate::control::Phase;
use crate::error::JobError;

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// Flushes as the job asks and closes every file.
    pub fn finish(&mut self) {
        self.control.set_phase(Phase::Finishing);
        self.has_its_buffers();
        let load = &self.job.load;
        let writes = load.mix.changes_data();
        let fail = self.error.is_some();
        for file in 0..self.files.count() {
            if !self.opens_all() {
                // The source has closed them one by one; what a stopped run left open goes with it.
                break;
            }
            if writes && load.end_fsync && !fail && !self.flush_alone(file) {
                return;
            }
        }
        if load.end_syncfs && writes && !fail {
            let result = self.files.sync_file_systems();
            self.note(result);
        }
        if self.opens_all() {
            for file in 0..self.files.count() {
                let result = self.close(file);
                self.note(result);
            }
        }
    }

    /// Closes a file; with `fsync_on_close` its data reach the device first, and that takes part of
    /// the run time.
    pub fn close(&mut self, file: u32) -> Result<(), JobError> {
        let writes = self.job.load.mix.has(Dir::Write);
        if self.job.load.fsync_on_close && writes && self.error.is_none() {
            self.flush_alone(file);
        }
        self.detach(file)?;
        self.files.close(file)
    }

    /// An fsync with nothing else in flight. False when it failed. It belongs to the end of the run
    /// and not to the load, so that it is none of the syncs that are counted: as in fio.
    fn flush_alone(&mut self, file: u32) -> bool {
        let op = Op { kind: OpKind::Fsync, file, offset: 0, len: 0, at: 0, tag: Tag::PLAIN };
        let outcome = match self.engine.queue(0, &op) {
            Queued::Done(outcome) => outcome,
            Queued::Pending => self.wait_for_one(),
            Queued::Full => Outcome::err(11),
        };
        match outcome.get() {
            Ok(_) => true,
            Err(_) => {
                self.last_flush_failed(&op, outcome);
                false
            }
        }
    }

    /// The outcome of the only op in flight.
    fn wait_for_one(&mut self) -> Outcome {
        let mut done = Completions::with_capacity(1);
        loop {
            match self.engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done) {
                Err(e) => return Outcome::err(if e.errno == 0 { 5 } else { e.errno }),
                Ok(()) => {
                    if let Some((_, outcome)) = done.as_slice().first() {
                        return *outcome;
                    }
                }
            }
        }
    }
}
