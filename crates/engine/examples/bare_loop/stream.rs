//! `stream`: blocks over a TCP connection to another thread of this program.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::{Job, Measured, drive};

/// Sends blocks to a thread that receives them. A block counts as two I/Os, one at each end.
pub(crate) fn run(job: &Job) -> Measured {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("the port that was bound");
    let (block, pingpong) = (job.block, job.pingpong);
    let receiver = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("a connection");
        let mut data = vec![0; block];
        while peer.read_exact(&mut data).is_ok() {
            if pingpong && peer.write_all(&data).is_err() {
                break;
            }
        }
    });
    let mut peer = TcpStream::connect(address).expect("a connection");
    let mut data = vec![0; block];
    let measured = drive(job, 16, |_| {
        peer.write_all(&data).expect("the peer reads");
        if pingpong {
            peer.read_exact(&mut data).expect("the peer answers");
        }
        2
    });
    drop(peer);
    receiver.join().expect("the receiver ends");
    measured
}
