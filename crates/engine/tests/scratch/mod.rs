//! Files and devices for tests of engines.

#![allow(dead_code)] // not every test binary uses all of them

use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fiord_engine::{
    Attachment, Completions, Engine, FileKind, FreeSlot, IoAttributes, Op, OpKind, Outcome, Queued,
    Want,
};
use fiord_types::{Bytes, FileIndex};

/// The block size of the tests in bytes.
pub(crate) const BLOCK: u32 = 4096;

/// An op on a block of the first file.
pub(crate) fn op(kind: OpKind, block: u64) -> Op {
    Op {
        kind,
        file: FileIndex(0),
        offset: block * u64::from(BLOCK),
        len: BLOCK,
        at: 0,
        attributes: IoAttributes::PLAIN,
    }
}

/// A regular file that is removed when the test ends.
pub(crate) struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    /// Creates a file of this many zero bytes.
    pub(crate) fn new(name: &str, bytes: u64) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{count}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        File::create(&path).unwrap().set_len(bytes).unwrap();
        Scratch { path }
    }

    /// The file as an engine sees it.
    pub(crate) fn target(&self, len: u64, read_only: bool) -> Attachment {
        let file = OpenOptions::new().read(true).write(!read_only).open(&self.path).unwrap();
        Attachment {
            fd: Some(Arc::new(OwnedFd::from(file))),
            kind: FileKind::Regular,
            offset: Bytes::ZERO,
            len: Bytes(len),
            read_only,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A loop device over a sparse file, with direct I/O. It is removed when the test ends.
pub(crate) struct LoopDevice {
    path: String,
    bytes: u64,
    _file: Scratch,
}

impl LoopDevice {
    /// `None`, with a message, if loop devices are not available (no root, or no driver).
    pub(crate) fn new(bytes: u64) -> Option<Self> {
        let file = Scratch::new("loop", bytes);
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&file.path).output();
        match made {
            Ok(output) if output.status.success() => {
                let path = String::from_utf8_lossy(&output.stdout).trim().to_string();
                Some(LoopDevice { path, bytes, _file: file })
            }
            _ => {
                eprintln!("no loop device to be had: the part on block devices is skipped");
                None
            }
        }
    }

    /// The device as an engine sees it, opened for direct I/O.
    pub(crate) fn target(&self) -> Attachment {
        let mut open = OpenOptions::new();
        let file = open.read(true).write(true).custom_flags(libc::O_DIRECT).open(&self.path);
        Attachment {
            fd: Some(Arc::new(OwnedFd::from(file.unwrap()))),
            kind: FileKind::Block,
            offset: Bytes::ZERO,
            len: Bytes(self.bytes),
            read_only: false,
        }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

/// A character device as an engine sees it.
pub(crate) fn device_target(path: &str) -> Attachment {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let fd = Some(Arc::new(OwnedFd::from(file)));
    Attachment {
        fd,
        kind: FileKind::Char,
        offset: Bytes::ZERO,
        len: Bytes(1 << 30),
        read_only: false,
    }
}

/// Attaches a file. Fails the test if that fails.
pub(crate) fn attach<E: Engine>(engine: &mut E, file: FileIndex, target: &Attachment) {
    engine.attach(file, target).unwrap();
}

/// Queues and flushes one op, and reaps until it has completed.
pub(crate) fn one<E: Engine>(engine: &mut E, free: &mut Vec<FreeSlot>, op: &Op) -> Outcome {
    let slot = free.pop().unwrap();
    let index = slot.index();
    let (slot, outcome) = match engine.queue(slot, op) {
        Queued::Done(slot, outcome) => (slot, outcome),
        Queued::Full(_) => panic!("full with nothing in flight"),
        Queued::Pending => {
            engine.flush().unwrap();
            let mut done = Completions::with_capacity(64);
            engine.reap(Want { min: 1, max: 64, timeout: None }, &mut done).unwrap();
            assert_eq!(done.len(), 1);
            done.pop_front().unwrap()
        }
    };
    assert_eq!(slot.index(), index);
    free.push(slot);
    outcome
}
