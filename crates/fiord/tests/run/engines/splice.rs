//! `ioengine=splice`.

use super::calls::counted;
use crate::fiord::{Place, work};

#[test]
fn counts_equal_those_of_fio() {
    let place = Place::new();
    for line in [
        "--rw=read --bs=64k",
        "--rw=write --bs=256k",
        "--rw=randwrite --bs=7k",
        "--rw=randrw --bs=4k --direct=1",
        "--rw=write --bs=16k --fsync=4",
        "--rw=randwrite --bs=8k --verify=crc32c",
        "--rw=read --bs=4k --iodepth=8",
    ] {
        let line = format!("--name=j --ioengine=splice --size=1m {line} --output-format=json");
        let Some(fio) = place.fio(&line) else { return };
        let ours = place.run(&line).ok();
        // fio prints a note about the depth before the JSON.
        let text = fio.out.split_once('{').map_or(String::new(), |(_, rest)| format!("{{{rest}"));
        let fio = serde_json::from_str(&text).unwrap();
        let sums = |document| {
            let jobs = work(document);
            let (_, error, dirs) = &jobs[0];
            (*error, dirs.iter().map(|d| d.0).sum::<u64>())
        };
        assert_eq!(sums(&ours.json()), sums(&fio), "{line}");
        for name in place.names() {
            std::fs::remove_file(place.path(&name)).unwrap();
        }
    }
}

#[test]
fn all_data_pass_a_pipe() {
    let place = Place::new();
    place.write("target", vec![1; 1 << 20]);
    let calls = "splice,vmsplice,pread64,pwrite64,read,write";
    let job = "--name=j --ioengine=splice --filename=target --size=1m --bs=64k --thread";
    for (rw, pairs) in [("read", 16), ("write", 16)] {
        let Some(counts) = counted(&place, calls, &format!("{job} --rw={rw}")) else { return };
        assert_eq!(counts.get("splice"), Some(&pairs), "{rw}: {counts:?}");
        assert_eq!(counts.get("vmsplice"), Some(&pairs), "{rw}: {counts:?}");
        for other in ["pread64", "pwrite64"] {
            assert_eq!(counts.get(other), None, "{rw}: {counts:?}");
        }
    }
}

#[test]
fn a_failed_write_leaves_nothing_in_the_pipe() {
    let place = Place::new();
    // Writes beyond the limit fail. With the bytes of a failed write in the pipe, later data would be wrong.
    let job =
        "--name=j --ioengine=splice --filename=f --rw=write --bs=64k --size=1m --verify=crc32c";
    let limited = format!(
        "ulimit -f 512; {} {job} --fallocate=none --do_verify=0 --continue_on_error=all",
        env!("CARGO_BIN_EXE_fiord")
    );
    let ran = place.script(&limited);
    assert!(ran.out.contains("EFBIG") || ran.err.contains("EFBIG"), "{ran:?}");
    let written = job.replace("--size=1m", "--size=512k");
    place.run(&format!("{written} --verify_only=1")).ok();
}
