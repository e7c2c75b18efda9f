//! A TCP proxy that delays, cuts, freezes and breaks connections, with seeded random numbers.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the proxy does to each direction of each connection.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    /// Equal seeds give equal delays and pieces.
    pub(crate) seed: u64,
    /// Each piece is delayed by a random time, in microseconds.
    pub(crate) delay_us: Range<u64>,
    /// The largest piece in bytes. Its size is random.
    pub(crate) piece: usize,
    /// One of this many pieces is lost: it arrives 200 ms later, as after a retransmission of TCP. 0: none.
    pub(crate) lost_one_in: u64,
    /// The connection breaks after this many bytes of the client.
    pub(crate) break_after: Option<u64>,
}

impl Faults {
    /// Passes everything on at once.
    pub(crate) fn none() -> Faults {
        Faults { seed: 1, delay_us: 0..1, piece: 1 << 16, lost_one_in: 0, break_after: None }
    }
}

/// The time after which TCP sends a lost piece again.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// A running proxy. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Both ends of all connections.
    streams: Mutex<Vec<TcpStream>>,
    frozen: AtomicBool,
    ended: AtomicBool,
}

impl Proxy {
    /// Forwards connections to `target`.
    pub(crate) fn start(target: SocketAddr, faults: Faults) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            for (number, client) in (0u64..).zip(listener.incoming()) {
                if shared.ended.load(Ordering::Acquire) {
                    return;
                }
                let Ok(client) = client else { return };
                forward_both(&shared, client, target, &faults, number);
            }
        });
        Proxy { address, state }
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections.
    pub(crate) fn break_all(&self) {
        for stream in self.state.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From now on nothing passes, and no connection ends: as if a cable were pulled.
    pub(crate) fn freeze(&self) {
        self.state.frozen.store(true, Ordering::Release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Release);
        self.break_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

fn forward_both(
    state: &Arc<State>,
    client: TcpStream,
    target: SocketAddr,
    faults: &Faults,
    number: u64,
) {
    let Ok(server) = TcpStream::connect(target) else { return };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
        state.streams.lock().unwrap().push(stream.try_clone().unwrap());
    }
    let ends = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
    for (direction, (from, to)) in (0u64..).zip(ends) {
        let random =
            Random(faults.seed ^ (2 * number + direction).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let break_after = faults.break_after.filter(|_| direction == 0);
        let faults = Faults { break_after, ..faults.clone() };
        let state = state.clone();
        std::thread::spawn(move || forward(&state, (from, to), &faults, random));
    }
}

/// Forwards one direction until it ends.
fn forward(
    state: &State,
    (mut from, mut to): (TcpStream, TcpStream),
    faults: &Faults,
    mut random: Random,
) {
    let mut buffer = vec![0; faults.piece];
    let mut left = faults.break_after.unwrap_or(u64::MAX);
    loop {
        let most = 1 + random.below(faults.piece as u64) as usize;
        let count = match from.read(&mut buffer[..most]) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        if faults.lost_one_in > 0 && random.below(faults.lost_one_in) == 0 {
            std::thread::sleep(RETRANSMISSION);
        }
        let delay = random.below(faults.delay_us.end - faults.delay_us.start);
        let delay = Duration::from_micros(faults.delay_us.start + delay);
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let passed = (count as u64).min(left);
        left -= passed;
        while state.frozen.load(Ordering::Acquire) {
            if state.ended.load(Ordering::Acquire) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&buffer[..passed as usize]).is_err() || left == 0 {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}
