//! The path of the name that an I/O is for.
//!
//! The directory of all names is opened once, and the calls name what is in it. Otherwise each call would also look up
//! every directory on the way there, which takes longer than reading the attributes of a file.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_plan::TreePlan;

use super::plan_of;
use crate::{Attachment, EngineConfig, Op};

/// Finds the paths of a job's names.
#[derive(Debug)]
pub(super) enum Paths {
    /// The names are those of the job's files.
    Files {
        names: Arc<[CString]>,
        /// The first byte of each file's region.
        starts: Vec<u64>,
        base: Base,
        /// How many bytes of each name `base` stands for.
        in_base: usize,
    },
    /// The names are those of items in a tree.
    Tree(Box<TreePaths>),
}

/// The parts of the paths in a tree.
#[derive(Debug)]
pub(super) struct TreePaths {
    /// The paths of the directories with items from `base` on, each with the beginning of the items' names.
    directories: Arc<[Box<[u8]>]>,
    base: Base,
    root: PathBuf,
    items: u64,
    block: u64,
}

/// The directory from which the calls look up their names.
#[derive(Debug)]
pub(super) struct Base(Option<OwnedFd>);

impl Base {
    /// Opens a directory. If it cannot be opened, whole paths are used, and the calls report the error.
    fn open(directory: &Path) -> Self {
        Base(fiord_sys::file::Open::path_only().open(directory).ok())
    }

    /// For whole paths.
    const NONE: Base = Base(None);

    /// The descriptor for a call of the `…at` family.
    fn fd(&self) -> RawFd {
        self.0.as_ref().map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd)
    }
}

/// Room for one path.
pub(super) type PathBuffer = Vec<u8>;

impl Paths {
    pub(super) fn new(config: &EngineConfig) -> Self {
        let Some(tree) = &plan_of(config).tree else {
            let names = Arc::clone(&config.names);
            let (base, in_base) = shared_directory(&names);
            return Paths::Files { starts: vec![0; names.len()], names, base, in_base };
        };
        Paths::Tree(Box::new(TreePaths::new(tree, Base::open(&tree.root))))
    }

    /// The directory from which the calls look up the paths.
    #[inline]
    pub(super) fn base(&self) -> RawFd {
        match self {
            Paths::Files { base, .. } => base.fd(),
            Paths::Tree(tree) => tree.base.fd(),
        }
    }

    /// The whole path of an item for a message. `None` for a file of the job, which the message names already.
    pub(super) fn of_item(&self, path: &CStr) -> Option<PathBuf> {
        match self {
            Paths::Files { .. } => None,
            Paths::Tree(tree) => Some(tree.root.join(OsStr::from_bytes(path.to_bytes()))),
        }
    }

    /// Learns where the region of a file begins.
    pub(super) fn attached(&mut self, file: usize, target: Option<&Attachment>) {
        if let (Paths::Files { starts, .. }, Some(target)) = (self, target)
            && let Some(start) = starts.get_mut(file)
        {
            *start = target.offset.0;
        }
    }

    /// Writes the path that an I/O is for to `buffer`, with the NUL at its end. Returns whether there is one.
    pub(super) fn write(&self, op: &Op, buffer: &mut PathBuffer) -> bool {
        if self.is_tree() {
            return self.of(op, buffer).is_some();
        }
        let mut unused = PathBuffer::new();
        let Some(path) = self.of(op, &mut unused) else { return false };
        buffer.clear();
        buffer.extend_from_slice(path.to_bytes_with_nul());
        true
    }

    /// Whether each I/O is one call on a name of its own.
    pub(super) fn is_tree(&self) -> bool {
        matches!(self, Paths::Tree(_))
    }

    /// The path that an I/O is for. `None`: it makes no call. `buffer` holds the path of an item.
    #[inline]
    pub(super) fn of<'a>(&'a self, op: &Op, buffer: &'a mut PathBuffer) -> Option<&'a CStr> {
        match self {
            Paths::Files { names, starts, in_base, .. } => {
                let file = op.file.get();
                let first = starts.get(file).is_some_and(|start| *start == op.offset);
                if first { names.get(file).map(|name| &name.as_c_str()[*in_base..]) } else { None }
            }
            Paths::Tree(tree) => tree.of(op.offset, buffer),
        }
    }
}

impl TreePaths {
    fn new(tree: &TreePlan, base: Base) -> Self {
        let (first, count) = (tree.first_with_items(), tree.directories().unwrap_or(0));
        let prefix = tree.prefix();
        let begins = |number| {
            let directory = tree.directory(number);
            let below = directory.strip_prefix(&tree.root).ok().filter(|_| base.0.is_some());
            let mut bytes = below.unwrap_or(&directory).as_os_str().as_bytes().to_vec();
            if !bytes.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(prefix.as_bytes());
            bytes.into_boxed_slice()
        };
        TreePaths {
            directories: (first..count).map(begins).collect(),
            items: tree.items.get().into(),
            block: tree.block.max(1).into(),
            root: tree.root.clone(),
            base,
        }
    }

    #[inline]
    fn of<'a>(&self, offset: u64, buffer: &'a mut PathBuffer) -> Option<&'a CStr> {
        let item = offset / self.block;
        let begins = self.directories.get((item / self.items) as usize)?;
        buffer.clear();
        buffer.extend_from_slice(begins);
        push_number(buffer, item % self.items);
        buffer.push(0);
        CStr::from_bytes_with_nul(buffer).ok()
    }
}

/// Opens the directory that all names are in. Also returns the length of its path, which the names begin with.
fn shared_directory(names: &[CString]) -> (Base, usize) {
    let last_slash = |name: &CString| name.to_bytes().iter().rposition(|byte| *byte == b'/');
    let Some((first, slash)) = names.first().and_then(|name| Some((name, last_slash(name)?)))
    else {
        return (Base::NONE, 0);
    };
    let path = &first.to_bytes()[..=slash];
    let is_in =
        |name: &CString| last_slash(name) == Some(slash) && name.to_bytes().starts_with(path);
    let base = match names.iter().all(is_in) {
        true => Base::open(Path::new(OsStr::from_bytes(path))),
        false => Base::NONE,
    };
    let in_base = if base.0.is_some() { path.len() } else { 0 };
    (base, in_base)
}

/// Appends a number in decimal.
#[inline]
fn push_number(buffer: &mut PathBuffer, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    buffer.extend_from_slice(&digits[at..]);
}

/// The names of a job's files for system calls.
pub(crate) fn c_names<'a>(paths: impl Iterator<Item = &'a Path>) -> Arc<[CString]> {
    // The planner permits no name with a NUL.
    paths.map(|path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn names_in_one_directory_are_looked_up_from_it() {
        let names = |paths: &[&str]| c_names(paths.iter().map(Path::new));
        let (base, in_base) = shared_directory(&names(&["/usr/bin/a", "/usr/bin/b"]));
        assert!(base.fd() >= 0);
        assert_eq!(in_base, "/usr/bin/".len());
        for apart in [
            &["/usr/bin/a", "/usr/lib/b"][..],
            &["/usr/bin/a", "/usr/bin/b/c"],
            &["a", "b"],
            &["/no such directory/a"],
            &[],
        ] {
            let (base, in_base) = shared_directory(&names(apart));
            assert_eq!((base.fd(), in_base), (libc::AT_FDCWD, 0), "{apart:?}");
        }
    }

    #[test]
    fn the_paths_of_items_are_those_of_the_plan() {
        let tree = TreePlan {
            root: PathBuf::from("/a/root"),
            depth: 2,
            width: NonZeroU32::new(3).unwrap(),
            items: NonZeroU32::new(11).unwrap(),
            leaves_only: false,
            per_job: true,
            of_directories: false,
            block: 512,
            owner: 2,
            lays_out: false,
        };
        for tree in [tree.clone(), TreePlan { leaves_only: true, of_directories: true, ..tree }] {
            let paths = TreePaths::new(&tree, Base::NONE);
            let mut buffer = PathBuffer::new();
            for item in 0..tree.count().unwrap() {
                let path = paths.of(item * 512, &mut buffer).unwrap();
                assert_eq!(path.to_bytes(), tree.item(item).as_os_str().as_bytes());
            }
            assert_eq!(paths.of(tree.count().unwrap() * 512, &mut buffer), None);
        }
    }
}
