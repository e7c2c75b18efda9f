use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fiord_types::{Bytes, Errno};

use super::*;

/// The name of a file for one test; removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("fiord-sys-{}-{name}", std::process::id())))
    }

    fn open(&self) -> std::os::fd::OwnedFd {
        Open::read_write().create(true).open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn facts_name_the_kind_of_each_file() {
    let kind = |path: &str| facts(Path::new(path)).unwrap().kind;
    assert_eq!(kind("/"), InodeType::Directory);
    assert_eq!(kind("/dev/null"), InodeType::Char);
    assert_eq!(kind("/proc/self/status"), InodeType::Regular);
    assert_eq!(link_facts(Path::new("/proc/self")).unwrap().kind, InodeType::Link);
    assert_eq!(facts(Path::new("/dev/zero")).unwrap().node, Some(Device { major: 1, minor: 5 }));
    let missing = facts(Path::new("/no/such")).unwrap_err();
    assert_eq!(missing.to_string(), "stat /no/such: No such file or directory (ENOENT)");
    assert!(!exists(Path::new("/no/such")).unwrap());
    assert!(exists(Path::new("/dev/null")).unwrap());
}

#[test]
fn files_have_a_size_and_devices_without_capacity_none() {
    let scratch = Scratch::new("sizes");
    let fd = scratch.open();
    truncate(&fd, Bytes(12345)).unwrap();
    assert_eq!(target_size(&scratch.0).unwrap(), Some(Bytes(12345)));
    assert_eq!(facts_of(&fd).unwrap().size, Bytes(12345));
    assert_eq!(target_size(Path::new("/dev/zero")).unwrap(), None);
    assert_eq!(target_size(Path::new("/")).unwrap(), None);
    assert_eq!(truncate(&fd, Bytes::MAX).unwrap_err().errno, Errno::EFBIG);
    let room = space(&scratch.0).unwrap();
    assert!(room.total >= room.free && room.free >= room.available);
}

#[test]
fn a_reopened_file_has_its_own_position() {
    use std::io::{Read, Write};
    let scratch = Scratch::new("reopen");
    let first = scratch.open();
    let mut second = std::fs::File::from(reopen(first.as_fd()).unwrap());
    std::fs::File::from(first).write_all(b"abc").unwrap();
    let mut text = String::new();
    second.read_to_string(&mut text).unwrap();
    assert_eq!(text, "abc");
}

#[test]
fn each_preallocation_mode_sets_the_size_it_promises() {
    let scratch = Scratch::new("allocate");
    let fd = scratch.open();
    let size = || facts_of(&fd).unwrap().size;
    assert!(!allocate(&fd, Preallocate::None, Bytes::ZERO, Bytes(4096)).unwrap());
    assert_eq!(size(), Bytes::ZERO);
    assert!(allocate(&fd, Preallocate::Truncate, Bytes::ZERO, Bytes(8192)).unwrap());
    assert_eq!(size(), Bytes(8192));
    assert!(allocate(&fd, Preallocate::Truncate, Bytes::ZERO, Bytes(4096)).unwrap());
    assert_eq!(size(), Bytes(8192), "truncate never shortens");
    assert!(allocate(&fd, Preallocate::Posix, Bytes::ZERO, Bytes(65536)).unwrap());
    assert_eq!(size(), Bytes(65536));
    match allocate(&fd, Preallocate::Keep, Bytes(65536), Bytes(65536)) {
        Ok(_) => assert_eq!(size(), Bytes(65536)),
        Err(error) => assert_eq!(error.errno, Errno::EOPNOTSUPP, "{error}"),
    }
    if allocate(&fd, Preallocate::Native, Bytes::ZERO, Bytes(131_072)).unwrap() {
        assert_eq!(size(), Bytes(131_072));
    }
}

#[test]
fn open_applies_each_flag() {
    let scratch = Scratch::new("open");
    let missing = Open::read_only().open(&scratch.0).unwrap_err();
    assert_eq!((missing.op, missing.errno), ("open", Errno::ENOENT));
    drop(Open::write_only().create(true).exclusive(true).mode(0o600).open(&scratch.0).unwrap());
    assert_eq!(facts(&scratch.0).unwrap().mode, 0o600);
    let again = Open::write_only().create(true).exclusive(true).open(&scratch.0).unwrap_err();
    assert_eq!(again.errno, Errno::EEXIST);
    Open::read_only().no_access_time(true).open(&scratch.0).unwrap();
    // The file is not ours unless we are root; the call falls back to a plain open.
    Open::read_only().no_access_time(true).open(Path::new("/proc/self/status")).unwrap();
    Open::read_write().sync(true).data_sync(true).truncate(true).open(&scratch.0).unwrap();
    let directory = Open::read_write().open(Path::new("/")).unwrap_err();
    assert!(directory.to_string().contains("the path names a directory"), "{directory}");
    match Open::read_only().direct(true).open(Path::new("/proc/self/status")) {
        Ok(_) => eprintln!("this kernel takes O_DIRECT on proc"),
        Err(error) => assert!(error.to_string().contains("direct=0"), "{error}"),
    }
    open_directory(&std::env::temp_dir()).unwrap();
    assert_eq!(open_directory(&scratch.0).unwrap_err().errno, Errno::ENOTDIR);
}

#[test]
fn data_is_synced_and_dropped_from_the_cache() {
    let scratch = Scratch::new("sync");
    let fd = scratch.open();
    allocate(&fd, Preallocate::Truncate, Bytes::ZERO, Bytes(65536)).unwrap();
    std::fs::write(&scratch.0, vec![1u8; 65536]).unwrap();
    let all = RangeSync { wait_before: true, write: true, wait_after: true };
    assert_eq!(all.bits(), 7);
    sync_range(&fd, Bytes::ZERO, Bytes::ZERO, all).unwrap();
    fdatasync(&fd).unwrap();
    fsync(&fd).unwrap();
    for advice in [
        PageCacheAdvice::Normal,
        PageCacheAdvice::Sequential,
        PageCacheAdvice::Random,
        PageCacheAdvice::NoReuse,
        PageCacheAdvice::WillNeed,
    ] {
        advise(&fd, Bytes::ZERO, Bytes::ZERO, advice).unwrap();
    }
    match cached_pages(&fd, Bytes::ZERO, Bytes(65536)) {
        Ok(pages) => assert!(pages.cached > 0, "{pages:?}"),
        Err(error) => assert!(matches!(error.errno, Errno::ENOSYS | Errno::EPERM), "{error}"),
    }
    assert!(drop_cache(&fd, Bytes::ZERO, Bytes::ZERO).unwrap());
    let null = Open::read_only().open(Path::new("/dev/null")).unwrap();
    assert!(!drop_cache(&null, Bytes::ZERO, Bytes::ZERO).unwrap());
}

#[test]
fn a_truncated_file_is_one_hole() {
    let scratch = Scratch::new("holes");
    let fd = scratch.open();
    truncate(&fd, Bytes(1 << 20)).unwrap();
    match next_data(&fd, Bytes::ZERO).unwrap() {
        None => assert_eq!(next_hole(&fd, Bytes::ZERO).unwrap(), Some(Bytes::ZERO)),
        Some(at) => assert_eq!(at, Bytes::ZERO, "a file system without holes reports data at once"),
    }
    assert_eq!(next_data(&fd, Bytes(1 << 20)).unwrap(), None);
}

#[test]
fn written_returns_exactly_the_written_parts() {
    let scratch = Scratch::new("written");
    let file = std::fs::File::from(scratch.open());
    allocate(&file, Preallocate::Native, Bytes::ZERO, Bytes(1 << 20)).unwrap();
    truncate(&file, Bytes(1 << 20)).unwrap();
    assert!(written(&file, Bytes::ZERO, Bytes(1 << 20)).unwrap().is_empty());
    file.write_all_at(&[1; 100 << 10], 0).unwrap();
    file.write_all_at(&[1; 64 << 10], 512 << 10).unwrap();
    let parts = written(&file, Bytes::ZERO, Bytes::MAX).unwrap();
    let kib = |from, to| Bytes::from_kib(from)..Bytes::from_kib(to);
    assert_eq!(parts, [kib(0, 100), kib(512, 576)]);
    assert_eq!(
        written(&file, Bytes(64 << 10), Bytes(520 << 10)).unwrap(),
        [kib(64, 100), kib(512, 520)]
    );
    truncate(&file, Bytes(98_000)).unwrap();
    assert_eq!(written(&file, Bytes::ZERO, Bytes(1 << 20)).unwrap()[0], Bytes::ZERO..Bytes(98_000));
}

#[test]
fn locks_exclude_other_opens_of_the_file() {
    let scratch = Scratch::new("lock");
    let (one, two) = (scratch.open(), scratch.open());
    let held = Lock::hold(one.as_fd(), LockKind::Exclusive).unwrap();
    let refused = Lock::try_hold(two.as_fd(), LockKind::Shared).unwrap_err();
    assert_eq!(refused.errno, Errno::EAGAIN);
    drop(held);
    let _one = Lock::hold(one.as_fd(), LockKind::Shared).unwrap();
    let _two = Lock::try_hold(two.as_fd(), LockKind::Shared).unwrap();
}

#[test]
fn lifetime_hints_are_set_and_limits_are_read() {
    let scratch = Scratch::new("hints");
    let fd = scratch.open();
    for lifetime in
        [Lifetime::None, Lifetime::Short, Lifetime::Medium, Lifetime::Long, Lifetime::Extreme]
    {
        set_lifetime(&fd, lifetime).unwrap();
    }
    if let Some(Some(limits)) = direct_limits(&fd).unwrap() {
        assert!(limits.offset.0.is_power_of_two());
    }
    if let Some(limits) = atomic_limits(&fd).unwrap() {
        assert!(limits.unit_min <= limits.unit_max);
    }
}
