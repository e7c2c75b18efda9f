//! `splice`: `splice(2)` and `vmsplice(2)` through a pipe.
//!
//! A read moves pages from the file into the pipe and copies them from there into the buffer. A write maps the pages
//! of the buffer into the pipe and moves them from there into the file. Both are done with the buffer when they
//! return. A block that is larger than the pipe passes through it in parts, so the engine makes the pipe as large as
//! the largest block if the kernel permits it (`fs.pipe-max-size`).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use fiord_sys::host::page_size;
use fiord_types::{Errno, FileIndex};

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::{Attachment, EngineConfig, EngineError, FileKind};

/// The pipe that all data pass through.
#[derive(Debug)]
pub struct SpliceCalls {
    reader: OwnedFd,
    writer: OwnedFd,
    /// Size of the pipe that the engine asks for, bytes.
    wanted: u64,
    /// Which files are pipes, which have no offsets.
    pipes: Vec<bool>,
}

impl Transfer for SpliceCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        // A range that is not aligned touches one page more.
        let wanted = config.buffer_bytes.0 + page_size() as u64;
        let (reader, writer) = open_pipe(wanted)
            .map_err(|errno| EngineError::call("ioengine=splice", "pipe2", errno))?;
        Ok(SpliceCalls { reader, writer, wanted, pipes: vec![false; config.files as usize] })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        if let Some(entry) = self.pipes.get_mut(file.get()) {
            *entry = target.is_some_and(|target| target.kind == FileKind::Pipe);
        }
        Ok(())
    }

    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        self.in_parts(span, |this, part| unsafe { this.read_part(file, part) })
    }

    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        self.in_parts(span, |this, part| unsafe { this.write_part(file, part) })
    }
}

impl SpliceCalls {
    /// Calls `transfer` for one part after another until the span is done or a call moves nothing. Returns what was
    /// moved, or the error of the first call.
    fn in_parts(
        &mut self,
        span: Span,
        mut transfer: impl FnMut(&mut Self, Span) -> Result<usize, Errno>,
    ) -> i64 {
        let mut moved = 0;
        while moved < span.len {
            let part = Span {
                data: span.data.wrapping_add(moved),
                len: span.len - moved,
                offset: span.offset + moved as u64,
            };
            match transfer(self, part) {
                Ok(0) => break,
                Ok(count) => moved += count,
                // The bytes before are in their place. The next call for the rest reports the error.
                Err(_) if moved > 0 => break,
                Err(errno) => return errno.as_result(),
            }
        }
        moved as i64
    }

    /// Moves bytes of the file into the pipe, and from the pipe into memory. Returns their number.
    ///
    /// # Safety
    ///
    /// As [`Transfer::read`].
    unsafe fn read_part(&mut self, file: File, part: Span) -> Result<usize, Errno> {
        let mut offset = part.offset as i64;
        let at = self.position(file, &raw mut offset);
        let to = self.writer.as_raw_fd();
        // SAFETY: the call writes the offset, if there is one.
        let in_pipe =
            result(unsafe { libc::splice(file.fd, at, to, std::ptr::null_mut(), part.len, 0) })?;
        let mut out = 0;
        while out < in_pipe {
            let base = part.data.wrapping_add(out).cast();
            let vector = libc::iovec { iov_base: base, iov_len: in_pipe - out };
            let pipe = self.reader.as_raw_fd();
            // SAFETY: the caller vouches for the memory that the one entry describes.
            match result(unsafe { libc::vmsplice(pipe, &raw const vector, 1, 0) }) {
                Ok(count) if count > 0 => out += count,
                // The bytes that are left must not become those of the next read.
                failed => {
                    self.empty()?;
                    failed?;
                    break;
                }
            }
        }
        Ok(out)
    }

    /// Maps memory into the pipe, and moves it from there into the file. Returns the number of bytes that the file
    /// took.
    ///
    /// # Safety
    ///
    /// As [`Transfer::write`].
    unsafe fn write_part(&mut self, file: File, part: Span) -> Result<usize, Errno> {
        let vector = libc::iovec { iov_base: part.data.cast(), iov_len: part.len };
        let pipe = self.writer.as_raw_fd();
        // Not blocking: the pipe takes what it has room for.
        let flags = libc::SPLICE_F_NONBLOCK;
        // SAFETY: the caller vouches for the memory that the one entry describes. The pipe is empty when this
        // function returns, so the kernel uses the memory no longer.
        let in_pipe = result(unsafe { libc::vmsplice(pipe, &raw const vector, 1, flags) })?;
        let mut out = 0;
        while out < in_pipe {
            let mut offset = (part.offset + out as u64) as i64;
            let at = self.position(file, &raw mut offset);
            let from = self.reader.as_raw_fd();
            // SAFETY: the call writes the offset, if there is one.
            let moved = result(unsafe {
                libc::splice(from, std::ptr::null_mut(), file.fd, at, in_pipe - out, 0)
            });
            match moved {
                Ok(count) if count > 0 => out += count,
                // The pages that are left must not become part of the next write.
                failed => {
                    self.empty()?;
                    failed?;
                    break;
                }
            }
        }
        Ok(out)
    }

    /// The offset to pass for a file: none if it is a pipe.
    fn position(&self, file: File, offset: *mut i64) -> *mut i64 {
        match self.pipes.get(file.index.get()) {
            Some(true) => std::ptr::null_mut(),
            _ => offset,
        }
    }

    /// Replaces the pipe by an empty one. The kernel releases the pages in the old one.
    fn empty(&mut self) -> Result<(), Errno> {
        (self.reader, self.writer) = open_pipe(self.wanted)?;
        Ok(())
    }
}

/// A pipe with room for `wanted` bytes, or for less if the kernel does not allow this process such a large pipe.
fn open_pipe(wanted: u64) -> Result<(OwnedFd, OwnedFd), Errno> {
    let mut ends = [-1; 2];
    // SAFETY: the call writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(Errno::last());
    }
    // SAFETY: the call has opened both descriptors, and nothing else owns them.
    let [reader, writer] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let size = libc::c_int::try_from(wanted).unwrap_or(libc::c_int::MAX);
    // A pipe of the default size works too, with more calls.
    // SAFETY: the call takes no pointers.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
    Ok((reader, writer))
}

fn result(ret: isize) -> Result<usize, Errno> {
    let ret = raw_result(ret as i64);
    usize::try_from(ret).map_err(|_| Errno::from_result(ret))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use fiord_plan::EnginePlan;
    use fiord_types::FileIndex;

    use super::*;

    fn calls(buffer: u32) -> SpliceCalls {
        SpliceCalls::new(&EngineConfig::plain(EnginePlan::Splice, 1, buffer)).unwrap()
    }

    fn write(calls: &mut SpliceCalls, fd: i32, data: &mut [u8]) -> i64 {
        let file = File { fd, index: FileIndex(0) };
        let span = Span { data: data.as_mut_ptr(), len: data.len(), offset: 0 };
        // SAFETY: the span is a slice that nothing else uses.
        unsafe { calls.write(file, span) }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn a_failed_write_leaves_nothing_for_the_next_one() {
        let mut calls = calls(8192);
        let reader = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(write(&mut calls, reader.as_raw_fd(), &mut [1; 8192]), Errno::EBADF.as_result());
        let path = std::env::temp_dir().join(format!("fiord-splice-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        assert_eq!(write(&mut calls, file.as_raw_fd(), &mut [2; 8192]), 8192);
        let mut bytes = Vec::new();
        std::fs::File::open(&path).unwrap().read_to_end(&mut bytes).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(bytes, [2; 8192]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn a_block_larger_than_the_pipe_passes_in_parts() {
        let mut calls = calls(4096);
        let path = std::env::temp_dir().join(format!("fiord-splice-parts-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        let mut data: Vec<u8> = (0..1u32 << 20).map(|i| (i % 251) as u8).collect();
        assert_eq!(write(&mut calls, file.as_raw_fd(), &mut data), 1 << 20);
        let file = std::fs::File::open(&path).unwrap();
        let mut back = vec![0; 1 << 20];
        let span = Span { data: back.as_mut_ptr(), len: back.len(), offset: 0 };
        // SAFETY: the span is a vector that nothing else uses.
        let ret = unsafe { calls.read(File { fd: file.as_raw_fd(), index: FileIndex(0) }, span) };
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ret, 1 << 20);
        assert_eq!(back, data);
    }
}
