//! Lays out one job after another on a separate thread, so that the conductor handles signals while a
//! device hangs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use fiord_sys::{clock, signal};
use fiord_types::{Errno, Nanos};

use super::jobthread::ByMessage;
use super::{Conductor, MAX_SLEEP, STUCK_AFTER};
use crate::error::{JobError, Stage};
use crate::events::{EventKind, LayoutWork};
use crate::files::layout;
use crate::files::layout::Done;
use crate::job::thread;
use crate::results::report;
use crate::shared::{Finished, Message, Run, send};

/// A thread that lays out the jobs whose indices it receives.
struct LayoutThread {
    jobs: Sender<usize>,
    thread: JoinHandle<()>,
}

impl LayoutThread {
    fn start(run: &Arc<Run>, sender: &Sender<Message>) -> Result<Self, JobError> {
        let (jobs, asked) = channel();
        let (run, sender) = (Arc::clone(run), sender.clone());
        let body = move || {
            // Only the conductor handles signals. If blocking them here fails, it reacts a moment later.
            let _ = signal::block_in_this_thread();
            for index in asked {
                let mut overseer = ByMessage { run: &run, index, sender: &sender };
                let shared = &run.jobs[index];
                shared.tid.store(thread::id(), Ordering::Relaxed);
                let result =
                    layout::prepare(&run.plan.jobs[index], &run.layout_locks, &mut overseer);
                shared.tid.store(0, Ordering::Relaxed);
                send(&sender, Message::LaidOut { result });
            }
        };
        let spawned = std::thread::Builder::new().name("layout".into()).spawn(body);
        let thread = spawned.map_err(|e| {
            let detail = "cannot create the layout thread. To fix: raise the limit on threads (ulimit -u, pids.max)";
            JobError::new(Stage::LayoutThread, Errno::of(&e), detail)
        })?;
        Ok(LayoutThread { jobs, thread })
    }
}

impl Conductor<'_> {
    /// Lays out the files of the jobs with `create_serialize`, one job after another.
    pub(super) fn lay_out(&mut self, receiver: &Receiver<Message>) {
        let mut thread = None;
        for index in 0..self.entries.len() {
            let serial = self.run.plan.jobs[index].target.layout.serialize;
            if !serial || self.entries[index].finished.is_some() {
                continue;
            }
            self.handle_interrupts();
            if self.run.is_cancelled() {
                return;
            }
            let result = match &thread {
                Some(thread) => self.lay_out_one(index, thread, receiver),
                None => LayoutThread::start(&self.run, &self.sender)
                    .and_then(|started| self.lay_out_one(index, thread.insert(started), receiver)),
            };
            match result {
                Ok(Done::Complete) => {}
                Ok(Done::Cancelled) => return,
                Err(error) => {
                    let finished = Finished { error: Some(error), ..Finished::default() };
                    self.job_ended(index, Box::new(finished));
                }
            }
        }
    }

    /// Reports how far the layout of a job is. Returns false if it writes nothing so far.
    fn layout_progress(&self, index: usize, elapsed: Nanos) -> bool {
        let Some((done, total)) = self.run.jobs[index].layout.so_far() else { return false };
        let job = report::name(&self.run.plan, index).into();
        let work = LayoutWork::Layout;
        self.events.send(EventKind::LayoutProgress { job, work, done, total, elapsed });
        true
    }

    fn lay_out_one(
        &mut self,
        index: usize,
        thread: &LayoutThread,
        receiver: &Receiver<Message>,
    ) -> Result<Done, JobError> {
        let failed = || {
            JobError::new(
                Stage::Layout,
                None,
                "the layout thread panicked: this is a bug, please report it",
            )
        };
        thread.jobs.send(index).map_err(|_| failed())?;
        self.laying_out = Some(index);
        let began = clock::monotonic();
        let mut due = self.options.progress.map(|_| began);
        let mut cancelled_at = None;
        loop {
            match receiver.recv_timeout(Duration::from_nanos(MAX_SLEEP)) {
                Ok(Message::LaidOut { result }) => {
                    self.laying_out = None;
                    return result;
                }
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if thread.thread.is_finished() {
                        return Err(failed());
                    }
                }
            }
            self.handle_interrupts();
            let now = clock::monotonic();
            if let (Some(at), Some(interval)) = (due, self.options.progress)
                && now >= at
                && self.layout_progress(index, Nanos(now - began))
            {
                due = Some(now + interval);
            }
            if self.run.is_cancelled() && now - *cancelled_at.get_or_insert(now) > STUCK_AFTER {
                self.abandon();
            }
            if self.abandoned {
                return Ok(Done::Cancelled);
            }
        }
    }
}
