//! The source for one block in each of many files.

use fiord_types::Nanos;

use super::job;
use crate::source::general::General;
use crate::source::one_each::OneEach;
use crate::{Next, Source};

/// What a source says in a loop.
fn said(mut source: impl Source) -> Vec<Next> {
    let mut said = Vec::new();
    while said.len() < 100 && said.last() != Some(&Next::End) {
        said.push(source.next());
    }
    said
}

#[test]
fn it_says_what_the_general_source_says() {
    for words in [
        "rw=read size=80k nrfiles=20",
        "rw=write size=80k nrfiles=20",
        "rw=trim size=80k nrfiles=20",
        "rw=write size=80k nrfiles=20 file_service_type=sequential",
        "rw=write size=80k nrfiles=20 file_service_type=roundrobin:3",
        "rw=read size=40k bs=2k nrfiles=20 offset=2k",
    ] {
        let job = job(words);
        let plain = OneEach::new(&job).unwrap_or_else(|| panic!("{words}"));
        assert_eq!(said(plain), said(General::new(&job).unwrap()), "{words}");
    }
}

#[test]
fn other_loads_need_another_source() {
    for words in [
        "rw=read size=4k",
        "rw=read size=160k nrfiles=20",
        "rw=randread size=80k nrfiles=20",
        "rw=rw size=80k nrfiles=20",
        "rw=write size=80k nrfiles=20 fsync=1",
        "rw=read size=80k nrfiles=20 loops=2",
        "rw=read size=80k nrfiles=20 io_size=8k",
        "rw=read size=80k nrfiles=20 openfiles=3",
        "rw=read size=80k nrfiles=20 number_ios=7",
        "rw=read size=80k nrfiles=20 file_service_type=random",
        "rw=read size=80k nrfiles=20 bsrange=2k-4k",
    ] {
        assert!(OneEach::new(&job(words)).is_none(), "{words}");
    }
}

#[test]
fn a_job_that_ends_by_the_clock_needs_another_source() {
    let mut job = job("rw=read size=80k nrfiles=20");
    assert!(OneEach::new(&job).is_some());
    (job.end.time_based, job.end.runtime) = (true, Some(Nanos::from_secs(1)));
    assert!(OneEach::new(&job).is_none());
}
