//! `random_distribution` and skewed `file_service_type`, compared with their closed forms. All
//! seeds are fixed, so the results are the same every time.

use std::collections::HashMap;

use fiord_plan::{Skew, skew_of};
use fiord_types::Dir;

use super::super::laws::Sums;
use super::super::ranks::Ranks;
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
            let sums = Sums::new(skew.law, n, skew.centre.unwrap_or(0.5));
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
        let sums = Sums::new(skew(law).law, n, 0.5);
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
    // A normal distribution is not scattered: 99.7 % lie within three deviations of 1 %.
    let seen = counts("rw=randread bs=4k size=400m random_distribution=normal:1:0.25");
    let near = |(b, _): &(&u64, &u32)| b.abs_diff(25600) < 3072;
    let inside: u32 = seen.iter().filter(near).map(|x| x.1).sum();
    assert!(inside > 101_900, "{inside}");
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
    for (service, hot) in
        [("zipf:1.2:0.5", 5), ("pareto:0.2:0.5", 5), ("normal:10", 5), ("pareto:0.9:0", 0)]
    {
        let words = format!(
            "rw=randread bs=4k size=110m nrfiles=11 norandommap file_service_type={service}"
        );
        let all = ios(&job(&words));
        let mut seen = [0f64; 11];
        all.iter().for_each(|io| seen[io.file] += 1.0);
        let skew = skew(service);
        let sums = Sums::new(skew.law, 11, skew.centre.unwrap());
        let n = all.len() as f64;
        for rank in 0..11 {
            let p = sums.first(rank as u64 + 1) - sums.first(rank as u64);
            let file = if service.starts_with("normal") { rank } else { (rank + hot) % 11 };
            let off = (seen[file] - n * p).abs() / (n * p * (1.0 - p)).sqrt().max(1.0);
            assert!(off < 5.0, "{service}, file {file}: {} of {}", seen[file], n * p);
        }
    }
    // With a map every file is still visited completely, also with few open files.
    for more in ["", "openfiles=3"] {
        let words =
            format!("rw=randread bs=4k size=110m nrfiles=11 {more} file_service_type=zipf:1.2");
        let all = ios(&job(&words));
        let blocks: std::collections::HashSet<_> =
            all.iter().map(|io| (io.file, io.offset)).collect();
        assert_eq!((all.len(), blocks.len()), (28160, 28160), "{more}");
    }
}
