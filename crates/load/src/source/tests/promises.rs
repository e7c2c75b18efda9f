//! Properties of every load: I/Os are in bounds and aligned, a map visits each block once, equal
//! seeds give equal I/Os.

use std::collections::HashSet;

use fiord_types::{Dir, FileIndex, Nanos};
use proptest::prelude::*;

use fiord_plan::BlockSize;

use super::{ios, job, said};
use crate::{Flush, Io, Next};

/// Counts how often each unit of `unit` bytes was visited.
fn visits(ios: &[Io], file: FileIndex, units: usize, unit: u64) -> Vec<u32> {
    let mut seen = vec![0; units];
    for io in ios.iter().filter(|io| io.file == file) {
        for at in io.offset / unit..(io.offset + u64::from(io.len)).div_ceil(unit) {
            seen[at as usize] += 1;
        }
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn each_block_once_per_pass(
        blocks in 1u64..3000, tail in 0u64..4096, passes in 1u64..4, seed in 0u32..1000,
        word in prop::sample::select(vec!["randread", "randrw", "randtrim"]),
    ) {
        let size = blocks * 4096 + tail;
        let words = format!("rw={word} size={size} loops={passes} seed={seed}");
        let seen = visits(&ios(&job(&words)), FileIndex(0), blocks as usize, 4096);
        prop_assert!(seen.iter().all(|&n| u64::from(n) == passes), "{seen:?}");
    }

    #[test]
    fn each_byte_once_per_pass_with_several_sizes(
        blocks in 4u64..2000, seed in 0u32..1000,
        sizes in prop::sample::select(vec!["bsrange=4k-16k", "bssplit=4k/60:8k/30:16k/10"]),
        word in prop::sample::select(vec!["randwrite", "randrw", "read"]),
    ) {
        let words = format!("rw={word} size={} {sizes} seed={seed}", blocks * 4096);
        let seen = visits(&ios(&job(&words)), FileIndex(0), blocks as usize, 4096);
        prop_assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
    }

    #[test]
    fn each_block_of_each_file_once(
        blocks in 1u64..300, files in 1u32..9, open in 1u32..9, seed in 0u32..1000,
        service in prop::sample::select(
            vec!["roundrobin", "roundrobin:3", "random", "random:5", "sequential"]),
        word in prop::sample::select(vec!["randread", "write", "randtrim"]),
    ) {
        let open = open.min(files);
        let job = job(&format!(
            "rw={word} size={} nrfiles={files} openfiles={open} file_service_type={service} seed={seed}",
            blocks * 4096 * u64::from(files),
        ));
        let ios = ios(&job);
        for file in 0..files {
            let seen = visits(&ios, FileIndex(file), blocks as usize, 4096);
            prop_assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
        }
        opens_and_closes(&said(&job, 1 << 20), files, open);
    }

    #[test]
    fn trims_are_followed_by_their_writes(
        blocks in 1u64..500, files in 1u32..4,
        word in prop::sample::select(vec!["trimwrite", "randtrimwrite"]),
    ) {
        let size = blocks * 4096 * u64::from(files);
        let ios = ios(&job(&format!("rw={word} size={size} nrfiles={files}")));
        for file in 0..files {
            let ios: Vec<_> = ios.iter().filter(|io| io.file == FileIndex(file)).collect();
            prop_assert_eq!(ios.len() as u64, 2 * blocks);
            for pair in ios.chunks(2) {
                prop_assert_eq!((pair[0].dir, pair[1].dir), (Dir::Trim, Dir::Write));
                prop_assert_eq!(pair[0].offset, pair[1].offset);
            }
        }
    }

    /// Random mixtures of options: I/Os lie in the region, offsets are multiples of the alignment,
    /// sizes are those that were requested, the work ends, and equal seeds give equal I/Os.
    #[test]
    fn in_bounds_and_repeatable(
        word in prop::sample::select(vec![
            "read", "write", "trim", "rw", "trimwrite", "randread", "randwrite", "randtrim", "randrw",
            "randtrimwrite", "randread:3", "randrw:5", "write:4k", "read:-8k", "read:1k",
        ]),
        sizes in prop::sample::select(vec![
            "bs=4k", "bs=512,4k,1k", "bsrange=1k-9k", "bssplit=3k/50:10k/50",
            "bsrange=4k-16k bs_unaligned",
        ]),
        extra in prop::sample::select(vec![
            "", "norandommap", "random_generator=lfsr", "percentage_random=40", "randrepeat=0",
            "fsync=3 sync_file_range=write:2", "number_ios=40", "file_service_type=sequential",
            "openfiles=1",
        ]),
        size in 60_000u64..300_000, io_size in 1u64..900_000, files in 1u32..4, offset in 0u64..9000,
        loops in 1u64..4,
    ) {
        let job = job(&format!(
            "rw={word} {sizes} {extra} offset={offset} size={size} io_size={io_size} \
             nrfiles={files} loops={loops}"
        ));
        let first = said(&job, 100_000);
        prop_assert_eq!(first.last(), Some(&Next::End));
        let mut trimmed = HashSet::new();
        for next in &first {
            let Next::Io(io) = next else { continue };
            if word.contains("trimwrite") {
                let block = (io.file, io.offset, io.len);
                let in_turn = match io.dir {
                    Dir::Trim => trimmed.insert(block),
                    _ => trimmed.remove(&block),
                };
                prop_assert!(in_turn, "{:?}", io);
            }
            let file = &job.target.files[io.file];
            prop_assert!(io.offset >= file.offset.0);
            prop_assert!(io.offset + u64::from(io.len) <= (file.offset + file.len).0);
            let sizes = &job.load.blocks[io.dir];
            let pair = word.contains("trimwrite");
            prop_assert!(pair || (sizes.min()..=sizes.max()).contains(&io.len));
            if let (BlockSize::Fixed(bs), "randread" | "read") = (sizes, word) {
                prop_assert_eq!((io.offset - file.offset.0) % u64::from(*bs), 0);
            }
        }
        prop_assert!(trimmed.is_empty(), "trimmed and not written: {:?}", trimmed);
        prop_assert_eq!(first, said(&job, 100_000));
    }
}

/// Each file is opened before its I/O and closed after it, and at most `open` files are open.
fn opens_and_closes(said: &[Next], files: u32, open: u32) {
    let mut is_open = vec![open >= files; files as usize];
    for next in said {
        match *next {
            Next::Open(file) => {
                assert!(open < files && !std::mem::replace(&mut is_open[file], true));
                assert!(is_open.iter().filter(|x| **x).count() <= open as usize);
            }
            Next::Close(file) => {
                assert!(open < files && std::mem::replace(&mut is_open[file], false));
            }
            Next::Io(io) => assert!(is_open[io.file]),
            _ => {}
        }
    }
}

#[test]
fn without_a_map_blocks_are_drawn_independently() {
    let seen = visits(&ios(&job("rw=randread size=4m norandommap")), FileIndex(0), 1024, 4096);
    // About 1/e of the blocks is never drawn.
    let never = seen.iter().filter(|&&n| n == 0).count();
    assert!((300..450).contains(&never), "{never}");
}

#[test]
fn percentage_random_is_a_share() {
    let ios = ios(&job("rw=randread size=64m percentage_random=30"));
    let next = |pair: &&[Io]| pair[1].offset == pair[0].offset + u64::from(pair[0].len);
    let sequential = ios.windows(2).filter(next).count() as f64;
    assert!((sequential / ios.len() as f64 - 0.7).abs() < 0.02, "{sequential}");
}

#[test]
fn loops_repeat_their_order_only_with_randrepeat_and_a_map() {
    let halves = |extra| {
        let ios = ios(&job(&format!("rw=randread size=4m loops=2 {extra}")));
        (ios[..1024].to_vec(), ios[1024..].to_vec())
    };
    let (first, second) = halves("");
    assert_eq!(first, second);
    let (first, second) = halves("randrepeat=0");
    assert_ne!(first, second);
    let (first, second) = halves("norandommap");
    assert_ne!(first, second);
}

#[test]
fn time_based_has_no_end_but_its_passes_are_whole() {
    for words in ["rw=randread size=10k", "rw=write size=10k", "rw=randrw size=8k nrfiles=1"] {
        let mut job = job(words);
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(1));
        let said = said(&job, 10_000);
        assert!(said.iter().all(|next| matches!(next, Next::Io(_))));
        if words.contains("randread") {
            for pass in said.chunks(2) {
                assert_ne!(pass[0], pass[1]);
            }
        }
    }
}

#[test]
fn all_files_get_io_after_the_first_pass() {
    let services = ["random", "random:7", "roundrobin", "roundrobin:3"];
    for word in ["read", "write", "rw", "randread", "trimwrite"] {
        for service in services {
            for (more, timed) in [("", true), ("io_size=4m", false)] {
                let words =
                    format!("rw={word} size=192k nrfiles=3 file_service_type={service} {more}");
                let mut job = job(&words);
                if timed {
                    (job.end.time_based, job.end.runtime) = (true, Some(Nanos(1)));
                }
                let said = said(&job, 960);
                // The first pass has 48 I/Os, or 96 if a trim is before each write.
                let of = |file| {
                    let later = said.iter().skip(96);
                    later.filter(move |n| matches!(n, Next::Io(io) if io.file == file)).count()
                };
                assert!((0..3).all(|file| of(FileIndex(file)) > 220), "{words} {timed}");
            }
        }
    }
}

#[test]
fn time_based_jobs_visit_every_file() {
    for word in ["read", "write", "randread", "randwrite norandommap", "rw", "randtrimwrite"] {
        for how in ["openfiles=1", "openfiles=2", "file_service_type=sequential"] {
            let mut job = job(&format!("rw={word} size=48k nrfiles=3 {how}"));
            (job.end.time_based, job.end.runtime) = (true, Some(Nanos(1)));
            let said = said(&job, 1000);
            let of =
                |file| said.iter().filter(move |n| matches!(n, Next::Io(io) if io.file == file));
            assert!((0..3).all(|file| of(FileIndex(file)).count() > 150), "{word} {how}");
        }
    }
}

#[test]
fn sync_file_range_covers_what_was_written() {
    let said = said(&job("rw=randwrite size=64k sync_file_range=write:4"), 1000);
    let (mut from, mut to) = (u64::MAX, 0);
    let mut flushes = 0;
    for next in said {
        match next {
            Next::Io(io) => {
                (from, to) = (from.min(io.offset), to.max(io.offset + u64::from(io.len)));
            }
            Next::Flush(Flush::Range(2), FileIndex(0), at, len, false) => {
                assert_eq!((at, at + len), (from, to));
                (from, to) = (u64::MAX, 0);
                flushes += 1;
            }
            other => assert_eq!(other, Next::End),
        }
    }
    assert_eq!(flushes, 3);
}

#[test]
fn a_random_pass_over_four_terabytes_needs_no_memory() {
    let mut job = job("rw=randread bs=512 size=4t number_ios=100000");
    for no_plain in [false, true] {
        job.load.fdatasync = u32::from(no_plain);
        let mut offsets: Vec<u64> = ios(&job).iter().map(|io| io.offset).collect();
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 100_000);
    }
}

/// An option that needs another source does not change which blocks a job visits in which order.
#[test]
fn the_random_order_depends_only_on_the_seed() {
    for (one, other) in [
        ("rw=randwrite size=64k", "rw=randwrite size=64k fsync=3"),
        ("rw=randwrite size=64k loops=3", "rw=randwrite size=64k loops=3 fdatasync=5"),
        ("rw=randwrite size=64k io_size=200k", "rw=randwrite size=64k io_size=200k fsync=3"),
        ("rw=randread size=64k loops=2", "rw=randread size=64k loops=2 fsync=3"),
        ("rw=randwrite size=64k norandommap", "rw=randwrite size=64k norandommap fsync=3"),
    ] {
        for repeat in [true, false] {
            let offsets = |words| {
                let mut job = job(words);
                job.load.repeat = repeat;
                ios(&job).iter().map(|io| io.offset).collect::<Vec<_>>()
            };
            assert_eq!(offsets(one), offsets(other), "{one}, {other}, {repeat}");
        }
    }
    let (written, read) =
        (ios(&job("rw=randwrite size=64k fsync=3")), ios(&job("rw=randread size=64k")));
    assert!(written.iter().zip(&read).all(|(written, read)| written.offset == read.offset));
}

/// `random_generator=lfsr` draws each offset once before it draws one again, also if `blockalign` is not the block size.
#[test]
fn lfsr_repeats_no_offset_off_the_grid_of_the_blocks() {
    for (words, offsets) in [
        ("rw=randread bs=8k ba=4k size=256k", 63),
        ("rw=randread bs=4k ba=8k size=256k", 32),
        ("rw=randrw bs=4k ba=8k size=256k", 32),
        ("rw=randread bs=4k ba=8k size=256k loops=3", 32),
        ("rw=randread bs=4k ba=8k size=256k nrfiles=2", 16),
        ("rw=randread bs=4k ba=8k size=256k nrfiles=2 openfiles=1", 16),
    ] {
        let job = job(&format!("{words} random_generator=lfsr"));
        let ios = ios(&job);
        assert_eq!(
            ios.iter().map(|io| u64::from(io.len)).sum::<u64>(),
            job.end.loops * (256 << 10)
        );
        for file in 0..job.target.files.len() {
            let file = FileIndex(file as u32);
            let drawn: Vec<u64> =
                ios.iter().filter(|io| io.file == file).map(|io| io.offset).collect();
            for round in drawn.chunks(offsets) {
                let different: HashSet<u64> = round.iter().copied().collect();
                assert_eq!(different.len(), round.len(), "{words}: {round:?}");
            }
        }
    }
}
