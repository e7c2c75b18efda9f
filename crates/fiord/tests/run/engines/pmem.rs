//! `libpmem` and `dev-dax` on machines without persistent memory. `tests/vm/pmem.sh` has some.

use crate::fiord::Place;

#[test]
fn data_can_be_read_again_through_every_kind_of_store() {
    let place = Place::new();
    for options in [
        "--direct=0",
        "--direct=1",
        "--direct=1 --sync=1",
        "--direct=1 --bsrange=1k-64k --bs_unaligned",
        "--direct=1 --io_submit_mode=offload --iodepth=4",
        "--direct=0 --offset=12k --thread",
    ] {
        let line = format!(
            "--name=a --ioengine=libpmem --pmem_force=1 --filename=f --size=1m --bs=4k --rw=randwrite \
             --verify=crc32c --fsync=16 {options} --output-format=json"
        );
        let json = place.run(&line).ok().json();
        let job = &json["jobs"][0];
        assert_eq!(job["write"]["io_bytes"], job["read"]["io_bytes"], "{options}");
        let findings = json["fiord"]["findings"].to_string();
        assert!(findings.contains("not durable"), "{options}: {findings}");
        std::fs::remove_file(place.path("f")).unwrap();
    }
}

#[test]
fn a_new_file_holds_data_before_the_job_writes_to_it() {
    let place = Place::new();
    let line = "--name=a --ioengine=libpmem --pmem_force=1 --filename=f --size=256k --bs=4k --rw=write \
                --number_ios=1 --buffer_pattern=0x5a";
    place.run(line).ok();
    assert_eq!(std::fs::read(place.path("f")).unwrap(), vec![0x5a; 256 << 10]);
}

#[test]
fn targets_outside_of_persistent_memory_are_refused_and_other_jobs_continue() {
    let place = Place::new();
    let refused = "--ioengine=libpmem --filename=f --size=64k --rw=write";
    let ran = place.run(&format!("--name=a {refused}"));
    assert!(ran.status == Some(1) && ran.err.contains("not in persistent memory"), "{ran:?}");
    let line = format!("--name=a {refused} --name=b --size=64k --rw=write --output-format=json");
    let ran = place.run(&line);
    let jobs = &ran.json()["jobs"];
    // EOPNOTSUPP, as in fio.
    assert_eq!((&jobs[0]["error"], &jobs[1]["error"]), (&95.into(), &0.into()));
    assert_eq!(jobs[1]["write"]["io_bytes"], 64 << 10);
    for (file, what) in
        [("f", "is a regular file, and `ioengine=dev-dax`"), ("/dev/zero", "is a character device")]
    {
        let ran = place.run(&format!("--name=a --ioengine=dev-dax --size=4k --filename={file}"));
        assert!(ran.status == Some(1) && ran.err.contains(what), "{ran:?}");
    }
}
