//! `zonemode=strided`: the orders are those of fio 3.42's I/O log for the same job.

use fiord_types::{Bytes, FileIndex};

use super::{ios, job};

/// Blocks of 4 KiB in the order of the I/Os.
fn order(words: &str) -> Vec<u64> {
    ios(&job(&format!("bs=4k {words}"))).iter().map(|io| io.offset / 4096).collect()
}

#[test]
fn sequential_orders_are_those_of_fio() {
    let lap = [0, 1, 4, 5, 8, 9, 12, 13];
    let twice = [lap, lap].concat();
    assert_eq!(order("rw=read size=64k strided=8k:16k:0"), twice);
    assert_eq!(order("rw=read size=64k strided=8k:8k:8k"), twice);
    assert_eq!(order("rw=write size=64k strided=8k:16k:0"), twice);
    assert_eq!(
        order("rw=read size=64k io_size=128k strided=8k:16k:0"),
        [&twice[..], &twice].concat()
    );
    assert_eq!(order("rw=read size=64k loops=2 strided=8k:16k:0"), [&twice[..], &twice].concat());
    assert_eq!(order("rw=read size=60k strided=8k:16k:0"), twice[..15]);
    assert_eq!(order("rw=read size=64k number_ios=12 strided=8k:16k:0"), twice[..12]);
    assert_eq!(order("rw=read size=64k strided=8k:8k:0"), Vec::from_iter(0..16));
    // A zone that lies partly beyond the end of the file.
    assert_eq!(order("rw=read size=64k strided=8k:16k:4k"), [0, 1, 5, 6, 10, 11, 15]);
    assert_eq!(order("rw=write size=64k strided=8k:16k:4k"), [0, 1, 5, 6, 10, 11, 15]);
    // More bytes per zone than it holds; partial blocks; a zone longer than the file.
    let again = [0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13];
    assert_eq!(order("rw=read size=64k strided=16k:8k:8k"), again);
    let thirds = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 1, 2, 4];
    assert_eq!(order("rw=read size=64k strided=10k:16k:0"), thirds);
    assert_eq!(order("rw=read size=64k strided=8k:16k:1m"), [0, 1].repeat(8));
    let skips = [0, 2, 4, 6, 8, 10, 12, 14];
    assert_eq!(order("rw=read:4k size=64k strided=8k:16k:0"), [skips, skips].concat());
    let backwards = [0, 2, 1, 0, 4, 6, 5, 4];
    assert_eq!(order("rw=read:-8k size=32k strided=16k:16k:0"), backwards);
}

/// Offsets of a job on a file that is longer than `size`, as in fio 3.42.
#[test]
fn strides_go_on_to_the_end_of_the_file() {
    let order = |words: &str, beyond: u64| {
        let mut job = job(&format!("bs=4k {words}"));
        job.target.files[0].beyond = Bytes(beyond << 10);
        ios(&job).iter().map(|io| io.offset / 4096).collect::<Vec<_>>()
    };
    let strides = |zones: std::ops::Range<u64>, stride: u64, used: u64| -> Vec<u64> {
        zones.flat_map(|zone| zone * stride..zone * stride + used).collect()
    };
    // 128 KiB of 1 MiB, with one and with two loops; 640 KiB, which go round once.
    assert_eq!(order("rw=read size=128k strided=8k:8k:8k", 896), strides(0..16, 4, 2));
    assert_eq!(order("rw=write size=128k strided=8k:16k:0", 896), strides(0..16, 4, 2));
    assert_eq!(order("rw=read size=128k loops=2 strided=8k:8k:24k", 896), strides(0..32, 8, 2));
    assert_eq!(order("rw=read size=64k io_size=128k strided=8k:16k:0", 960), strides(0..16, 4, 2));
    let round = [strides(0..64, 4, 2), strides(0..16, 4, 2)].concat();
    assert_eq!(order("rw=read size=640k strided=8k:16k:0", 384), round);
    // From an offset on, in a file that ends within a zone.
    let from = order("rw=read offset=20k size=200k strided=16k:16k:20k", 92);
    let zones: Vec<u64> = (0..8).flat_map(|zone| 5 + zone * 9..9 + zone * 9).chain([77]).collect();
    assert_eq!(from, zones);
    let part = order("rw=read size=200k strided=16k:16k:16k", 100);
    assert_eq!(part, [strides(0..9, 8, 4), vec![72, 73, 74]].concat());
    // Random blocks: each block of a zone once, zone after zone.
    let mut random = order("rw=randread size=128k io_size=256k strided=16k:32k:0", 896);
    assert!(random.chunks(4).zip(0..).all(|(four, zone)| four.iter().all(|at| at / 8 == zone)));
    random.dedup();
    assert_eq!(random.len(), 64);
}

/// A block may cross the end of a zone. The next zone begins at its usual position.
#[test]
fn large_blocks_cross_zones() {
    let job = job("rw=read bs=16k size=256k strided=8k:8k:0");
    let starts: Vec<u64> = ios(&job).iter().map(|io| io.offset >> 13).collect();
    assert_eq!(starts, Vec::from_iter(0..16));
}

#[test]
fn random_blocks_stay_in_their_zone_and_come_once_a_visit() {
    for words in ["rw=randread", "rw=randread bssplit=4k/100", "rw=randread norandommap"] {
        let order = order(&format!("{words} size=64k io_size=256k strided=16k:16k:16k"));
        assert_eq!(order.len(), 64);
        for (visit, blocks) in order.chunks(4).enumerate() {
            let zone = visit as u64 % 2 * 8;
            assert!(blocks.iter().all(|b| (zone..zone + 4).contains(b)), "{words}: {order:?}");
            let mut sorted = blocks.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert!(words.contains("norandommap") || sorted.len() == 4, "{words}: {order:?}");
        }
    }
    // Each zone twice, and only a part of each zone.
    let twice = order("rw=randread size=64k strided=32k:16k:0");
    let mut first = twice[..4].to_vec();
    first.sort_unstable();
    assert_eq!(first, [0, 1, 2, 3]);
    assert!(twice[4..8].iter().all(|b| *b < 4), "{twice:?}");
    let part = order("rw=randread size=64k strided=8k:16k:0");
    assert!(part.chunks(2).enumerate().all(|(i, b)| b.iter().all(|b| b / 4 == i as u64 % 4)));
}

#[test]
fn mixes_and_trims_share_the_zone() {
    let job = job("rw=rw bs=4k size=64k io_size=1m strided=8k:16k:0");
    for (i, io) in ios(&job).iter().enumerate() {
        assert_eq!(io.offset / 16384, i as u64 / 2 % 4);
    }
    let pairs = order("rw=trimwrite size=64k strided=8k:16k:0");
    assert_eq!(pairs[..8], [0, 0, 4, 4, 8, 8, 12, 12]);
}

/// Each of several files has its own zones, and a skewed distribution stays within a zone.
#[test]
fn each_file_has_its_zones() {
    let all = ios(&job("rw=read bs=4k size=128k nrfiles=2 strided=8k:16k:0"));
    for file in 0..2 {
        let order: Vec<u64> =
            all.iter().filter(|io| io.file == FileIndex(file)).map(|io| io.offset / 4096).collect();
        assert_eq!(order[..8], [0, 1, 4, 5, 8, 9, 12, 13]);
    }
    let hot =
        order("rw=randread size=64k io_size=4m random_distribution=zipf:2:0.5 strided=16k:16k:0");
    let middle = hot.iter().filter(|b| **b % 4 == 2).count();
    assert!(middle > hot.len() / 2, "{middle} of {}", hot.len());
}

/// A zone that the end of the file cuts short is drawn again when all of its blocks were visited.
#[test]
fn a_short_zone_is_left_by_no_block() {
    for size in [85u64, 87, 90, 91] {
        let job = job(&format!("rw=randread bsrange=1k-8k size={size}k loops=9 strided=32k:64k:0"));
        for io in ios(&job) {
            let end = io.offset + u64::from(io.len);
            assert!(end <= size << 10 && io.offset / 65536 == (end - 1) / 65536, "{size}: {io:?}");
        }
    }
}
