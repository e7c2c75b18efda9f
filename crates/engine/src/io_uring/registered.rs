//! Registration of files and buffers with the kernel, which then need not look them up for every
//! op.

use std::os::fd::RawFd;

use fiord_types::{Errno, FileIndex};

use super::abi::*;
use super::entry::{Completion, Submission};
use super::ring::Ring;
use crate::buffers::Buffers;
use crate::files::AttachedFiles;
use crate::{Attachment, EngineConfig, EngineError, FileKind};

/// Largest buffer that the kernel registers (1 GiB).
const MAX_REGISTERED: usize = 1 << 30;
/// Largest number of buffers that the kernel registers.
const MAX_BUFFERS: u32 = 1 << 14;

/// How the buffers are registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    /// No buffer is registered.
    Nothing,
    /// All buffers as one, under index 0.
    AsOne,
    /// Each buffer under the index of its slot, because one registration cannot hold all of them.
    Each,
}

impl<S: Submission, C: Completion> Ring<S, C> {
    /// Registers the buffers of the slots: as one buffer if the kernel accepts that size, otherwise
    /// each on its own.
    ///
    /// # Errors
    ///
    /// The buffers are too many, or the kernel refused them.
    pub(crate) fn register_buffers(
        &self,
        buffers: &Buffers,
        slots: u32,
    ) -> Result<Registered, EngineError> {
        let (base, stride) = buffers.region();
        let whole = stride * slots as usize;
        let vector = |start: usize, iov_len: usize| libc::iovec {
            iov_base: base.wrapping_add(start).cast(),
            iov_len,
        };
        let (how, vectors): (_, Vec<libc::iovec>) = if whole == 0 {
            return Ok(Registered::Nothing);
        } else if whole <= MAX_REGISTERED {
            (Registered::AsOne, vec![vector(0, whole)])
        } else if slots > MAX_BUFFERS {
            return Err(EngineError::plain(format!(
                "the kernel does not register {slots} buffers of {stride} bytes"
            ))
            .help("To fix: leave out fixedbufs=1, or lower iodepth or bs"));
        } else {
            let each = (0..slots as usize).map(|slot| vector(slot * stride, stride));
            (Registered::Each, each.collect())
        };
        let (list, count) = (vectors.as_ptr().cast(), vectors.len() as u32);
        // SAFETY: `vectors` has `count` entries that describe the buffers, which the engine keeps
        // until its ops have ended.
        let registered = unsafe { self.register(REGISTER_BUFFERS, list, count) };
        registered.map(|_| how).map_err(|errno| {
            EngineError::call("fixedbufs=1", "io_uring_register(IORING_REGISTER_BUFFERS)", errno)
                .help(match errno {
                    Errno::ENOMEM | Errno::EPERM => {
                        "registered buffers count as locked memory. To fix: raise `ulimit -l`, or leave out \
                         fixedbufs=1"
                    }
                    _ => "To fix: leave out fixedbufs=1, or use iomem=malloc",
                })
        })
    }

    /// Registers an empty table for `files` files.
    fn register_no_files(&self, files: u32) -> Result<(), EngineError> {
        let none = vec![-1i32; files as usize];
        // SAFETY: `none` has `files` entries.
        let ret = unsafe { self.register(REGISTER_FILES, none.as_ptr().cast(), files) };
        ret.map(drop).map_err(|errno| file_error("IORING_REGISTER_FILES", errno))
    }

    /// Registers a file under an index of the table; -1 removes it.
    fn register_file(&self, place: FileIndex, fd: RawFd) -> Result<(), EngineError> {
        let update = RsrcUpdate { offset: place.0, resv: 0, data: (&raw const fd) as u64 };
        // SAFETY: `update` points to one descriptor, and both outlive the call.
        let ret = unsafe { self.register(REGISTER_FILES_UPDATE, (&raw const update).cast(), 1) };
        ret.map(drop).map_err(|errno| file_error("IORING_REGISTER_FILES_UPDATE", errno))
    }

    fn unregister_files(&self) {
        // SAFETY: the call takes no argument. It fails only if no files are registered.
        let _ = unsafe { self.register(UNREGISTER_FILES, std::ptr::null(), 0) };
    }
}

/// The attached files as submission entries refer to them: by descriptor, or by index if the files
/// are registered.
#[derive(Debug)]
pub(crate) struct RingFiles {
    files: AttachedFiles,
    /// Value of the entries' `fd` field for each file.
    names: Box<[i32]>,
    registered: bool,
}

impl RingFiles {
    /// Registers the files if the job asks for it (`asked`), if the ring needs it, or if no file is
    /// closed while the job runs.
    ///
    /// # Errors
    ///
    /// The job asks for registered files or the ring needs them, and the kernel refused.
    pub(crate) fn new<S: Submission, C: Completion>(
        ring: &Ring<S, C>,
        config: &EngineConfig,
        asked: bool,
    ) -> Result<Self, EngineError> {
        let asked = asked || ring.needs_registered_files();
        // With a registered file the kernel saves the look-up of the descriptor for every op: a
        // tenth of a small read from the page cache.
        let mut registered = asked || config.held;
        if registered {
            match ring.register_no_files(config.files) {
                Ok(()) => {}
                Err(error) if asked => return Err(error),
                // The kernel does not register as many files, or none: the job runs without this
                // optimisation.
                Err(_) => registered = false,
            }
        }
        Ok(RingFiles {
            files: AttachedFiles::new(config.files),
            names: vec![-1; config.files as usize].into_boxed_slice(),
            registered,
        })
    }

    /// Flags that every submission entry needs for its file (`IOSQE_*`).
    pub(crate) fn entry_flags(&self) -> u8 {
        if self.registered { IOSQE_FIXED_FILE } else { 0 }
    }

    /// Value of an entry's `fd` field for a file.
    #[inline(always)]
    pub(crate) fn name(&self, file: FileIndex) -> i32 {
        self.names.get(file.get()).copied().unwrap_or(-1)
    }

    /// Type of a file.
    pub(crate) fn kind(&self, file: FileIndex) -> FileKind {
        self.files.kind(file)
    }

    /// The attached files, for system calls without the ring.
    pub(crate) fn files(&self) -> &AttachedFiles {
        &self.files
    }

    /// See [`crate::Engine::attach`].
    pub(crate) fn attach<S: Submission, C: Completion>(
        &mut self,
        ring: &Ring<S, C>,
        file: FileIndex,
        target: &Attachment,
    ) -> Result<(), EngineError> {
        self.files.attach(file, target)?;
        self.update(ring, file)
    }

    /// See [`crate::Engine::detach`].
    pub(crate) fn detach<S: Submission, C: Completion>(
        &mut self,
        ring: &Ring<S, C>,
        file: FileIndex,
    ) -> Result<(), EngineError> {
        self.files.detach(file);
        self.update(ring, file)
    }

    /// Updates the entries' `fd` field and the registration of a file.
    fn update<S: Submission, C: Completion>(
        &mut self,
        ring: &Ring<S, C>,
        file: FileIndex,
    ) -> Result<(), EngineError> {
        let fd = self.files.fd(file);
        let Some(name) = self.names.get_mut(file.get()) else { return Ok(()) };
        if !self.registered {
            *name = fd;
            return Ok(());
        }
        *name = file.0 as i32;
        ring.register_file(file, fd)
    }

    /// Unregisters the files before the ring is closed. The kernel releases the files of a closed
    /// ring only at some later time; until then a device cannot be detached, nor its file system
    /// unmounted.
    pub(crate) fn release<S: Submission, C: Completion>(&self, ring: &Ring<S, C>) {
        if self.registered {
            ring.unregister_files();
        }
    }
}

fn file_error(what: &str, errno: Errno) -> EngineError {
    EngineError::call("registerfiles=1", &format!("io_uring_register({what})"), errno)
        .help("To fix: raise `ulimit -n`, or leave out registerfiles=1 (needs Linux 5.5 or later)")
}
