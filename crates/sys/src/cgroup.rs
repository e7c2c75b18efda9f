//! Control groups: creating one, moving into it, setting its weight, and removing it.
//!
//! Both versions are handled. The `io` controller of version 2 works on whole processes, so a
//! thread cannot be in another group than its process; version 1 (`blkio`) has a group for each
//! thread. [`ControlGroup::scope`] returns which of the two applies.

use std::path::{Component, Path, PathBuf};

use fiord_types::Errno;

use crate::mount::{self, Mount};
use crate::{Error, Result, thread};

/// What [`ControlGroup::enter`] moves into the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CgroupScope {
    /// The calling thread (version 1).
    Thread,
    /// The whole process (version 2).
    Process,
}

/// A control group in the hierarchy that controls block I/O.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
    root: PathBuf,
    scope: CgroupScope,
    /// Directories that this value created, outermost first.
    created: Vec<PathBuf>,
}

impl ControlGroup {
    /// Opens the group with this name below the root of the hierarchy, and creates it and missing
    /// groups above it.
    ///
    /// # Errors
    /// `ENODEV` if no hierarchy with a block I/O controller is mounted; `EINVAL` if the name is empty
    /// or leads out of the hierarchy; `EACCES` without the right to create groups.
    pub fn open(name: &str) -> Result<ControlGroup> {
        let (root, scope) = find(&mount::mounts()?)
            .ok_or_else(|| Error::new("find the block I/O cgroup", Errno::ENODEV))?;
        ControlGroup::open_below(root, scope, name)
    }

    fn open_below(root: PathBuf, scope: CgroupScope, name: &str) -> Result<ControlGroup> {
        let relative = Path::new(name.trim_matches('/'));
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if relative.as_os_str().is_empty() || !relative.components().all(plain) {
            return Err(Error::new("cgroup name", Errno::EINVAL).at(name));
        }
        let mut group = ControlGroup { path: root.clone(), root, scope, created: Vec::new() };
        for part in relative.components() {
            if scope == CgroupScope::Process {
                // Children have the controller only if their parent passes it on. The kernel refuses that
                // where the parent has processes of its own; then `set_weight` reports the error.
                let _ = group.write("cgroup.subtree_control", "+io");
            }
            group.path.push(part);
            match std::fs::create_dir(&group.path) {
                Ok(()) => group.created.push(group.path.clone()),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::from_io("mkdir cgroup", &error).at(&group.path));
                }
            }
        }
        Ok(group)
    }

    /// Returns what [`ControlGroup::enter`] moves.
    #[must_use]
    pub fn scope(&self) -> CgroupScope {
        self.scope
    }

    /// Returns the directory of the group.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the group's share of the disk's time: 1 to 10000 with version 2, 10 to 1000 with version 1.
    /// The kernel's default is 100.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has no weights (they need the BFQ scheduler or the iocost controller);
    /// `ERANGE` or `EINVAL` if the kernel does not accept the weight.
    pub fn set_weight(&self, weight: u32) -> Result<()> {
        let files: &[&'static str] = match self.scope {
            CgroupScope::Thread => &["blkio.weight", "blkio.bfq.weight"],
            CgroupScope::Process => &["io.weight", "io.bfq.weight"],
        };
        let mut missing = None;
        for file in files {
            match self.write(file, &weight.to_string()) {
                Err(error) if error.errno == Errno::ENOENT || error.errno == Errno::EACCES => {
                    missing.get_or_insert(error);
                }
                other => return other,
            }
        }
        missing.map_or(Ok(()), Err)
    }

    /// Moves the calling thread (version 1) or the whole process (version 2) into the group.
    ///
    /// # Errors
    /// `EACCES` without the right to write to the group.
    pub fn enter(&self) -> Result<()> {
        enter(&self.path, self.scope)
    }

    /// Moves the calling thread (version 1) or the whole process (version 2) to the root of the
    /// hierarchy, so that the group can be removed.
    ///
    /// # Errors
    /// `EACCES` without the right to write to the root group.
    pub fn leave(&self) -> Result<()> {
        enter(&self.root, self.scope)
    }

    /// Removes the groups that [`ControlGroup::open`] created. Groups that existed before stay.
    ///
    /// # Errors
    /// `EBUSY` while a group contains a thread.
    pub fn remove(self) -> Result<()> {
        for path in self.created.iter().rev() {
            match std::fs::remove_dir(path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::from_io("rmdir cgroup", &error).at(path)),
            }
        }
        Ok(())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        write(&self.path.join(file), text)
    }
}

fn enter(group: &Path, scope: CgroupScope) -> Result<()> {
    match scope {
        CgroupScope::Thread => write(&group.join("tasks"), &thread::id().to_string()),
        CgroupScope::Process => write(&group.join("cgroup.procs"), &std::process::id().to_string()),
    }
}

/// Writes to an existing file of a cgroup; never creates one.
fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    let failed = |error: std::io::Error| Error::from_io("write cgroup", &error).at(path);
    let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// Finds the hierarchy with a block I/O controller: version 1 with `blkio` if it is mounted
/// (version 2 cannot have the controller then), else version 2.
fn find(mounts: &[Mount]) -> Option<(PathBuf, CgroupScope)> {
    let v1 = mounts.iter().find(|mount| {
        mount.kind == "cgroup" && mount.super_options.split(',').any(|option| option == "blkio")
    });
    let v2 = mounts.iter().find(|mount| mount.kind == "cgroup2");
    match (v1, v2) {
        (Some(mount), _) => Some((mount.point.clone(), CgroupScope::Thread)),
        (None, Some(mount)) => Some((mount.point.clone(), CgroupScope::Process)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_one_with_blkio_is_preferred() {
        let text = b"\
31 27 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
        let mounts = mount::parse(text);
        let found = find(&mounts).unwrap();
        assert_eq!(found, ("/sys/fs/cgroup/blkio".into(), CgroupScope::Thread));
        assert_eq!(find(&mounts[2..]).unwrap().1, CgroupScope::Process);
        assert_eq!(find(&mounts[..1]), None);
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_hierarchy() {
        for bad in ["", "/", "..", "a/../../b"] {
            let refused =
                ControlGroup::open_below("/nowhere".into(), CgroupScope::Thread, bad).unwrap_err();
            assert_eq!(refused.errno, Errno::EINVAL, "{bad}");
        }
    }

    #[test]
    fn weights_and_processes_are_written_to_the_files_of_the_group() {
        let root = std::env::temp_dir().join(format!("fiord-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(root.join("jobs")).unwrap();
        let group =
            ControlGroup::open_below(root.clone(), CgroupScope::Process, "jobs/one").unwrap();
        assert_eq!(group.created, [root.join("jobs/one")]);
        let missing = group.set_weight(200).unwrap_err();
        assert_eq!(missing.errno, Errno::ENOENT);
        std::fs::write(group.path().join("io.bfq.weight"), "100\n").unwrap();
        group.set_weight(200).unwrap();
        std::fs::write(group.path().join("cgroup.procs"), "").unwrap();
        group.enter().unwrap();
        let written = std::fs::read_to_string(group.path().join("cgroup.procs")).unwrap();
        assert_eq!(written, std::process::id().to_string());
        assert!(
            group.remove().is_err(),
            "the directory holds regular files, unlike a real group's"
        );
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_real_group_can_be_entered_left_and_removed() {
        let name = format!("fiord-test-{}", std::process::id());
        std::thread::spawn(move || {
            let group = match ControlGroup::open(&name) {
                Ok(group) => group,
                Err(error) => return eprintln!("skipped: {error}"),
            };
            if let Err(error) = group.set_weight(200) {
                eprintln!("no weights here: {error}");
            }
            match group.enter() {
                Ok(()) => group.leave().unwrap(),
                Err(error) => eprintln!("cannot enter: {error}"),
            }
            group.remove().unwrap();
        })
        .join()
        .unwrap();
    }
}
