//! The attempts in system directories would do no harm if the guard let them through: they use a
//! name in `/dev` and one that `/proc` generates. `crates/fiord/tests/run/safety.rs` attacks files
//! in `/etc`.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use fiord_types::Errno;

use super::*;

/// A directory for one test; removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    /// The number keeps tests apart that run at the same time, even if they use one name.
    fn new(name: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fiord-guard-{}-{number}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn how() -> Open {
    Open::write_only().create(true)
}

#[track_caller]
fn refused(guard: FileGuard, path: &Path, errno: Errno) -> String {
    let error = guard.open(how(), path).unwrap_err();
    assert_eq!(error.errno, errno, "{error}");
    assert!(error.to_string().contains("To fix:"), "{error}");
    error.to_string()
}

#[test]
fn files_are_created_opened_replaced_renamed_and_removed() {
    let scratch = Scratch::new("plain");
    let (path, other) = (scratch.path("f"), scratch.path("g"));
    assert!(FileGuard::generated().open(how(), &path).unwrap().created);
    assert!(!FileGuard::generated().open(how(), &path).unwrap().created);
    std::fs::write(&path, "old").unwrap();
    drop(FileGuard::typed().replace(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    FileGuard::typed().rename(&path, &other).unwrap();
    assert!(!FileGuard::typed().remove(&path).unwrap());
    assert!(FileGuard::typed().remove(&other).unwrap());
    assert!(!FileGuard::typed().remove(&scratch.path("no/such/directory")).unwrap());
    assert!(FileGuard::typed().remove(&scratch.0).is_err());
    let missing = FileGuard::typed().open(Open::write_only(), &path).unwrap_err();
    assert_eq!(missing.errno, Errno::ENOENT);
    drop(FileGuard::typed().replace(Path::new("/dev/null")).unwrap());
}

#[test]
fn missing_directories_are_created() {
    let scratch = Scratch::new("directories");
    let path = scratch.path("a/../b/./c");
    FileGuard::typed().make_directories(&path).unwrap();
    assert!(path.is_dir());
    FileGuard::typed().make_directories(&path).unwrap();
    let error = FileGuard::typed().make_directories(Path::new("/dev/fiord-test/a")).unwrap_err();
    assert_eq!(error.errno, Errno::EPERM);
    assert!(!Path::new("/dev/fiord-test").exists());
}

#[test]
fn system_directories_are_recognised_in_every_spelling() {
    let scratch = Scratch::new("spelling");
    let up = "../".repeat(scratch.0.components().count());
    symlink("/dev", scratch.path("dev")).unwrap();
    symlink("/dev/fiord-test", scratch.path("f")).unwrap();
    symlink("f", scratch.path("f2")).unwrap();
    for path in [
        "/dev/fiord-test",
        "/dev/../dev/./fiord-test",
        "/proc/self/root/dev/fiord-test",
        "/proc/self/comm",
        &format!("{}/{up}dev/fiord-test", scratch.0.display()),
        &scratch.path("dev/fiord-test").display().to_string(),
        &scratch.path("f").display().to_string(),
        &scratch.path("f2").display().to_string(),
    ] {
        let path = Path::new(path);
        let text = refused(FileGuard::typed(), path, Errno::EPERM);
        assert!(text.contains("/dev") || text.contains("/proc"), "{text}");
        assert!(super::system::directory_of(path).unwrap().is_some(), "{path:?}");
    }
    assert!(!Path::new("/dev/fiord-test").exists());
    assert_eq!(FileGuard::typed().remove(Path::new("/dev/null")).unwrap_err().errno, Errno::EPERM);
    let away = FileGuard::typed().rename(Path::new("/dev/null"), &scratch.path("null"));
    assert_eq!(away.unwrap_err().errno, Errno::EPERM);
    // An open file, by its name in /proc/self/fd.
    let comm = Open::read_only().open(Path::new("/proc/self/comm")).unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", comm.as_raw_fd()));
    refused(FileGuard::typed(), &path, Errno::EPERM);
    let own = FileGuard::typed().open(how(), &scratch.path("own")).unwrap().fd;
    let path = PathBuf::from(format!("/proc/self/fd/{}", own.as_raw_fd()));
    assert!(
        FileGuard::typed().open(how(), &path).is_ok(),
        "the caller's own file by its descriptor"
    );
}

#[test]
fn shared_memory_and_similar_names_are_not_system_directories() {
    let none = |path: &str| super::system::directory_of(Path::new(path)).unwrap().is_none();
    assert!(none("/dev/shm/f") && none("/library/f") && none("/var/lib/f") && none("/etcetera"));
    assert!(!none("/usr/no/such/f") && !none("/lib/f") && !none("/sys/f"));
}

#[test]
fn a_link_in_place_of_a_generated_name_is_not_followed() {
    let scratch = Scratch::new("link");
    for (to, name) in [("victim", "a.0.0"), ("missing", "b.0.0")] {
        std::fs::write(scratch.path("victim"), "mine").unwrap();
        symlink(to, scratch.path(name)).unwrap();
        let text = refused(FileGuard::generated(), &scratch.path(name), Errno::ELOOP);
        assert!(text.contains("symbolic link"), "{text}");
        assert!(FileGuard::typed().open(how(), &scratch.path(name)).is_ok(), "typed by the user");
    }
    assert_eq!(std::fs::read(scratch.path("victim")).unwrap(), b"mine");
}

#[test]
fn in_a_sticky_directory_a_generated_name_is_new_or_our_own() {
    let scratch = Scratch::new("sticky");
    let path = scratch.path("a.0.0");
    let mode = |mode| {
        std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o1777);
    assert!(FileGuard::generated().open(how(), &path).unwrap().created);
    assert!(!FileGuard::generated().open(how(), &path).unwrap().created, "run again");
    std::fs::hard_link(&path, scratch.path("second-name")).unwrap();
    let text = refused(FileGuard::generated(), &path, Errno::EEXIST);
    assert!(text.contains("hard links"), "{text}");
    mode(0o777);
    assert!(FileGuard::generated().open(how(), &path).is_ok(), "not sticky");
    mode(0o1777);
    std::fs::remove_file(scratch.path("second-name")).unwrap();
    if std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
        return eprintln!("skipped: only root can make another user's file");
    }
    let text = refused(FileGuard::generated(), &path, Errno::EEXIST);
    assert!(text.contains("user 12345"), "{text}");
}

#[test]
fn a_pipe_in_place_of_a_generated_name_does_not_block() {
    let scratch = Scratch::new("pipe");
    let path = scratch.path("a.prerun.txt");
    fs::mkfifoat(fs::CWD, &path, Mode::from_raw_mode(0o666)).unwrap();
    assert_eq!(FileGuard::generated().replace(&path).unwrap_err().errno, Errno::ENXIO);
}

#[test]
fn an_existing_file_is_opened_in_blocking_mode() {
    let scratch = Scratch::new("flags");
    let path = scratch.path("a.0.0");
    std::fs::write(&path, "").unwrap();
    let fd = FileGuard::generated().open(how(), &path).unwrap().fd;
    assert!(!fs::fcntl_getfl(&fd).unwrap().contains(OFlags::NONBLOCK));
}

#[test]
fn only_files_that_the_user_named_are_marked() {
    let scratch = Scratch::new("mark");
    let created = |guard: FileGuard, name: &str| {
        let path = scratch.path(name);
        guard.open(how(), &path).unwrap();
        super::super::is_created_by_fiord(&path)
    };
    if !created(FileGuard::target(), "named") {
        return eprintln!("skipped: no extended attributes here");
    }
    assert!(!created(FileGuard::generated(), "a.0.0"));
    assert!(created(FileGuard::buffer_file(), "buffers"));
    std::fs::write(scratch.path("other"), "").unwrap();
    assert!(!created(FileGuard::target(), "other"), "it existed before");
}

#[test]
fn a_creator_follows_the_rules_of_its_guard() {
    let scratch = Scratch::new("many");
    let mut creator = Creator::new(FileGuard::generated());
    let mut open = |name: &str| creator.open(how(), &scratch.path(name));
    assert!(open("a.0.0").unwrap().created);
    assert!(open("a.0.1").unwrap().created);
    assert!(!open("a.0.1").unwrap().created, "it exists");
    symlink("a.0.0", scratch.path("a.0.2")).unwrap();
    assert_eq!(open("a.0.2").unwrap_err().errno, Errno::ELOOP);
    assert_eq!(open("none/a.0.3").unwrap_err().errno, Errno::ENOENT);
    // Replace the directory by a link to a system directory.
    std::fs::create_dir(scratch.path("d")).unwrap();
    assert!(open("d/a.0.0").unwrap().created);
    std::fs::remove_dir_all(scratch.path("d")).unwrap();
    symlink("/dev", scratch.path("d")).unwrap();
    assert_eq!(open("d/a.0.0").unwrap_err().errno, Errno::EPERM);
    let missing = Creator::new(FileGuard::typed()).open(Open::write_only(), &scratch.path("no"));
    assert_eq!(missing.unwrap_err().errno, Errno::ENOENT);
}

#[test]
fn a_creator_makes_directories_by_the_rules_of_its_guard() {
    let scratch = Scratch::new("many-directories");
    let mut creator = Creator::new(FileGuard::typed());
    let mut make = |name: &str| creator.make_directories(&scratch.path(name));
    for name in ["a/b/1", "a/b/2", "a/b/2", "a/c", "a/c/1"] {
        make(name).unwrap();
        assert!(scratch.path(name).is_dir(), "{name}");
    }
    std::fs::write(scratch.path("a/c/file"), "").unwrap();
    assert_eq!(make("a/c/file").unwrap_err().errno, Errno::ENOTDIR);
    // The directory above is removed: it is created again.
    make("a/c/2").unwrap();
    std::fs::remove_dir_all(scratch.path("a")).unwrap();
    make("a/c/3").unwrap();
    assert!(scratch.path("a/c/3").is_dir());
    // It is replaced by a link to a system directory.
    std::fs::remove_dir_all(scratch.path("a/c")).unwrap();
    symlink("/dev", scratch.path("a/c")).unwrap();
    assert_eq!(make("a/c/fiord-test").unwrap_err().errno, Errno::EPERM);
    assert_eq!(make("a/c/fiord-test").unwrap_err().errno, Errno::EPERM);
}
