//! Ports of this machine for tests that run beside each other.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many ports each process of tests has.
const EACH: u16 = 100;

/// Returns the first of so many ports in a row that nothing uses, and that no other test gets soon.
///
/// They lie below those that the kernel gives to connections (`net.ipv4.ip_local_port_range`): a connection of another test
/// could get one of those between this call and the job that listens.
pub(crate) fn free(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + (std::process::id() % 200) as u16 * EACH;
    for _ in 0..10 * EACH {
        let begin = NEXT.fetch_add(count, Ordering::Relaxed) % EACH;
        let all = first + begin..first + begin + count;
        if all.clone().all(|port| TcpListener::bind(("0.0.0.0", port)).is_ok()) {
            return all.start;
        }
    }
    panic!("no {count} ports in a row are free from {first} on");
}
