//! Files that the coordinator keeps for its hosts, so that they survive a crash of a host: the journal `x` of the host `n1` is
//! `x.n1`, and its verify states are `n1-JOB-INDEX-verify.state` in `--aux-path`, as in fio.
//!
//! A host names the files, and the coordinator need not trust it. So only names that the jobs themselves give to such files
//! become paths.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fiord_fabric::conductor::{KeptPart, RunOrder};
use fiord_fabric::frame::MAX_BODY;
use fiord_fabric::message::KeptName;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{VERIFY_JOURNAL, VERIFY_STATE_LOAD};
use fiord_job::spec::JobSpec;
use fiord_sys::file::{self, FileGuard};
use fiord_types::{Bytes, Errno, HostIndex};

use super::jobs_of;

/// What follows the name and the number of a job in the name of a state.
const STATE_END: &str = "-verify.state";

/// The files that hosts write at the coordinator during a run.
#[derive(Debug)]
pub struct KeptFiles<'a> {
    order: &'a RunOrder,
    aux_path: PathBuf,
    jobs: HashMap<HostIndex, Vec<JobSpec>>,
    open: HashMap<(HostIndex, KeptName), File>,
}

/// Why a part of a file is not on the disk. The host shows it to the user.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The jobs have no such file.
    #[error("the coordinator does not keep {name:?}: the jobs that it sent have no such file")]
    Unknown {
        /// The name that the host gave.
        name: String,
    },
    #[error(
        "two hosts are called {name:?}, so the coordinator cannot keep their files apart. To fix: name each host once"
    )]
    Ambiguous { name: String },
    /// The journal is to be a device.
    #[error(
        "the coordinator keeps journals in files, and {} is a device there. To fix: set verify_journal to the name of a file",
        path.display()
    )]
    Device { path: PathBuf },
    /// The host sent data of a file that it had not announced.
    #[error("the host sent data of {} before it announced the file", path.display())]
    Disorder { path: PathBuf },
    /// The file cannot be written.
    #[error("the coordinator could not write {}: {}. To fix: free space there, or use another directory", path.display(), Errno::explain(.source))]
    Write { path: PathBuf, source: io::Error },
}

impl<'a> KeptFiles<'a> {
    /// Prepares for the files of a run. `aux_path`: the directory of the verify states.
    #[must_use]
    pub fn of(order: &'a RunOrder, aux_path: Option<&str>) -> Self {
        let aux_path = PathBuf::from(aux_path.unwrap_or_default());
        KeptFiles { order, aux_path, jobs: HashMap::new(), open: HashMap::new() }
    }

    /// Writes a part of a file and makes it durable.
    ///
    /// # Errors
    /// The jobs have no such file, or it cannot be written.
    pub fn keep(&mut self, part: &KeptPart) -> Result<(), KeepError> {
        let path = self.path(part.host, &part.file)?;
        let failed = |source: io::Error| KeepError::Write { path: path.clone(), source };
        let key = (part.host, part.file.clone());
        if part.offset == Bytes::ZERO {
            let begun = begin(&path).map_err(failed)?;
            self.open.insert(key.clone(), begun);
        }
        let Some(file) = self.open.get(&key) else { return Err(KeepError::Disorder { path }) };
        let written = file.write_all_at(&part.bytes, part.offset.0);
        written.and_then(|()| file.sync_data()).map_err(failed)?;
        if matches!(part.file, KeptName::State(_)) {
            self.open.remove(&key);
        }
        Ok(())
    }

    /// The path of a file of a host, if its jobs have such a file.
    fn path(&mut self, host: HostIndex, file: &KeptName) -> Result<PathBuf, KeepError> {
        let order = self.order;
        let name = order.hosts.get(host.get()).map_or("", |host| &host.name);
        if order.hosts.iter().filter(|other| other.name == name).count() > 1 {
            return Err(KeepError::Ambiguous { name: name.to_owned() });
        }
        let jobs = self.jobs.entry(host).or_insert_with(|| jobs_of(order, host));
        match file {
            KeptName::State(file) => {
                let known = jobs.iter().find_map(|job| state_of(job, file));
                let rest = known.ok_or_else(|| KeepError::Unknown { name: file.clone() })?;
                Ok(self.aux_path.join(format!("{}-{rest}", in_path(name))))
            }
            KeptName::Journal(file) => {
                let is_journal =
                    |job: &JobSpec| job.get(VERIFY_JOURNAL).is_some_and(|named| named == *file);
                if !jobs.iter().any(is_journal) {
                    return Err(KeepError::Unknown { name: file.clone() });
                }
                let named = Path::new(file);
                if std::fs::metadata(named).is_ok_and(|found| !found.is_file()) {
                    return Err(KeepError::Device { path: named.to_path_buf() });
                }
                Ok(journal_of(named, name))
            }
        }
    }
}

/// The file at the coordinator that keeps the journal of a host. `journal`: the value of `verify_journal`.
#[must_use]
pub fn journal_of(journal: &Path, host: &str) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(format!(".{}", in_path(host)));
    name.into()
}

/// Creates an empty file, whose name is durable.
fn begin(path: &Path) -> io::Result<File> {
    let created = FileGuard::generated().replace(path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = file::open_directory(directory.unwrap_or(Path::new(".")));
    // Where this is not possible, a crash of the coordinator may remove the name.
    let _ = directory.and_then(file::fsync);
    Ok(created)
}

/// The name of a host as a part of a file name. It can be the path of a Unix socket.
fn in_path(host: &str) -> String {
    match host {
        "" => "localhost".to_owned(),
        host => host.replace('/', "_"),
    }
}

/// The part of the name of a state that follows the host: `JOB-INDEX-verify.state`. `None`: the job has no state with
/// this name.
fn state_of<'a>(job: &JobSpec, file: &'a str) -> Option<&'a str> {
    let behind = file.strip_prefix("local-")?;
    let index = behind.strip_prefix(&job.name.replace('/', "."))?.strip_prefix('-')?;
    let digits = index.strip_suffix(STATE_END)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some(behind)
}

/// The verify states of a host that its jobs may load: the names without hosts, and the contents.
///
/// # Errors
/// A state cannot be read, or is too long for a message.
pub(super) fn states(
    host: &str,
    jobs: &[JobSpec],
    aux_path: Option<&str>,
) -> Result<Vec<(String, Vec<u8>)>, Diagnostic> {
    if !jobs.iter().any(|job| job.get(VERIFY_STATE_LOAD)) {
        return Ok(Vec::new());
    }
    let directory = Path::new(aux_path.filter(|path| !path.is_empty()).unwrap_or("."));
    let start = format!("{}-", in_path(host));
    let mut states = Vec::new();
    // A host whose state is missing says so.
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(&start) else { continue };
        let local = format!("local-{rest}");
        if !jobs.iter().any(|job| state_of(job, &local).is_some()) {
            continue;
        }
        let path = entry.path();
        let wrong = |why: String| {
            let what = format!("the state `{}` cannot be used: {why}", path.display());
            Diagnostic::error(what, None)
                .help("To fix: leave out `verify_state_load` to verify everything")
        };
        let state = std::fs::read(&path).map_err(|error| wrong(Errno::explain(&error)))?;
        if state.len() > MAX_BODY / 2 {
            return Err(wrong(format!("{} bytes are too many to send to a host", state.len())));
        }
        states.push((local, state));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use fiord_fabric::conductor::HostOrder;
    use fiord_fabric::message::{JobOrder, KeepNumber};

    use super::*;

    fn order(names: &[&str], arguments: &[&str]) -> RunOrder {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let job = JobOrder { arguments, ..JobOrder::default() };
        let host = |name: &&str| HostOrder {
            name: (*name).to_owned(),
            job: job.clone(),
            ..HostOrder::default()
        };
        RunOrder { hosts: names.iter().map(host).collect(), ..RunOrder::default() }
    }

    fn part(file: KeptName, offset: u64, bytes: &[u8]) -> KeptPart {
        let (host, number) = (HostIndex(0), KeepNumber(1));
        KeptPart { host, file, offset: Bytes(offset), number, bytes: bytes.to_vec() }
    }

    #[test]
    fn only_files_of_the_jobs_are_kept() {
        let directory = std::env::temp_dir().join(format!("fiord-kept-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let journal = directory.join("j").display().to_string();
        let named = format!("--verify_journal={journal}");
        let order = order(&["n/1"], &["--name=a/b", "--size=1m", &named]);
        let mut kept = KeptFiles::of(&order, directory.to_str());
        let state = |name: &str| KeptName::State(name.to_owned());
        kept.keep(&part(state("local-a.b-0-verify.state"), 0, b"old")).unwrap();
        kept.keep(&part(state("local-a.b-0-verify.state"), 0, b"xy")).unwrap();
        assert_eq!(std::fs::read(directory.join("n_1-a.b-0-verify.state")).unwrap(), b"xy");
        let own = KeptName::Journal(journal.clone());
        let early = kept.keep(&part(own.clone(), 3, b"def")).unwrap_err();
        assert!(matches!(early, KeepError::Disorder { .. }), "{early}");
        kept.keep(&part(own.clone(), 0, b"abc")).unwrap();
        kept.keep(&part(own, 3, b"def")).unwrap();
        assert_eq!(std::fs::read(format!("{journal}.n_1")).unwrap(), b"abcdef");
        let names = [
            "local-c-0-verify.state",
            "local-a.b-x-verify.state",
            "local-a.b-/../../etc/passwd-verify.state",
            "/etc/passwd",
        ];
        for name in names {
            let wrong = kept.keep(&part(state(name), 0, b"x")).unwrap_err();
            assert!(matches!(wrong, KeepError::Unknown { .. }), "{name}: {wrong}");
        }
        let other = KeptName::Journal("/etc/passwd".to_owned());
        let wrong = kept.keep(&part(other, 0, b"x")).unwrap_err();
        assert!(matches!(wrong, KeepError::Unknown { .. }), "{wrong}");

        let jobs = jobs_of(&order, HostIndex(0));
        assert_eq!(states("n/1", &jobs, directory.to_str()), Ok(Vec::new()));
        let order = self::order(&["n/1"], &["--name=a/b", "--size=1m", "--verify_state_load=1"]);
        let jobs = jobs_of(&order, HostIndex(0));
        let found = states("n/1", &jobs, directory.to_str()).unwrap();
        assert_eq!(found, [("local-a.b-0-verify.state".to_owned(), b"xy".to_vec())]);
        assert_eq!(states("n2", &jobs, directory.to_str()), Ok(Vec::new()));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn hosts_with_one_name_are_not_mixed_up() {
        let order = order(&["n", "n"], &["--name=a", "--size=1m"]);
        let state = KeptName::State("local-a-0-verify.state".to_owned());
        let wrong = KeptFiles::of(&order, None).keep(&part(state, 0, b"x")).unwrap_err();
        assert!(wrong.to_string().contains("To fix: name each host once"), "{wrong}");
    }
}
