//! Faults of the simulated device: what reports say of them, and which are refused.

use crate::fiord::Place;

const WRITE: &str = "--ioengine=sim --size=64k --bs=4k --rw=write --filename=f --name=a";

#[test]
fn reports_list_the_injected_faults() {
    let place = Place::new();
    let faults = "--sim_faults=torn:op=3:sector=2,misdirected_write:bytes=32k:by=8k,bit_flip:op=16";
    let document = place.run(&format!("{WRITE} {faults} --output-format=json")).ok().json();
    let injected = &document["jobs"][0]["fiord"]["injected_faults"];
    let expected = serde_json::json!({"torn": 1, "misdirected_write": 1, "bit_flip": 1});
    assert_eq!((&injected["counts"], &injected["total"]), (&expected, &3.into()));
    let torn = serde_json::json!({
        "kind": "torn", "op": 3, "file": "f", "offset": 8192, "length": 4096, "torn_at": 1024
    });
    assert_eq!(injected["list"][0], torn);
    assert_eq!(injected["list"][1]["other_offset"], 40960);
    assert_eq!(injected["list"][2]["bits"].as_array().unwrap().len(), 1);

    let text = place.run(&format!("{WRITE} {faults}")).ok().out;
    for line in [
        "  fiord: the simulated device injected 3 faults: torn=1, misdirected_write=1, bit_flip=1\n",
        "    torn at I/O 3: 4096 bytes at offset 8192 of f; torn after 1024 bytes\n",
        "    misdirected_write at I/O 9: 4096 bytes at offset 32768 of f; the other offset is 40960\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // Without faults there is no line.
    assert!(!place.run(WRITE).ok().out.contains("injected"));
}

#[test]
fn a_crash_is_listed_and_may_end_the_job() {
    let place = Place::new();
    let line = format!("{WRITE} --fsync=4 --sim_crash=op=8 --output-format=json");
    let document = place.run(&line).ok().json();
    let crash = &document["jobs"][0]["fiord"]["injected_faults"]["list"][0];
    assert_eq!((&crash["kind"], &crash["op"]), (&"crash".into(), &8.into()));
    // Four writes, a flush and two writes precede it.
    assert_eq!(crash["length"], 2 * 4096);
    let down = place.run(&format!("{WRITE} --sim_crash=op=8:down=1 --output-format=json"));
    assert_eq!(down.status, Some(1));
    assert_eq!(down.json()["jobs"][0]["error"], 5);
}

#[test]
fn faults_that_cannot_occur_are_refused() {
    let place = Place::new();
    for (options, message) in [
        ("--sim_faults=lost:op=1 --sim_store=0", "`sim_store=0` stores none"),
        ("--sim_crash=op=1 --sim_store=0", "`sim_store=0` stores none"),
        ("--sim_faults=lost:bytes=1m --sim_size=1m", "beyond the device of 1048576 bytes"),
        (
            "--sim_faults=misdirected_read:op=1:by=1m --sim_size=1m",
            "has no place that is 1048576 bytes away",
        ),
        ("--sim_faults=flipped:op=1", "unknown fault `flipped`"),
        ("--sim_faults=lost", "does not say when it strikes"),
        ("--sim_crash=op=0", "not a whole number from 1"),
    ] {
        let ran = place.run(&format!("{WRITE} {options}"));
        assert_eq!(ran.status, Some(1), "{options}: {ran:?}");
        assert!(ran.err.contains(message), "{options}: {}", ran.err);
    }
}
