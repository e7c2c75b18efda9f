//! The source for mixed random loads.

use std::collections::BTreeMap;

use fiord_plan::{BlockSize, SeqRandSizes};
use fiord_types::{Dir, Nanos, PerDir};

use super::{ios, job};
use crate::source::{AnySource, any_source};
use crate::{Io, Next, Source};

fn is_plain(words: &str) -> bool {
    matches!(any_source(&job(words)).unwrap(), AnySource::Mixed(_))
}

fn draw(source: &mut AnySource) -> Io {
    match source.next() {
        Next::Io(io) => io,
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_loads_do_not_get_the_mixed_source() {
    assert!(is_plain("rw=randrw size=1m"));
    assert!(is_plain("rw=randrw size=1m norandommap"));
    assert!(is_plain("rw=randrw size=1m bs=4k,8k norandommap"));
    // Loads for the general source: a map for two sizes, several files, sequential I/O, one
    // direction.
    assert!(!is_plain("rw=randrw size=1m bs=4k,8k"));
    assert!(!is_plain("rw=randrw size=1m nrfiles=2"));
    assert!(!is_plain("rw=rw size=1m"));
    assert!(!is_plain("rw=randrw size=1m rwmixread=100"));
    assert!(!is_plain("rw=randrw size=1m fsync=8"));
}

#[test]
fn directions_and_sizes_keep_their_shares_whatever_the_other_is() {
    let mut job = job("rw=randrw size=1g rwmixread=70 norandommap io_size=1t");
    let split = BlockSize::Split(vec![(4096, 60), (8192, 30), (65536, 10)]);
    job.load.blocks = PerDir::from_fn(|_| split.clone());
    job.load.align = PerDir::all(4096);
    let mut source = any_source(&job).unwrap();
    assert!(matches!(source, AnySource::Mixed(_)));
    let n = 200_000;
    let mut seen: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for _ in 0..n {
        let io = draw(&mut source);
        assert!(io.offset.is_multiple_of(4096) && io.offset + u64::from(io.len) <= 1 << 30);
        *seen.entry((io.dir as usize, io.len)).or_default() += 1;
    }
    let ways = [(Dir::Read, 0.7), (Dir::Write, 0.3)];
    for (dir, way) in ways {
        for (len, size) in [(4096, 0.6), (8192, 0.3), (65536, 0.1)] {
            let share: f64 = way * size;
            let expected = share * f64::from(n);
            // Five standard deviations; of ten thousand blocks a few would cross the end.
            let most = 5.0 * (expected * (1.0 - share)).sqrt() + 1e-4 * f64::from(n);
            let found = seen[&(dir as usize, len)] as f64;
            assert!((found - expected).abs() < most, "{dir:?} {len}: {found} of {expected}");
        }
    }
}

#[test]
fn with_a_map_each_pass_visits_every_block_once_and_timed_passes_have_new_orders() {
    let mut job = job("rw=randrw size=1m rwmixread=50");
    job.end.time_based = true;
    job.end.runtime = Some(Nanos(1));
    let mut source = any_source(&job).unwrap();
    let mut passes: Vec<Vec<u64>> = Vec::new();
    for _ in 0..2 {
        let order: Vec<u64> = (0..256).map(|_| draw(&mut source).offset).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &at)| at == i as u64 * 4096));
        passes.push(order);
    }
    assert_ne!(passes[0], passes[1]);
}

#[test]
fn a_requested_direction_overrides_the_mix() {
    let mut source = any_source(&job("rw=randrw size=1m")).unwrap();
    for dir in [Dir::Write, Dir::Read, Dir::Read, Dir::Write] {
        assert!(matches!(source.next_of(dir), Next::Io(io) if io.dir == dir));
    }
}

/// `bs_is_seq_rand`: random I/Os have the size of writes, sequential ones that of reads.
#[test]
fn sizes_follow_the_order_of_the_io() {
    let mut job = job("rw=randread size=1m percentage_random=50 norandommap=1");
    let (sequential, random) = (BlockSize::Fixed(4096), BlockSize::Fixed(16384));
    let both = Box::new(SeqRandSizes { sequential, random });
    job.load.blocks = PerDir::from_fn(|_| BlockSize::SeqRand(both.clone()));
    let mut end = None;
    let mut counts = [0; 2];
    for io in ios(&job) {
        let follows = end == Some(io.offset);
        // A random I/O follows the one before it by chance, too.
        let crosses_the_end = io.offset + 16384 > 1 << 20;
        assert!(io.len == 16384 || follows || crosses_the_end, "{io:?}");
        counts[usize::from(io.len == 4096)] += 1;
        end = Some(io.offset + u64::from(io.len));
    }
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}

/// `blockalign`: the default is the smallest block of the direction.
#[test]
fn blocks_are_aligned_to_the_smallest_block_of_their_direction() {
    for (sizes, aligns) in [
        ("bssplit=8k/50:16k/50,4k/50:4k/50", [8192, 4096]),
        ("bssplit=4k/50:8k/50,2k/50:64k/50", [4096, 2048]),
        ("bssplit=8k/50:16k/50,12k/50:24k/50", [8192, 12288]),
        ("bssplit=3k/50:6k/50,4097/50:4097/50", [3072, 4097]),
    ] {
        for more in ["", "norandommap"] {
            for size in ["2m", "2050k"] {
                let all = ios(&job(&format!("rw=randrw {sizes} {more} size={size} io_size=16m")));
                for io in &all {
                    let align = aligns[io.dir as usize];
                    assert!(io.offset % align == 0, "{sizes} {more} {size}: {io:?}");
                    assert!(io.offset + u64::from(io.len) <= 2050 << 10, "{sizes}: {io:?}");
                }
                let bytes: u64 = all.iter().map(|io| u64::from(io.len)).sum();
                assert!(bytes >= 16 << 20, "{sizes} {more} {size}: {bytes}");
            }
        }
        // Each pass visits every block, unless the file has more than whole blocks of both directions.
        let all = ios(&job(&format!("rw=randrw {sizes} size=1536k io_size=16m")));
        let mut seen = vec![false; 1536 << 10];
        all.iter().for_each(|io| seen[io.offset as usize..][..io.len as usize].fill(true));
        assert!(seen.iter().filter(|seen| !**seen).count() < 8192, "{sizes}");
    }
}
