//! What happens when an I/O fails: whether the job goes on, and its error message.

use std::path::Path;

use fiord_engine::{DeviceStatus, Op, OpKind, Outcome, WriteForm};
use fiord_plan::{Dir, EnginePlan, FileKind};

use super::super::loops::ops::{direction, recorded};
use super::JobState;
use super::housekeeping::{BUFFERS_LOST, EFAULT};
use crate::control::StopReason;
use crate::error::JobError;

impl JobState<'_> {
    /// Counts an I/O that failed. `explanation`: what the engine found wrong, if it was not the kernel
    /// or the device. True when the job goes on.
    #[cold]
    pub fn io_failed(&mut self, explanation: Option<String>, op: &Op, outcome: Outcome) -> bool {
        let errno = outcome.get().err().unwrap_or(0);
        let status = outcome.device_status();
        let dir = match op.kind {
            OpKind::Read => 0,
            _ => 1,
        };
        if op.kind == OpKind::Write && is_full(errno, status) && self.job.end.fill_device {
            // The expected end: the device is full.
            self.control.stop(StopReason::Runtime);
            return false;
        }
        match op.kind {
            OpKind::Read => self.failed[0] += 1,
            OpKind::Write => self.failed[1] += 1,
            OpKind::Trim => self.failed[2] += 1,
            _ => {}
        }
        if matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
            let failed = &mut self.recorder.dirs[recorded(direction(op)) as usize].failed_bytes;
            *failed = failed.saturating_add(u64::from(op.len));
        }
        // Errors of kinds that the job is not to survive are not counted, as in fio.
        let counts = self.job.reporting.continue_on_error[dir];
        let survives = counts && is_survivable(errno, status);
        let first = if survives { self.survived.is_none() } else { self.error.is_none() };
        let error = first.then(|| self.failure(explanation, op, outcome));
        if counts {
            self.recorder.error(if errno == 0 { EIO } else { errno });
        }
        let kept = if survives { &mut self.survived } else { &mut self.error };
        *kept = kept.take().or(error);
        survives
    }

    /// A flush at the end of the job failed. It ends the job whatever `continue_on_error` says: data
    /// that were reported as written may be lost.
    #[cold]
    pub fn last_flush_failed(&mut self, explanation: Option<String>, op: &Op, outcome: Outcome) {
        let error = self.failure(explanation, op, outcome);
        self.error.get_or_insert(error);
    }

    /// A hint about zones, where the first write of a job without them fails as a zoned device fails
    /// writes away from a write pointer.
    fn may_lack_zones(&self, op: &Op, errno: i32) -> Option<String> {
        let kind = self.job.target.files.get(op.file as usize)?.kind;
        let first = self.recorder.dirs[recorded(Dir::Write) as usize].ios == 0;
        (op.kind == OpKind::Write
            && matches!(errno, EIO | EREMOTEIO)
            && kind == FileKind::Block
            && self.job.load.zoned.is_none()
            && first)
            .then(|| zones_unknown(self.files.path(op.file)))
    }

    /// The error of a job that ends because this I/O failed.
    fn failure(&self, explanation: Option<String>, op: &Op, outcome: Outcome) -> JobError {
        let (errno, status) = (outcome.get().err().unwrap_or(0), outcome.device_status());
        let name = match op.kind {
            OpKind::Read => "read",
            OpKind::Write => match op.tag.form {
                WriteForm::Data => "write",
                WriteForm::Zeroes => "write zeroes",
                WriteForm::Uncorrectable => "write uncorrectable",
                WriteForm::Verify => "verify",
                WriteForm::Append => "zone append",
            },
            OpKind::Trim => "trim",
            OpKind::Fsync => "fsync",
            OpKind::Fdatasync => "fdatasync",
            OpKind::SyncFileRange(_) => "sync_file_range",
        };
        let detail = match &self.job.engine {
            EnginePlan::Mmap { .. } if errno == EIO => MAPPED.into(),
            _ if errno == EFAULT && self.job.process.memory.path().is_some() => BUFFERS_LOST.into(),
            EnginePlan::IoUringCmd(_) | EnginePlan::Sg(_) => command_detail(op, outcome),
            _ => io_detail(op, errno),
        };
        let detail = explanation.unwrap_or(detail);
        let detail = match self.may_lack_zones(op, errno) {
            Some(hint) if detail.is_empty() => hint,
            Some(hint) => format!("{detail}; {hint}"),
            None => detail,
        };
        let mut error = JobError::new(name, errno, detail);
        error.status = status;
        error.file = Some(self.files.path(op.file).to_path_buf());
        error.offset =
            matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim).then_some(op.offset);
        error
    }
}

/// What a write that fails at once says where the device may have zones of which the job knows nothing.
fn zones_unknown(path: &Path) -> String {
    format!(
        "fio: first I/O failed. If {} is a zoned block device, consider --zonemode=zbd",
        path.display()
    )
}

/// Whether a device or file system had no room: `ENOSPC` of `errno-base.h`, the same on every
/// architecture Linux runs on.
const fn is_full(errno: i32, status: Option<DeviceStatus>) -> bool {
    const ENOSPC: i32 = 28;
    match status {
        Some(status) => status.is_full(),
        None => errno == ENOSPC,
    }
}

/// `EIO` of `errno-base.h`, `EREMOTEIO` of `errno.h`.
const EIO: i32 = 5;
const EREMOTEIO: i32 = 121;

/// All that a mapping tells of a failed access.
const MAPPED: &str = "the page could not be had: the file became shorter, its file system or device \
                      is full, or the medium failed (dmesg says which)";

/// Whether a job may go on after it (`continue_on_error`): `EIO` and `EILSEQ` are about one place on
/// the medium, as are some statuses of devices; everything else would come again.
const fn is_survivable(errno: i32, status: Option<DeviceStatus>) -> bool {
    const EILSEQ: i32 = 84;
    match status {
        Some(status) => status.is_about_these_blocks(),
        None => matches!(errno, EIO | EILSEQ),
    }
}

/// What a person needs to know of a command that failed, beside its status.
fn command_detail(op: &Op, outcome: Outcome) -> String {
    match (outcome.device_status(), outcome.get()) {
        (Some(status), _) => status.advice().into(),
        (None, Err(1 | 13)) => {
            "the kernel lets only root send this command (CAP_SYS_ADMIN): run as root".into()
        }
        (None, Err(22)) => format!(
            "{} bytes are more than the driver takes in one command; write a smaller block size, or \
             nvme_split=1",
            op.len
        ),
        (None, Err(4)) => "the controller was reset while the command was under way (dmesg)".into(),
        _ => String::new(),
    }
}

/// What a person needs to know beside errno, file and offset.
fn io_detail(op: &Op, errno: i32) -> String {
    match errno {
        1 if op.tag.priority != 0 => {
            "a priority of the real-time class needs root (CAP_SYS_NICE): run as root, or set \
             cmdprio_class=2"
                .into()
        }
        0 => {
            format!("end of file: {} of its {} bytes were left to transfer", op.len, op.at + op.len)
        }
        22 => format!(
            "{} bytes; with direct=1 offset, length and buffer must be multiples of the device's logical block size",
            op.len
        ),
        27 => too_large(),
        28 => {
            "free space, or make `size` smaller; fill_device=1 makes this the expected end".into()
        }
        _ => String::new(),
    }
}

/// What to do about a file that grew too large: the limit of the process comes before that of the
/// file system.
fn too_large() -> String {
    match fiord_sys::limits::file_size() {
        Ok(limit) if limit.soft != u64::MAX => format!(
            "this process may write files of {} bytes at most (RLIMIT_FSIZE). To fix: raise the limit \
             (ulimit -f unlimited), or make `size` smaller",
            limit.soft
        ),
        _ => "the file system has no larger files. To fix: make `size` smaller".into(),
    }
}
