//! Detects the first read of a file with inotify, without tracing the reader.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// A watch on one file.
pub(super) struct Watch(OwnedFd);

impl Watch {
    /// From now on.
    pub(super) fn on(file: &Path) -> Result<Self> {
        let fd = inotify::init(CreateFlags::NONBLOCK).context("inotify")?;
        inotify::add_watch(&fd, file, WatchFlags::ACCESS)
            .with_context(|| file.display().to_string())?;
        Ok(Watch(fd))
    }

    /// Waits for the first read.
    pub(super) fn first_access(self, patience: Duration) -> Result<Instant> {
        let end = Instant::now() + patience;
        let mut room = [MaybeUninit::uninit(); 1024];
        let mut reader = inotify::Reader::new(self.0, &mut room);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::ACCESS) => {
                    return Ok(Instant::now());
                }
                Ok(_) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_micros(50));
                }
                Err(Errno::WOULDBLOCK) => bail!("no process read the file"),
                Err(e) => return Err(e).context("inotify"),
            }
        }
    }
}
