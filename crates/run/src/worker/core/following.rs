//! Tells the hooks how ops ended, and handles their answers.

use fiord_engine::{FreeSlot, Op, Outcome, Slot};

use super::JobState;
use crate::error::JobError;
use crate::hook::Completed;
use crate::job::control::StopReason;

impl JobState<'_> {
    /// Handles the answers of hooks that failed or hold the slot of an op. Returns the hook that holds it.
    #[cold]
    #[inline(never)]
    pub(crate) fn handle_answers(&mut self, slot: Slot) -> Option<usize> {
        if let Some(error) = self.hooks.take_failure() {
            self.hook_failed(slot, error);
        }
        if let Some((error, ends)) = self.hooks.take_survived() {
            self.recorder.error(error.reported_errno());
            let error = self.with_file(slot, error);
            self.survived.get_or_insert(error);
            if ends {
                self.control.stop(StopReason::Runtime);
            }
        }
        self.hooks.take_holder()
    }

    /// Counts an op that failed, as [`JobState::io_failed`], and tells the hooks. True when the job continues.
    #[cold]
    pub(crate) fn follow_failure(
        &mut self,
        explanation: Option<String>,
        slot: Slot,
        op: &Op,
        completed: &Completed,
    ) -> bool {
        self.hooks.completed(slot, &[], completed, &mut self.recorder);
        let failure = self.hooks.take_failure();
        // The hooks do not need the bytes of a failed I/O.
        self.hooks.take_holder();
        self.note_unanswered(op, completed);
        let had_error = self.error.is_some();
        let survives = self.io_failed(explanation, op, completed.outcome);
        let explained = self.hooks.explain();
        if let Some(error) = self.error.as_mut().filter(|_| !had_error) {
            if let Some(text) = explained {
                let between = if error.detail.is_empty() { "" } else { "; " };
                error.detail = format!("{}{between}{text}", error.detail);
            }
            return survives;
        }
        match failure {
            None => survives,
            Some(error) => {
                self.hook_failed(slot, error);
                false
            }
        }
    }

    /// Has a hook carry out the op of a slot instead of the engine. `None`: no hook does.
    pub(crate) fn carry_out(&mut self, slot: Slot) -> Option<Outcome> {
        Some(match self.hooks.carry_out(slot)? {
            Ok(()) => Outcome::ok(0),
            Err(error) => {
                let errno = error.reported_errno();
                self.error.get_or_insert(error);
                Outcome::err(errno)
            }
        })
    }

    /// A slot in the place of one that a hook holds. Waits until there is one.
    pub(crate) fn another_slot(&mut self) -> FreeSlot {
        loop {
            if let Some(slot) = self.hooks.spare_slot().or_else(|| self.released_slot()) {
                return slot;
            }
            self.hooks.wait();
        }
    }

    /// Waits until hooks hold no slots.
    pub(crate) fn reclaim_held_slots(&mut self) {
        while self.hooks.held() > 0 {
            match self.released_slot() {
                Some(slot) => self.hooks.keep(slot),
                None => self.hooks.wait(),
            }
        }
    }

    /// A slot that a hook has released. Handles the answer of the hook to its op.
    pub(crate) fn released_slot(&mut self) -> Option<FreeSlot> {
        let (slot, is_answered) = self.hooks.released()?;
        if is_answered {
            self.handle_answers(slot.index());
        }
        Some(slot)
    }

    /// All slots except the one that the loop uses, when the hooks have released theirs.
    pub(crate) fn take_all_slots(&mut self) -> Vec<FreeSlot> {
        self.reclaim_held_slots();
        self.hooks.take_spare()
    }

    /// Keeps the error of a hook, with the file of its op.
    #[cold]
    fn hook_failed(&mut self, slot: Slot, error: JobError) {
        let error = self.with_file(slot, error);
        self.error.get_or_insert(error);
    }

    /// Adds the file of the op of a slot.
    fn with_file(&self, slot: Slot, mut error: JobError) -> JobError {
        if error.file.is_none()
            && let Some(op) = self.hooks.op(slot)
        {
            error.file = Some(self.files.path(op.file).to_path_buf());
        }
        error
    }
}
