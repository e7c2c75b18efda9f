//! A relay between a job and its server, which can cut the connections of the job.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Where a relay leads.
#[derive(Debug, Clone)]
pub(crate) enum Upstream {
    /// A port of the loopback interface.
    Port(u16),
    /// A Unix socket.
    Socket(PathBuf),
}

/// A port that leads to a server until this value is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    open: Mutex<Vec<TcpStream>>,
    accepted: AtomicU32,
    /// Bytes that servers have sent.
    answered: AtomicU64,
    /// New connections wait.
    holds: AtomicBool,
    /// New connections end at once.
    closed: AtomicBool,
}

impl Relay {
    pub(crate) fn to(upstream: Upstream) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            upstream,
            open: Mutex::default(),
            accepted: AtomicU32::new(0),
            answered: AtomicU64::new(0),
            holds: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let state = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                state.accepted.fetch_add(1, Ordering::Relaxed);
                let state = Arc::clone(&state);
                thread::spawn(move || state.serve(client));
            }
        });
        Relay { port, shared }
    }

    /// How many connections the relay has had.
    pub(crate) fn accepted(&self) -> u32 {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// How many bytes the servers have sent through the relay.
    pub(crate) fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Relaxed)
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        for client in self.shared.open.lock().unwrap().drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// Whether new connections wait.
    pub(crate) fn hold(&self, holds: bool) {
        self.shared.holds.store(holds, Ordering::Relaxed);
    }

    /// Ends all connections, and new ones at once.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.cut();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn serve(&self, client: TcpStream) {
        while self.holds.load(Ordering::Relaxed) && !self.closed.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        client.set_nodelay(true).unwrap();
        self.open.lock().unwrap().push(client.try_clone().unwrap());
        let ends = (client.try_clone().unwrap(), client);
        match &self.upstream {
            Upstream::Port(port) => {
                let Ok(server) = TcpStream::connect(("127.0.0.1", *port)) else { return };
                server.set_nodelay(true).unwrap();
                let back = server.try_clone().unwrap();
                self.both(ends, (server, back), |server| drop(server.shutdown(Shutdown::Both)));
            }
            Upstream::Socket(path) => {
                let Ok(server) = UnixStream::connect(path) else { return };
                let back = server.try_clone().unwrap();
                self.both(ends, (server, back), |server| drop(server.shutdown(Shutdown::Both)));
            }
        }
    }

    /// Copies in both directions until one of them ends, and ends the other.
    fn both<S: Read + Write + Send>(
        &self,
        (mut from_client, mut to_client): (TcpStream, TcpStream),
        (mut to_server, mut from_server): (S, S),
        end: impl Fn(&S) + Send + Copy,
    ) {
        thread::scope(|scope| {
            scope.spawn(move || {
                let _ = copy(&mut from_client, &mut to_server, |_| {});
                end(&to_server);
            });
            let count = |len| {
                self.answered.fetch_add(len, Ordering::Relaxed);
            };
            let _ = copy(&mut from_server, &mut to_client, count);
            let _ = to_client.shutdown(Shutdown::Both);
        });
    }
}

fn copy(from: &mut impl Read, to: &mut impl Write, copied: impl Fn(u64)) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let len = from.read(&mut buffer)?;
        if len == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..len])?;
        copied(len as u64);
    }
}
