//! `random_distribution` and skewed `file_service_type`, compared with their closed forms. All
//! seeds are fixed, so the results are the same every time.

use std::collections::HashMap;

use fiord_plan::{Skew, skew_of};
use fiord_types::Dir;

use super::super::laws::Sums;
use super::super::ranks::Ranks;
use super::super::spread::RANKS_OF_A_FILE;
use super::{ios, job};
use crate::rng::{Purpose, Rng};

fn skew(text: &str) -> Skew {
    skew_of(text).unwrap()
}

const LAWS: [&str; 13] = [
    "zipf:0",
    "zipf:0.5",
    "zipf:0.99",
    "zipf:1.2",
    "zipf:3",
    "pareto:0.1",
    "pareto:0.2",
    "pareto:0.5",
    "pareto:0.8",
    "pareto:0.97",
    "normal:0",
    "normal:10:0.3",
    "normal:60:0.9",
];

/// Kolmogorov-Smirnov test with 200 000 draws over a 1 TiB device with 4 KiB blocks: the largest
/// difference from the closed form stays below the critical value for a significance of 0.1 %, 1.95
/// / sqrt(n).
#[test]
fn ranks_follow_their_closed_form() {
    for (i, law) in LAWS.iter().enumerate() {
        for n in [1u64, 7, 1000, 1 << 28] {
            let skew = skew(law);
            let sums = Sums::new(skew.law, n);
            let ranks = Ranks::new(&sums);
            let mut rng = Rng::new(i as u64, Purpose::Offset, n);
            let count = if n == 1 << 28 { 200_000 } else { 20_000 };
            let mut drawn: Vec<u64> = (0..count).map(|_| ranks.draw(&mut rng)).collect();
            drawn.sort_unstable();
            assert!(drawn[count - 1] < n, "{law} over {n}");
            let mut worst = 0f64;
            for (k, rank) in drawn.iter().enumerate() {
                if drawn.get(k + 1) != Some(rank) {
                    let share = (k + 1) as f64 / count as f64;
                    worst = worst.max((share - sums.first(rank + 1)).abs());
                }
            }
            let critical = 1.95 / (count as f64).sqrt();
            assert!(worst < critical, "{law} over {n}: {worst} of {critical}");
        }
    }
}

/// Chi-square test over the hottest 100 ranks and the rest, at a significance of 0.1 %: 149.4 for
/// 100 degrees of freedom.
#[test]
fn the_hottest_ranks_get_their_shares() {
    for law in ["zipf:0.5", "zipf:0.8", "zipf:1.2", "pareto:0.2", "pareto:0.4"] {
        let n = 1_000_000;
        let sums = Sums::new(skew(law).law, n);
        let ranks = Ranks::new(&sums);
        let mut rng = Rng::new(5, Purpose::Offset, 0);
        let draws = 2_000_000;
        let mut seen = [0u32; 101];
        for _ in 0..draws {
            seen[ranks.draw(&mut rng).min(100) as usize] += 1;
        }
        let expected = |i: u64| {
            let upto = if i == 100 { 1.0 } else { sums.first(i + 1) };
            (upto - sums.first(i)) * f64::from(draws)
        };
        let square = |(i, n): (usize, &u32)| {
            (f64::from(*n) - expected(i as u64)).powi(2) / expected(i as u64)
        };
        let chi: f64 = seen.iter().enumerate().map(square).sum();
        assert!(chi < 149.4, "{law}: {chi}");
    }
}

/// How often each block occurs in many I/Os.
fn counts(words: &str) -> HashMap<u64, u32> {
    let mut seen = HashMap::new();
    for io in ios(&job(words)) {
        *seen.entry(io.offset / 4096).or_default() += 1;
    }
    seen
}

fn hottest(seen: &HashMap<u64, u32>) -> Vec<u64> {
    let mut blocks: Vec<(u32, u64)> = seen.iter().map(|(b, n)| (*n, *b)).collect();
    blocks.sort_unstable_by(|a, b| b.cmp(a));
    blocks.iter().take(5).map(|b| b.1).collect()
}

#[test]
fn a_hot_spot_stays_in_place_during_a_run_and_between_runs() {
    for more in ["", "bssplit=4k/50:8k/50", "rw=randrw", "nrfiles=1 fsync=3 rw=randwrite"] {
        let words = format!(
            "rw=randread bs=4k {more} size=100m io_size=160m loops=2 seed=7 \
             random_distribution=zipf:1.2"
        );
        let all = ios(&job(&words));
        let of = |ios: &[crate::Io]| {
            let mut seen = HashMap::new();
            ios.iter().for_each(|io| *seen.entry(io.offset / 4096).or_default() += 1);
            hottest(&seen)
        };
        let (early, late) = all.split_at(all.len() / 2);
        assert_eq!(of(early)[..3], of(late)[..3], "{more}");
        assert_eq!(all, ios(&job(&words)), "{more}");
        let other = words.replace("seed=7", "seed=8");
        assert_ne!(of(early)[0], of(&ios(&job(&other)))[0], "{more}");
    }
}

#[test]
fn the_centre_is_at_the_given_position() {
    let hot = |d: &str| {
        let words = format!("rw=randread bs=4k size=400m io_size=200m random_distribution={d}");
        hottest(&counts(&words))
    };
    for (centre, block) in [("0", 0), ("0.25", 25600), ("0.5", 51200), ("1", 0)] {
        for law in ["zipf:2", "pareto:0.1", "zipf:1.2"] {
            let hot = hot(&format!("{law}:{centre}"));
            assert_eq!(hot[0], block, "{law}:{centre}");
            // The next hottest blocks lie elsewhere.
            assert!(hot[1..].iter().all(|b| b.abs_diff(block) > 100), "{law}:{centre} {hot:?}");
        }
    }
}

/// Distributions, and the shares of the I/O on the hottest 1, 10 and 20 % of 65,536 blocks in fio 3.42.
const FIO: [(&str, [f64; 3]); 11] = [
    ("normal:0", [0.055, 0.457, 0.771]),
    ("normal:10", [0.052, 0.436, 0.745]),
    ("normal:10:0.2", [0.052, 0.436, 0.745]),
    ("normal:99", [0.028, 0.234, 0.432]),
    ("zipf:0.5", [0.099, 0.321, 0.459]),
    ("zipf:1.2", [0.846, 0.943, 0.966]),
    ("zipf:1.2:0.25", [0.846, 0.943, 0.966]),
    ("pareto:0.2", [0.529, 0.731, 0.807]),
    ("pareto:0.2:0.25", [0.529, 0.731, 0.807]),
    ("pareto:0.4", [0.078, 0.284, 0.422]),
    ("zoned:60/10:30/20:8/30:2/40", [0.071, 0.600, 0.774]),
];

/// The shape of each distribution, within 1 % of the I/O. The number of blocks is a power of two, because fio reaches all
/// blocks only then.
#[test]
fn distributions_have_the_shape_of_fio() {
    for (distribution, shares) in FIO {
        let others: &[&str] = match distribution {
            "normal:10" | "zipf:1.2:0.25" => &["", "norandommap=1", "bssplit=4k/50:4k/50"],
            _ => &[""],
        };
        for more in others {
            let words = format!(
                "rw=randread bs=4k size=256m io_size=4g {more} random_distribution={distribution}"
            );
            let seen = counts(&words);
            let total: u32 = seen.values().sum();
            let mut hottest: Vec<u32> = seen.values().copied().collect();
            hottest.sort_unstable_by(|a, b| b.cmp(a));
            for (percent, fio) in [1, 10, 20].into_iter().zip(shares) {
                let io: u32 = hottest.iter().take(65_536 * percent / 100).sum();
                let share = f64::from(io) / f64::from(total);
                assert!(
                    (share - fio).abs() < 0.01,
                    "{distribution} {more}, {percent} %: {share}, fio {fio}"
                );
            }
            // The blocks lie all over the range: no tenth of it has more than the hottest block and twice its part.
            let tenth = |n: u64| -> u32 {
                seen.iter().filter(|(b, _)| **b * 10 / 65_536 == n).map(|(_, n)| n).sum()
            };
            let most = (0..10).map(tenth).max().unwrap();
            if !distribution.starts_with("zoned") {
                assert!(most - hottest[0] < total / 5, "{distribution} {more}: {most}");
                assert!((0..10).all(|n| tenth(n) > total / 60), "{distribution} {more}");
            }
        }
    }
}

/// Shares lie within five standard deviations of a binomial distribution, and each zone is uniform.
#[test]
fn zones_get_their_shares() {
    for (d, zones) in [
        ("zoned:60/10:30/20:8/30:2/40", [(0, 10240, 60), (10240, 20480, 30), (61440, 40960, 2)]),
        (
            "zoned_abs:60/20m:30/100m:10/200m",
            [(0, 5120, 60), (5120, 25600, 30), (30720, 51200, 10)],
        ),
    ] {
        let words = format!("rw=randread bs=4k size=400m random_distribution={d}");
        let seen = counts(&words);
        let total: u32 = seen.values().sum();
        assert_eq!(total, 102_400);
        for (from, blocks, percent) in zones {
            let within = |b: u64, to: u64| (from..from + to).contains(&b);
            let sum = |to: u64| -> f64 {
                seen.iter().filter(|x| within(*x.0, to)).map(|x| f64::from(*x.1)).sum()
            };
            let p = f64::from(percent) / 100.0;
            for (got, p) in [(sum(blocks), p), (sum(blocks / 2), p / 2.0)] {
                let n = f64::from(total);
                let off = (got - n * p).abs() / (n * p * (1.0 - p)).sqrt();
                assert!(off < 5.0, "{d} from {from}: {got}, {off} deviations");
            }
        }
    }
}

#[test]
fn directions_have_zones_of_their_own() {
    let words = "rw=randrw bs=4k size=4m random_distribution=zoned:100/50:0/50,0/50:100/50";
    for io in ios(&job(words)) {
        assert_eq!(io.offset < 2 << 20, io.dir == Dir::Read, "{io:?}");
    }
}

/// The orders are those of fio 3.42.
#[test]
fn sequences_repeat() {
    let order = |words: &str| -> Vec<u64> {
        ios(&job(&format!("bs=4k {words}"))).iter().map(|io| io.offset / 4096).collect()
    };
    let plain = order("rw=randread size=32k random_distribution=sequence:5,0,1");
    assert_eq!(plain, [5, 0, 1, 5, 0, 1, 5, 0]);
    let stride = order("rw=randread size=64k random_distribution=strides:5,0,1");
    assert_eq!(stride, [5, 0, 1, 8, 3, 4, 11, 6, 7, 14, 9, 10]);
    let files =
        ios(&job("rw=randread bs=4k size=48k nrfiles=3 random_distribution=sequence:0,1,2"));
    assert!(files.iter().all(|io| u64::from(io.file.0) == io.offset / 4096), "{files:?}");
    let (mut reads, mut writes) = (0, 0);
    for io in ios(&job("rw=randrw bs=4k size=256k random_distribution=sequence:0,1,2")) {
        let at = if io.dir == Dir::Read { &mut reads } else { &mut writes };
        assert_eq!(io.offset / 4096, *at % 3);
        *at += 1;
    }
    assert!(reads > 0 && writes > 0);
}

/// Compared with the closed form over eleven files: five standard deviations of a binomial
/// distribution.
#[test]
fn skewed_files_get_their_shares() {
    for (service, hot) in [
        ("zipf:1.2:0.5", 5),
        ("pareto:0.2:0.5", 5),
        ("normal:10", 5),
        ("normal:10:0.2", 2),
        ("pareto:0.9:0", 0),
    ] {
        let words = format!(
            "rw=randread bs=4k size=110m nrfiles=11 norandommap file_service_type={service}"
        );
        let all = ios(&job(&words));
        let mut seen = [0f64; 11];
        all.iter().for_each(|io| seen[io.file] += 1.0);
        let skew = skew(service);
        let sums = Sums::new(skew.law, 11 * RANKS_OF_A_FILE);
        let n = all.len() as f64;
        for rank in 0..11 {
            let upto = |rank: usize| sums.first(rank as u64 * RANKS_OF_A_FILE);
            let p = upto(rank + 1) - upto(rank);
            let first = if service.starts_with("normal") { hot + 11 - 5 } else { hot };
            let file = (rank + first) % 11;
            let off = (seen[file] - n * p).abs() / (n * p * (1.0 - p)).sqrt().max(1.0);
            assert!(off < 5.0, "{service}, file {file}: {} of {}", seen[file], n * p);
        }
    }
    // With few open files, each file is visited completely, because a file that is done makes room for another.
    let words = "rw=randread bs=4k size=110m nrfiles=11 openfiles=3 file_service_type=zipf:1.2";
    let all = ios(&job(words));
    let blocks: std::collections::HashSet<_> = all.iter().map(|io| (io.file, io.offset)).collect();
    assert_eq!((all.len(), blocks.len()), (28160, 28160));
}

/// As in fio, a file with a large share starts over when all its blocks were visited. The shares of the hottest file and of the
/// next one are those of fio 3.42.
#[test]
fn skewed_files_keep_their_shares_with_a_map_and_in_order() {
    for (service, shares) in [("zipf:1.2:0", [0.897, 0.031]), ("pareto:0.2:0", [0.70, 0.074])] {
        for more in [
            "rw=randwrite",
            "rw=randread norandommap",
            "rw=write",
            "rw=read",
            "rw=randrw bssplit=4k/50:8k/50",
            "rw=randtrimwrite",
            "rw=randwrite io_size=16m",
        ] {
            let words = format!("bs=4k {more} size=4m nrfiles=16 file_service_type={service}");
            let all = ios(&job(&words));
            let n = all.len() as f64;
            for (file, share) in shares.into_iter().enumerate() {
                let got = all.iter().filter(|io| io.file.0 as usize == file).count() as f64 / n;
                assert!((got - share).abs() < 0.035, "{words}: file {file} has {got}");
            }
            let bytes: u64 = all.iter().map(|io| u64::from(io.len)).sum();
            assert!(bytes >= 4 << 20, "{words}: {bytes}");
            let hot: std::collections::HashSet<_> =
                all.iter().filter(|io| io.file.0 == 0).map(|io| io.offset).collect();
            assert_eq!(hot.len(), 64, "{words}");
        }
    }
}

/// A file that ends within a block starts over, too.
#[test]
fn skewed_files_keep_their_shares_whatever_their_size() {
    for more in ["rw=read", "rw=write", "rw=rw", "rw=randread"] {
        let words = format!("bs=4k {more} size=4000000 nrfiles=16 file_service_type=zipf:1.2:0");
        let all = ios(&job(&words));
        let hot = all.iter().filter(|io| io.file.0 == 0);
        let share = hot.count() as f64 / all.len() as f64;
        assert!((share - 0.897).abs() < 0.035, "{words}: {share}");
        assert_eq!(all.len(), 977, "{words}");
        assert!(all.iter().all(|io| io.offset + u64::from(io.len) <= 250_000), "{words}");
    }
}
