//! The files and devices that jobs use.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiord_plan::{FileKind, FilePlan, Plan};
use fiord_sys::file::{self, CacheUse, Device, DirectLimits, Open, Opener};
use fiord_sys::limits::{Kernel, kernel};
use fiord_sys::{block, mount};
use fiord_types::{Bytes, Errno};
use foldhash::fast::FixedState;

use super::{Evidence, Unavailable};

/// Maximum number of regular files and names that the survey examines, evenly spread over all of them: a job may
/// have a hundred thousand. The survey examines all devices.
const EXAMINED: usize = 256;
/// Maximum number of devices whose page cache the survey examines.
const CLOSELY: usize = 256;
/// Maximum number of extents of a file. The survey does not count the data of a file with more.
const PIECES: usize = 4096;
/// Maximum time for the search for programs that have files open.
const SEARCH: Duration = Duration::from_millis(20);

/// From this version on, btrfs writes data with checksums through the page cache, even with `O_DIRECT`.
const BTRFS_FALLS_BACK: Kernel = Kernel::new(6, 15);

/// A snapshot of a file or device.
#[derive(Debug, Clone)]
pub struct FileState {
    /// The path, as in the plan.
    pub path: PathBuf,
    /// The kind of file according to the plan.
    pub kind: FileKind,
    /// The result of `stat(2)`; unavailable if the file does not exist.
    pub facts: Evidence<file::FileFacts>,
    /// The type of the file system that holds the file (`ext4`, `tmpfs`), or that will hold it if the file
    /// does not exist yet. For a device, the file system of `/dev`.
    pub file_system: Evidence<String>,
    /// The alignment that direct I/O needs: `Some(None)` if the file system has no direct I/O, `None` if
    /// the file system (or a kernel before 6.1) does not say. Only for regular files.
    pub direct: Evidence<Option<Option<DirectLimits>>>,
    /// Whether direct writes go through the page cache anyway. Since Linux 6.15, btrfs does this for data
    /// with checksums, so that the data cannot change between checksum and write.
    pub direct_writes_cached: bool,
    /// The loop device below the file, if any: its name, and whether it uses direct I/O itself.
    pub on_loop: Option<(String, bool)>,
    /// The cached pages: for a regular file, within the bytes that jobs use; for a device that jobs use
    /// with direct I/O, all pages.
    pub cache: Evidence<CacheUse>,
    /// Other processes that have it open. Searched only if a job uses direct I/O and there are cached
    /// pages.
    pub openers: Vec<Opener>,
    /// Which parts of the range that jobs may use hold data. Only for regular files.
    pub data: Option<Evidence<WrittenData>>,
}

/// Which parts of a range hold data. The rest is holes and unwritten allocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenData {
    /// The first byte that a job uses.
    pub from: Bytes,
    /// The byte after the last one.
    pub to: Bytes,
    /// The parts of this range that hold data, in order.
    pub parts: Vec<Range<Bytes>>,
}

impl WrittenData {
    /// Returns the number of bytes from `from` to `to` that hold data.
    #[must_use]
    pub fn bytes_in(&self, from: Bytes, to: Bytes) -> Bytes {
        let inside = |part: &Range<Bytes>| part.end.min(to).saturating_sub(part.start.max(from));
        self.parts.iter().map(inside).sum()
    }

    /// Returns the number of bytes in the range that hold data.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.bytes_in(self.from, self.to)
    }
}

/// How the jobs of a plan use a file.
#[derive(Debug, Clone, Copy)]
struct Use {
    order: usize,
    kind: FileKind,
    /// The range that jobs may use, as start and end.
    all: (Bytes, Bytes),
    /// Whether any job uses it with `direct=1`.
    direct: bool,
}

/// The states of files and devices. Each path appears once.
#[derive(Debug, Clone, Default)]
pub struct FileStates {
    states: Vec<FileState>,
    by_path: HashMap<PathBuf, usize, FixedState>,
    /// The index of a file in each directory.
    by_directory: HashMap<PathBuf, usize, FixedState>,
    /// Set if the survey did not examine every file.
    left_out: Option<Unavailable>,
}

impl From<Vec<FileState>> for FileStates {
    fn from(states: Vec<FileState>) -> Self {
        let mut files = FileStates::default();
        for (n, state) in states.iter().enumerate() {
            files.by_path.insert(state.path.clone(), n);
            if let Some(directory) = state.path.parent().filter(|_| state.kind.is_file()) {
                files.by_directory.entry(directory.to_owned()).or_insert(n);
            }
        }
        FileStates { states, ..files }
    }
}

impl Deref for FileStates {
    type Target = [FileState];

    fn deref(&self) -> &[FileState] {
        &self.states
    }
}

impl DerefMut for FileStates {
    fn deref_mut(&mut self) -> &mut [FileState] {
        &mut self.states
    }
}

impl FileStates {
    /// Returns the state of a file or device, by its path.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&FileState> {
        self.by_path.get(path).map(|&n| &self.states[n])
    }

    /// Returns the type of the file system that holds a regular file or device, if known. A file that the
    /// survey did not examine counts as being on the file system of other files in its directory.
    #[must_use]
    pub fn file_system(&self, path: &Path) -> Option<&str> {
        let in_directory = || self.by_directory.get(path.parent()?);
        let state = self.by_path.get(path).or_else(in_directory).map(|&n| &self.states[n])?;
        state.file_system.as_deref().ok()
    }

    /// Returns why the survey did not examine some files; `None` if it examined all of them.
    #[must_use]
    pub fn left_out(&self) -> Option<&Unavailable> {
        self.left_out.as_ref()
    }
}

/// Examines the files and devices of the plan: every device, and every regular file if there are at
/// most [`EXAMINED`], otherwise a sample. Skips virtual files, which exist only inside fiord.
pub(super) fn survey(plan: &Plan) -> FileStates {
    let mut mounts = Mounts::default();
    let (chosen, all) = chosen(plan);
    let uses = uses(plan, &chosen);
    let examined = chosen.len();
    let states = chosen.into_iter().zip(&uses).map(|(path, used)| look(path, used, &mut mounts));
    let mut files = FileStates::from(states.collect::<Vec<_>>());
    files.left_out =
        (examined < all).then(|| Unavailable(format!("{examined} of {all} files were examined")));
    files
}

/// Returns the paths that the survey examines, and the number of all paths.
pub(super) fn chosen(plan: &Plan) -> (Vec<&Path>, usize) {
    let count = plan.jobs.iter().map(|job| job.target.files.len()).sum();
    let mut seen: HashSet<&OsStr, FixedState> =
        HashSet::with_capacity_and_hasher(count, FixedState::default());
    let files = plan.jobs.iter().flat_map(|job| &job.target.files);
    let real = files.filter(|file| file.kind.has_path());
    let unique: Vec<_> = real.filter(|file| seen.insert(file.path.as_os_str())).collect();
    let regular = unique.iter().filter(|file| file.kind.is_file()).count();
    let mut nth = 0;
    let takes = |file: &&FilePlan| {
        if !file.kind.is_file() || regular <= EXAMINED {
            return true;
        }
        // Takes a file at each multiple of the interval.
        let before = nth * EXAMINED / regular;
        nth += 1;
        nth * EXAMINED / regular > before
    };
    let all = unique.len();
    (unique.into_iter().filter(takes).map(|file| file.path.as_path()).collect(), all)
}

/// Returns how jobs use each of these paths.
fn uses(plan: &Plan, chosen: &[&Path]) -> Vec<Use> {
    let order: HashMap<&OsStr, usize, FixedState> =
        chosen.iter().enumerate().map(|(n, path)| (path.as_os_str(), n)).collect();
    let mut uses: Vec<Option<Use>> = vec![None; chosen.len()];
    for job in &plan.jobs {
        for file in job.target.files.iter().filter(|file| file.kind.has_path()) {
            let Some(&order) = order.get(file.path.as_os_str()) else { continue };
            let range = (file.offset, file.end());
            let used = uses[order].get_or_insert(Use {
                order,
                kind: file.kind,
                all: range,
                direct: false,
            });
            used.direct |= job.target.open.direct;
            used.all = span(used.all, range);
        }
    }
    uses.into_iter().flatten().collect()
}

fn span(a: (Bytes, Bytes), b: (Bytes, Bytes)) -> (Bytes, Bytes) {
    (a.0.min(b.0), a.1.max(b.1))
}

fn look(path: &Path, used: &Use, mounts: &mut Mounts) -> FileState {
    let found = file::facts(path);
    let file_system = mounts.kind(path, &found);
    let facts = found.map_err(|e| Unavailable::of(&e));
    let mut state = FileState {
        path: path.into(),
        kind: used.kind,
        file_system,
        on_loop: facts.as_ref().ok().and_then(|facts| mounts.on_loop(facts)),
        facts,
        direct: Err(Unavailable("not a regular file".into())),
        direct_writes_cached: false,
        cache: Err(Unavailable("not a regular file".into())),
        openers: Vec::new(),
        data: None,
    };
    match used.kind {
        FileKind::Regular if state.facts.is_ok() => examine_open_file(&mut state, used),
        FileKind::Block if used.direct && used.order < CLOSELY => {
            let open = Open::read_only().nonblocking(true).open(&state.path);
            // All of the device: any cached page makes every direct write slower.
            let count = |fd: OwnedFd| file::cached_pages(fd, Bytes::ZERO, Bytes::ZERO);
            state.cache = open.and_then(count).map_err(|e| cache_gap(&e));
        }
        _ => {}
    }
    let cached = state.cache.as_ref().is_ok_and(|cache| cache.cached > 0);
    if let Some(facts) = state.facts.as_ref().ok().filter(|_| used.direct && cached) {
        state.openers = mounts.openers(facts);
    }
    state
}

/// Examines the properties that need an open file.
fn examine_open_file(state: &mut FileState, used: &Use) {
    match Open::read_only().open(&state.path).map_err(|e| Unavailable::of(&e)) {
        Ok(fd) => {
            let (from, to) = used.all;
            state.direct = file::direct_limits(&fd).map_err(|e| Unavailable::of(&e));
            state.direct_writes_cached = used.direct
                && state.file_system.as_ref().is_ok_and(|kind| kind == "btrfs")
                && kernel().is_ok_and(|kernel| kernel >= BTRFS_FALLS_BACK)
                && !file::is_nocow(&fd).unwrap_or(false)
                && has_checksums(&state.path);
            state.cache = file::cached_pages(&fd, from, to - from).map_err(|e| cache_gap(&e));
            state.data = Some(data(&fd, used.all));
        }
        Err(unavailable) => {
            state.direct = Err(unavailable.clone());
            state.cache = Err(unavailable.clone());
            state.data = Some(Err(unavailable));
        }
    }
}

/// Returns whether the btrfs that holds a file stores checksums of data.
fn has_checksums(path: &Path) -> bool {
    let without = |option: &str| matches!(option, "nodatasum" | "nodatacow");
    let mount = mount::holding(path).ok().flatten();
    mount.is_some_and(|mount| !mount.super_options.split(',').any(without))
}

fn cache_gap(error: &fiord_sys::Error) -> Unavailable {
    match error.errno {
        Errno::ENOSYS => Unavailable("cachestat(2) needs Linux 6.5".into()),
        _ => Unavailable::of(error),
    }
}

fn data(fd: &OwnedFd, (from, to): (Bytes, Bytes)) -> Evidence<WrittenData> {
    match file::data_parts(fd, from, to, PIECES) {
        Ok(Some(parts)) => Ok(WrittenData { from, to, parts }),
        Ok(None) => Err(Unavailable(format!("the file has more than {PIECES} extents"))),
        Err(error) => Err(Unavailable::of(&error)),
    }
}

/// Returns the loop device that a device or partition is on, and whether it does direct I/O on its file.
fn on_loop(device: Device) -> Option<(String, bool)> {
    let name = block::name(device)?;
    let digits = name.strip_prefix("loop")?.split('p').next()?.to_owned();
    let name = format!("loop{digits}");
    let dio = std::fs::read_to_string(format!("/sys/block/{name}/loop/dio")).ok()?;
    Some((name, dio.trim() == "1"))
}

/// Returns the properties of the nearest existing directory above a path.
fn directory(path: &Path) -> Option<file::FileFacts> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().skip(1).find_map(|above| file::facts(above).ok())
}

/// A cache of file system types by device, because the list of mounts is long on some machines.
#[derive(Default)]
struct Mounts {
    kinds: HashMap<Device, Evidence<String>>,
    loops: HashMap<Device, Option<(String, bool)>>,
    searched: Duration,
}

impl Mounts {
    /// Returns the loop device below a file, or the loop device itself.
    fn on_loop(&mut self, facts: &file::FileFacts) -> Option<(String, bool)> {
        let device = facts.node.unwrap_or(facts.device);
        self.loops.entry(device).or_insert_with(|| on_loop(device)).clone()
    }

    /// Returns the other processes that have a file open, within the time limit for all such searches.
    fn openers(&mut self, facts: &file::FileFacts) -> Vec<Opener> {
        let from = Instant::now();
        let found = file::openers(facts, SEARCH.saturating_sub(self.searched));
        self.searched += from.elapsed();
        found
    }

    fn kind(
        &mut self,
        path: &Path,
        found: &fiord_sys::Result<file::FileFacts>,
    ) -> Evidence<String> {
        let device = match found {
            Ok(facts) => facts.device,
            // A file that does not exist yet will be on the file system of its directory.
            Err(error) if error.errno == Errno::ENOENT => {
                directory(path).ok_or_else(|| Unavailable::of(error))?.device
            }
            Err(error) => return Err(Unavailable::of(error)),
        };
        let ask = || match mount::holding(path) {
            Ok(Some(mount)) => Ok(mount.kind),
            Ok(None) => Err(Unavailable("no mount point holds the file".into())),
            Err(error) => Err(Unavailable::of(&error)),
        };
        self.kinds.entry(device).or_insert_with(ask).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{plan, scratch};

    #[test]
    fn very_many_files_are_sampled_evenly() {
        let (mut plan, _) = plan("--name=a --rw=write --size=4k --filename=none");
        let file = plan.jobs[0].target.files[0].clone();
        let named = |n: usize| FilePlan { path: format!("none.{n}").into(), ..file.clone() };
        plan.jobs[0].target.files = (0..EXAMINED).map(named).collect();
        let (all, of) = chosen(&plan);
        assert_eq!((all.len(), of), (EXAMINED, EXAMINED));
        plan.jobs[0].target.files = (0..10_000).map(named).collect();
        let files = survey(&plan);
        assert_eq!(files.len(), EXAMINED);
        assert_eq!(files.left_out(), Some(&Unavailable("256 of 10000 files were examined".into())));
        let known = |from: usize| (from..from + 100).any(|n| files.get(&named(n).path).is_some());
        assert!((0..100).all(|part| known(part * 100)));
    }

    #[test]
    fn servers_are_not_examined_as_files() {
        let (mut plan, _) = plan("--name=a --rw=write --size=4k --filename=none");
        assert_eq!(survey(&plan).len(), 1);
        plan.jobs[0].target.files[0].kind = FileKind::Endpoint;
        assert_eq!(survey(&plan).len(), 0);
    }

    #[test]
    fn a_new_file_is_on_the_file_system_of_its_directory() {
        let path = scratch();
        let kind = |path: &Path| {
            let line = format!("--name=a --rw=write --size=4k --filename={}", path.display());
            survey(&plan(&line).0)[0].file_system.clone()
        };
        let new = kind(&path.join("in/a/directory/that/is/not/there"));
        assert!(!path.exists());
        std::fs::write(&path, b"some").unwrap();
        let there = kind(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((new, there.is_ok()), (there.clone(), true));
    }
}
