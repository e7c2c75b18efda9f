//! One test body for all engines that do real I/O and for the eleven words of `rw`.

mod activity;
mod calls;
mod e4defrag;
mod extents;
mod external;
#[cfg(feature = "libblkio")]
mod libblkio;
mod names;
mod net;
mod pmem;
mod posixaio;
mod programs;
mod splice;
mod xnvme;

use fiord_job::option::def::Support;
use fiord_job::option::engine::EngineDef;
use fiord_job::option::table;

use crate::fiord::{Place, work};
use crate::ground::Loop;

/// Returns the supported engines that read and write files.
pub(crate) fn file_engines() -> impl Iterator<Item = &'static EngineDef> {
    let works = |engine: &&EngineDef| {
        engine.support == Support::Built
            && engine.runs_as.is_empty()
            && engine.access.uses_file_layer()
            && !engine.names_target()
            && engine.moves_data
    };
    table::engines().iter().filter(works)
}

/// Words of `rw`, and the I/Os read and written of 64 blocks. For mixes, the test checks the sum.
const WORDS: [&str; 8] =
    ["read", "write", "randread", "randwrite", "rw", "readwrite", "randrw", "read:4k"];

#[test]
fn every_engine_moves_every_block_once() {
    let place = Place::new();
    for engine in file_engines().map(|engine| engine.name) {
        for word in WORDS {
            let line = format!(
                "--name=j --rw={word} --bs=4k --size=256k --io_size=256k --ioengine={engine} \
                 --iodepth=4 --output-format=json"
            );
            let ran = place.run(&line);
            assert_eq!(ran.status, Some(0), "{engine} {word}: {ran:?}");
            let jobs = work(&ran.json());
            let (_, error, dirs) = &jobs[0];
            assert_eq!(*error, 0);
            let bytes: u64 = dirs.iter().map(|d| d.0).sum();
            let ios: u64 = dirs.iter().map(|d| d.1).sum();
            assert_eq!((bytes, ios), (256 << 10, 64), "{engine} {word}: {dirs:?}");
        }
        std::fs::remove_file(place.path("j.0.0")).unwrap();
    }
}

#[test]
fn trims_on_the_engine_without_a_device() {
    let place = Place::new();
    for (word, writes) in [("trim", 0), ("randtrim", 0), ("trimwrite", 64), ("randtrimwrite", 64)] {
        let line = format!(
            "--name=j --rw={word} --bs=4k --size=256k --ioengine=null --output-format=json"
        );
        let jobs = work(&place.run(&line).ok().json());
        assert_eq!(jobs[0].2.map(|d| d.1), [0, writes, 64], "{word}");
    }
}

/// A job that pauses longer than the submission thread waits has to wake it.
#[test]
fn wake_ups_of_the_submission_thread_are_reported() {
    let place = Place::new();
    let line = "--name=j --rw=write --bs=4k --size=8k --ioengine=io_uring --sqthread_poll=1 --thinktime=1200ms";
    let json = place.run(&format!("{line} --output-format=json")).ok().json();
    let wakeups = &json["jobs"][0]["fiord"]["ring"]["sq_thread_wakeups"];
    assert!(wakeups.as_u64().is_some_and(|count| count >= 1), "{json}");
    let text = place.run(line).ok().out;
    assert!(text.contains("fiord: io_uring: the submission thread was woken "), "{text}");
}

/// The kernel refuses a discard through the ring with EBUSY if another job dirties the page cache at the same time. fiord
/// repeats it, and the write of the pair follows.
#[test]
fn trims_and_buffered_writes_of_two_jobs_share_a_device() {
    let place = Place::new();
    let Some(device) = Loop::new(&place, 8 << 20) else { return };
    let line = format!(
        "--name=j --filename={} --rw=randtrimwrite --bs=4k --size=4m --numjobs=2 --thread=1 --iodepth=4 \
         --ioengine=io_uring --output-format=json",
        device.path()
    );
    for job in work(&place.run(&line).ok().json()) {
        assert_eq!(job.2.map(|d| d.1), [0, 1024, 1024]);
    }
    let bytes = std::fs::read(device.path()).unwrap();
    let trimmed = bytes[..4 << 20].chunks(4096).filter(|block| **block == [0; 4096]).count();
    assert_eq!(trimmed, 0, "blocks without the data of the last write");
}

#[test]
fn written_data_is_what_the_pattern_says() {
    let place = Place::new();
    for engine in file_engines().map(|engine| engine.name) {
        let line = format!(
            "--name=j --rw=randwrite --bs=4k --size=128k --ioengine={engine} --iodepth=8 \
             --buffer_pattern=0xdeadbeef"
        );
        place.run(&line).ok();
        let bytes = std::fs::read(place.path("j.0.0")).unwrap();
        assert_eq!(bytes.len(), 128 << 10, "{engine}");
        assert!(
            bytes.chunks(4).all(|c| c == [0xde, 0xad, 0xbe, 0xef]),
            "{engine}: {:x?}",
            &bytes[..8]
        );
        std::fs::remove_file(place.path("j.0.0")).unwrap();
    }
}

#[test]
fn counts_equal_those_of_fio() {
    let place = Place::new();
    let lines = [
        "--rw=read --bs=4k --size=1m",
        "--rw=randread --bs=4k --size=1m --io_size=300k",
        "--rw=write --bs=7k --size=1m",
        "--rw=randwrite --bs=4k --size=1m --norandommap",
        "--rw=read --bs=64k --size=1m --loops=3",
        "--rw=randread --bs=4k --size=1m --number_ios=77",
        "--rw=write --bs=16k --size=1m --fsync=4",
        "--rw=read --bs=4k --size=1m --offset=512k",
        "--rw=randread --bs=4k --size=1m --nrfiles=4",
    ];
    for line in lines {
        let line = format!("--name=j {line} --output-format=json");
        let Some(fio) = place.fio(&line) else { return };
        let ours = place.run(&line).ok();
        assert_eq!(work(&ours.json()), work(&fio.json()), "{line}");
        for name in place.names() {
            std::fs::remove_file(place.path(&name)).unwrap();
        }
    }
}
