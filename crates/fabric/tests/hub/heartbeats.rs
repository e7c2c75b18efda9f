//! What heartbeats cost the coordinator. It measures, so `cargo test` leaves it out:
//! `cargo test --release -p fiord-fabric --test hub heartbeats -- --ignored --nocapture`

use std::time::{Duration, Instant};

use fiord_fabric::contract::{Fabric, Happening};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_sys::usage::ResourceUsage;
use fiord_types::HostIndex;

use crate::{LIMIT, after, next};

/// Agents send one message in each second, spread over it, and the coordinator answers each.
const SECONDS: u32 = 5;
const PARTS: usize = 100;

/// The agents, until the coordinator closes the connections.
fn agents(mut hub: Hub, all: &[HostIndex]) {
    let begin = Instant::now();
    for turn in 0..SECONDS * PARTS as u32 {
        let due = begin + turn * Duration::from_secs(1) / PARTS as u32;
        while Instant::now() < due {
            let left = due.saturating_duration_since(Instant::now());
            while hub.receive(after(left)).is_some() {}
        }
        for agent in all.iter().skip(turn as usize % PARTS).step_by(PARTS) {
            hub.send(*agent, vec![0; 32]);
        }
    }
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        match hub.receive(after(LIMIT)) {
            Some(arrival) if matches!(arrival.what, Happening::Lost(_)) => return,
            _ => {}
        }
    }
}

#[test]
#[ignore = "it measures the cost of thousands of connections"]
fn heartbeats_of_many_hosts() {
    for count in [1000, 5000] {
        let path = std::env::temp_dir().join(format!("fiord-beat-{}.sock", std::process::id()));
        let endpoint = Endpoint::Unix(path);
        let (mut coordinator, mut hub) = (Hub::new().unwrap(), Hub::new().unwrap());
        coordinator.listen(&endpoint).unwrap();
        let mut all = Vec::new();
        for _ in 0..count {
            let agent = hub.connect(&endpoint);
            hub.send(agent, vec![0]);
            // A peer that says nothing is lost after ten seconds.
            let mut heard = false;
            while !heard {
                hub.receive(after(Duration::from_micros(100)));
                let arrival = coordinator.receive(after(Duration::from_micros(100)));
                heard = arrival.is_some_and(|one| matches!(one.what, Happening::Message(_)));
            }
            all.push(agent);
        }
        let agents = std::thread::spawn(move || agents(hub, &all));
        let (before, begin) = (ResourceUsage::of_thread().unwrap(), Instant::now());
        for _ in 0..count * SECONDS as usize {
            let arrival = next(&mut coordinator);
            assert!(matches!(arrival.what, Happening::Message(_)), "{arrival:?}");
            coordinator.send(arrival.from, vec![0; 32]);
        }
        let used = ResourceUsage::of_thread().unwrap().since(&before);
        let cpu = Duration::from_nanos((used.user + used.system).0);
        let share = 100.0 * cpu.as_secs_f64() / begin.elapsed().as_secs_f64();
        println!("{count} connections: {share:.1} % of a core");
        drop(coordinator);
        agents.join().unwrap();
    }
}
