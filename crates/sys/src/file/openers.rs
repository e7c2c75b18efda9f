//! The processes that have a file open, from `/proc`.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Device, FileFacts, InodeType};

/// A process that has a file open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// Process id.
    pub pid: u32,
    /// Command name, which the kernel cuts to 15 bytes (`/proc/PID/comm`).
    pub name: String,
}

impl std::fmt::Display for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (process {})", self.name, self.pid)
    }
}

/// Returns the other processes that have the file or device open, ordered by process id. Processes of
/// other users are included only if the caller may inspect them. Stops after the time `within`, because
/// a machine may have thousands of processes with thousands of files.
#[must_use]
pub fn openers(facts: &FileFacts, within: Duration) -> Vec<Opener> {
    openers_below(Path::new("/proc"), facts, within)
}

fn openers_below(proc: &Path, facts: &FileFacts, within: Duration) -> Vec<Opener> {
    let until = Instant::now() + within;
    let mut found: Vec<Opener> = Vec::new();
    for entry in std::fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if Instant::now() >= until {
            break;
        }
        let files = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        if pid != std::process::id() && files.into_iter().any(|fd| is(facts, &fd.path())) {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(Opener { pid, name: name.trim().to_owned() });
        }
    }
    found.sort_by_key(|opener| opener.pid);
    found
}

/// Whether a link of `/proc/PID/fd` leads to the file. Block devices are compared by device number,
/// because they may be open through different nodes.
fn is(facts: &FileFacts, link: &Path) -> bool {
    let Ok(other) = std::fs::metadata(link) else { return false };
    match facts.kind {
        InodeType::Block => {
            other.file_type().is_block_device()
                && facts.node == Some(Device::from_raw(other.rdev()))
        }
        _ => facts.device == Device::from_raw(other.dev()) && facts.inode == other.ino(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::facts;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn another_process_with_the_file_open_is_named_and_this_one_is_not() {
        let path = std::env::temp_dir().join(format!("fiord-opened-{}", std::process::id()));
        std::fs::write(&path, "x").unwrap();
        let mine = std::fs::File::open(&path).unwrap();
        let facts = facts(&path).unwrap();
        assert_eq!(openers(&facts, LONG), []);
        let mut other = std::process::Command::new("sleep");
        let mut other = other.arg("20").stdin(mine).spawn().unwrap();
        let found = openers(&facts, LONG);
        let _ = other.kill();
        let _ = other.wait();
        let _ = std::fs::remove_file(&path);
        // A process that another test starts right now inherits the file until it runs its program.
        let found: Vec<_> = found.iter().filter(|opener| opener.pid == other.id()).collect();
        // Between fork and exec the child still has this process's name.
        assert!(matches!(&found[..], [opener] if !opener.name.is_empty()), "{found:?}");
        assert_eq!(openers(&facts, Duration::ZERO), []);
    }
}
