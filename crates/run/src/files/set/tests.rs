use fiord_plan::EnginePlan;
use fiord_types::{Bytes, Errno, FileIndex};

use super::*;
use crate::scratch::Scratch;

fn job(path: std::path::PathBuf, size: u64) -> JobPlan {
    let mut job = JobPlan::plain(EnginePlan::Psync, size);
    job.target.open.read_only = true;
    job.target.files = vec![FilePlan {
        path,
        kind: FileKind::Regular,
        offset: Bytes::ZERO,
        len: Bytes(size),
        beyond: Bytes::ZERO,
        size_now: None,
        zones: None,
        size_needed: None,
        extends: Bytes::ZERO,
    }];
    job
}

#[test]
fn a_file_is_opened_once_and_again_after_it_was_closed() {
    let dir = Scratch::new();
    let path = dir.path().join("f");
    std::fs::write(&path, [1u8; 4096]).unwrap();
    let job = job(path, 4096);
    let mut files = FileSet::new(&job);
    let one = files.open(FileIndex(0)).unwrap().fd.unwrap();
    let two = files.open(FileIndex(0)).unwrap().fd.unwrap();
    assert!(Arc::ptr_eq(&one, &two));
    files.ready().unwrap();
    files.close(FileIndex(0)).unwrap();
    assert!(!Arc::ptr_eq(&one, &files.open(FileIndex(0)).unwrap().fd.unwrap()));
}

#[test]
fn a_missing_file_and_a_directory_are_named() {
    let dir = Scratch::new();
    let missing = job(dir.path().join("none"), 4096);
    let error = FileSet::new(&missing).open(FileIndex(0)).unwrap_err();
    assert_eq!((error.errno, error.stage), (Some(Errno::ENOENT), Stage::Open));
    assert!(error.to_string().contains("none"), "{error}");
    let directory = job(dir.path().to_path_buf(), 4096);
    let error = FileSet::new(&directory).open(FileIndex(0)).unwrap_err();
    assert_eq!(error.errno, Some(Errno::EISDIR));
    assert!(FileSet::new(&directory).open(FileIndex(7)).is_err());
}

#[test]
fn a_server_is_not_opened_as_a_file() {
    let mut job = job("nbd://server/export".into(), 4096);
    job.target.files[0].kind = FileKind::Endpoint;
    let mut files = FileSet::new(&job);
    assert!(files.open(FileIndex(0)).unwrap().fd.is_none());
    files.ready().unwrap();
    files.close(FileIndex(0)).unwrap();
}

#[test]
fn files_that_each_loop_removes_are_created_again() {
    let dir = Scratch::new();
    let mut job = job(dir.path().join("f"), 8192);
    job.target.files[0].size_needed = Some(Bytes(8192));
    job.target.open.create = true;
    crate::files::layout::again(&job, &job.target.files[0]).unwrap();
    let mut files = FileSet::new(&job);
    files.open(FileIndex(0)).unwrap();
    files.close(FileIndex(0)).unwrap();
    files.next_loop().unwrap();
    assert!(!job.target.files[0].path.exists());
    files.open(FileIndex(0)).unwrap();
    assert_eq!(std::fs::metadata(&job.target.files[0].path).unwrap().len(), 8192);
}

#[test]
fn pages_that_other_jobs_cache_during_set_up_are_dropped_before_the_first_io() {
    let dir = Scratch::new();
    let path = dir.path().join("f");
    std::fs::write(&path, vec![1u8; 1 << 20]).unwrap();
    let mut job = job(path.clone(), 1 << 20);
    job.target.open.direct = true;
    job.target.open.invalidate = true;
    let mut files = FileSet::new(&job);
    if files.open(FileIndex(0)).is_err() {
        return eprintln!("skipped: no direct I/O here");
    }
    let fd = files.open(FileIndex(0)).unwrap().fd.unwrap();
    file::fsync(&fd).unwrap();
    files.ready().unwrap();
    let pages = || file::cached_pages(&fd, Bytes::ZERO, Bytes(1 << 20)).map(|pages| pages.cached);
    if pages() != Ok(0) {
        return eprintln!("skipped: cachestat(2) needs Linux 6.5, and pages must go when dropped");
    }
    assert_eq!(std::fs::read(&path).unwrap().len(), 1 << 20);
    assert_ne!(pages(), Ok(0));
    files.starting().unwrap();
    files.close(FileIndex(0)).unwrap();
    let wanted = Cached { file: FileIndex(0), at_start: Some(0), at_end: Some(0) };
    assert_eq!(files.cached_under_direct(), [wanted]);
}
