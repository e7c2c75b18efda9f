//! `ioengine=posixaio`.

use super::calls::counted;
use crate::findings::{finding, json, silent};
use crate::fiord::{Place, work};

#[test]
fn counts_and_depths_equal_those_of_fio() {
    let place = Place::new();
    for line in [
        "--rw=read --bs=4k --iodepth=4",
        "--rw=randwrite --bs=4k --iodepth=16 --nrfiles=4",
        "--rw=write --bs=16k --fsync=4",
        "--rw=write --bs=16k --fdatasync=4 --iodepth=8",
        "--rw=randwrite --bs=8k --iodepth=8 --verify=crc32c",
    ] {
        let line = format!("--name=j --ioengine=posixaio --size=256k {line} --output-format=json");
        let Some(fio) = place.fio(&line) else { return };
        let ours = place.run(&line).ok();
        assert_eq!(work(&ours.json()), work(&fio.json()), "{line}");
        for name in place.names() {
            std::fs::remove_file(place.path(&name)).unwrap();
        }
    }
}

#[test]
fn the_c_library_makes_the_calls() {
    let place = Place::new();
    place.write("target", vec![1; 1 << 20]);
    let job = "--name=j --ioengine=posixaio --filename=target --size=1m --bs=64k --iodepth=4";
    let calls = "pread64,pwrite64,fsync,fdatasync";
    let line = format!("{job} --rw=write --fsync=4");
    let Some(counts) = counted(&place, calls, &line) else { return };
    assert_eq!(counts.get("pwrite64"), Some(&16), "{counts:?}");
    assert_eq!(counts.get("fsync"), Some(&3), "{counts:?}");
    let line = format!("{job} --rw=write --fdatasync=8");
    let counts = counted(&place, calls, &line).unwrap();
    assert_eq!(counts.get("fdatasync"), Some(&1), "{counts:?}");
}

#[test]
#[cfg(target_env = "gnu")]
fn the_threads_of_the_c_library_are_a_finding() {
    let place = Place::new();
    let job = "--name=j --ioengine=posixaio --rw=randread --bs=4k --size=64k --iodepth=8";
    let ran = json(&place, job);
    let entry = finding(&ran, "aio-threads");
    let what = "job j asks for iodepth=8 but the device gets one I/O at a time";
    assert_eq!(entry["what"], what);
    silent(&json(&place, &format!("{job} --nrfiles=8")), "aio-threads");
}

#[test]
fn failures_are_errors_of_the_io() {
    let place = Place::new();
    place.write("f", vec![1; 64 << 10]);
    // The file becomes shorter than the job expects.
    let job = "--name=j --ioengine=posixaio --filename=/dev/full --size=64k --rw=write --iodepth=4";
    let ran = place.run(job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("ENOSPC") || ran.out.contains("ENOSPC"), "{ran:?}");
}
