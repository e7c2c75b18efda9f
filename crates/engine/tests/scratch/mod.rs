//! Files for engines to work on.

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fiord_engine::{Engine, FileKind, Target};

/// A regular file that is removed when the test is done.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    /// A file of this many bytes, all zero.
    pub fn new(name: &str, bytes: u64) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{count}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        File::create(&path).unwrap().set_len(bytes).unwrap();
        Scratch { path }
    }

    /// As an engine sees it.
    pub fn target(&self, len: u64, read_only: bool) -> Target {
        let file = OpenOptions::new().read(true).write(!read_only).open(&self.path).unwrap();
        Target {
            fd: Some(Arc::new(OwnedFd::from(file))),
            kind: FileKind::Regular,
            offset: 0,
            len,
            read_only,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Attaches a target or fails the test.
pub fn attach<E: Engine>(engine: &mut E, file: u32, target: &Target) {
    engine.attach(file, target).unwrap();
}
