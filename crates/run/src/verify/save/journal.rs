//! Journals of writes (`verify_journal`). Jobs may share a journal. One thread writes it, in groups:
//! it collects the records of all jobs, writes them and makes them durable, and collects the next ones meanwhile.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fiord_formats::integrity::journal::{
    JOURNAL_MAGIC, JournalHeader, JournalRecord, JournalWriter, JournaledTarget,
};
use fiord_sys::file::{self, FileFacts, FileGuard, InodeType, Open};
use fiord_sys::node::Device;
use fiord_sys::{block, in_use};
use fiord_types::{Bytes, Errno};

use crate::error::{JobError, Stage};
use crate::files::kept::{FileKeeper, KeptFile};

/// How long records wait for others before they are written. Those that a job waits for do not wait.
const GATHER: Duration = Duration::from_millis(5);
/// Bytes of records that are written without waiting for others.
const ENOUGH: usize = 256 << 10;
/// Maximum size of the records that wait, in bytes. A job that adds more waits for the journal.
const MAX_PENDING: usize = 8 << 20;

/// The journals of a run, by device and inode of their files.
#[derive(Debug, Default)]
pub(crate) struct Journals {
    open: Mutex<HashMap<(Device, u64), Arc<Journal>>>,
    /// Those that another machine keeps, by their names there.
    kept: Mutex<HashMap<PathBuf, Arc<Journal>>>,
    /// Keeps all journals on another machine. `None`: they are files of this one.
    keeper: Option<Arc<dyn FileKeeper>>,
}

/// Where a journal is written.
#[derive(Debug)]
enum JournalPlace {
    /// A file or device of this machine.
    Here(File),
    /// Another machine, which survives a crash of this one.
    There(Arc<dyn FileKeeper>, KeptFile),
}

impl JournalPlace {
    /// Writes a group of records and waits until it is durable.
    fn write(&self, group: &[u8], at: u64) -> std::io::Result<()> {
        match self {
            JournalPlace::Here(file) => {
                file.write_all_at(group, at).and_then(|()| file.sync_data())
            }
            JournalPlace::There(keeper, file) => keeper.keep(file, Bytes(at), group),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Journal {
    shared: Arc<JournalState>,
    header: JournalHeader,
    thread: Option<JoinHandle<()>>,
}

/// What the jobs and the thread of a journal share.
#[derive(Debug)]
struct JournalState {
    path: PathBuf,
    pending: Mutex<Pending>,
    /// Wakes the thread.
    work: Condvar,
    /// Wakes jobs.
    progress: Condvar,
    /// Records that are durable, of those that were added.
    durable: AtomicU64,
}

/// Records that are not durable.
#[derive(Debug)]
struct Pending {
    writer: JournalWriter,
    /// Records that were added so far.
    added: u64,
    /// A job waits.
    urgent: bool,
    ended: bool,
    flushes: u64,
    failure: Option<JobError>,
}

/// Whether a file begins as a journal of any version, as that of an earlier run, which this run replaces.
fn is_journal(path: &Path) -> fiord_sys::Result<bool> {
    let file = File::from(Open::read_only().open(path)?);
    let mut start = [0; JOURNAL_MAGIC.len() - 1];
    match file.read_exact_at(&mut start, 0) {
        Ok(()) => Ok(JOURNAL_MAGIC.starts_with(&start)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(fiord_sys::Error::from_io("read", &error).at(path)),
    }
}

/// A place in a journal: the records that were added before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JournalMark(u64);

impl Journals {
    /// Journals that `keeper` keeps on another machine, or files of this one.
    pub(crate) fn kept_by(keeper: Option<Arc<dyn FileKeeper>>) -> Self {
        Journals { keeper, ..Journals::default() }
    }

    /// Begins the journal `path` on another machine, or returns the one that another job of the run has begun.
    fn begin_elsewhere(
        &self,
        path: &Path,
        header: &JournalHeader,
        keeper: &Arc<dyn FileKeeper>,
    ) -> Result<Arc<Journal>, JobError> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let refuse = |errno: Errno, why: &str| {
            let detail = format!("the coordinator could not create the journal: {why}");
            JobError::new(Stage::Verify, errno, detail).at(path)
        };
        if let Some(journal) = all.get(path) {
            return match journal.header.targets == header.targets {
                true => Ok(Arc::clone(journal)),
                false => Err(refuse(Errno::EINVAL, "it is the journal of other targets")),
            };
        }
        let place = JournalPlace::There(Arc::clone(keeper), KeptFile::Journal(path.to_path_buf()));
        let begun = place.write(&header.write(), 0);
        begun.map_err(|error| refuse(errno_of(&error), &Errno::explain(&error)))?;
        let journal = Arc::new(Journal::start(path, place, header.clone())?);
        all.insert(path.to_path_buf(), Arc::clone(&journal));
        Ok(journal)
    }

    /// Opens the journal at `path`, or returns the one that another job of the run has opened. Returns a warning, too,
    /// if the journal is on the disk of the target.
    pub(crate) fn open(
        &self,
        path: &Path,
        header: &JournalHeader,
    ) -> Result<(Arc<Journal>, Option<String>), JobError> {
        match &self.keeper {
            Some(keeper) => Ok((self.begin_elsewhere(path, header, keeper)?, None)),
            None => self.open_here(path, header),
        }
    }

    /// Opens a file or device of this machine as a journal.
    fn open_here(
        &self,
        path: &Path,
        header: &JournalHeader,
    ) -> Result<(Arc<Journal>, Option<String>), JobError> {
        let refuse = |errno: Errno, why: &str| cannot_create(path, errno, why);
        let failed = |error: fiord_sys::Error| refuse(error.errno, &error.to_string());
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match file::exists(path).map_err(failed)? {
            true => Some(file::facts(path).map_err(failed)?),
            false => None,
        };
        if let Some(journal) = found.and_then(|facts| all.get(&identity(&facts))) {
            return match journal.header.targets == header.targets {
                true => Ok((Arc::clone(journal), None)),
                false => Err(refuse(Errno::EINVAL, "it is the journal of other targets")),
            };
        }
        let is_device = found.is_some_and(|facts| facts.kind == InodeType::Block);
        let targets = || header.targets.iter().filter_map(JournaledTarget::known_path);
        if let Some(facts) = &found {
            check_existing(path, facts, targets())?;
        }
        let how = Open::write_only().create(!is_device).exclusive(is_device).mode(0o666);
        // A device without a user may hold a journal: it is checked above, and opened exclusively.
        let guard = if is_device { FileGuard::target() } else { FileGuard::typed() };
        let opened = guard.open(how, path).map_err(failed)?;
        let identity = identity(&file::facts_of(&opened.fd).map_err(failed)?);
        if !is_device {
            file::truncate(&opened.fd, Bytes::ZERO).map_err(failed)?;
        }
        let file = File::from(opened.fd);
        let start = file.write_all_at(&header.write(), 0).and_then(|()| file.sync_all());
        if opened.created {
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = file::open_directory(directory.unwrap_or(Path::new(".")));
            // The new name must survive, too. Where this is not possible, a crash may remove it.
            let _ = directory.and_then(file::fsync);
        }
        start.map_err(|error| refuse(errno_of(&error), &error.to_string()))?;
        let warning = targets().find(|target| is_on_disk_of(target, path)).map(|target| {
            format!(
                "the journal {} is on the disk of its target {}: a power cut can damage both, so the check may miss \
                 losses. To fix: set verify_journal to a file on another disk",
                path.display(),
                target.display()
            )
        });
        let journal = Arc::new(Journal::start(path, JournalPlace::Here(file), header.clone())?);
        all.insert(identity, Arc::clone(&journal));
        Ok((journal, warning))
    }
}

fn cannot_create(path: &Path, errno: Errno, why: &str) -> JobError {
    let detail = format!(
        "could not create the journal: {why}. To fix: set verify_journal to a file that can be created, or to an \
         unused block device, on a disk other than that of the target"
    );
    JobError::new(Stage::Verify, errno, detail).at(path)
}

/// Refuses to overwrite an existing file that is a target, is in use, or holds something other than a journal.
fn check_existing<'a>(
    path: &Path,
    facts: &FileFacts,
    mut targets: impl Iterator<Item = &'a Path>,
) -> Result<(), JobError> {
    let refuse = |errno: Errno, why: &str| Err(cannot_create(path, errno, why));
    let failed = |error: fiord_sys::Error| cannot_create(path, error.errno, &error.to_string());
    let is_device = facts.kind == InodeType::Block;
    if !is_device && facts.kind != InodeType::Regular {
        return refuse(Errno::EINVAL, "it is neither a regular file nor a block device");
    }
    if targets.any(|target| is_same_file(target, path)) {
        return refuse(Errno::EINVAL, "it is the target of the job");
    }
    if is_device && let Some(user) = in_use::user(path).map_err(failed)? {
        return refuse(Errno::EBUSY, &user.to_string());
    }
    if !is_device && facts.size > Bytes::ZERO && !is_journal(path).map_err(failed)? {
        let why = "it exists and is not a journal, so its contents would be lost";
        return refuse(Errno::EEXIST, why);
    }
    Ok(())
}

impl Journal {
    fn start(path: &Path, place: JournalPlace, header: JournalHeader) -> Result<Self, JobError> {
        let shared = Arc::new(JournalState {
            path: path.to_owned(),
            pending: Mutex::new(Pending {
                writer: JournalWriter::new(header.run),
                added: 0,
                urgent: false,
                ended: false,
                flushes: 0,
                failure: None,
            }),
            work: Condvar::new(),
            progress: Condvar::new(),
            durable: AtomicU64::new(0),
        });
        let (state, start) = (Arc::clone(&shared), header.length());
        let thread = std::thread::Builder::new().name("fiord-journal".into());
        let thread = thread.spawn(move || state.write_groups(&place, start)).map_err(|error| {
            let detail = "cannot create the thread of the journal. To fix: raise the limit on threads (ulimit -u, \
                          pids.max)";
            JobError::new(Stage::Verify, errno_of(&error), detail).at(path)
        })?;
        Ok(Journal { shared, header, thread: Some(thread) })
    }

    /// Adds records. They become durable soon.
    #[inline]
    pub(crate) fn add(&self, add: impl FnOnce(&mut JournalWriter)) -> JournalMark {
        let mut pending = self.shared.lock();
        add(&mut pending.writer);
        pending.added += 1;
        let mark = JournalMark(pending.added);
        if pending.writer.pending_bytes() >= ENOUGH && !pending.urgent {
            pending.urgent = true;
            self.shared.work.notify_one();
        }
        mark
    }

    /// Adds the issue of a flush of a target, by its index. Returns the number of the flush.
    pub(crate) fn flush_issued(&self, target: u16) -> u64 {
        let mut pending = self.shared.lock();
        let flush = pending.flushes;
        pending.flushes += 1;
        pending.writer.add(JournalRecord::FlushIssued { flush, target });
        pending.added += 1;
        flush
    }

    /// Whether the records before a mark are durable. Does not wait.
    #[inline]
    pub(crate) fn is_durable(&self, mark: JournalMark) -> bool {
        self.shared.durable.load(Ordering::Acquire) >= mark.0
    }

    /// Waits until the records before a mark are durable.
    ///
    /// # Errors
    /// The journal could not be written.
    pub(crate) fn wait_durable(&self, mark: JournalMark) -> Result<(), JobError> {
        self.shared.wait(|pending| pending.durable >= mark.0)
    }

    /// Waits until the journal has room for more records.
    ///
    /// # Errors
    /// The journal could not be written.
    #[inline]
    pub(crate) fn make_room(&self) -> Result<(), JobError> {
        {
            let pending = self.shared.lock();
            if pending.failure.is_none() && pending.writer.pending_bytes() < MAX_PENDING {
                return Ok(());
            }
        }
        self.shared.wait(|progress| progress.pending_bytes < MAX_PENDING / 2)
    }

    /// Makes all records durable, if that is possible.
    pub(crate) fn sync(&self) {
        let added = self.shared.lock().added;
        // A journal without its end is valid.
        let _ = self.wait_durable(JournalMark(added));
    }
}

/// The thread writes the last records before it ends.
impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How far the thread is.
struct JournalProgress {
    durable: u64,
    pending_bytes: usize,
}

impl JournalState {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the thread.
    fn wait(&self, done: impl Fn(&JournalProgress) -> bool) -> Result<(), JobError> {
        let mut pending = self.lock();
        loop {
            if let Some(failure) = &pending.failure {
                return Err(failure.clone());
            }
            let durable = self.durable.load(Ordering::Acquire);
            let pending_bytes = pending.writer.pending_bytes();
            if done(&JournalProgress { durable, pending_bytes }) {
                return Ok(());
            }
            if !pending.urgent {
                pending.urgent = true;
                self.work.notify_one();
            }
            pending = self.progress.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The thread: writes groups of records from `start` of the file until the run ends or the journal cannot be written.
    fn write_groups(&self, place: &JournalPlace, start: Bytes) {
        let mut at = start.0;
        let mut group = Vec::new();
        let mut pending = self.lock();
        loop {
            while !pending.urgent && !pending.ended {
                let waited = self.work.wait_timeout(pending, GATHER);
                let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                pending = next;
                if timeout.timed_out() && pending.writer.pending_bytes() > 0 {
                    break;
                }
            }
            pending.urgent = false;
            // A crash may damage the block that is written. So each is durable before the next one is written.
            while pending.writer.take_block(&mut group) {
                let all = pending.writer.pending_bytes() == 0;
                let added = pending.added;
                drop(pending);
                let written = place.write(&group, at);
                at += group.len() as u64;
                group.clear();
                pending = self.lock();
                if let Err(error) = written {
                    pending.failure = Some(self.failure(&error));
                    self.progress.notify_all();
                    return;
                }
                if all {
                    self.durable.store(added, Ordering::Release);
                    self.progress.notify_all();
                    break;
                }
            }
            if pending.ended && pending.writer.pending_bytes() == 0 {
                return;
            }
        }
    }

    fn failure(&self, error: &std::io::Error) -> JobError {
        let errno = errno_of(error);
        if error.raw_os_error().is_none() {
            // The words of the machine that keeps it.
            let detail = format!(
                "could not write the journal: {error}. No further write was issued, and the journal is valid up to here"
            );
            return JobError::new(Stage::Verify, errno, detail).at(&self.path);
        }
        let fix = match errno {
            Errno::ENOSPC | Errno::EDQUOT => "free space on its disk, or use a larger one",
            Errno::EFBIG => "raise the limit on file sizes (ulimit -f)",
            _ => "use another disk for verify_journal",
        };
        let detail = format!(
            "could not write the journal: {errno}. No further write was issued, and the journal is valid up to here. \
             To fix: {fix}"
        );
        JobError::new(Stage::Verify, errno, detail).at(&self.path)
    }
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Device and inode of a file; device and 0 of a device.
fn identity(facts: &FileFacts) -> (Device, u64) {
    facts.node.map_or((facts.device, facts.inode), |node| (node, 0))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| file::facts(path).ok().map(|facts| identity(&facts));
    identity(a).is_some_and(|one| Some(one) == identity(b))
}

/// Whether a file or device lies on the disk of another one.
fn is_on_disk_of(target: &Path, journal: &Path) -> bool {
    let disk = |path: &Path| {
        let facts = file::facts(path).ok()?;
        let device = match in_use::storage(path) {
            Ok(Some(storage)) => storage.device,
            _ => facts.device,
        };
        Some((block::whole_disk_path(device), device))
    };
    match (disk(target), disk(journal)) {
        (Some((Some(a), _)), Some((Some(b), _))) => a == b,
        (Some((None, a)), Some((None, b))) => a == b,
        _ => false,
    }
}
