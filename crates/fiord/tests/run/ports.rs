//! Ports of this machine for tests that run beside each other.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many ports each process of tests has.
const EACH: u16 = 100;
/// Maximum number of processes of tests that can have ports at the same time.
const PROCESSES: u16 = 200;

/// Returns the first of `count` ports in a row that nothing uses, and that no other test gets soon.
///
/// The ports lie below those that the kernel gives to connections (`net.ipv4.ip_local_port_range`): a connection of another
/// test could get one of those between this call and the job that listens.
pub(crate) fn free(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = first();
    for _ in 0..10 * EACH {
        let begin = NEXT.fetch_add(count, Ordering::Relaxed) % EACH;
        let all = first + begin..first + begin + count;
        if all.clone().all(|port| TcpListener::bind(("0.0.0.0", port)).is_ok()) {
            return all.start;
        }
    }
    panic!("no {count} ports in a row are free from {first} on");
}

/// Returns the first port of this process. The process holds a socket whose abstract name has the number of its ports, so that
/// no other process of tests takes them before it ends.
fn first() -> u16 {
    static CLAIM: OnceLock<(u16, UnixListener)> = OnceLock::new();
    let (number, _) = CLAIM.get_or_init(|| {
        let mine = (std::process::id() % u32::from(PROCESSES)) as u16;
        (0..PROCESSES)
            .map(|further| (mine + further) % PROCESSES)
            .find_map(|number| {
                let name = format!("fiord-tests-ports-{number}");
                let address = SocketAddr::from_abstract_name(name).unwrap();
                Some((number, UnixListener::bind_addr(&address).ok()?))
            })
            .expect("other processes of tests have all ports")
    });
    12_000 + number * EACH
}
