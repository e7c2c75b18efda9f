//! The thread that answers requests. Each client has a limited time, and clients do not wait for each other. The run never
//! waits for a client before its end.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fiord_sys::poll::{self, PollEntry, Readiness};
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
/// The maximum number of clients at a time. Beyond it, the one that has waited longest is dropped.
const MAX_CLIENTS: usize = 64;
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
    /// The thread sends an answer.
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
        listener.set_nonblocking(true).map_err(failed)?;
        let shared =
            Arc::new(ServerState { metrics, answering: Mutex::default(), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let body = move || {
            // The threads that poll for signals should receive them.
            let _ = signal::block_in_this_thread();
            own.serve(&listener);
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

/// A client, from its connection to the end of its answer.
#[derive(Debug)]
struct HttpClient {
    connection: TcpStream,
    /// When it is dropped.
    until: Instant,
    request: Vec<u8>,
    /// The answer to its request, once that is complete.
    answer: Option<ClientAnswer>,
}

/// An answer that is being sent.
#[derive(Debug)]
struct ClientAnswer {
    bytes: Vec<u8>,
    sent: usize,
    /// The answer has the final metrics.
    is_final: bool,
}

impl ServerState {
    /// Accepts and answers clients without end.
    fn serve(&self, listener: &TcpListener) {
        let mut clients: VecDeque<HttpClient> = VecDeque::new();
        let mut entries = Vec::new();
        loop {
            entries.clear();
            entries.push(PollEntry::new(listener.as_raw_fd(), Readiness::Readable));
            entries.extend(clients.iter().map(HttpClient::entry));
            let now = Instant::now();
            let next = clients.iter().map(|client| client.until).min();
            let left = next.map(|until| until.saturating_duration_since(now));
            if poll::wait(&mut entries, left).is_err() {
                thread::sleep(PAUSE);
            }
            let now = Instant::now();
            let mut ready =
                entries[1..].iter().map(|entry| entry.is_readable() || entry.is_writable());
            clients.retain_mut(|client| {
                let is_ready = ready.next().unwrap_or(false);
                now < client.until && !(is_ready && self.has_ended(client))
            });
            if entries[0].is_readable() {
                self.accept(listener, &mut clients);
            }
            lock(&self.answering).busy = clients.iter().any(|client| client.answer.is_some());
            self.changed.notify_all();
        }
    }

    /// Accepts all clients that have connected. One whose request has arrived gets its answer at once.
    fn accept(&self, listener: &TcpListener, clients: &mut VecDeque<HttpClient>) {
        loop {
            match listener.accept() {
                Ok((connection, _)) => {
                    let Ok(mut client) = HttpClient::new(connection) else { continue };
                    if self.has_ended(&mut client) {
                        continue;
                    }
                    if clients.len() >= MAX_CLIENTS {
                        clients.pop_front();
                    }
                    clients.push_back(client);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return thread::sleep(PAUSE),
            }
        }
    }

    /// Receives and sends what is possible. Returns whether the client has its answer, or has gone away.
    fn has_ended(&self, client: &mut HttpClient) -> bool {
        match self.advance(client) {
            Ok(ended) => ended,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn advance(&self, client: &mut HttpClient) -> io::Result<bool> {
        if client.answer.is_none() {
            client.receive()?;
            let is_final = {
                let mut answering = lock(&self.answering);
                answering.busy = true;
                answering.is_final
            };
            let answer = answer(&client.request, &lock(&self.metrics));
            let is_final = is_final && answer.has_metrics;
            client.answer = Some(ClientAnswer { bytes: answer.bytes, sent: 0, is_final });
            client.until = Instant::now() + ANSWER_TIME;
        }
        let HttpClient { connection, answer: Some(answer), .. } = client else { return Ok(false) };
        while let Some(rest) = answer.bytes.get(answer.sent..).filter(|rest| !rest.is_empty()) {
            match connection.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => answer.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // The client knows that the answer is complete before the program ends.
        connection.shutdown(Shutdown::Write)?;
        lock(&self.answering).final_sent |= answer.is_final;
        Ok(true)
    }
}

impl HttpClient {
    fn new(connection: TcpStream) -> io::Result<HttpClient> {
        connection.set_nonblocking(true)?;
        let until = Instant::now() + REQUEST_TIME;
        Ok(HttpClient { connection, until, request: Vec::new(), answer: None })
    }

    /// What to wait for.
    fn entry(&self) -> PollEntry {
        let readiness = match self.answer {
            None => Readiness::Readable,
            Some(_) => Readiness::Writable,
        };
        PollEntry::new(self.connection.as_raw_fd(), readiness)
    }

    /// Receives the request. `WouldBlock`: the rest of it has not arrived.
    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        while !is_complete(&self.request) {
            match self.connection.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.request.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
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
    fn clients_that_send_nothing_do_not_delay_others() {
        let (server, port) = server();
        let connect = |_| TcpStream::connect((LOOPBACK, port)).unwrap();
        let silent: Vec<TcpStream> = (0..130).map(connect).collect();
        // One after the other, the silent ones would take REQUEST_TIME each; `get` waits for less than all of them.
        let answer = get(port, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.contains("fiord_build_info{version=\"fiord\"} 1\n"), "{answer}");
        // A client that sends its request in pieces gets its answer among them.
        let mut slow = connect(0);
        slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        slow.write_all(b"GET /metrics HT").unwrap();
        assert!(get(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
        slow.write_all(b"TP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        drop(silent);
        server.finish(Nanos::ZERO, &|| false);
    }

    #[test]
    fn a_client_that_sends_nothing_is_dropped() {
        let (_server, port) = server();
        let mut silent = TcpStream::connect((LOOPBACK, port)).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
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
