//! The life of a job's thread: layout (with `create_serialize=0`), commands, thread settings, the worker,
//! and removing files at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use fiord_engine::MachineClock;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::samples::WindowLimit;
use fiord_sys::shortage;
use fiord_types::{Bytes, Errno};

use crate::error::{JobError, Stage, failed};
use crate::events::CommandTime;
use crate::files::guard::guard;
use crate::files::layout;
use crate::files::layout::{Done, Overseer};
use crate::files::set::{Cached, FileSet};
use crate::job::command::Stop;
use crate::job::control::Phase;
use crate::job::thread::ThreadSettings;
use crate::job::{command, thread};
use crate::shared::{Finished, Message, Run, Shared, send};
use crate::verify::VerifyServices;
use crate::worker;
use crate::worker::RunServices;
use crate::worker_result::WorkerResult;

/// Stack size of a job's thread, bytes. Buffers and histograms are on the heap, so a thousand jobs fit.
const STACK: usize = 512 << 10;

/// Address space, bytes, that stays free for jobs in set-up and for the report if the address space is
/// limited.
const SPARE: u64 = 16 << 20;

/// Starts a job's thread. Its last message is always [`Message::Ended`].
pub(crate) fn spawn(
    run: &Arc<Run>,
    index: usize,
    sender: &Sender<Message>,
) -> Result<(), JobError> {
    let thread_run = Arc::clone(run);
    let thread_sender = sender.clone();
    let body = move || {
        let ended = EndedOnDrop { index, result: Some(Box::default()), sender: thread_sender };
        life(&thread_run, index, ended);
    };
    if shortage::exceeds_address_space(STACK as u64 + SPARE) {
        let detail = shortage::of_memory(STACK as u64 + SPARE);
        return Err(JobError::new(Stage::JobThread, Errno::ENOMEM, detail));
    }
    let builder = std::thread::Builder::new().stack_size(STACK);
    builder.spawn(body).map(drop).map_err(|e| {
        let detail = shortage::of_threads(STACK as u64);
        JobError::new(Stage::JobThread, Errno::of(&e), detail)
    })
}

/// Sends [`Message::Ended`] even if the thread panics, so the conductor never waits for a dead thread.
struct EndedOnDrop {
    index: usize,
    result: Option<Box<Finished>>,
    sender: Sender<Message>,
}

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        let mut result = self.result.take().unwrap_or_default();
        if std::thread::panicking() && result.error.is_none() {
            let detail = "the thread of this job panicked: this is a bug, please report it";
            result.error = Some(JobError::new(Stage::Job, None, detail));
        }
        send(&self.sender, Message::Ended { index: self.index, result });
    }
}

fn life(run: &Run, index: usize, mut ended: EndedOnDrop) {
    let shared = &run.jobs[index];
    let job = &run.plan.jobs[index];
    shared.tid.store(thread::id(), Ordering::Relaxed);
    shared.control.set_phase(Phase::SetUp);
    let mut finished = Finished::default();
    match before(run, index, &ended.sender) {
        Ok((_settings, clock)) if !shared.control.stopped() && !job.target.layout.only => {
            let (worker, cached) = work(run, index, clock, &ended.sender);
            finished.worker = Some(worker);
            finished.cached = cached;
            finished.error = after(run, index, &ended.sender).err();
        }
        Ok(_) => {}
        Err(error) => finished.error = Some(error),
    }
    shared.control.end_snapshots();
    ended.result = Some(Box::new(finished));
}

/// Runs the worker. Returns its result and, for files with `direct=1`, their pages in the page cache.
fn work(
    run: &Run,
    index: usize,
    clock: MachineClock,
    sender: &Sender<Message>,
) -> (Box<WorkerResult>, Vec<Cached>) {
    let Shared { control, live, .. } = &run.jobs[index];
    let job = &run.plan.jobs[index];
    let debug = run.debug.as_ref();
    let shortened = layout::shortened(job);
    let job = shortened.as_deref().unwrap_or(job);
    let mut files =
        FileSet::new(job).locked_by(&run.locks).zoned_by(&run.zones).simulated_by(&run.simulated);
    let bad_block = {
        let sender = sender.clone();
        Arc::new(move |what| send(&sender, Message::BadBlock { index, what }))
    };
    let error_dump = {
        let sender = sender.clone();
        Arc::new(move |what| send(&sender, Message::SurvivedError { what }))
    };
    let ready = || send(sender, Message::Ready);
    let warn = |what| send(sender, Message::Warning { index, what });
    let services = RunServices {
        log: run.logs.channel(index),
        ready: &ready,
        debug,
        error_dump,
        verify: VerifyServices {
            bad_block,
            warn: &warn,
            aux_path: &run.aux_path,
            maps: &run.verify_maps,
            extents: &run.verify_extents,
            journals: &run.journals,
            triggers: run.triggers,
            writes: &run.jobs[index].writes,
        },
        merges: &run.merges,
        iologs: &run.iologs,
        windows: WindowLimit::in_run_of(run.jobs.len()),
    };
    let mut worker = worker::run(job, clock, &mut files, control, live, &services);
    std::mem::take(&mut worker.hooks.warnings).into_iter().for_each(warn);
    // A power cut that the trigger causes must not hit a state that is written for the second time.
    let saves = !run.triggered.load(Ordering::Acquire);
    if let Some(state) = worker.hooks.verify_state.as_ref().filter(|_| saves)
        && let Err(error) = run.state_store().save(job, state)
    {
        send(sender, Message::Warning { index, what: error.to_string() });
    }
    if let Some(recovered) = worker.hooks.zones.map(|zones| zones.recovered).filter(|n| *n > 0) {
        let what = format!(
            "Write pointer move succeeded after {recovered} failed writes: the job continued at the \
             write pointers that the device reports (recover_zbd_write_error)"
        );
        send(sender, Message::Warning { index, what });
    }
    (worker, files.cached_under_direct())
}

/// Everything before the worker runs. Returns the guard of the thread settings and the job's clock.
fn before(
    run: &Run,
    index: usize,
    sender: &Sender<Message>,
) -> Result<(ThreadSettings, MachineClock), JobError> {
    let job = &run.plan.jobs[index];
    let control = &run.jobs[index].control;
    let clock = run.timebase.clock(job)?;
    if !job.target.layout.serialize {
        let mut overseer = ByMessage { run, index, sender };
        if layout::prepare(job, &run.layout_locks, &mut overseer)? == Done::Cancelled {
            return Ok((ThreadSettings::default(), clock));
        }
    }
    if job.target.layout.only {
        return Ok((ThreadSettings::default(), clock));
    }
    if let Some(line) = &job.start.prerun {
        let output = announce(run, index, sender, CommandTime::Prerun);
        let result = with_command(run, || {
            command::run(line, Stage::ExecPrerun, &output, &|| stop(run, control.stopped()))
        });
        result?;
        if control.stopped() {
            return Ok((ThreadSettings::default(), clock));
        }
        run.logs.open_late(index, &run.plan)?;
    }
    let settings = thread::prepare(&run.plan, job, &run.groups)?;
    if job.target.layout.pre_read {
        let counters = &run.jobs[index].pre_read;
        layout::pre_read(job, counters, &|| control.stopped() || run.is_cancelled())?;
    }
    Ok((settings, clock))
}

/// Everything after the worker has run: removes files, runs `exec_postrun`.
fn after(run: &Run, index: usize, sender: &Sender<Message>) -> Result<(), JobError> {
    let job = &run.plan.jobs[index];
    if job.target.unlink {
        unlink(job)?;
    }
    if let Some(line) = &job.start.postrun {
        let output = announce(run, index, sender, CommandTime::Postrun);
        // After an interrupted run the command may still clean up; a signal during the command stops it.
        let late = run.is_cancelled();
        let stopped = || stop(run, !late && run.is_cancelled());
        let result =
            with_command(run, || command::run(line, Stage::ExecPostrun, &output, &stopped));
        if let Err(error) = result {
            // The job's results are valid, so this is only a warning.
            send(sender, Message::Warning { index, what: error.to_string() });
        }
    }
    Ok(())
}

/// Runs `body` and counts it in [`Run::commands`] meanwhile.
fn with_command<T>(run: &Run, body: impl FnOnce() -> T) -> T {
    run.commands.fetch_add(1, Ordering::AcqRel);
    let result = body();
    run.commands.fetch_sub(1, Ordering::AcqRel);
    result
}

/// Whether a command may continue.
fn stop(run: &Run, stopped: bool) -> Stop {
    match run.abandoned.load(Ordering::Relaxed) {
        true => Stop::Now,
        false if stopped => Stop::Soon,
        false => Stop::No,
    }
}

fn announce(run: &Run, index: usize, sender: &Sender<Message>, when: CommandTime) -> PathBuf {
    let output = command::command_output(&run.aux_path, &run.plan.jobs[index].identity.name, when);
    send(sender, Message::Command { index, when, output: output.clone() });
    output
}

/// Removes a job's regular files and the names that it works on. Another job may already have removed a shared one.
fn unlink(job: &JobPlan) -> Result<(), JobError> {
    layout::names::remove(job)?;
    for plan in job.target.files.iter().filter(|plan| plan.kind == FileKind::Regular) {
        guard(job).remove(&plan.path).map_err(|e| failed(Stage::Unlink, plan, &e))?;
    }
    Ok(())
}

/// Reports the progress of a layout to the conductor by messages.
pub(crate) struct ByMessage<'a> {
    pub run: &'a Run,
    pub index: usize,
    pub sender: &'a Sender<Message>,
}

impl Overseer for ByMessage<'_> {
    fn cancelled(&mut self) -> bool {
        self.run.is_cancelled() || self.run.jobs[self.index].control.stopped()
    }
    fn laying_out(&mut self, files: usize, bytes: Bytes) {
        send(self.sender, Message::LayingOut { index: self.index, files, bytes });
    }
    fn will_write(&mut self, bytes: Bytes) {
        self.run.jobs[self.index].layout.will_write(bytes);
    }
    fn wrote(&mut self, bytes: Bytes) {
        self.run.jobs[self.index].layout.wrote(bytes);
    }
    fn warning(&mut self, what: &str) {
        send(self.sender, Message::Warning { index: self.index, what: what.to_owned() });
    }
}
