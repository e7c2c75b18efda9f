//! How the two ends of a connection between hosts of one run (`peer`) find out that they belong together.
//!
//! Several runs may use one port of one machine. Without a greeting, a job could wait without end for the blocks of an end of
//! another run that waits for blocks as well. The end that connects sends the number of its run, and the end that listens
//! answers with the same bytes, or closes the connection.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use fiord_sys::net::{self, Readiness};
use fiord_types::{Errno, RunNumber};

use super::PATIENCE;

/// How long the end that listens waits for the greeting of a connection. An end that is late connects again.
const PROMPT: Duration = Duration::from_secs(1);

/// Length of a greeting in bytes.
const LEN: usize = 16;

/// The bytes that both ends of a run send.
fn greeting(run: RunNumber) -> [u8; LEN] {
    let mut bytes = *b"fiordrun\0\0\0\0\0\0\0\0";
    bytes[8..].copy_from_slice(&run.0.to_le_bytes());
    bytes
}

/// Sends a greeting. Returns whether that was possible: a new connection has room for it.
fn say(socket: &OwnedFd, greeting: [u8; LEN]) -> bool {
    let at = greeting.as_ptr().cast();
    // SAFETY: the greeting is readable memory of this length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), at, LEN, libc::MSG_NOSIGNAL) };
    sent == LEN as isize
}

/// Waits for a greeting while `goes_on` says so, and returns whether it is the expected one.
fn hears(socket: &OwnedFd, expected: [u8; LEN], goes_on: &dyn Fn() -> bool) -> bool {
    let mut bytes = [0; LEN];
    let mut len = 0;
    while len < LEN {
        if !goes_on() {
            return false;
        }
        match net::wait_for(socket, Readiness::Readable, PATIENCE) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(_) => return false,
        }
        let rest = &mut bytes[len..];
        let (at, flags) = (rest.as_mut_ptr().cast(), libc::MSG_DONTWAIT);
        // SAFETY: the rest is writable memory of this length.
        match unsafe { libc::recv(socket.as_raw_fd(), at, rest.len(), flags) } {
            -1 if matches!(Errno::last(), Errno::EAGAIN | Errno::EINTR) => {}
            // The other end has closed the connection.
            ..=0 => return false,
            more => len += more as usize,
        }
    }
    bytes == expected
}

/// Greets the end that listens, and waits for its answer. Returns whether it belongs to this run.
pub(super) fn is_answered(socket: &OwnedFd, run: RunNumber, goes_on: &dyn Fn() -> bool) -> bool {
    say(socket, greeting(run)) && hears(socket, greeting(run), goes_on)
}

/// Waits for the greeting of the end that has connected, and answers it. Returns whether it belongs to this run.
pub(super) fn is_known(socket: &OwnedFd, run: RunNumber, goes_on: &dyn Fn() -> bool) -> bool {
    let since = Instant::now();
    let is_prompt = || since.elapsed() < PROMPT && goes_on();
    hears(socket, greeting(run), &is_prompt) && say(socket, greeting(run))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn connection() -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one.into(), listener.accept().unwrap().0)
    }

    #[test]
    fn only_ends_of_one_run_know_each_other() {
        for (theirs, known) in [(7, true), (8, false)] {
            let (near, far) = connection();
            let other = std::thread::spawn(move || {
                let far = OwnedFd::from(far);
                is_known(&far, RunNumber(theirs), &|| true)
            });
            assert_eq!(is_answered(&near, RunNumber(7), &|| true), known);
            assert_eq!(other.join().unwrap(), known);
        }
    }

    #[test]
    fn a_silent_end_or_another_program_is_a_stranger() {
        let (near, far) = connection();
        assert!(!is_known(&near, RunNumber(7), &|| true), "it says nothing for a second");
        let mut far = far;
        far.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert!(!is_known(&near, RunNumber(7), &|| true));
        drop(far);
        assert!(!is_answered(&near, RunNumber(7), &|| true), "it has gone");
        let (near, _far) = connection();
        assert!(!is_answered(&near, RunNumber(7), &|| false), "the job must stop");
    }
}
