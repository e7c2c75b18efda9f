//! Diagnoses of bad data: each fault of a simulated device gets its class and no other.

use crate::fiord::{Place, Ran};

/// A job that writes 32 blocks twice, in random order, and verifies after each loop.
const JOB: &str = "--name=v --ioengine=sim --sim_store=1 --filename=f --size=128k --bs=4k \
                   --rw=randwrite --loops=2 --continue_on_error=verify --output-format=json";

/// Faults of the last writes or of reads of the last loop, and their class.
const FAULTS: &[(&str, &str)] = &[
    ("misdirected_write:op=64:by=4096", "misdirected"),
    ("misdirected_read:op=50:by=4096", "misdirected"),
    ("stale_read:op=50", "stale"),
    ("bit_flip:op=50:bits=1", "bit-flips"),
    ("bit_flip:op=50:bits=1:dir=read", "bit-flips"),
    ("torn:op=64:sector=3", "torn"),
    ("shifted:op=64:by=8", "shifted"),
    ("shifted:op=64:by=3:dir=read", "shifted"),
    ("zeroed:op=64", "blank"),
    ("ones:op=64", "blank"),
    ("lost:op=64", "stale"),
    ("lost_after_flush:op=64", "stale"),
    ("swapped:op=63", "swapped"),
];

/// The classes of the extents in the report, without repetitions.
fn classes(ran: &Ran) -> Vec<String> {
    let faults = ran.json()["jobs"][0]["fiord"]["verify"]["faults"].clone();
    faults.as_object().map(|faults| faults.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn each_fault_has_its_class_and_no_other() {
    let place = Place::new();
    for method in ["fiord", "crc32c", "md5 --verify_interval=1k"] {
        for depth in [1, 4, 16] {
            let line = format!("{JOB} --verify={method} --iodepth={depth}");
            assert_eq!(classes(&place.run(&line).ok()), [""; 0], "{line}");
            for (fault, class) in FAULTS {
                let line = format!("{line} --sim_faults={fault}");
                let ran = place.run(&line);
                assert_eq!(classes(&ran), [*class], "{line}\n{ran:?}");
            }
        }
    }
}

/// The extents of the report: class, offset and length.
fn extents(ran: &Ran) -> Vec<(String, u64, u64)> {
    let job = &ran.json()["jobs"][0];
    let list = job["fiord"]["verify"]["extents"].as_array().cloned().unwrap_or_default();
    let extent = |e: &serde_json::Value| {
        let number = |key: &str| e[key].as_u64().unwrap();
        (e["class"].as_str().unwrap().to_owned(), number("offset"), number("length"))
    };
    list.iter().map(extent).collect()
}

#[test]
fn bad_data_has_a_diagnosis() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=256k --bs=16k --verify=crc32c";
    place.run(&format!("{job} --rw=write --randseed=7")).ok();
    let older = std::fs::read(place.path("f")).unwrap();
    place.run(&format!("{job} --rw=write --randseed=8")).ok();
    let good = std::fs::read(place.path("f")).unwrap();
    let read = format!("{job} --rw=read --continue_on_error=verify --output-format=json");
    let diagnose = |damage: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        damage(&mut bytes);
        place.write("f", bytes);
        extents(&place.run(&read))
    };
    let one = |class: &str, offset, length| vec![(class.to_owned(), offset, length)];
    assert_eq!(diagnose(&|_| ()), []);
    let zeros = diagnose(&|bytes| bytes[16384..49152].fill(0));
    assert_eq!(zeros, one("blank", 16384, 32768));
    assert_eq!(diagnose(&|bytes| bytes[20000] ^= 4), one("bit-flips", 16384, 16384));
    let torn = diagnose(&|bytes| bytes[20480..32768].copy_from_slice(&older[20480..32768]));
    assert_eq!(torn, one("torn", 20480, 12288));
    let moved = diagnose(&|bytes| bytes.copy_within(16384..32768, 65536));
    assert_eq!(moved, one("misdirected", 65536, 16384));
    let shifted = diagnose(&|bytes| bytes.copy_within(16384..32760, 16392));
    assert_eq!(shifted, one("shifted", 16384, 16384));
    let garbage = diagnose(&|bytes| bytes[16384..32768].fill(0x5a));
    assert_eq!(garbage, one("unrecognized", 16384, 16384));
    let both = |bytes: &mut Vec<u8>| {
        let (first, second) = bytes.split_at_mut(65536);
        first[16384..32768].swap_with_slice(&mut second[..16384]);
    };
    let swapped = diagnose(&both);
    assert_eq!(swapped, [one("swapped", 16384, 16384), one("swapped", 65536, 16384)].concat());
}

#[test]
fn data_of_another_checksum_is_not_blamed_on_the_medium() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=64k --bs=4k";
    place.run(&format!("{job} --rw=write --verify=crc32c --do_verify=0")).ok();
    let ran = place.run(&format!("{job} --rw=read --verify=md5"));
    assert!(ran.status.is_none_or(|status| status != 0), "{ran:?}");
    let said = format!("{}{}", ran.out, ran.err);
    let words = "written with verify=crc32c, the job has verify=md5: not a fault of the medium. \
                 To fix: set verify=crc32c";
    assert!(said.contains(words), "{said}");
    assert!(!said.contains("wrong on the medium") && !said.contains("unrecognized"), "{said}");
}

#[test]
fn the_report_says_how_much_was_verified() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=256k --bs=16k --rw=write --verify=crc32c";
    let ran = place.run(job).ok();
    assert!(
        ran.out.contains("fiord: verify: 262144 of 262144 bytes written were verified\n"),
        "{ran:?}"
    );
    let coverage = |options: &str| {
        let ran = place.run(&format!("{job} --output-format=json {options}")).ok();
        ran.json()["jobs"][0]["fiord"]["verify"].clone()
    };
    let skipped = coverage("--do_verify=0");
    assert_eq!(skipped["verified_bytes"], 0);
    assert_eq!(skipped["unverified_bytes"]["not-asked"], 262_144);
    let two = "--name=v --size=256k --bs=16k --rw=write --verify=crc32c --numjobs=2";
    let ran = place.run(&format!("{two} --group_reporting=1 --output-format=json")).ok();
    let grouped = &ran.json()["jobs"][0]["fiord"]["verify"];
    assert_eq!(grouped["written_bytes"], 524_288);
    assert_eq!(grouped["verified_bytes"], 524_288);
    // Neither terse output nor jobs that do not verify mention it.
    assert!(!place.run(&format!("{job} --output-format=terse")).ok().out.contains("verified"));
    let plain = place.run("--name=p --filename=f --size=256k --rw=read").ok();
    assert!(!plain.out.contains("verify"), "{plain:?}");
}

/// A file on a disk keeps its wrong data, so every further read returns it again.
#[test]
fn bad_data_is_read_again() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=64k --bs=4k --verify=crc32c";
    place.run(&format!("{job} --rw=write")).ok();
    let mut bytes = std::fs::read(place.path("f")).unwrap();
    bytes[5000] ^= 1;
    place.write("f", bytes);
    let ran = place.run(&format!("{job} --rw=read --output-format=json"));
    let extent = &ran.json()["jobs"][0]["fiord"]["verify"]["extents"][0];
    let conclusion = extent["reread"].as_str();
    // Without direct I/O there is no conclusion.
    assert!(matches!(conclusion, None | Some("medium")), "{extent}");
}

#[test]
fn all_extents_are_listed_in_a_file() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=256k --bs=4k --verify=crc32c";
    place.run(&format!("{job} --rw=write")).ok();
    let mut bytes = std::fs::read(place.path("f")).unwrap();
    // Every second block, so that no two extents are adjacent.
    (0..32).for_each(|i| bytes[i * 8192..i * 8192 + 4096].fill(0));
    place.write("f", bytes);
    let read = format!("{job} --rw=read --continue_on_error=verify");
    let ran = place.run(&format!("{read} --verify_extents=bad.txt")).out;
    assert!(ran.contains("32 blank (131072 bytes)"), "{ran}");
    assert!(ran.contains("    and 22 more\n"), "{ran}");
    let list = std::fs::read_to_string(place.path("bad.txt")).unwrap();
    assert_eq!(list.lines().count(), 32, "{list}");
    assert!(list.starts_with("f: offset 0, length 4096, blank: all bytes are zero"), "{list}");
    let refused = |file: &str| {
        let ran = place.run(&format!("{read} --verify_extents={file}"));
        assert!(ran.status != Some(0) && ran.err.contains("verify_extents"), "{ran:?}");
    };
    refused("f");
    refused("/dev/null/x");
    assert_eq!(std::fs::read(place.path("f")).unwrap().len(), 262_144);
}

#[test]
fn a_run_that_verifies_too_little_has_its_own_exit_status() {
    let place = Place::new();
    let job = "--name=v --filename=f --size=256k --bs=16k --rw=write --verify=crc32c";
    place.run(&format!("{job} --verify_complete=1")).ok();
    let ran = place.run(&format!("{job} --verify_complete=1 --do_verify=0"));
    assert_eq!(ran.status, Some(251), "{ran:?}");
    place.run(&format!("{job} --do_verify=0")).ok();
}
