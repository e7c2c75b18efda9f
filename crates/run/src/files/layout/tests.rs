use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fiord_plan::{EnginePlan, Fallocate, Mix, Plan};
use fiord_sys::file::Open;
use fiord_types::{Bytes, Errno};

use super::make::fits;
use super::*;
use crate::scratch::Scratch;

/// Records progress and warnings; cancels after a number of polls.
#[derive(Default)]
struct Notes {
    laid_out: Vec<(usize, u64)>,
    warnings: Vec<String>,
    patience: Option<u32>,
}

impl Overseer for Notes {
    fn cancelled(&mut self) -> bool {
        match &mut self.patience {
            None => false,
            Some(0) => true,
            Some(n) => {
                *n -= 1;
                false
            }
        }
    }
    fn laying_out(&mut self, files: usize, bytes: Bytes) {
        self.laid_out.push((files, bytes.0));
    }
    fn warning(&mut self, what: &str) {
        self.warnings.push(what.to_owned());
    }
}

fn job(dir: &Scratch, size: u64) -> JobPlan {
    let mut job = JobPlan::plain(EnginePlan::Psync, size);
    job.target.layout.serialize = true;
    job.target.open.create = true;
    job.target.open.read_only = false;
    job.target.files = vec![FilePlan {
        path: dir.path().join("deep/er/file"),
        kind: FileKind::Regular,
        offset: Bytes::ZERO,
        len: Bytes(size),
        beyond: Bytes::ZERO,
        size_now: None,
        size_needed: Some(Bytes(size)),
        extends: Bytes::ZERO,
        zones: None,
    }];
    job
}

#[test]
fn a_file_to_read_is_written_and_holds_no_zeroes() {
    let dir = Scratch::new();
    let mut job = job(&dir, (3 << 20) + 5);
    job.content = fiord_plan::ContentPlan::Scramble;
    let mut notes = Notes::default();
    assert_eq!(prepare(&job, &FileLocks::default(), &mut notes).unwrap(), Done::Complete);
    assert_eq!(notes.laid_out, [(1, (3 << 20) + 5)]);
    let bytes = std::fs::read(&job.target.files[0].path).unwrap();
    assert_eq!(bytes.len(), (3 << 20) + 5);
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|b| *b != 0)));
    // A second layout does nothing.
    assert_eq!(prepare(&job, &FileLocks::default(), &mut notes).unwrap(), Done::Complete);
    assert_eq!(notes.laid_out.len(), 1);
}

#[test]
fn a_file_to_write_is_only_allocated() {
    let dir = Scratch::new();
    let mut job = job(&dir, 1 << 20);
    job.load.mix = Mix::Write;
    for (mode, size) in
        [(Fallocate::None, 0), (Fallocate::Truncate, 1 << 20), (Fallocate::Posix, 1 << 20)]
    {
        job.target.layout.fallocate = mode;
        prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap();
        let facts = std::fs::metadata(&job.target.files[0].path).unwrap();
        assert_eq!(facts.size(), size, "{mode:?}");
        std::fs::remove_file(&job.target.files[0].path).unwrap();
    }
}

#[test]
fn existing_data_stays() {
    let dir = Scratch::new();
    let job = job(&dir, 1 << 20);
    let path = &job.target.files[0].path;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, b"precious").unwrap();
    prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
    assert_eq!(&bytes[..8], b"precious");
}

#[test]
fn a_cancelled_layout_leaves_no_incomplete_file() {
    let dir = Scratch::new();
    let mut job = job(&dir, 8 << 20);
    let path = job.target.files[0].path.clone();
    let mut notes = Notes { patience: Some(4), ..Notes::default() };
    assert_eq!(prepare(&job, &FileLocks::default(), &mut notes).unwrap(), Done::Cancelled);
    assert!(!path.exists());
    std::fs::write(&path, b"precious").unwrap();
    job.target.files[0].size_now = Some(Bytes(8));
    let mut notes = Notes { patience: Some(4), ..Notes::default() };
    assert_eq!(prepare(&job, &FileLocks::default(), &mut notes).unwrap(), Done::Cancelled);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

/// Small files share a flush. Each is complete, and no two have the same bytes.
#[test]
fn many_files_are_laid_out_in_batches() {
    let dir = Scratch::new();
    let mut job = job(&dir, 4096);
    job.target.layout.fsync = true;
    let first = job.target.files.remove(0);
    let file = |n| FilePlan { path: dir.path().join(format!("file.{n}")), ..first.clone() };
    job.target.files = (0..2 * BATCH + 1).map(file).collect();
    assert_eq!(
        prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap(),
        Done::Complete
    );
    let contents = job.target.files.iter().map(|file| std::fs::read(&file.path).unwrap());
    let contents: std::collections::HashSet<Vec<u8>> = contents.collect();
    assert!(contents.iter().all(|bytes| bytes.len() == 4096));
    assert_eq!(contents.len(), job.target.files.len());
}

#[test]
fn allow_file_create_0_prevents_new_files() {
    let dir = Scratch::new();
    let mut job = job(&dir, 1 << 20);
    job.target.open.create = false;
    let error = prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap_err();
    assert_eq!(error.errno, Some(Errno::ENOENT));
    assert!(error.to_string().contains("allow_file_create=0"), "{error}");
    assert!(!dir.path().join("deep").exists());
    job.target.layout.on_open = true;
    assert_eq!(
        prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap(),
        Done::Complete
    );
}

#[test]
fn a_full_device_is_an_error_that_says_what_to_do() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let dir = Scratch::new();
    let job = job(&dir, 1 << 20);
    let mut filler = fill::Filler::new(&job).unwrap();
    let error = filler.write(
        &job.target.files[0],
        (&full, false),
        Bytes::ZERO..Bytes(1 << 20),
        &mut Notes::default(),
    );
    let error = error.unwrap_err();
    assert_eq!((error.errno, error.offset), (Some(Errno::ENOSPC), Some(0)));
    assert!(error.to_string().contains("1 MiB are missing"), "{error}");
}

/// A loop device on a file. Dropping it detaches the device.
struct Loop(PathBuf);

impl Loop {
    fn new(dir: &Scratch) -> Option<Loop> {
        let backing = dir.path().join("backing");
        std::fs::File::create(&backing).ok()?.set_len(1 << 20).ok()?;
        let line = ["--find", "--show"];
        let made = std::process::Command::new("losetup").args(line).arg(backing).output().ok()?;
        let path = String::from_utf8(made.stdout).ok()?;
        made.status.success().then(|| Loop(path.trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_device_with_a_holder_is_refused_even_if_nothing_is_mounted() {
    let dir = Scratch::new();
    let Some(device) = Loop::new(&dir) else {
        return eprintln!("skipped: loop devices need root and losetup");
    };
    let mut job = job(&dir, 1 << 20);
    job.load.mix = Mix::Write;
    job.target.files[0] = FilePlan {
        path: device.0.clone(),
        kind: FileKind::Block,
        size_needed: None,
        extends: Bytes::ZERO,
        ..job.target.files[0].clone()
    };
    refuse_mounted(&job).unwrap();
    let holder = Open::read_only().exclusive(true).open(&device.0).unwrap();
    let refused = refuse_mounted(&job).unwrap_err().to_string();
    assert!(refused.contains("held by the kernel or a program"), "{refused}");
    job.target.open.allow_mounted_write = true;
    refuse_mounted(&job).unwrap();
    job.target.open.allow_mounted_write = false;
    job.load.mix = Mix::Read;
    refuse_mounted(&job).unwrap();
    // The file that backs the held device is the same storage under another name.
    job.load.mix = Mix::Write;
    job.target.files[0].path = dir.path().join("backing");
    job.target.files[0].kind = FileKind::Regular;
    let refused = refuse_mounted(&job).unwrap_err().to_string();
    assert!(refused.contains("is held by the kernel or a program"), "{refused}");
    drop(holder);
    refuse_mounted(&job).unwrap();
}

#[test]
fn free_space_is_that_of_the_target_of_a_link() {
    // procfs reports no size, so it has no limit; the file system of the scratch directory has one.
    let dir = Scratch::new();
    let (link, dangling) = (dir.path().join("link"), dir.path().join("dangling"));
    std::os::unix::fs::symlink("/proc/self/status", &link).unwrap();
    std::os::unix::fs::symlink("/proc/self/task/new", &dangling).unwrap();
    let mut job = job(&dir, 1 << 60);
    let here = job.target.files[0].clone();
    assert_eq!(fits(&here, Bytes(1 << 60)).unwrap_err().errno, Some(Errno::ENOSPC));
    for path in [link, dangling] {
        job.target.files[0].path = path;
        fits(&job.target.files[0], Bytes(1 << 60)).unwrap();
    }
}

#[test]
fn a_file_with_compressible_contents_may_be_larger_than_its_file_system() {
    let dir = Scratch::new();
    let mut job = job(&dir, 1 << 60);
    job.target.layout.fallocate = Fallocate::None;
    let refused = prepare(&job, &FileLocks::default(), &mut Notes::default()).unwrap_err();
    assert!(refused.to_string().contains("use a smaller size"), "{refused}");
    for content in [ContentPlan::Zero, ContentPlan::Pattern(Vec::new())] {
        assert!(!takes_its_size(&content), "{content:?}");
    }
    assert!(
        [ContentPlan::Scramble, ContentPlan::Fixed, ContentPlan::Refill].iter().all(takes_its_size)
    );
    // The layout starts, and the test cancels it.
    job.content = ContentPlan::Zero;
    let mut notes = Notes { patience: Some(2), ..Notes::default() };
    assert_eq!(prepare(&job, &FileLocks::default(), &mut notes).unwrap(), Done::Cancelled);
}

/// A file that another job lays out now is waited for.
#[test]
fn jobs_take_turns_at_a_file_that_they_share() {
    /// Looks at the lock of the file while it is written.
    struct Look<'a>(&'a FileLocks, &'a Path, bool);
    impl Overseer for Look<'_> {
        fn cancelled(&mut self) -> bool {
            false
        }
        fn laying_out(&mut self, _: usize, _: Bytes) {}
        fn wrote(&mut self, _: Bytes) {
            self.2 = !self.0.get(self.1).unwrap().try_acquire(true);
        }
        fn warning(&mut self, _: &str) {}
    }
    let dir = Scratch::new();
    let mut job = job(&dir, 1 << 20);
    job.target.layout.serialize = false;
    let path = job.target.files[0].path.clone();
    let alone = Plan { jobs: vec![job.clone()], global_options: Vec::new() };
    assert!(FileLocks::of_layouts(&alone).get(&path).is_none());
    let plan = Plan { jobs: vec![job.clone(), job.clone()], global_options: Vec::new() };
    let locks = FileLocks::of_layouts(&plan);
    let mut look = Look(&locks, &path, false);
    assert_eq!(prepare(&job, &locks, &mut look).unwrap(), Done::Complete);
    assert!(look.2, "the job has the lock while it writes");
    assert!(locks.get(&path).unwrap().try_acquire(true), "and not after that");
}
