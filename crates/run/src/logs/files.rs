//! The files of logs: how they are opened and written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_sys::file::{self, FileFacts, FileGuard, InodeType, Open, RowFile};
use fiord_sys::node::Device;
use fiord_types::{Bytes, Errno};

use super::channel::LogChannel;
use crate::error::{JobError, Stage};

/// An open log file.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    /// `None`: it will be opened when the `exec_prerun` of its job is over.
    file: Option<RowFile>,
    /// The file opens in append mode, and several jobs may write it.
    shared: bool,
    /// What identifies the open file.
    identity: Option<(Device, u64)>,
    /// The jobs that write it.
    pub(super) users: Vec<Arc<LogChannel>>,
    /// The file could not be written. No more rows are written.
    failed: bool,
}

/// The open log files of a run.
#[derive(Debug, Default)]
pub(super) struct LogFiles {
    files: Vec<LogFile>,
}

impl LogFiles {
    /// Adds a log, and opens it. Returns its number. `shared`: several jobs may append to it.
    pub(super) fn open(
        &mut self,
        path: &Path,
        shared: bool,
        plan: &Plan,
    ) -> Result<usize, JobError> {
        let number = self.add(path, shared);
        match self.open_added(number, plan)? {
            Some(known) => Ok(known),
            None => Ok(number),
        }
    }

    /// Adds a log that [`LogFiles::open_added`] opens later. Returns its number.
    pub(super) fn add(&mut self, path: &Path, shared: bool) -> usize {
        let same = |file: &LogFile| shared && file.shared && file.path == path;
        if let Some(known) = self.files.iter().position(same) {
            return known;
        }
        self.files.push(LogFile {
            path: path.to_owned(),
            file: None,
            shared,
            identity: None,
            users: Vec::new(),
            failed: false,
        });
        self.files.len() - 1
    }

    /// Opens a log that was added, at a time when others are being written.
    pub(super) fn open_late(&mut self, number: usize, plan: &Plan) -> Result<(), JobError> {
        let Some(known) = self.open_added(number, plan)? else { return Ok(()) };
        let other = self.files[known].path.display();
        let detail = format!(
            "{other} is the same file. To fix: write its path the same way in all jobs that share it"
        );
        Err(JobError::new(Stage::Log, Errno::EEXIST, detail).at(&self.files[number].path))
    }

    /// Opens a log that was added. Returns the number of another log that is the same file, if jobs share it.
    fn open_added(&mut self, number: usize, plan: &Plan) -> Result<Option<usize>, JobError> {
        let LogFile { ref path, ref file, shared, .. } = self.files[number];
        if file.is_some() {
            return Ok(None);
        }
        let how = Open::write_only().create(true).append(shared).mode(0o666);
        let opened =
            FileGuard::typed().open(how, path).map_err(|error| cannot_open(path, &error))?;
        let failed = |error: fiord_sys::Error| cannot_open(path, &error);
        let facts = file::facts_of(&opened.fd).map_err(failed)?;
        let regular = facts.kind == InodeType::Regular;
        let identity = identity(&facts);
        if let Some(job) = plan.jobs.iter().find(|job| is_target(job, identity)) {
            let detail = format!(
                "the log is a file of job `{}`. To fix: give the log another name",
                job.identity.name
            );
            return Err(JobError::new(Stage::Log, Errno::EINVAL, detail).at(path));
        }
        let same = |file: &LogFile| file.identity == Some(identity) && regular;
        if let Some(known) = self.files.iter().position(same) {
            let other = &self.files[known];
            if shared && other.shared {
                return Ok(Some(known));
            }
            let other = other.path.display();
            let detail = format!(
                "{other} is the same file. To fix: give each log a file of its own, or set per_job_logs=0 in all jobs \
                 that share it"
            );
            return Err(JobError::new(Stage::Log, Errno::EEXIST, detail).at(path));
        }
        if regular && !shared {
            file::truncate(&opened.fd, Bytes::ZERO).map_err(failed)?;
        }
        let rows = RowFile::new(File::from(opened.fd)).map_err(failed)?;
        let log = &mut self.files[number];
        log.file = Some(rows);
        log.identity = Some(identity);
        Ok(None)
    }

    pub(super) fn get(&mut self, number: usize) -> Option<&mut LogFile> {
        self.files.get_mut(number)
    }
}

impl LogFile {
    /// Writes whole rows: text, or compressed. If that fails, the jobs that write this log learn why, and the file ends
    /// with a whole row.
    pub(super) fn write(&mut self, rows: &[u8], text: bool) {
        let Some(file) = &mut self.file else { return };
        if self.failed || rows.is_empty() {
            return;
        }
        let written = if text { file.write_lines(rows) } else { file.write_part(rows) };
        let Err(error) = written else { return };
        self.failed = true;
        let error = cannot_write(&self.path, &error);
        self.users.iter().for_each(|user| user.fail(&error));
    }
}

/// What identifies a file: device and inode of a file; device and 0 of a device.
fn identity(facts: &FileFacts) -> (Device, u64) {
    facts.node.map_or((facts.device, facts.inode), |node| (node, 0))
}

fn is_target(job: &JobPlan, log: (Device, u64)) -> bool {
    let stored = job
        .target
        .files
        .iter()
        .filter(|file| matches!(file.kind, FileKind::Regular | FileKind::Block));
    stored.filter_map(|file| file::facts(&file.path).ok()).any(|facts| identity(&facts) == log)
}

fn cannot_open(path: &Path, error: &fiord_sys::Error) -> JobError {
    let fix = match error.errno {
        Errno::ENOENT => "create its directory, or use another name for the log",
        _ => "use a name for the log that can be created",
    };
    let detail = match error.said.as_deref().or(error.advice()) {
        Some(advice) => advice.to_owned(),
        None => format!("the log cannot be created. To fix: {fix}"),
    };
    JobError::new(Stage::Log, error.errno, detail).at(path)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> JobError {
    let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    let fix = match errno {
        Errno::ENOSPC | Errno::EDQUOT => {
            "free space on its disk, use log_avg_msec, or use a larger disk"
        }
        Errno::EFBIG => "raise the limit on file sizes (ulimit -f), or use log_avg_msec",
        _ => "use another disk for the log",
    };
    let detail = format!("the log ends here, and its rows are valid. To fix: {fix}");
    JobError::new(Stage::Log, errno, detail).at(path)
}
