//! Files with the logs of the hosts. The log `x_bw.1.log` of the host `n1` becomes `x_bw.1.log.n1`, as in fio.
//!
//! A host names the logs that it sends, and the coordinator need not trust it. So only names that the jobs themselves give
//! to logs become files.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use fiord_fabric::conductor::{HostOrder, RunOrder};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::handle::Opt;
use fiord_job::option::table::{WRITE_BW_LOG, WRITE_HIST_LOG, WRITE_IOPS_LOG, WRITE_LAT_LOG};
use fiord_plan::{ExpectedLog, expected_logs};
use fiord_sys::file::{FileGuard, RowFile};
use fiord_types::{Bytes, Errno, HostIndex};

use super::jobs_of;

/// The logs that arrive from the hosts of a run.
#[derive(Debug)]
pub struct FetchedLogs<'a> {
    order: &'a RunOrder,
    /// The logs of a host, by the names that its jobs give them.
    expected: HashMap<HostIndex, HashMap<String, AwaitedLog>>,
    /// The files of logs that are not complete. `None`: the log has failed, and the rest of it is ignored.
    open: HashMap<(HostIndex, String), Option<LogFile>>,
}

/// A log that a host sends.
#[derive(Debug, Clone, Copy)]
struct AwaitedLog {
    /// Every run without errors has it.
    is_certain: bool,
    has_arrived: bool,
}

#[derive(Debug)]
struct LogFile {
    file: RowFile,
    path: PathBuf,
    /// Bytes so far.
    length: Bytes,
}

/// Why a log of a host is not, or not completely, in a file here.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The jobs have no such log.
    #[error("host {host} sent a log that its jobs do not write: {name:?}; it was ignored")]
    Unknown {
        host: String,
        /// The name that it gave.
        name: String,
    },
    /// The host ended without an error, but left a log out.
    #[error(
        "host {host} did not send its log {name:?}, or not all of it. To fix: look for it on that host"
    )]
    Missing {
        host: String,
        /// Name of the log on the host.
        name: String,
    },
    /// A part of the log is missing.
    #[error("host {host} sent an incomplete log; {} ends early", path.display())]
    Gap {
        host: String,
        /// The file here.
        path: PathBuf,
    },
    /// The file here cannot be written.
    #[error("cannot write the log of host {host} to {}: {}", path.display(), Errno::explain(.source))]
    Write {
        host: String,
        /// The file here.
        path: PathBuf,
        source: io::Error,
    },
}

impl<'a> FetchedLogs<'a> {
    /// Prepares for the logs of a run.
    #[must_use]
    pub fn of(order: &'a RunOrder) -> Self {
        FetchedLogs { order, expected: HashMap::new(), open: HashMap::new() }
    }

    /// Writes a part of a log. After an error, the rest of the log is ignored.
    ///
    /// # Errors
    /// The name is not that of a log, a part is missing, or the file cannot be written.
    pub fn part(
        &mut self,
        host: HostIndex,
        name: &str,
        offset: Bytes,
        bytes: &[u8],
        last: bool,
    ) -> Result<(), FetchError> {
        let key = (host, name.to_owned());
        let mut log = match self.open.remove(&key) {
            Some(None) => {
                self.open.insert(key, None);
                return Ok(());
            }
            Some(Some(log)) => log,
            None => match self.create(host, name) {
                Ok(log) => log,
                Err(error) => {
                    self.open.insert(key, None);
                    return Err(error);
                }
            },
        };
        let written = log.append(offset, bytes, last, self.name(host));
        match &written {
            Ok(()) if last => {
                if let Some(log) = self.expected(host).get_mut(&key.1) {
                    log.has_arrived = true;
                }
                None
            }
            Ok(()) => self.open.insert(key, Some(log)),
            Err(_) => self.open.insert(key, None),
        };
        written
    }

    /// The logs that a host should have sent, and did not. The host has ended without an error.
    pub fn missing(&mut self, host: HostIndex) -> Vec<FetchError> {
        let name = self.name(host).to_owned();
        let awaited =
            self.expected(host).iter().filter(|(_, log)| log.is_certain && !log.has_arrived);
        let mut names: Vec<String> = awaited.map(|(name, _)| name.clone()).collect();
        // Why a log that was begun is not complete is known if a part of it failed.
        names.retain(|log| !matches!(self.open.get(&(host, log.clone())), Some(None)));
        names.sort();
        let missing = |log: String| FetchError::Missing { host: name.clone(), name: log };
        names.into_iter().map(missing).collect()
    }

    fn expected(&mut self, host: HostIndex) -> &mut HashMap<String, AwaitedLog> {
        let order = self.order;
        self.expected.entry(host).or_insert_with(|| {
            let logs = expected_logs(&jobs_of(order, host)).into_iter();
            let awaited = |log: ExpectedLog| {
                let name = log.path.display().to_string();
                (name, AwaitedLog { is_certain: log.is_certain, has_arrived: false })
            };
            logs.map(awaited).collect()
        })
    }

    fn name(&self, host: HostIndex) -> &str {
        self.order.hosts.get(host.get()).map_or("", |order| &order.name)
    }

    fn create(&mut self, host: HostIndex, name: &str) -> Result<LogFile, FetchError> {
        let host_name = self.name(host).to_owned();
        // A log that has arrived is not sent again.
        if self.expected(host).get(name).is_none_or(|log| log.has_arrived) {
            return Err(FetchError::Unknown { host: host_name, name: name.to_owned() });
        }
        let path = PathBuf::from(format!("{name}.{}", in_path(&host_name)));
        match FileGuard::generated().replace(&path).and_then(RowFile::new) {
            Ok(file) => Ok(LogFile { file, path, length: Bytes::ZERO }),
            Err(error) => Err(FetchError::Write { host: host_name, path, source: error.into() }),
        }
    }
}

impl LogFile {
    /// Writes a part. The last one makes the whole log durable, because the host removes its own copy then.
    fn append(
        &mut self,
        offset: Bytes,
        bytes: &[u8],
        last: bool,
        host: &str,
    ) -> Result<(), FetchError> {
        let (host, path) = (host.to_owned(), self.path.clone());
        if offset != self.length {
            return Err(FetchError::Gap { host, path });
        }
        self.length = self.length.saturating_add(Bytes(bytes.len() as u64));
        let written = self.file.write_lines(bytes).and_then(|()| match last {
            true => self.sync(),
            false => Ok(()),
        });
        written.map_err(|source| FetchError::Write { host, path, source })
    }
}

impl LogFile {
    /// Waits until the log is on the disk. A pipe or a terminal has none.
    fn sync(&self) -> io::Result<()> {
        match self.file.file().sync_data() {
            Err(error) if Errno::of(&error) == Some(Errno::EINVAL) => Ok(()),
            other => other,
        }
    }
}

/// Checks that each log of each host can become a file of its own here. The hosts have their final names.
///
/// # Errors
/// Two hosts would write one file, or a directory here takes no files.
pub fn check(order: &RunOrder) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let mut writers: HashMap<(&str, String, String), HostIndex> = HashMap::new();
    let mut directories = BTreeSet::new();
    for index in HostIndex(0).to(HostIndex::at(order.hosts.len())) {
        let host = &order.hosts[index.get()];
        let logs: BTreeSet<(&str, String)> = logs(order, index).collect();
        for (option, prefix) in logs {
            directories.insert((option, directory_of(&prefix)));
            let first = *writers.entry((option, prefix, in_path(&host.name))).or_insert(index);
            if first != index && wrong.is_empty() {
                wrong.push(ambiguous(option, (first, &order.hosts[first.get()]), (index, host)));
            }
        }
    }
    for (option, directory) in directories {
        if let Err(error) = try_creation(&directory) {
            let why = Errno::explain(&error);
            let what = format!(
                "`{option}`: the logs of the hosts cannot be written to the directory `{}` of this machine: {why}",
                directory.display()
            );
            let help = "To fix: create the directory on this machine, too, or use another name for the log";
            wrong.push(Diagnostic::error(what, None).help(help));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What is wrong with two hosts whose logs would be one file.
fn ambiguous(
    option: &str,
    (first, one): (HostIndex, &HostOrder),
    (second, other): (HostIndex, &HostOrder),
) -> Diagnostic {
    let place = |index: HostIndex, host: &HostOrder| {
        let port = host.port.map(|port| format!(", port {port}")).unwrap_or_default();
        format!("{:?} (number {}{port})", host.name, index.get() + 1)
    };
    let what = format!(
        "`{option}`: the hosts {} and {} would write their logs to the same files, which end in the names of hosts",
        place(first, one),
        place(second, other)
    );
    let help = match one.port {
        Some(_) => {
            "To fix: reach each server by a name of its own, such as localhost and 127.0.0.1, or give their logs \
             different names"
        }
        None => "To fix: name each host once",
    };
    Diagnostic::error(what, None).help(help)
}

/// The name of a host as a part of a file name. It can be the path of a Unix socket.
fn in_path(host: &str) -> String {
    host.replace('/', "_")
}

/// Creates a file in a directory and removes it: nothing else shows in advance that the file system takes the logs.
fn try_creation(directory: &Path) -> io::Result<()> {
    let path = directory.join(format!(".fiord-logs-{}", std::process::id()));
    FileGuard::generated().replace(&path)?;
    FileGuard::generated().remove(&path)?;
    Ok(())
}

fn directory_of(prefix: &str) -> PathBuf {
    let parent = Path::new(prefix).parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

/// The logs of a host, according to its jobs: the option, and how their names begin.
fn logs(order: &RunOrder, host: HostIndex) -> impl Iterator<Item = (&'static str, String)> + use<> {
    const LOGS: [Opt<Option<String>>; 4] =
        [WRITE_BW_LOG, WRITE_IOPS_LOG, WRITE_LAT_LOG, WRITE_HIST_LOG];
    jobs_of(order, host).into_iter().flat_map(|job| {
        LOGS.into_iter().filter_map(move |option| {
            let prefix = job.get(option)?;
            let prefix = if prefix.is_empty() { job.name.clone() } else { prefix };
            Some((option.def().name, prefix))
        })
    })
}

#[cfg(test)]
mod tests {
    use fiord_fabric::message::JobOrder;

    use super::*;

    const HOST: HostIndex = HostIndex(0);

    /// Logs of a run of two jobs, one of which has two instances.
    fn order(prefix: &str) -> RunOrder {
        let words = format!(
            "--ioengine=null --size=4k --write_bw_log={prefix} --name=a --numjobs=2 --name=b --write_lat_log={prefix} \
             --disable_slat=1 --exec_prerun=true"
        );
        let arguments = words.split_whitespace().map(str::to_owned).collect();
        let job = JobOrder { arguments, ..JobOrder::default() };
        let host = HostOrder { name: "n1".into(), job, ..HostOrder::default() };
        RunOrder { hosts: vec![host], ..RunOrder::default() }
    }

    #[test]
    fn only_logs_of_the_jobs_become_files_and_each_once() {
        let directory = std::env::temp_dir().join(format!("fiord-fetched-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let prefix = directory.join("x").display().to_string();
        let order = order(&prefix);
        let mut logs = FetchedLogs::of(&order);
        let mut send = |name: &str, last: bool| {
            logs.part(HOST, &format!("{prefix}{name}"), Bytes::ZERO, b"1, 2, 0, 4096, 0\n", last)
        };
        for name in ["_bw.4.log", "_iops.1.log", "_bw.log", "_bw.1.log.sh", "_", "_slat.3.log"] {
            let refused = send(name, true).unwrap_err();
            assert!(matches!(refused, FetchError::Unknown { .. }), "{name}: {refused}");
        }
        send("_bw.1.log", true).unwrap();
        assert!(matches!(send("_bw.1.log", true), Err(FetchError::Unknown { .. })));
        send("_clat.3.log", true).unwrap();
        send("_bw.2.log", false).unwrap();
        // The third job may have ended before its logs.
        let missing: Vec<String> = logs.missing(HOST).iter().map(ToString::to_string).collect();
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(
            missing[0].contains("x_bw.2.log") && missing[0].contains("To fix: "),
            "{missing:?}"
        );
        let mut names: Vec<_> =
            std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["x_bw.1.log.n1", "x_bw.2.log.n1", "x_clat.3.log.n1"]);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
