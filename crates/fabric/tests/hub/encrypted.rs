//! Connections with keys.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use fiord_fabric::contract::{Fabric, Loss};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_fabric::keys::{KeyRing, TrustedKey};
use fiord_fabric::tls::TlsKeys;

use crate::{LIMIT, after, joined, loss, message};

/// A directory with the keys of one host.
struct Keys(PathBuf);

impl Keys {
    fn new(name: &str) -> Keys {
        let path = std::env::temp_dir().join(format!("fiord-hub-{name}-{}", std::process::id()));
        KeyRing::create(&path).unwrap();
        Keys(path)
    }

    fn ring(&self) -> KeyRing {
        KeyRing::load(&self.0).unwrap()
    }

    fn trust(&self, other: &Keys, name: &str) {
        let key = TrustedKey { fingerprint: other.ring().fingerprint(), name: name.into() };
        self.ring().trust(key).unwrap();
    }

    fn hub(&self) -> Hub {
        let mut hub = Hub::new().unwrap();
        hub.use_keys(TlsKeys::new(&self.ring()).unwrap());
        hub
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn listen(hub: &mut Hub) -> Endpoint {
    hub.listen(&Endpoint::parse("127.0.0.1,0").unwrap()).unwrap()
}

/// Runs both hubs until each has lost its peer, and returns why.
fn losses(mut server: Hub, mut client: Hub) -> (String, String) {
    let thread = std::thread::spawn(move || {
        let lost = loss(&mut client).1.to_string();
        (client, lost)
    });
    joined(&mut server);
    let at_server = loss(&mut server).1.to_string();
    while !thread.is_finished() {
        server.receive(after(Duration::from_millis(10)));
    }
    (at_server, thread.join().unwrap().1)
}

#[test]
fn hosts_that_trust_each_other_talk() {
    let (admin, host) = (Keys::new("talk-admin"), Keys::new("talk-host"));
    admin.trust(&host, "n01");
    host.trust(&admin, "admin");
    let (mut server, mut client) = (host.hub(), admin.hub());
    let agent = client.connect(&listen(&mut server));
    client.trust(agent);
    client.send(agent, b"hello".to_vec());
    let thread = std::thread::spawn(move || {
        let (coordinator, name) = joined(&mut server);
        assert!(name.starts_with("127.0.0.1:") && name.ends_with(" (key of admin)"), "{name}");
        assert_eq!(message(&mut server), (coordinator, b"hello".to_vec()));
        server.trust(coordinator);
        let long = message(&mut server).1;
        assert!(long == vec![3; 9 << 20]);
        server.send(coordinator, long);
        server.refuse(coordinator, "enough");
    });
    client.send(agent, vec![3; 9 << 20]);
    assert!(message(&mut client) == (agent, vec![3; 9 << 20]));
    assert_eq!(loss(&mut client).1, Loss::Refused { why: "enough".into() });
    thread.join().unwrap();
}

#[test]
fn a_host_without_a_trusted_key_is_refused() {
    let (admin, host) = (Keys::new("wrong-admin"), Keys::new("wrong-host"));
    admin.trust(&host, "n01");
    let (mut server, mut client) = (host.hub(), admin.hub());
    let agent = client.connect(&listen(&mut server));
    client.send(agent, b"nothing of this arrives".to_vec());
    let (at_server, at_client) = losses(server, client);
    let own = admin.ring().fingerprint();
    assert!(
        at_server.starts_with(&format!("this host does not trust the key {own}")),
        "{at_server}"
    );
    assert!(at_client.starts_with("the peer does not trust the key of this host"), "{at_client}");
}

#[test]
fn one_side_without_keys_is_told() {
    let admin = Keys::new("single");
    let (mut server, mut client) = (admin.hub(), Hub::new().unwrap());
    let agent = client.connect(&listen(&mut server));
    client.send(agent, b"hello".to_vec());
    let (at_server, at_client) = losses(server, client);
    assert!(at_server.contains("the peer has none. To fix: use keys on both sides"), "{at_server}");
    assert_eq!(at_client, at_server);
    let (mut server, mut client) = (Hub::new().unwrap(), admin.hub());
    client.connect(&listen(&mut server));
    let (at_server, at_client) = losses(server, client);
    assert!(at_server.contains("without keys; the peer uses TLS"), "{at_server}");
    assert!(at_client.contains("does not speak TLS"), "{at_client}");
    // fio gets its line from a server with keys, too.
    let mut server = admin.hub();
    let mut fio = TcpStream::connect(listen(&mut server).to_string()).unwrap();
    fio.set_read_timeout(Some(LIMIT)).unwrap();
    fio.write_all(b"\x79\0\x0a\0\0\0\0\0\xb0\xf7\xd3\xd6\xf6\x55\0\0\x88\0\0\0").unwrap();
    joined(&mut server);
    loss(&mut server);
    drop(server);
    // After the line, which is the first message of fio's protocol, the server closes a TLS connection.
    let mut bytes = Vec::new();
    fio.read_to_end(&mut bytes).unwrap();
    let line = String::from_utf8_lossy(&bytes);
    assert!(line.contains("fio cannot talk to it"), "{line}");
}
