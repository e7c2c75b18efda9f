//! Connections are made before a job starts its clock.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::super::{Service, listens};
use super::nginx::Nginx;
use crate::fiord::{Place, work};

/// How long a connection takes.
const DELAY: Duration = Duration::from_millis(2500);

/// A port that passes connections on to another one, each after a pause.
fn slow_port(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || {
                std::thread::sleep(DELAY);
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let (from, into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || copy(from, into));
                copy(server, client);
            });
        }
    });
    port
}

/// Copies until one side ends.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.flush();
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn handshakes_happen_before_the_job_starts_its_clock() {
    let place = Place::new();
    let Some(nginx) = Nginx::start(&place) else { return };
    if !listens(nginx.tls_port) {
        eprintln!("skipped: openssl is not installed, or nginx has no TLS");
        return;
    }
    for depth in [1, 4] {
        let port = slow_port(nginx.tls_port);
        let began = std::time::Instant::now();
        let line = format!(
            "--name=j --ioengine=http --https=insecure --http_host=localhost:{port} --filename=/t --rw=write --bs=4k \
             --size=32k --iodepth={depth} --output-format=json"
        );
        let ran = place.run(&line).ok();
        assert!(began.elapsed() >= DELAY, "{ran:?}");
        let (json, delay) = (ran.json(), DELAY.as_nanos() as u64);
        assert_eq!(work(&json)[0].2[1].1, 8, "{ran:?}");
        let job = &json["jobs"][0];
        for key in ["clat_ns", "lat_ns"] {
            assert!(job["write"][key]["max"].as_u64().unwrap() < delay, "{ran:?}");
        }
        for runtime in [&job["job_runtime"], &job["write"]["runtime"]] {
            assert!(runtime.as_u64().unwrap() < delay / 1_000_000, "{ran:?}");
        }
        let requests = &job["fiord"]["requests"];
        assert_eq!(requests["first_byte_ns"]["N"].as_u64(), Some(8), "{ran:?}");
        for key in ["handshakes", "reconnects", "handshake_total_ns"] {
            assert_eq!(requests[key].as_u64(), Some(0), "{key}: {ran:?}");
        }
    }
}
