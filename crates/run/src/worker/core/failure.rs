//! Handles failed I/Os: decides whether the job continues, and creates the error message.

use std::path::Path;

use fiord_engine::{DeviceStatus, Op, OpKind, Outcome, Slot};
use fiord_plan::{FileKind, Tolerance};
use fiord_types::{Bytes, Dir, Errno, program};

use super::super::ops::direction;
use super::JobState;
use super::housekeeping::BUFFERS_LOST;
use crate::error::{JobError, Stage};
use crate::hook::Completed;
use crate::job::control::StopReason;

/// Maximum number of lines of `error_dump` of one job.
const MAX_DUMPED: u64 = 1000;

impl JobState<'_> {
    /// Counts an I/O that failed. `explanation`: the engine's message if the engine itself detected the error.
    /// True if the job continues.
    #[cold]
    pub(crate) fn io_failed(
        &mut self,
        explanation: Option<String>,
        op: &Op,
        outcome: Outcome,
    ) -> bool {
        let errno = outcome.get().err();
        let status = outcome.device_status();
        let full = op.kind == OpKind::Write && is_full(errno, status) && self.job.end.fill_device;
        if full || outcome == Outcome::ENDED {
            // The device is full, or the peer has ended the stream, which is the expected end.
            self.control.stop(StopReason::Runtime);
            return false;
        }
        if matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
            self.failed[direction(op)] += 1;
            let failed = &mut self.recorder.dirs[direction(op)].failed_bytes;
            *failed = failed.saturating_add(Bytes(op.len.into()));
        }
        // As in fio, only errors in directions that `continue_on_error` names are counted.
        let continues = &self.job.reporting.continue_on_error;
        let tolerance = if op.kind == OpKind::Read { &continues.reads } else { &continues.writes };
        let counts = tolerance.counts();
        let of_server = *tolerance == Tolerance::Medium && self.is_about_one_request(errno);
        let survives = of_server || is_survivable(tolerance, errno, status);
        if survives {
            self.dump(op, errno, status);
        }
        let first = if survives { self.survived.is_none() } else { self.error.is_none() };
        let error = first.then(|| self.failure(explanation, op, outcome));
        if counts {
            self.recorder.error(errno.unwrap_or(Errno::EIO));
        }
        let kept = if survives { &mut self.survived } else { &mut self.error };
        *kept = kept.take().or(error);
        survives
    }

    /// Whether a read of 0 bytes in this slot is complete, because the file ends there: with `create_on_open`, a job that
    /// also writes reads what exists. What `verify` reads back must exist.
    #[cold]
    pub(crate) fn ends_at_end_of_file(&self, slot: Slot, op: &Op) -> bool {
        let job = self.job;
        let grows = job.target.layout.on_open && job.load.mix.has(Dir::Write);
        let file = job.target.files.get(op.file.get());
        op.kind == OpKind::Read
            && grows
            && file.is_some_and(|file| file.kind == FileKind::Regular)
            && !self.hooks.is_extra(slot)
    }

    /// Counts an I/O that a server did not answer before the engine gave it up, and records how long it has waited: the
    /// latencies would otherwise leave out the longest ones.
    pub(crate) fn note_unanswered(&mut self, op: &Op, completed: &Completed) {
        let outcome = completed.outcome;
        let gave_up = outcome == Outcome::ENDED || outcome.get() == Err(Errno::ETIMEDOUT);
        if !gave_up || self.job.engine.endpoint().is_none() {
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        if matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
            self.recorder.gave_up(direction(op), completed.times);
        }
    }

    /// Number of I/Os and flushes of the measured part that a server did not answer.
    pub(crate) fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Whether an error of a server concerns one request, or one connection, which the next request makes again.
    fn is_about_one_request(&self, errno: Option<Errno>) -> bool {
        let lost =
            [Errno::ECONNRESET, Errno::ECONNABORTED, Errno::EPIPE, Errno::ETIMEDOUT, Errno::EPROTO];
        // fio reports EIO for all errors of `http`.
        self.job.engine.http().is_some()
            || self.job.engine.endpoint().is_some()
                && errno.is_some_and(|errno| lost.contains(&errno))
    }

    /// Prints an error that the job survives (`error_dump`), in the words of fio.
    fn dump(&mut self, op: &Op, errno: Option<Errno>, status: Option<DeviceStatus>) {
        let Some((dump, count)) = &mut self.error_dump else { return };
        *count += 1;
        if *count > MAX_DUMPED {
            return;
        }
        let cause = match (status, errno) {
            (Some(status), _) => status.to_string(),
            (None, errno) => errno.unwrap_or(Errno::EIO).text(),
        };
        let (offset, len) = (op.offset - u64::from(op.at), u64::from(op.len) + u64::from(op.at));
        let (path, stage) = (self.files.path(op.file).display(), Stage::from(op));
        let stage = stage.word();
        let end = match *count == MAX_DUMPED {
            true => "; further errors of this job are counted and not listed",
            false => "",
        };
        dump(format!(
            "io_u error on file {path}: {cause}: {stage} offset={offset}, buflen={len}{end}"
        ));
    }

    /// Records that a flush at the end of the job failed. This is an error even with `continue_on_error`, because
    /// data that were reported as written may be lost.
    #[cold]
    pub(crate) fn last_flush_failed(
        &mut self,
        explanation: Option<String>,
        op: &Op,
        outcome: Outcome,
    ) {
        let error = self.failure(explanation, op, outcome);
        self.error.get_or_insert(error);
    }

    /// A hint about zones if the first write of a job without zones fails like a write to a zoned device that is not
    /// at a write pointer.
    fn may_lack_zones(&self, op: &Op, errno: Option<Errno>) -> Option<String> {
        let kind = self.job.target.files.get(op.file.get())?.kind;
        let first = self.recorder.dirs[Dir::Write].ios == 0;
        (op.kind == OpKind::Write
            && matches!(errno, Some(Errno::EIO | Errno::EREMOTEIO))
            && kind == FileKind::Block
            && self.job.load.zoned.is_none()
            && first)
            .then(|| zones_unknown(self.files.path(op.file)))
    }

    /// Creates the error for a failed I/O.
    fn failure(&self, explanation: Option<String>, op: &Op, outcome: Outcome) -> JobError {
        let (errno, status) = (outcome.get().err(), outcome.device_status());
        if !self.job.engine.def().does_io {
            return JobError::new(Stage::Cycle, None, explanation.unwrap_or_default());
        }
        let detail = match self.job.engine.def().access {
            access if access.maps_files() && errno == Some(Errno::EIO) => MAPPED.into(),
            _ if errno == Some(Errno::EFAULT) && self.job.process.memory.path().is_some() => {
                BUFFERS_LOST.into()
            }
            access if access.sends_commands() => command_detail(op, outcome),
            _ => io_detail(op, errno),
        };
        let detail = explanation.unwrap_or(detail);
        let detail = match self.may_lack_zones(op, errno) {
            Some(hint) if detail.is_empty() => hint,
            Some(hint) => format!("{detail}; {hint}"),
            None => detail,
        };
        let call = self.job.engine.def().access.name_call();
        let mut error = JobError::new(call.map_or(Stage::from(op), Stage::from), errno, detail);
        error.status = status;
        error.file = Some(self.files.path(op.file).to_path_buf());
        error.offset =
            matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim).then_some(op.offset);
        // A name has no offset.
        error.offset = error.offset.filter(|_| call.is_none());
        error
    }
}

/// The hint for a job without zones on a device that may have zones. The text is that of fio.
fn zones_unknown(path: &Path) -> String {
    program::message(format_args!(
        "first I/O failed. If {} is a zoned block device, consider --zonemode=zbd",
        path.display()
    ))
}

/// Whether a device or file system is full.
fn is_full(errno: Option<Errno>, status: Option<DeviceStatus>) -> bool {
    match status {
        Some(status) => status.is_full(),
        None => errno == Some(Errno::ENOSPC),
    }
}

/// The message for a failed access to a mapping, which has no errno.
const MAPPED: &str = "the kernel could not provide the page: the file became shorter, its file system or \
                      device is full, or the medium failed (see dmesg)";

/// Whether a job may continue after an error (`continue_on_error`, `ignore_error`). `EIO`, `EILSEQ` and some device
/// statuses concern one location on the medium; any other error is likely to occur again.
fn is_survivable(
    tolerance: &Tolerance,
    errno: Option<Errno>,
    status: Option<DeviceStatus>,
) -> bool {
    match (tolerance, status) {
        (Tolerance::None, _) => false,
        (Tolerance::Medium, Some(status)) => status.is_about_these_blocks(),
        (Tolerance::Medium, None) => matches!(errno, Some(Errno::EIO | Errno::EILSEQ)),
        (Tolerance::Listed(list), status) => {
            let code = match status {
                Some(DeviceStatus::Nvme(status)) => Some(i32::from(status.type_and_code())),
                _ => None,
            };
            errno.map(Errno::raw).into_iter().chain(code).any(|number| list.contains(&number))
        }
    }
}

/// Explains a failed command, in addition to its status.
fn command_detail(op: &Op, outcome: Outcome) -> String {
    match (outcome.device_status(), outcome.get()) {
        (Some(status), _) => status.advice().into(),
        (None, Err(Errno::EPERM | Errno::EACCES)) => {
            "only root may send this command (CAP_SYS_ADMIN). To fix: run as root".into()
        }
        (None, Err(Errno::EINVAL)) => format!(
            "{} bytes are more than the driver accepts in one command. To fix: use a smaller block \
             size, or nvme_split=1",
            op.len
        ),
        (None, Err(Errno::EINTR)) => {
            "the controller was reset while the command was in flight (see dmesg)".into()
        }
        _ => String::new(),
    }
}

/// Explains a failed I/O, in addition to errno, file and offset.
fn io_detail(op: &Op, errno: Option<Errno>) -> String {
    match errno {
        Some(Errno::EPERM) if op.attributes.priority != 0 => {
            "a priority of the real-time class needs root (CAP_SYS_NICE). To fix: run as root, or set \
             cmdprio_class=2"
                .into()
        }
        None => {
            format!("end of file: {} of its {} bytes were left to transfer", op.len, op.at + op.len)
        }
        Some(Errno::EINVAL) => format!(
            "{} bytes; with direct=1 offset, length and buffer must be multiples of the device's logical block size",
            op.len
        ),
        Some(Errno::EFBIG) => too_large(),
        Some(Errno::ENOSPC) => {
            "free space, or make `size` smaller; fill_device=1 makes this the expected end".into()
        }
        _ => String::new(),
    }
}

/// The advice for a file that grew too large. Checks the limit of the process first, then assumes that of the
/// file system.
fn too_large() -> String {
    match fiord_sys::limits::file_size() {
        Some(limit) => format!(
            "this process may write files of {limit} bytes at most (RLIMIT_FSIZE). To fix: raise the limit \
             (ulimit -f unlimited), or make `size` smaller"
        ),
        None => "the file system does not support larger files. To fix: make `size` smaller".into(),
    }
}
