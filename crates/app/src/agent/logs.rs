//! Sends the logs that the jobs wrote to the coordinator, which keeps them.
//!
//! Until then, each agent has names of its own for them: the hosts of a cluster often share the working directory, also with
//! the coordinator.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fiord_fabric::message::{FromHost, KeepNumber};
use fiord_plan::Plan;
use fiord_sys::file::{self, FileGuard, InodeType, Open};
use fiord_types::{Bytes, Errno};

use super::orders::Orders;
use super::outbox::Outbox;

/// The size of a part of a log, bytes.
const PART: usize = 1 << 20;

/// What follows the names of logs until they are sent.
#[derive(Debug)]
pub(super) struct LogSuffix(String);

impl LogSuffix {
    /// The suffix of this agent. `host`: its name.
    pub(super) fn of(host: &str) -> Self {
        let safe = |c: char| if c == '/' || c.is_control() { '_' } else { c };
        let host: String = host.chars().take(64).map(safe).collect();
        LogSuffix(format!(".{host}.{}.part", std::process::id()))
    }

    /// The path of a log until it is sent.
    pub(super) fn add(&self, path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(&self.0);
        PathBuf::from(name)
    }

    /// The path that the options of the job give the log.
    fn remove(&self, path: &Path) -> String {
        let name = path.display().to_string();
        name.strip_suffix(&self.0).map_or(name.clone(), str::to_owned)
    }
}

/// Sends all logs of a plan, and removes each when the coordinator has it on its disk. Returns a message for each log that
/// the coordinator does not have.
pub(super) fn send(
    plan: &Plan,
    suffix: &LogSuffix,
    orders: &Orders,
    outbox: &Outbox,
) -> Vec<String> {
    let logs = plan.jobs.iter().flat_map(|job| &job.log).flat_map(|log| &log.files);
    // Jobs can share a log.
    let paths: BTreeSet<&Path> = logs.map(|log| log.path.as_path()).collect();
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    for path in paths {
        // A job that failed early has no log, and what goes to a pipe or a device is gone.
        if !file::facts(path).is_ok_and(|facts| facts.kind == InodeType::Regular) {
            continue;
        }
        let number = orders.next_part();
        match send_one(path, number, suffix, outbox) {
            Ok(()) => sent.push((path, number)),
            Err(error) => {
                let why = Errno::explain(&error);
                failed.push(format!("cannot read the log {}: {why}", path.display()));
            }
        }
    }
    // All of them travel before the first answer, so the answers cost one round trip.
    for (path, number) in sent {
        match orders.wait_kept(number) {
            Ok(()) => {
                // The coordinator has it. A copy that cannot be removed does no harm.
                let _ = FileGuard::typed().remove(path);
            }
            Err(error) => failed.push(format!(
                "the coordinator does not have the complete log {}: {error}. To fix: copy it from this host, where it is \
                 {}, then remove it there",
                suffix.remove(path),
                std::path::absolute(path).unwrap_or(path.to_path_buf()).display()
            )),
        }
    }
    failed
}

fn send_one(
    path: &Path,
    number: KeepNumber,
    suffix: &LogSuffix,
    outbox: &Outbox,
) -> io::Result<()> {
    let name = suffix.remove(path);
    let opened = Open::read_only().open(path).map_err(|error| io::Error::from(error.errno))?;
    let mut file = std::fs::File::from(opened);
    let mut offset = Bytes::ZERO;
    loop {
        let mut part = Vec::with_capacity(PART);
        file.by_ref().take(PART as u64).read_to_end(&mut part)?;
        let last = part.len() < PART;
        outbox.send(&FromHost::Log { name: name.clone(), number, offset, last }, &part);
        if last {
            return Ok(());
        }
        offset = offset.saturating_add(Bytes(part.len() as u64));
    }
}
