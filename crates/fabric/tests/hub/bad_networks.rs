//! Connections through a proxy that behaves like a bad network.

use std::time::{Duration, Instant};

use fiord_fabric::contract::{Fabric, Happening, Loss};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_types::HostIndex;

use crate::proxy::{Faults, Proxy};
use crate::{after, joined, loss, message, next};

/// Two hubs with a proxy between them. The first is the server.
fn pair(faults: Faults) -> (Hub, Hub, Proxy, HostIndex) {
    let (mut server, mut client) = (Hub::new().unwrap(), Hub::new().unwrap());
    let endpoint = server.listen(&Endpoint::parse("127.0.0.1,0").unwrap()).unwrap();
    let proxy = Proxy::start(endpoint.to_string().parse().unwrap(), faults);
    let agent = client.connect(&Endpoint::parse(&proxy.address().to_string()).unwrap());
    client.trust(agent);
    (server, client, proxy, agent)
}

/// Message number `number`.
fn body(number: u32) -> Vec<u8> {
    let length = (number as usize * 7919) % 3000;
    number.to_le_bytes().into_iter().chain(std::iter::repeat_n(number as u8, length)).collect()
}

#[test]
fn delays_losses_and_small_pieces_change_nothing() {
    for seed in 0..2 {
        let faults =
            Faults { seed, delay_us: 0..300, piece: 700, lost_one_in: 300, break_after: None };
        let (mut server, mut client, _proxy, agent) = pair(faults);
        (0..200).for_each(|number| client.send(agent, body(number)));
        let echo = std::thread::spawn(move || {
            let (coordinator, _) = joined(&mut server);
            server.trust(coordinator);
            for _ in 0..200 {
                let (from, body) = message(&mut server);
                server.send(from, body);
            }
            loss(&mut server)
        });
        for number in 0..200 {
            assert!(message(&mut client) == (agent, body(number)), "seed {seed}, message {number}");
        }
        drop(client);
        echo.join().unwrap();
    }
}

#[test]
fn a_broken_connection_ends_behind_a_complete_message() {
    for seed in 0..8 {
        let break_after = Some(20_000 + seed * 7777);
        let faults = Faults { seed, piece: 900, break_after, ..Faults::none() };
        let (mut server, mut client, _proxy, agent) = pair(faults);
        (0..200).for_each(|number| client.send(agent, body(number)));
        let sender = std::thread::spawn(move || loss(&mut client).1);
        joined(&mut server);
        server.trust(HostIndex(0));
        let mut count = 0;
        loop {
            match next(&mut server).what {
                Happening::Message(got) => assert!(got == body(count), "seed {seed}"),
                Happening::Lost(loss) => {
                    assert!(matches!(loss, Loss::Closed { .. }), "seed {seed}: {loss}");
                    break;
                }
                other => panic!("{other:?}"),
            }
            count += 1;
        }
        assert!((1..200).contains(&count));
        assert!(matches!(sender.join().unwrap(), Loss::Closed { .. }));
    }
}

#[test]
fn a_pulled_cable_does_not_delay_the_end() {
    let (mut server, mut client, proxy, agent) = pair(Faults::none());
    client.send(agent, body(1));
    assert_eq!(client.receive(after(Duration::from_millis(100))), None);
    joined(&mut server);
    assert_eq!(message(&mut server).1, body(1));
    proxy.freeze();
    client.send(agent, body(2));
    assert_eq!(server.receive(after(Duration::from_millis(50))), None);
    let begin = Instant::now();
    drop(client);
    assert!(begin.elapsed() < Duration::from_secs(20));
    proxy.break_all();
    assert!(matches!(loss(&mut server).1, Loss::Closed { .. }));
}
