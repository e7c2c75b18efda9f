//! A server in the process of the test, whose answers the test chooses.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A request that arrived: its number from 0, the first line, and the headers in lower case.
pub(super) struct Arrived {
    pub(super) number: usize,
    pub(super) line: String,
    pub(super) headers: String,
}

/// What the server does with a request.
pub(super) enum Act {
    /// Sends these bytes, in pieces with pauses if they are more than one.
    Send(Vec<Vec<u8>>),
    /// Sends these bytes, and closes the connection.
    SendAndClose(Vec<u8>),
    /// Sends these bytes, and resets the connection.
    SendAndReset(Vec<u8>),
    /// Sends nothing more.
    Stall,
}

/// A server on a port of the loopback interface. It runs until the test ends.
pub(super) struct Answers {
    pub(super) port: u16,
    pub(super) connections: Arc<AtomicUsize>,
}

impl Answers {
    pub(super) fn start(answer: impl Fn(&Arrived) -> Act + Send + Sync + 'static) -> Answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (answer, count) = (Arc::new(answer), connections.clone());
        let requests = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                let (answer, requests) = (answer.clone(), requests.clone());
                std::thread::spawn(move || serve(stream, &*answer, &requests));
            }
        });
        Answers { port, connections }
    }

    pub(super) fn job(&self) -> String {
        format!(
            "--ioengine=http --http_mode=s3 --http_s3_keyid=ID --http_s3_key=S3cr3tKey --http_host=127.0.0.1:{} \
             --filename=/b/x --bs=4k --size=16k",
            self.port
        )
    }
}

/// Serves one connection.
fn serve(mut stream: TcpStream, answer: &dyn Fn(&Arrived) -> Act, requests: &AtomicUsize) {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        // The last line feed stays in the socket, because a socket that is closed with unread bytes sends a reset.
        while !head.ends_with(b"\r\n\r") {
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let (line, headers) = head.split_once("\r\n").unwrap();
        let headers = headers.to_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        let number = requests.fetch_add(1, Ordering::Relaxed);
        let act = answer(&Arrived { number, line: line.to_owned(), headers });
        if let Act::SendAndReset(bytes) = act {
            let _ = stream.write_all(&bytes);
            // The client reads what arrives before the reset.
            std::thread::sleep(Duration::from_millis(100));
            return;
        }
        if stream.read_exact(&mut byte).is_err() || stream.read_exact(&mut vec![0; length]).is_err()
        {
            return;
        }
        match act {
            Act::Send(pieces) => {
                for piece in pieces {
                    if stream.write_all(&piece).is_err() {
                        return;
                    }
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
            Act::SendAndClose(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Act::SendAndReset(_) => return,
            Act::Stall => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
        }
    }
}

pub(super) fn with_body(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// An answer with an error document of S3.
pub(super) fn refusal(status: &str, code: &str, message: &str) -> Act {
    let body = format!(
        "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    Act::Send(vec![with_body(status, body.as_bytes())])
}
