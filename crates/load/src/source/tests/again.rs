//! Where a source reports that it starts over in a file, whose cached pages are then dropped
//! (`invalidate`).

use fiord_plan::FileKind;
use fiord_types::{FileIndex, Nanos};

use super::{job, said};
use crate::Next;

/// Options of a job over 16 blocks of a file, and how often fio 3.42 drops the cache after the
/// first time.
const AGAIN: &[(&str, usize)] = &[
    ("rw=read size=64k loops=5", 4),
    ("rw=write size=64k loops=5", 4),
    ("rw=randread size=64k loops=5", 4),
    ("rw=randrw size=64k loops=5", 4),
    ("rw=read size=64k", 0),
    ("rw=randread size=64k", 0),
    ("rw=read size=64k io_size=320k", 4),
    ("rw=randread size=64k io_size=320k", 4),
    ("rw=read size=64k number_ios=4 loops=5", 1),
    ("rw=read size=64k io_size=16k loops=8", 1),
    ("rw=read size=64k nrfiles=2 loops=5", 8),
    ("rw=randread size=64k nrfiles=2 loops=5", 8),
    // Without a map it is not known when such a job has visited every block.
    ("rw=randread size=64k norandommap loops=5", 0),
    ("rw=read:4k size=64k loops=5", 0),
    ("rw=read size=64k strided=16k:16k:16k loops=5", 0),
];

#[test]
fn a_new_round_through_a_file_is_reported_once_per_pass() {
    for (words, times) in AGAIN {
        let mut job = job(words);
        job.target.files.iter_mut().for_each(|file| file.kind = FileKind::Regular);
        let again = |said: &[Next]| said.iter().filter(|n| matches!(n, Next::Again(_))).count();
        let buffered = said(&job, 1 << 12);
        assert_eq!(again(&buffered), *times, "{words}");
        // The report comes between two I/Os, and changes neither.
        job.target.open.direct = true;
        let direct = said(&job, 1 << 12);
        assert_eq!(again(&direct), 0, "{words}");
        let others: Vec<Next> =
            buffered.into_iter().filter(|n| !matches!(n, Next::Again(_))).collect();
        assert_eq!(others, direct, "{words}");
    }
}

/// Jobs that only the clock ends report a new round after as many I/Os as the file has blocks.
#[test]
fn timed_jobs_report_a_new_round_after_each_pass() {
    let words = ["rw=read", "rw=write", "rw=randread", "rw=randrw", "rw=randread bsrange=4k-8k"];
    for words in words {
        let mut job = job(&format!("{words} size=64k"));
        job.target.files[0].kind = FileKind::Regular;
        (job.end.time_based, job.end.runtime) = (true, Some(Nanos(1)));
        let mut bytes = 0;
        let mut passes = 0;
        for next in said(&job, 200) {
            match next {
                Next::Io(io) => bytes += u64::from(io.len),
                Next::Again(FileIndex(0)) => {
                    assert_eq!(std::mem::take(&mut bytes), 64 << 10, "{words}");
                    passes += 1;
                }
                other => panic!("{words}: {other:?}"),
            }
        }
        assert!(passes > 5, "{words}: {passes}");
    }
}
