//! Serves a drive to QEMU through the protocol of the Linux network block device (NBD), on a Unix socket.
//!
//! The drive must outlive QEMU, so that it can lose its cache when QEMU is killed. Integers of the protocol are big
//! endian.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};

use super::cache::{CachedDrive, DriveCounts};

const SERVER_MAGIC: &[u8; 16] = b"NBDMAGICIHAVEOPT";
const OPTION_MAGIC: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// Handshake flags: fixed newstyle.
const FIXED_NEWSTYLE: u16 = 1;
const OPTION_ABORT: u32 = 2;
const OPTION_INFO: u32 = 6;
const OPTION_GO: u32 = 7;
const REPLY_ACK: u32 = 1;
const REPLY_INFO: u32 = 3;
const REPLY_UNSUPPORTED: u32 = (1 << 31) + 1;
/// Flags of the drive: they are valid; it has flushes, FUA, and writes of zeroes.
const DRIVE_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 6;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const WRITE_ZEROES: u16 = 6;
const FUA: u16 = 1;
const EIO: u32 = 5;
const EINVAL: u32 = 22;
/// Maximum number of bytes of a request, as the protocol permits without an agreement.
const MAX_BYTES: u32 = 32 << 20;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionEnd {
    /// The client said so.
    InGoodOrder,
    /// The client vanished.
    Cut,
}

#[derive(Debug)]
pub(super) struct DriveServer {
    pub name: String,
    socket: PathBuf,
    thread: JoinHandle<io::Result<DriveCounts>>,
}

impl DriveServer {
    /// Starts a server that listens on `socket`.
    pub(super) fn start(name: &str, drive: CachedDrive, socket: PathBuf) -> Result<Self> {
        let listener = UnixListener::bind(&socket).with_context(|| socket.display().to_string())?;
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept()?;
            let mut drive = drive;
            match serve(&mut stream, &mut drive)? {
                ConnectionEnd::InGoodOrder => drive.switch_off(),
                ConnectionEnd::Cut => drive.lose_power(),
            }
        });
        Ok(DriveServer { name: name.to_owned(), socket, thread })
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Waits until the client, which has ended, is served. Returns the counts of the drive.
    pub(super) fn end(self) -> Result<DriveCounts> {
        // A client that never connected left the server waiting.
        drop(UnixStream::connect(&self.socket));
        let counts = self.thread.join().map_err(|_| anyhow!("the server of a drive panicked"))?;
        counts.with_context(|| format!("the server of the drive {}", self.name))
    }
}

/// Serves one client until it ends.
fn serve(stream: &mut UnixStream, drive: &mut CachedDrive) -> io::Result<ConnectionEnd> {
    let end = negotiate(stream, drive.size()).and_then(|agreed| match agreed {
        true => transmit(stream, drive),
        false => Ok(ConnectionEnd::InGoodOrder),
    });
    match end {
        Err(error) if is_cut(&error) => Ok(ConnectionEnd::Cut),
        end => end,
    }
}

/// Whether the client vanished. A killed client may leave a part of a request.
fn is_cut(error: &io::Error) -> bool {
    let kinds = [ErrorKind::UnexpectedEof, ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
    kinds.contains(&error.kind())
}

/// Agrees on the drive. Returns `false` if the client ends before.
fn negotiate(stream: &mut UnixStream, size: u64) -> io::Result<bool> {
    stream.write_all(SERVER_MAGIC)?;
    stream.write_all(&FIXED_NEWSTYLE.to_be_bytes())?;
    let _flags = read_u32(stream)?;
    loop {
        if read_u64(stream)? != OPTION_MAGIC {
            return Err(protocol("an option does not begin with its magic"));
        }
        let (option, length) = (read_u32(stream)?, read_u32(stream)?);
        if length > MAX_BYTES {
            return Err(protocol("an option is too long"));
        }
        let mut data = vec![0; length as usize];
        stream.read_exact(&mut data)?;
        match option {
            OPTION_INFO | OPTION_GO => {
                let mut info = vec![0, 0];
                info.extend(size.to_be_bytes());
                info.extend(DRIVE_FLAGS.to_be_bytes());
                answer(stream, option, REPLY_INFO, &info)?;
                answer(stream, option, REPLY_ACK, &[])?;
                if option == OPTION_GO {
                    return Ok(true);
                }
            }
            OPTION_ABORT => {
                answer(stream, option, REPLY_ACK, &[])?;
                return Ok(false);
            }
            _ => answer(stream, option, REPLY_UNSUPPORTED, &[])?,
        }
    }
}

fn answer(stream: &mut UnixStream, option: u32, reply: u32, data: &[u8]) -> io::Result<()> {
    let mut bytes = OPTION_REPLY_MAGIC.to_be_bytes().to_vec();
    bytes.extend(option.to_be_bytes());
    bytes.extend(reply.to_be_bytes());
    bytes.extend((data.len() as u32).to_be_bytes());
    bytes.extend(data);
    stream.write_all(&bytes)
}

/// Serves requests one after the other.
fn transmit(stream: &mut UnixStream, drive: &mut CachedDrive) -> io::Result<ConnectionEnd> {
    loop {
        if read_u32(stream)? != REQUEST_MAGIC {
            return Err(protocol("a request does not begin with its magic"));
        }
        let (flags, kind) = (read_u16(stream)?, read_u16(stream)?);
        let (cookie, offset, length) = (read_u64(stream)?, read_u64(stream)?, read_u32(stream)?);
        if length > MAX_BYTES && kind == WRITE {
            return Err(protocol("a write is too long"));
        }
        let mut data = vec![0; if kind == WRITE { length as usize } else { 0 }];
        stream.read_exact(&mut data)?;
        if kind == DISCONNECT {
            return Ok(ConnectionEnd::InGoodOrder);
        }
        let done = match kind {
            _ if !drive.has(offset, length.into()) => Err(EINVAL),
            READ if length <= MAX_BYTES => {
                data = vec![0; length as usize];
                drive.read(offset, &mut data).map_err(|_| EIO)
            }
            WRITE => drive.write(offset, &data, flags & FUA != 0).map_err(|_| EIO),
            WRITE_ZEROES => zero(drive, offset, length, flags & FUA != 0).map_err(|_| EIO),
            FLUSH => drive.flush().map_err(|_| EIO),
            _ => Err(EINVAL),
        };
        let mut reply = REPLY_MAGIC.to_be_bytes().to_vec();
        reply.extend(done.err().unwrap_or(0).to_be_bytes());
        reply.extend(cookie.to_be_bytes());
        if kind == READ && done.is_ok() {
            reply.append(&mut data);
        }
        stream.write_all(&reply)?;
    }
}

fn zero(drive: &mut CachedDrive, offset: u64, length: u32, durable: bool) -> io::Result<()> {
    let (mut at, end) = (offset, offset + u64::from(length));
    let zeroes = vec![0; 1 << 20];
    while at < end {
        let part = (end - at).min(zeroes.len() as u64);
        drive.write(at, &zeroes[..part as usize], durable)?;
        at += part;
    }
    Ok(())
}

fn protocol(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

fn read_u16(stream: &mut UnixStream) -> io::Result<u16> {
    let mut bytes = [0; 2];
    stream.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

fn read_u32(stream: &mut UnixStream) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn read_u64(stream: &mut UnixStream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

#[cfg(test)]
#[path = "nbd_tests.rs"]
mod tests;
