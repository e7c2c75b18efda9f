//! A server for tests, which does what a test wants: it delays, fails, splits and cuts its replies.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use fiord_formats::nbd::request::{NbdCommand, NbdRequest, REQUEST_LEN};

/// The size of the export in bytes.
pub(super) const SIZE: u64 = 1 << 20;

/// What the server does after a request.
pub(super) enum Reaction {
    /// Sends these bytes in pieces of at most this number of bytes.
    Send(Vec<u8>, usize),
    /// Closes the connection.
    Close,
}

/// A server that listens on the loopback interface for as long as the process lives. Returns its port.
pub(super) fn start<F>(flags: u16, react: F) -> u16
where
    F: Fn(&NbdRequest, &[u8]) -> Vec<Reaction> + Send + Sync + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let react = Arc::new(react);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let react = react.clone();
            thread::spawn(move || serve(stream.unwrap(), flags, &*react));
        }
    });
    port
}

/// Serves a client until something fails, which ends the connection.
fn serve(
    mut stream: TcpStream,
    flags: u16,
    react: &dyn Fn(&NbdRequest, &[u8]) -> Vec<Reaction>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03").ok()?;
    read(&mut stream, 4)?;
    loop {
        let head = read(&mut stream, 16)?;
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let (option, len) = (number(8), number(12));
        read(&mut stream, len as usize)?;
        if option == 2 {
            return None;
        }
        if option != 8 {
            let mut data = vec![0, 0];
            data.extend_from_slice(&SIZE.to_be_bytes());
            data.extend_from_slice(&flags.to_be_bytes());
            stream.write_all(&option_reply(option, 3, &data)).ok()?;
        }
        stream.write_all(&option_reply(option, 1, &[])).ok()?;
        if option == 7 {
            break;
        }
    }
    loop {
        let head: [u8; REQUEST_LEN] = read(&mut stream, REQUEST_LEN)?.try_into().ok()?;
        let request = NbdRequest::decode(&head)?;
        let data = match request.command {
            NbdCommand::Write => read(&mut stream, request.len as usize)?,
            NbdCommand::Disconnect => return None,
            _ => Vec::new(),
        };
        for reaction in react(&request, &data) {
            match reaction {
                Reaction::Close => return None,
                Reaction::Send(bytes, piece) => {
                    for part in bytes.chunks(piece) {
                        stream.write_all(part).ok()?;
                    }
                }
            }
        }
    }
}

fn read(stream: &mut TcpStream, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn option_reply(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = 0x0003_e889_0455_65a9u64.to_be_bytes().to_vec();
    for number in [option, kind, data.len() as u32] {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    bytes.extend_from_slice(data);
    bytes
}

/// A simple reply, without data.
pub(super) fn simple(request: &NbdRequest, errno: u32) -> Vec<u8> {
    let mut bytes = 0x6744_6698u32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&errno.to_be_bytes());
    bytes.extend_from_slice(&request.cookie.to_be_bytes());
    bytes
}

/// A chunk of a reply.
pub(super) fn chunk(cookie: u64, done: bool, kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 0x668e_33efu32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&u16::from(done).to_be_bytes());
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&cookie.to_be_bytes());
    bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The payload of a chunk of data for an offset.
pub(super) fn data(offset: u64, data: &[u8]) -> Vec<u8> {
    let mut bytes = offset.to_be_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes
}
