//! Peers over TCP and Unix sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use fiord_fabric::contract::{Fabric, Happening, Loss};
use fiord_fabric::hub::{Endpoint, Hub, ListenError};
use fiord_types::{HostIndex, Nanos};

use crate::{LIMIT, after, joined, loss, message, next};

fn listen(hub: &mut Hub) -> Endpoint {
    let endpoint = hub.listen(&Endpoint::parse("127.0.0.1,0").unwrap()).unwrap();
    assert_ne!(endpoint.port(), Some(0));
    endpoint
}

/// A server, and a stream that speaks with it without a hub.
fn stranger() -> (Hub, TcpStream) {
    let mut server = Hub::new().unwrap();
    let endpoint = listen(&mut server);
    let stream = TcpStream::connect(endpoint.to_string()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let (_, name) = joined(&mut server);
    assert_eq!(name, stream.local_addr().unwrap().to_string());
    (server, stream)
}

/// What the server says to a peer that sends these bytes, and why it loses the peer.
fn answer(bytes: &[u8]) -> (String, Loss) {
    let (mut server, mut stream) = stranger();
    stream.write_all(bytes).unwrap();
    let (_, loss) = loss(&mut server);
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map(|_| answer)
    });
    while !reader.is_finished() {
        server.receive(after(Duration::from_millis(10)));
    }
    (String::from_utf8_lossy(&reader.join().unwrap().unwrap()).into_owned(), loss)
}

#[test]
fn messages_go_both_ways() {
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let agent = client.connect(&listen(&mut server));
    client.send(agent, b"hello".to_vec());
    assert_eq!(client.receive(after(Duration::from_millis(100))), None);
    let (coordinator, _) = joined(&mut server);
    assert_eq!(message(&mut server), (coordinator, b"hello".to_vec()));
    let begin = fiord_sys::clock::monotonic();
    server.send(coordinator, b"welcome".to_vec());
    let arrival = next(&mut client);
    assert_eq!(arrival.what, Happening::Message(b"welcome".to_vec()));
    assert!(arrival.from == agent && arrival.at >= Nanos(begin));
    // Another coordinator is refused.
    let second = client.connect(&listen(&mut server));
    assert_eq!(client.receive(after(Duration::from_millis(100))), None);
    let (other, _) = joined(&mut server);
    server.refuse(other, "root@admin1 is using this agent");
    assert_eq!(server.receive(after(Duration::from_millis(10))), None);
    let refused = Loss::Refused { why: "root@admin1 is using this agent".into() };
    assert_eq!(loss(&mut client), (second, refused));
    drop(client);
    assert_eq!(loss(&mut server), (coordinator, Loss::Closed { said: String::new() }));
}

#[test]
fn queued_messages_arrive_although_the_sender_closes() {
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let agent = client.connect(&listen(&mut server));
    client.trust(agent);
    client.receive(after(Duration::from_millis(100)));
    let (coordinator, _) = joined(&mut server);
    let sender = std::thread::spawn(move || {
        for number in 0..4u8 {
            server.send(coordinator, vec![number; 9 << 20]);
        }
        server.close(coordinator);
    });
    for number in 0..4u8 {
        assert!(message(&mut client).1 == vec![number; 9 << 20]);
    }
    assert!(matches!(loss(&mut client).1, Loss::Closed { .. }));
    drop(client);
    sender.join().unwrap();
}

#[test]
fn unix_sockets_are_private_and_left_over_ones_are_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("fiord-hub-{}.sock", std::process::id()));
    let endpoint = Endpoint::Unix(path.clone());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    assert_eq!(server.listen(&endpoint), Ok(endpoint.clone()));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let agent = client.connect(&endpoint);
    client.send(agent, b"hello".to_vec());
    client.receive(after(Duration::from_millis(100)));
    assert!(joined(&mut server).1.starts_with("sock:"));
    assert_eq!(message(&mut server).1, b"hello");
    assert!(matches!(client.listen(&endpoint), Err(ListenError::System { .. })));
    drop(server);
    assert!(!path.exists());
    assert!(matches!(loss(&mut client).1, Loss::Closed { .. }));
}

#[test]
fn an_agent_that_is_not_there_is_named_with_the_remedy() {
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let endpoint = listen(&mut server);
    let text = server.listen(&endpoint).unwrap_err().to_string();
    assert!(text.contains("EADDRINUSE") && text.contains("choose another port"), "{text}");
    drop(server);
    client.connect(&endpoint);
    let text = loss(&mut client).1.to_string();
    let wanted = format!(
        "cannot connect to {endpoint}: Connection refused (ECONNREFUSED). To fix: check that `fiord"
    );
    assert!(text.starts_with(&wanted), "{text}");
    client.connect(&Endpoint::parse("no-such-host.invalid").unwrap());
    let text = loss(&mut client).1.to_string();
    assert!(text.starts_with("cannot resolve the host `no-such-host.invalid`: "), "{text}");
}

#[test]
fn an_agent_that_starts_later_is_reached() {
    let (mut first, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let endpoint = listen(&mut first);
    drop(first);
    let agent = client.connect_within(&endpoint, Nanos::from_secs(60));
    client.send(agent, b"hello".to_vec());
    assert_eq!(client.receive(after(Duration::from_millis(50))), None);
    let mut server = Hub::new().unwrap();
    server.listen(&endpoint).unwrap();
    let waker = client.waker();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            joined(&mut server);
            assert_eq!(message(&mut server).1, b"hello");
            waker.wake();
        });
        assert_eq!(client.receive(after(LIMIT)), None);
    });
    client.connect_within(&Endpoint::parse("127.0.0.1,1").unwrap(), Nanos::from_millis(20));
    assert!(matches!(client.receive(after(LIMIT)).unwrap().what, Happening::Lost(_)));
}

#[test]
fn peers_with_another_protocol_get_one_line() {
    let fio = b"\x79\0\x0a\0\0\0\0\0\xb0\xf7\xd3\xd6\xf6\x55\0\0\x88\0\0\0";
    let (text, loss) = answer(fio);
    assert!(text.contains("fio cannot talk to it. To fix: use fiord on both sides\n"), "{text}");
    assert!(matches!(loss, Loss::NotUnderstood(_)));
    let (text, _) = answer(b"GET / HTTP/1.1\r\nHost: n01\r\n\r\n");
    assert!(text.starts_with("HTTP/1.0 400 ") && text.contains("\r\n\r\nthis is fiord "), "{text}");
    let (text, _) = answer(b"\x16\x03\x01\x02\0\x01\0");
    assert!(text.contains("without keys; the peer uses TLS"), "{text}");
    // Peers that speak this protocol get a refusal.
    let (text, loss) = answer(b"FIRD\x01\0\x01\0\xff\xff\xff\xff");
    assert!(text.starts_with("FIRD") && text.contains("a frame of 4294967295 bytes"), "{text}");
    assert!(loss.to_string().contains("a frame of 4294967295 bytes"), "{loss}");
    let (text, _) = answer(b"FIRD\x09\0\x01\0\0\0\0\0");
    assert!(text.contains("the peer speaks version 9"), "{text}");
}

#[test]
fn half_a_frame_and_a_reset_are_reported() {
    let (mut server, mut stream) = stranger();
    stream.write_all(b"FIRD\x01\0\x01\0\x09\0\0\0abc").unwrap();
    drop(stream);
    let half = Loss::Closed { said: "the peer closed it in the middle of a message".into() };
    assert_eq!(loss(&mut server).1, half);
    // A connection with unread input is reset.
    let (mut server, stream) = stranger();
    server.send(HostIndex(0), b"hello".to_vec());
    while stream.peek(&mut [0; 9]).unwrap() < 9 {}
    drop(stream);
    let reset = Loss::Closed { said: "the peer reset it".into() };
    assert_eq!(loss(&mut server).1, reset);
}

#[test]
fn a_hundred_connections_at_once() {
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let endpoint = listen(&mut server);
    let begin = Instant::now();
    for number in 0..100u32 {
        let peer = client.connect(&endpoint);
        client.send(peer, number.to_le_bytes().to_vec());
    }
    let server = std::thread::spawn(move || {
        let mut heard = 0;
        while heard < 100 {
            let arrival = next(&mut server);
            match arrival.what {
                Happening::Joined { .. } => {}
                Happening::Message(body) => {
                    server.send(arrival.from, body);
                    heard += 1;
                }
                Happening::Lost(loss) => panic!("{loss}"),
            }
        }
        server
    });
    for _ in 0..100 {
        let (from, body) = message(&mut client);
        assert_eq!(body, from.0.to_le_bytes());
    }
    drop(client);
    drop(server.join().unwrap());
    assert!(begin.elapsed() < Duration::from_secs(30));
}
