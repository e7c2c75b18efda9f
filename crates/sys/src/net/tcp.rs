//! What the kernel knows about a TCP connection (`TCP_INFO`).

use std::os::fd::OwnedFd;

use fiord_types::{Bytes, Nanos};

use super::socket::read_option;
use crate::Result;

/// What limited a TCP connection, and the sizes and times that explain it.
///
/// The times are those in which data waited to be sent or acknowledged. They need Linux 4.10, and are
/// 0 on older kernels and on a side that only receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// Time with data that were sent and not acknowledged.
    pub busy: Nanos,
    /// Part of `busy` in which the receiver's window was full: the peer reads too slowly, or its
    /// buffer is too small.
    pub window_limited: Nanos,
    /// Part of `busy` in which this side's send buffer was full.
    pub send_buffer_limited: Nanos,
    /// Smoothed round trip time.
    pub round_trip: Nanos,
    /// Smallest round trip time so far. Linux 4.6.
    pub least_round_trip: Nanos,
    /// Largest segment that this side sends.
    pub segment: Bytes,
    /// Bytes that the peer has acknowledged. Linux 4.1.
    pub acknowledged: Bytes,
    /// Bytes that this side has received. Linux 4.1.
    pub received: Bytes,
    /// Receive window that the peer offers now. Linux 5.4.
    pub peer_window: Bytes,
}

/// Offset of a field of the kernel's `struct tcp_info`, and its size.
macro_rules! fields {
    ($($name:ident: $type:ty = $at:literal,)*) => {
        struct Raw { $($name: $type,)* }

        impl Raw {
            /// Fields that the kernel did not write are 0.
            fn of(info: &[u8]) -> Self {
                Raw {
                    $($name: {
                        let bytes = info.get($at..$at + size_of::<$type>());
                        bytes.and_then(|b| b.try_into().ok()).map_or(0, <$type>::from_ne_bytes)
                    },)*
                }
            }
        }
    };
}

// The layout of include/uapi/linux/tcp.h: the kernel appends fields and never moves one.
fields! {
    snd_mss: u32 = 16,
    rtt: u32 = 68,
    bytes_acked: u64 = 120,
    bytes_received: u64 = 128,
    min_rtt: u32 = 148,
    busy_time: u64 = 168,
    rwnd_limited: u64 = 176,
    sndbuf_limited: u64 = 184,
    snd_wnd: u32 = 228,
}

/// Reads what the kernel knows about a TCP connection.
///
/// # Errors
/// Errors of `getsockopt(2)`: `EOPNOTSUPP` or `ENOPROTOOPT` on a socket that is not of TCP.
pub fn tcp_facts(socket: &OwnedFd) -> Result<TcpFacts> {
    let mut info = [0u8; 256];
    let option = (libc::IPPROTO_TCP, libc::TCP_INFO, "getsockopt TCP_INFO");
    let len = read_option(socket, option, &mut info)?;
    let raw = Raw::of(&info[..len.min(info.len())]);
    let micros = |us: u64| Nanos(us.saturating_mul(1000));
    // ~0 means that no time was measured yet.
    let least = if raw.min_rtt == u32::MAX { 0 } else { raw.min_rtt };
    Ok(TcpFacts {
        busy: micros(raw.busy_time),
        window_limited: micros(raw.rwnd_limited),
        send_buffer_limited: micros(raw.sndbuf_limited),
        round_trip: micros(raw.rtt.into()),
        least_round_trip: micros(least.into()),
        segment: Bytes(raw.snd_mss.into()),
        acknowledged: Bytes(raw.bytes_acked),
        received: Bytes(raw.bytes_received),
        peer_window: Bytes(raw.snd_wnd.into()),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_facts_agree_with_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 100_000]).unwrap();
        let mut data = vec![0; 100_000];
        receiver.read_exact(&mut data).unwrap();
        let (sender, receiver) = (OwnedFd::from(sender), OwnedFd::from(receiver));
        assert_eq!(tcp_facts(&receiver).unwrap().received, Bytes(100_000));
        let facts = tcp_facts(&sender).unwrap();
        // The last segment may still wait for its acknowledgement.
        assert!(facts.acknowledged.0 <= 100_001, "{facts:?}");
        assert!(facts.segment.0 > 500, "{facts:?}");
        assert!(facts.round_trip.0 > 0 && facts.least_round_trip.0 < 10_000_000_000, "{facts:?}");
        let other = std::os::unix::net::UnixStream::pair().unwrap().0;
        assert!(tcp_facts(&OwnedFd::from(other)).is_err());
    }
}
