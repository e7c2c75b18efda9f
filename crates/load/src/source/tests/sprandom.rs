//! `sprandom`: the state in which it leaves a drive, region by region.

use fiord_types::FileIndex;

use proptest::prelude::*;

use super::super::sprandom::{StaleCurve, Walk, valid};
use super::{SpRandom, ios, job};
use crate::rng::{Purpose, Rng};

fn plan(regions: u32, spare: f64, late: bool) -> SpRandom {
    SpRandom { regions, spare, late }
}

/// All blocks in the order in which they are written.
fn order(plan: SpRandom, len: u64) -> Vec<u64> {
    let mut walk = Walk::new(plan, len, 4096, Rng::new(7, Purpose::Offset, 0)).unwrap();
    std::iter::from_fn(|| walk.draw()).collect()
}

/// State of a drive that fills its flash in the order of the writes: for each write, whether its
/// block is written again later.
fn stale(order: &[u64], blocks: u64) -> Vec<bool> {
    let mut last = vec![None; blocks as usize];
    let mut stale = vec![false; order.len()];
    for (i, block) in order.iter().enumerate() {
        if let Some(before) = last[*block as usize].replace(i) {
            stale[before] = true;
        }
    }
    assert!(last.iter().all(Option::is_some), "a block was never written");
    stale
}

/// Share of stale blocks in each region.
fn shares(stale: &[bool], regions: usize) -> Vec<f64> {
    let bound = |i: usize| stale.len() * i / regions;
    let share = |i: usize| {
        let region = &stale[bound(i)..bound(i + 1)];
        region.iter().filter(|stale| **stale).count() as f64 / region.len() as f64
    };
    (0..regions).map(share).collect()
}

/// The root, compared with published tables of Lambert's W and with the simulated drive of
/// arXiv:1110.4245.
#[test]
fn the_valid_share_of_reclaimed_flash_is_the_root() {
    for room in [1.001, 1.07, 1.15, 1.28, 1.5, 2.0] {
        let v = valid(room);
        assert!((v - (-room * (1.0 - v)).exp()).abs() < 1e-9, "{room}: {v}");
        assert!(v < 1.0 / room);
    }
    let amplification = 1.0 / (1.0 - valid(1.3));
    assert!((amplification - 2.36).abs() < 0.01, "{amplification}");
    // -W(-2/e²)/2 with W(-2/e²) = -0.40637…
    assert!((valid(2.0) - 0.203_188).abs() < 1e-6);
    assert!(valid(1.0) < 1.0);
}

/// The blocks of each region that are written again are exactly as many as the curve says, and each
/// is written again in the next region, or with `spr_cs` in the one after it.
#[test]
fn every_region_has_its_share_of_stale_blocks() {
    for late in [false, true] {
        let (blocks, regions, spare) = (200_000u64, 100usize, 0.15);
        let order = order(plan(100, spare, late), blocks * 4096);
        assert_eq!(order.len(), 230_000);
        let stale = stale(&order, blocks);
        let (room, per) = (1.0 + spare, order.len() / regions);
        let (v, last) = (valid(room), if late { 2 } else { 1 });
        for (i, share) in shares(&stale, regions).into_iter().enumerate() {
            let x = (i as f64 + 0.5) / regions as f64;
            // No region follows the last ones and could make their blocks stale.
            let curve = if i < 100 - last { 1.0 - v.powf(1.0 - x) } else { 0.0 };
            assert!((share - curve).abs() < 0.003, "region {i}: {share} for {curve}");
        }
        let mut seen = vec![None; blocks as usize];
        for (i, block) in order.iter().enumerate() {
            if let Some(before) = seen[*block as usize].replace(i) {
                assert_eq!(i / per - before / per, last);
                assert!(i - before >= per, "a block comes back after {} writes", i - before);
            }
        }
    }
}

/// What fio 3.42 printed with `--debug=sprandom` for this drive: 64 MiB, blocks of 4 KiB, 100
/// regions; the target share of stale blocks in regions 0, 1, 8, 96, 97 and 98.
#[test]
fn stale_shares_are_those_of_fio() {
    let recorded = [
        (0.01, 16_547, [0.0197, 0.0195, 0.0181, 0.0006, 0.0004, 0.0002]),
        (0.07, 17_530, [0.1275, 0.1263, 0.1178, 0.0041, 0.0028, 0.0014]),
        (0.15, 18_841, [0.2479, 0.2458, 0.2304, 0.0086, 0.0057, 0.0029]),
        (0.28, 20_971, [0.4023, 0.3992, 0.3769, 0.0155, 0.0103, 0.0052]),
    ];
    for (spare, writes, shares) in recorded {
        let plan = plan(100, spare, false);
        assert!(plan.writes(64 << 20, 4096).abs_diff(writes) <= 1, "{spare}");
        // More blocks than fio had, so that rounding to whole blocks does not matter.
        let curve = StaleCurve::new(plan, 1 << 30, plan.writes(1 << 42, 4096));
        for (region, share) in [0, 1, 8, 96, 97, 98].into_iter().zip(shares) {
            let ours = curve.stale(region) as f64 / curve.writes(region) as f64;
            assert!((ours - share).abs() < 0.003, "{spare}, {region}: {ours} for {share}");
        }
    }
}

/// Stale blocks are a random choice: of the first and the last blocks of a region, of low and high
/// block numbers, of new and repeated blocks, equally many.
#[test]
fn any_block_may_become_stale() {
    let blocks = 400_000u64;
    let order = order(plan(20, 0.28, false), blocks * 4096);
    let stale = stale(&order, blocks);
    let per = order.len() / 20;
    // The first region, in which all blocks have the same probability.
    let first = &order[..per];
    let share = |of: &dyn Fn(usize, u64) -> bool| {
        let (mut all, mut hit) = (0.0, 0.0);
        for (i, block) in first.iter().enumerate().filter(|(i, block)| of(*i, **block)) {
            let _ = block;
            all += 1.0;
            hit += f64::from(u8::from(stale[i]));
        }
        hit / all
    };
    let whole = share(&|_, _| true);
    for part in [
        share(&|i, _| i < per / 2),
        share(&|i, _| i >= per / 2),
        share(&|_, block| block < blocks / 2),
        share(&|_, block| block % 2 == 0),
    ] {
        // Five standard deviations of a share of 12 800 blocks.
        assert!((part - whole).abs() < 0.022, "{part} of {whole}");
    }
}

#[test]
fn memory_holds_the_stale_blocks_of_a_few_regions() {
    let walk = |late| {
        let mut walk =
            Walk::new(plan(100, 0.15, late), 1 << 30, 4096, Rng::new(1, Purpose::Offset, 0));
        let walk = walk.as_mut().unwrap();
        let reserved = walk.remembers();
        while walk.draw().is_some() {}
        assert_eq!(walk.remembers(), reserved, "nothing is allocated on the way");
        reserved
    };
    // A region has 3014 writes, of which 747 become stale, and 740 in the next region. With 4 bytes
    // each that is 6 kB; fio 3.42 uses 7.5 kB.
    assert!((1480..1500).contains(&walk(false)), "{}", walk(false));
    assert!((2210..2240).contains(&walk(true)), "{}", walk(true));
}

/// Block numbers that need more than four bytes survive the queue.
#[test]
fn large_drives() {
    for len in [1u64 << 45, 1 << 54] {
        let mut walk =
            Walk::new(plan(4_000_000_000, 0.5, false), len, 4096, Rng::new(1, Purpose::Offset, 0))
                .unwrap();
        // Regions of a few writes, of which many become stale.
        let order: Vec<u64> = std::iter::from_fn(|| walk.draw()).take(1_000_000).collect();
        assert!(order.iter().all(|block| *block < len / 4096));
        assert!(order.iter().any(|block| *block > len / 8192));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let again = 1.0 - sorted.len() as f64 / order.len() as f64;
        assert!((again - (1.0 - valid(1.5))).abs() < 0.02, "{again}");
    }
    let endless =
        Walk::new(plan(1, 1.0, false), u64::MAX / 2, 512, Rng::new(1, Purpose::Offset, 0));
    assert!(endless.unwrap_err().to_string().contains("spr_num_regions"));
}

/// The source of a job: its totals, loops, mixes and several files.
#[test]
fn jobs() {
    let all = ios(&job("rw=randwrite bs=4k size=1m sprandom=10:0.15"));
    assert_eq!(all.len(), 294);
    let twice = ios(&job("rw=randwrite bs=4k size=1m sprandom=10:0.15 loops=2 randrepeat=0"));
    assert_eq!(twice.len(), 588);
    let offsets = |part: &[crate::Io]| part.iter().map(|io| io.offset).collect::<Vec<_>>();
    assert_ne!(offsets(&twice[..294]), offsets(&twice[294..]));
    let same = ios(&job("rw=randwrite bs=4k size=1m sprandom=10:0.15 loops=2 randrepeat=1"));
    assert_eq!(offsets(&same[..294]), offsets(&same[294..]));
    let ended = ios(&job("rw=randwrite bs=4k size=1m sprandom=10:0.15 number_ios=7"));
    assert_eq!(ended.len(), 7);
    for service in ["roundrobin:1", "random:1", "sequential"] {
        let words = format!(
            "rw=randwrite bs=4k size=2m nrfiles=2 sprandom=10:0.15 \
                             file_service_type={service}"
        );
        let all = ios(&job(&words));
        assert_eq!(all.len(), 588, "{service}");
        for file in 0..2 {
            let own: Vec<u64> = all
                .iter()
                .filter(|io| io.file == FileIndex(file))
                .map(|io| io.offset / 4096)
                .collect();
            assert_eq!(own.len(), 294, "{service}");
            stale(&own, 256);
        }
    }
    let mixed = ios(&job("rw=randrw bs=4k size=1m sprandom=10:0.15"));
    assert_eq!(mixed.len(), 294);
}

proptest! {
    /// Every block is written, and the number of writes fills the flash, for any number of regions.
    #[test]
    fn every_block_is_written(
        blocks in 1u64..3000,
        regions in 1u32..200,
        spare in 0.001f64..=1.0,
        late: bool,
    ) {
        let plan = plan(regions, spare, late);
        let order = order(plan, blocks * 4096);
        prop_assert_eq!(order.len() as u64, plan.writes(blocks * 4096, 4096));
        prop_assert!(order.iter().all(|block| *block < blocks));
        stale(&order, blocks);
    }
}
