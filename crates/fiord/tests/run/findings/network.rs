//! Tests of findings about networks: two network namespaces with a `veth` pair between them, which need root and
//! `ip`. Without them, the tests print that and pass.

use crate::findings::{finding, found, json, silent};
use crate::fiord::{Place, Ran};
use crate::ports;

/// Findings about networks.
const ALL: [&str; 4] = ["loopback", "offloads-off", "peer-limited", "window-limited"];

/// Runs a receiver in one network namespace and a sender in another one. `setup` is run in that of the sender, which has
/// the interface `va` with the address 10.9.0.1; the receiver has 10.9.0.2.
fn across(place: &Place, setup: &str, receiver: &str, sender: &str) -> Option<[Ran; 2]> {
    let fiord = env!("CARGO_BIN_EXE_fiord");
    let common = "--output-format=json --ioengine=net --bs=64k --size=100g --port=9876";
    // 9876 is 2694 in hexadecimal.
    let script = format!(
        "command -v ip >/dev/null || exit 77
         unshare --net true || exit 77
         unshare --net --pid --fork --kill-child --mount-proc sh -c '
             unshare --net sleep 600 &
             peer=$!
             until [ \"$(readlink /proc/$peer/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.01; done
             ip link add va type veth peer name vb netns $peer || exit 77
             there=\"nsenter -t $peer -n\"
             ip address add 10.9.0.1/24 dev va && $there ip address add 10.9.0.2/24 dev vb
             ip link set va up && $there ip link set vb up
             {setup}
             $there {fiord} {common} --name=r --rw=read --listen {receiver} --output=r &
             for i in $(seq 1000); do
                 $there grep -q \":2694 \" /proc/net/tcp && break
                 sleep 0.01
             done
             {fiord} {common} --name=s --rw=write --hostname=10.9.0.2 {sender} --output=s
             status=$?
             wait %2
             exit $status'"
    );
    let ran = place.script(&script);
    if ran.status == Some(77) {
        println!("skipped: two network namespaces need root and ip, and some tests ethtool");
        return None;
    }
    assert_eq!(ran.status, Some(0), "{ran:?}");
    Some(["r", "s"].map(|name| {
        let out = std::fs::read_to_string(place.path(name)).unwrap();
        Ran { status: Some(0), out, err: String::new() }
    }))
}

#[test]
fn a_receiver_that_reads_slowly() {
    let place = Place::new();
    let run = "--runtime=1 --time_based";
    let reader = format!("{run} --rate=1m");
    let Some([receiver, sender]) = across(&place, "", &reader, run) else { return };
    let entry = finding(&sender, "peer-limited");
    let evidence = entry["evidence"].as_str().unwrap();
    assert!(evidence.starts_with("the receive window of 10.9.0.2:9876 was full for "), "{entry}");
    for id in ["loopback", "offloads-off", "window-limited"] {
        silent(&sender, id);
    }
    ALL.iter().for_each(|id| silent(&receiver, id));
}

#[test]
fn a_sender_that_is_slower_than_the_network() {
    let place = Place::new();
    let run = "--runtime=1 --time_based";
    let sender = format!("{run} --rate=1m");
    let Some(both) = across(&place, "", run, &sender) else { return };
    for ran in &both {
        ALL.iter().for_each(|id| silent(ran, id));
    }
}

#[test]
fn an_interface_without_offloads() {
    let place = Place::new();
    let off = "command -v ethtool >/dev/null || exit 77
               ethtool -K va tso off gso off || exit 77";
    let sender = "--io_size=16m";
    let Some([_, ran]) = across(&place, off, "--io_size=16m", sender) else { return };
    let entry = finding(&ran, "offloads-off");
    assert_eq!(entry["evidence"], "TSO and GSO of va are off");
    assert_eq!(entry["mend"], "turn them on: ethtool -K va tso on gso on");
    let Some([_, ran]) = across(&place, "", "--io_size=16m", sender) else { return };
    silent(&ran, "offloads-off");
}

#[test]
fn a_peer_on_this_machine() {
    let place = Place::new();
    let port = ports::free(1);
    let common = format!("--ioengine=net --bs=4k --size=256k --port={port} --hostname=127.0.0.1");
    let ran =
        json(&place, &format!("{common} --name=r --rw=read --listen --name=s {common} --rw=write"));
    let all = found(&ran);
    let hits: Vec<_> = all.iter().filter(|(id, _)| ALL.contains(&id.as_str())).collect();
    let note = ("loopback".to_owned(), "note".to_owned());
    assert_eq!(hits, [&note, &note], "both ends: {}", ran.json()["fiord"]);
    let unix = "--ioengine=net --protocol=unix --filename=socket --bs=4k --size=256k";
    let ran = json(&place, &format!("{unix} --name=r --rw=read --name=s {unix} --rw=write"));
    silent(&ran, "loopback");
}

/// The address of a network card of this machine, which does not look like loopback.
#[test]
fn a_peer_at_an_own_address() {
    let place = Place::new();
    let fiord = env!("CARGO_BIN_EXE_fiord");
    let common = "--ioengine=net --bs=4k --size=256k --port=9876 --hostname=10.9.0.1";
    let script = format!(
        "command -v ip >/dev/null || exit 77
         unshare --net true || exit 77
         unshare --net sh -c '
             ip link set lo up && ip link add va type veth peer name vb || exit 77
             ip address add 10.9.0.1/24 dev va && ip link set va up
             {fiord} --output-format=json {common} --name=r --rw=read --listen --name=s {common} --rw=write'"
    );
    let ran = place.script(&script);
    if ran.status == Some(77) {
        return println!("skipped: a network namespace needs root and ip");
    }
    let entry = finding(&ran.ok(), "loopback");
    assert_eq!(entry["severity"], "suspect", "{entry}");
}
