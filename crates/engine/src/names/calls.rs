//! System calls on names, one at a time.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use fiord_plan::{NameCall, StatType};
use fiord_types::{Errno, FileIndex};

use super::paths::{PathBuffer, Paths};
use super::{DIRECTORY_MODE, FILE_MODE, explain, flags_of_new, plan_of};
use crate::sync::File;
use crate::sync::operation::Operation;
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, Outcome, dataless, syscall};

/// One system call for each name.
#[derive(Debug)]
pub struct NameCalls {
    call: NameCall,
    stat: StatType,
    paths: Paths,
    buffer: PathBuffer,
    open_flags: i32,
    /// The created files that are open, by index. Empty for a tree, whose files are closed at once.
    open: Vec<Option<OwnedFd>>,
    /// The last name whose call failed.
    failed: Option<(Option<PathBuf>, Errno)>,
}

impl NameCalls {
    /// Makes the call for one name. Returns 0, a descriptor or a negative errno.
    #[inline]
    fn make(&self, path: &CStr) -> i64 {
        let at = self.paths.base() as usize;
        let name = path.as_ptr().expose_provenance();
        match self.call {
            NameCall::CreateFile => {
                let args = [at, name, self.open_flags as usize, FILE_MODE as usize];
                // SAFETY: the path is NUL-terminated and outlives the call.
                unsafe { syscall::call4(libc::SYS_openat, args) }
            }
            NameCall::StatFile | NameCall::StatDirectory => self.attributes(path),
            NameCall::RemoveFile | NameCall::RemoveDirectory => {
                let directory = self.call == NameCall::RemoveDirectory;
                let flags = if directory { libc::AT_REMOVEDIR as usize } else { 0 };
                // SAFETY: the path is NUL-terminated and outlives the call.
                unsafe { syscall::call4(libc::SYS_unlinkat, [at, name, flags, 0]) }
            }
            NameCall::CreateDirectory => {
                let args = [at, name, DIRECTORY_MODE as usize, 0];
                // SAFETY: the path is NUL-terminated and outlives the call.
                unsafe { syscall::call4(libc::SYS_mkdirat, args) }
            }
        }
    }

    /// Reads the attributes of a name.
    #[inline]
    fn attributes(&self, path: &CStr) -> i64 {
        let at = self.paths.base() as usize;
        let name = path.as_ptr().expose_provenance();
        let flags = match self.stat {
            StatType::Statx => {
                let mut attributes = MaybeUninit::<libc::statx>::uninit();
                let to = attributes.as_mut_ptr().expose_provenance();
                let args = [at, name, 0, libc::STATX_BASIC_STATS as usize, to, 0];
                // SAFETY: the path is NUL-terminated, `to` has room for the result, and both outlive the call.
                return unsafe { syscall::call6(libc::SYS_statx, args) };
            }
            StatType::Lstat => libc::AT_SYMLINK_NOFOLLOW as usize,
            StatType::Stat => 0,
        };
        let mut attributes = MaybeUninit::<libc::stat>::uninit();
        let to = attributes.as_mut_ptr().expose_provenance();
        // SAFETY: the path is NUL-terminated, `to` has room for the result, and both outlive the call.
        unsafe { syscall::call4(libc::SYS_newfstatat, [at, name, to, flags]) }
    }
}

impl Operation for NameCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = plan_of(config);
        let paths = Paths::new(config);
        let keeps = plan.call == NameCall::CreateFile && !paths.is_tree();
        let files = if keeps { config.names.len() } else { 0 };
        Ok(NameCalls {
            call: plan.call,
            stat: plan.stat,
            open_flags: flags_of_new(paths.is_tree(), config.generated),
            paths,
            buffer: PathBuffer::new(),
            open: std::iter::repeat_with(|| None).take(files).collect(),
            failed: None,
        })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        self.paths.attached(file.get(), target);
        if target.is_none()
            && let Some(open) = self.open.get_mut(file.get())
        {
            *open = None;
        }
        Ok(())
    }

    #[inline]
    fn issue(&mut self, _file: File, op: &Op) -> Outcome {
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = match self.paths.of(op, &mut buffer) {
            None => Outcome::uncounted(op.len),
            Some(path) => match self.make(path) {
                result if result < 0 => {
                    let errno = Errno::from_result(result);
                    self.failed = Some((self.paths.of_item(path), errno));
                    Outcome::err(errno)
                }
                result => {
                    if self.call == NameCall::CreateFile {
                        // SAFETY: the kernel has just given this descriptor to us alone.
                        let fd = unsafe { OwnedFd::from_raw_fd(result as i32) };
                        if let Some(open) = self.open.get_mut(op.file.get()) {
                            *open = Some(fd);
                        }
                    }
                    Outcome::ok(op.len)
                }
            },
        };
        self.buffer = buffer;
        outcome
    }

    fn sync(&mut self, file: File, _kind: FileKind, op: &Op) -> Outcome {
        let open = self.open.get(file.index.get()).and_then(Option::as_ref);
        match open {
            Some(fd) => dataless::carry_out(fd.as_raw_fd(), FileKind::Regular, op),
            // The plan permits no syncs of names that are not open.
            None => Outcome::err(Errno::EBADF),
        }
    }

    fn explain(&mut self) -> Option<String> {
        let (path, errno) = self.failed.take()?;
        explain(self.call, errno, path.as_deref())
    }
}
