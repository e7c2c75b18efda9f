//! A file system served by this process, with one directory and one file `f`. It implements only the part of
//! the `/dev/fuse` protocol that reading needs (Linux: include/uapi/linux/fuse.h, version 7.31).

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use fiord_types::Errno;

use crate::fiord::Place;

/// Size of the file, and the value of all its bytes.
const SIZE: u64 = 16 << 20;
const BYTE: u8 = 7;
const ROOT: u64 = 1;
const FILE: u64 = 2;

/// Opcodes of requests.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const RELEASE: u32 = 18;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const BATCH_FORGET: u32 = 42;
const LSEEK: u32 = 46;

/// Delay of a read that is never answered, as on a device that hangs.
pub(crate) const FOREVER: Duration = Duration::MAX;

/// Whether the file system answers `lseek(2)` with `SEEK_DATA` and `SEEK_HOLE`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seeks {
    Answered,
    Hang,
    /// The server answers seeks until the file is read.
    HangAfterReads,
}

/// The file system; it is unmounted when this value is dropped.
pub(crate) struct Served {
    point: PathBuf,
    server: Option<JoinHandle<()>>,
}

impl Served {
    /// Mounts the file system below a place. Each read takes `delay`; with [`FOREVER`] it hangs. Prints a
    /// line and returns `None` if mounting is not permitted.
    pub(crate) fn new(place: &Place, delay: Duration) -> Option<Served> {
        Served::with_seeks(place, delay, Seeks::Answered)
    }

    /// Mounts a file system whose seeks may hang; see [`Served::new`].
    pub(crate) fn with_seeks(place: &Place, delay: Duration, seeks: Seeks) -> Option<Served> {
        let point = place.path("served");
        std::fs::create_dir_all(&point).unwrap();
        let Ok(device) = File::options().read(true).write(true).open("/dev/fuse") else {
            eprintln!("skipped: /dev/fuse needs root");
            return None;
        };
        let mut mount = Command::new("mount");
        mount.args([
            "-i",
            "-t",
            "fuse",
            "-o",
            "fd=0,rootmode=40000,user_id=0,group_id=0",
            "served",
        ]);
        // The helper passes its standard input to the kernel.
        mount.arg(&point).stdin(device.try_clone().unwrap()).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: FUSE cannot be mounted here");
            return None;
        }
        let server = std::thread::spawn(move || serve(&device, delay, seeks));
        Some(Served { point, server: Some(server) })
    }

    /// Returns the path of the file.
    pub(crate) fn file(&self) -> PathBuf {
        Path::new(&self.point).join("f")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Unmounts by force: requests that hang fail.
        let _ = Command::new("umount").arg("-f").arg(&self.point).stderr(Stdio::null()).status();
        let _ = Command::new("umount").arg("-l").arg(&self.point).stderr(Stdio::null()).status();
        if let Some(server) = self.server.take() {
            server.join().unwrap();
        }
    }
}

/// Answers requests one after another until the file system is unmounted. Each read takes `delay`.
fn serve(mut device: &File, delay: Duration, mut seeks: Seeks) {
    let mut request = vec![0; 1 << 18];
    while let Ok(length) = device.read(&mut request) {
        // struct fuse_in_header: length, opcode, unique, node, uid, gid, pid, padding.
        let (header, body) = request[..length].split_at(40);
        let (opcode, unique) = (number(header, 4) as u32, &header[8..16]);
        let answer = match opcode {
            FORGET | BATCH_FORGET => continue,
            INIT => Ok(init()),
            LOOKUP if body.starts_with(b"f\0") => Ok(entry()),
            LOOKUP => Err(Errno::ENOENT),
            GETATTR => Ok([vec![0; 16], attributes(wide(header, 16))].concat()),
            OPEN => Ok(vec![0; 16]),
            READ if delay == FOREVER => continue,
            LSEEK if seeks == Seeks::Hang => continue,
            LSEEK => Ok(seek(wide(body, 8), number(body, 16)).to_ne_bytes().to_vec()),
            READ => {
                if seeks == Seeks::HangAfterReads {
                    seeks = Seeks::Hang;
                }
                std::thread::sleep(delay);
                Ok(read(wide(body, 8), number(body, 16)))
            }
            FLUSH | RELEASE => Ok(Vec::new()),
            _ => Err(Errno::ENOSYS),
        };
        let (error, data) =
            answer.map_or_else(|errno| (-errno.raw(), Vec::new()), |data| (0, data));
        // struct fuse_out_header: length, error, unique.
        let length = 16 + data.len() as u32;
        let whole = [&length.to_ne_bytes()[..], &error.to_ne_bytes(), unique, &data].concat();
        if device.write_all(&whole).is_err() {
            return;
        }
    }
}

/// struct fuse_init_out: version 7.31, and the minimum for all other fields.
fn init() -> Vec<u8> {
    let mut out = [7u32.to_ne_bytes(), 31u32.to_ne_bytes()].concat();
    out.resize(64, 0);
    // The maximum size of a write.
    out[20..24].copy_from_slice(&4096u32.to_ne_bytes());
    out
}

/// struct fuse_entry_out: node, generation, validity times, attributes.
fn entry() -> Vec<u8> {
    [&FILE.to_ne_bytes()[..], &[0; 32], &attributes(FILE)].concat()
}

/// struct fuse_attr.
fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if node == ROOT { (0o40755u32, 0) } else { (0o100644, SIZE) };
    let mut out = [node, size, size / 512].map(u64::to_ne_bytes).concat();
    // Three times, with their nanoseconds.
    out.resize(24 + 24 + 12, 0);
    out.extend([mode, 1, 0, 0, 0, 4096, 0].map(u32::to_ne_bytes).concat());
    out
}

fn read(offset: u64, size: u64) -> Vec<u8> {
    vec![BYTE; size.min(SIZE.saturating_sub(offset)) as usize]
}

/// struct fuse_lseek_out: the whole file is data, followed by a hole.
fn seek(offset: u64, whence: u64) -> u64 {
    const SEEK_HOLE: u64 = 4;
    if whence == SEEK_HOLE { SIZE } else { offset }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()).into()
}

fn wide(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}
