//! The thread that answers requests. One at a time, each within a limited time, so a slow client delays others and never
//! the run.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fiord_sys::signal;
use fiord_types::{Errno, Nanos};

use super::{answer, is_complete};
use crate::metrics::MetricsState;

/// The address without a name: only programs on this machine reach it.
const LOOPBACK: &str = "127.0.0.1";
/// How long a client may take to send its request.
const REQUEST_TIME: Duration = Duration::from_secs(2);
/// How long a client may take to receive its answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long the end of the run waits for an answer that is being sent.
const LAST_ANSWER: Duration = Duration::from_secs(1);
/// Pause after a connection that could not be accepted, for example because there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// Stack size of the thread, bytes.
const STACK: usize = 256 << 10;

/// The metrics cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nothing can listen on the address.
    #[error("cannot serve metrics on {address}: {}\n  To fix: {}", Errno::explain(.source), remedy(.source))]
    Listen {
        /// Address and port.
        address: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// The thread cannot be created.
    #[error(
        "cannot create the thread that serves metrics: {0}\n  To fix: raise the limit on threads (ulimit -u, pids.max)"
    )]
    Thread(io::Error),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => "choose another port, or end the program that uses it (ss -ltnp)",
        ErrorKind::PermissionDenied => "choose a port above 1023",
        ErrorKind::AddrNotAvailable => {
            "name an address of this machine (ip address), or leave it out for the loopback address"
        }
        _ => "write --metrics=:PORT or --metrics=ADDRESS:PORT",
    }
}

/// Serves the metrics of a run until the program ends.
#[derive(Debug)]
pub struct MetricsServer {
    shared: Arc<ServerState>,
}

#[derive(Debug)]
struct ServerState {
    metrics: Arc<Mutex<MetricsState>>,
    answering: Mutex<Answering>,
    changed: Condvar,
}

/// What the thread is doing.
#[derive(Debug, Default)]
struct Answering {
    /// It sends an answer.
    busy: bool,
    /// The metrics are final.
    is_final: bool,
    /// A client has received the final metrics.
    final_sent: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MetricsServer {
    /// Begins to serve. `host`: the address to listen on; `None`: the loopback address.
    ///
    /// # Errors
    /// The port is in use, the address is not one of this machine, or there is no thread left.
    pub fn start(
        host: Option<&str>,
        port: u16,
        metrics: Arc<Mutex<MetricsState>>,
    ) -> Result<MetricsServer, ServeError> {
        let host = host.unwrap_or(LOOPBACK);
        let failed = |source| {
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            ServeError::Listen { address: format!("{host}:{port}"), source }
        };
        let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
        let shared =
            Arc::new(ServerState { metrics, answering: Mutex::default(), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let body = move || {
            // The threads that poll for signals should receive them.
            let _ = signal::block_in_this_thread();
            for connection in listener.incoming() {
                match connection {
                    // A client that goes away has no answer to get.
                    Ok(connection) => drop(own.serve(connection)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        let builder = thread::Builder::new().name("metrics".into()).stack_size(STACK);
        builder.spawn(body).map_err(ServeError::Thread)?;
        Ok(MetricsServer { shared })
    }

    /// The metrics are final. Waits until a client has fetched them, at most for `linger`, and for an answer that is
    /// being sent. `stopped` ends the wait early.
    pub fn finish(&self, linger: Nanos, stopped: &dyn Fn() -> bool) {
        let mut answering = lock(&self.shared.answering);
        answering.is_final = true;
        let until = Instant::now() + Duration::from_nanos(linger.0);
        loop {
            let now = Instant::now();
            let wants_more = now < until && !answering.final_sent && !stopped();
            let sends = answering.busy && now < until + LAST_ANSWER;
            if !wants_more && !sends {
                return;
            }
            let waited = self.shared.changed.wait_timeout(answering, PAUSE);
            (answering, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl ServerState {
    fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        let until = Instant::now() + REQUEST_TIME;
        let mut request = Vec::new();
        let mut buffer = [0; 2048];
        while !is_complete(&request) {
            connection.set_read_timeout(Some(left(until)?))?;
            match connection.read(&mut buffer)? {
                0 => break,
                n => request.extend_from_slice(&buffer[..n]),
            }
        }
        let is_final = {
            let mut answering = lock(&self.answering);
            answering.busy = true;
            answering.is_final
        };
        let answer = answer(&request, &lock(&self.metrics));
        let sent = send(&mut connection, &answer.bytes);
        let mut answering = lock(&self.answering);
        answering.busy = false;
        answering.final_sent |= is_final && answer.has_metrics && sent.is_ok();
        self.changed.notify_all();
        sent
    }
}

fn send(connection: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + ANSWER_TIME;
    while !bytes.is_empty() {
        connection.set_write_timeout(Some(left(until)?))?;
        match connection.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The client knows that the answer is complete before the program ends.
    connection.shutdown(std::net::Shutdown::Write)
}

/// The time until `until`.
fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server on a port that was free a moment ago.
    fn server() -> (MetricsServer, u16) {
        for _ in 0..20 {
            let port = TcpListener::bind((LOOPBACK, 0)).unwrap().local_addr().unwrap().port();
            let state = MetricsState::new("fiord", ["a".to_owned()]);
            if let Ok(server) = MetricsServer::start(None, port, Arc::new(Mutex::new(state))) {
                return (server, port);
            }
        }
        panic!("no port is free");
    }

    fn get(port: u16, request: &str) -> String {
        let mut connection = TcpStream::connect((LOOPBACK, port)).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_client_that_sends_nothing_delays_the_next_one_only() {
        let (server, port) = server();
        let silent = TcpStream::connect((LOOPBACK, port)).unwrap();
        let began = Instant::now();
        let answer = get(port, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.contains("fiord_build_info{version=\"fiord\"} 1\n"), "{answer}");
        assert!(began.elapsed() < REQUEST_TIME * 4);
        drop(silent);
        server.finish(Nanos::ZERO, &|| false);
    }

    #[test]
    fn the_end_waits_for_a_client_or_a_signal() {
        let (server, port) = server();
        thread::scope(|scope| {
            let client = scope.spawn(move || {
                while !get(port, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200") {}
                thread::sleep(PAUSE);
                get(port, "GET /metrics HTTP/1.1\r\n\r\n")
            });
            let began = Instant::now();
            server.finish(Nanos::from_secs(60), &|| false);
            assert!(began.elapsed() < Duration::from_secs(30));
            client.join().unwrap();
        });
        let (server, _) = self::server();
        server.finish(Nanos::from_secs(60), &|| true);
    }

    #[test]
    fn a_port_in_use_is_an_error_with_a_remedy() {
        let taken = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = MetricsServer::start(None, port, Arc::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("127.0.0.1:{port}")), "{error}");
        assert!(error.contains("To fix: choose another port"), "{error}");
    }
}
