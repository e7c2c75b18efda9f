use fiord_compare::bootstrap::SplitMix;
use fiord_stat::samples::SampleLatencies;
use fiord_types::Nanos;

use super::*;

/// Throughput and mean latency of a device with 8 channels and a service time of 100 µs, by Little's law.
fn device(depth: f64) -> (f64, f64) {
    (depth.min(8.0) * 10_000.0, 100_000.0 * (depth / 8.0).max(1.0))
}

const DEPTHS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

fn run((iops, latency): (f64, f64)) -> KneeRun {
    KneeRun { iops, latency: Some(latency), ..KneeRun::default() }
}

/// A line with `runs` runs of each point, whose throughput and latency vary by `noise` (standard deviation of the
/// logarithm) and by a drift that all points of a round share.
fn noisy(
    curve: &[(f64, f64)],
    runs: usize,
    (noise, drift): (f64, f64),
    seed: u64,
) -> Vec<Vec<KneeRun>> {
    let mut random = SplitMix::new(seed.wrapping_mul(0x9e37_79b9));
    let rounds: Vec<f64> = (0..runs).map(|_| drift * random.normal()).collect();
    let point = |(iops, latency): &(f64, f64)| {
        let one = |round: &f64| {
            let faster = (round + noise * random.normal()).exp();
            let slower = (noise * random.normal()).exp();
            run((iops * faster, latency / faster * slower))
        };
        rounds.iter().map(one).collect()
    };
    curve.iter().map(point).collect()
}

/// Of `seeds` estimates: how many contain the true knee, and how many name only the true knee.
fn right(
    curve: &[(f64, f64)],
    knee: Option<usize>,
    line: impl Fn(u64) -> Vec<Vec<KneeRun>>,
    seeds: u64,
) -> (u64, u64) {
    assert_eq!(estimate_of(curve).measured, knee);
    let mut contained = 0;
    let mut exact = 0;
    for seed in 0..seeds {
        let found = estimate(&line(seed));
        contained += u64::from(match knee {
            Some(knee) => found.candidates.contains(&knee),
            None => found.none_possible,
        });
        exact += u64::from(match knee {
            Some(_) => found.certain() == knee,
            None => found.is_absent(),
        });
    }
    (contained, exact)
}

/// The estimate from exact values.
fn estimate_of(curve: &[(f64, f64)]) -> KneeEstimate {
    estimate(&curve.iter().map(|at| vec![run(*at); 2]).collect::<Vec<_>>())
}

#[test]
fn the_knee_is_where_the_channels_are_all_busy() {
    let curve = DEPTHS.map(device);
    let exact = estimate_of(&curve);
    assert_eq!((exact.certain(), exact.measured), (Some(3), Some(3)));
    assert_eq!(exact.basis, KneeBasis::Runs(2));
    let rising = estimate_of(&curve[..4]);
    assert!(rising.is_absent() && rising.none_possible && rising.measured.is_none());
    assert!(estimate_of(&[]).is_absent());
}

#[test]
fn a_step_must_cost_latency_to_be_one_too_many() {
    let measured = |before, after| estimate_of(&[before, after]).measured;
    assert_eq!(measured((100.0, 10.0), (104.0, 11.0)), Some(0));
    assert_eq!(measured((100.0, 10.0), (106.0, 20.0)), None);
    assert_eq!(measured((100.0, 10.0), (104.0, 10.0)), None);
    // Throughput decreases.
    assert_eq!(measured((100.0, 10.0), (80.0, 10.0)), Some(0));
    let unknown = |iops| vec![KneeRun { iops, ..KneeRun::default() }; 2];
    assert_eq!(estimate(&[unknown(100.0), unknown(101.0)]).certain(), Some(0));
    assert_eq!(estimate(&[unknown(0.0), unknown(1.0)]).measured, None);
}

/// The named points contain the true knee in at least 95 % of the cases, and with five runs and a usual variation, they
/// are the true knee alone in most of them.
#[test]
fn repeated_runs_contain_the_true_knee() {
    const SEEDS: u64 = 400;
    let sharp = DEPTHS.map(device);
    // The gain of the last two steps is close to the limit on both sides: 6 % and 4 %.
    let gentle = [(100.0, 10.0), (180.0, 11.0), (190.8, 20.0), (198.4, 39.0), (198.5, 80.0)];
    let rising = &sharp[..4];
    let curves = [(&sharp[..], Some(3)), (&gentle[..], Some(2)), (rising, None)];
    for (curve, knee) in curves {
        for runs in [2, 3, 5, 10] {
            for vary in [(0.005, 0.0), (0.02, 0.0), (0.05, 0.0), (0.01, 0.05)] {
                let line = |seed| noisy(curve, runs, vary, seed);
                let (contained, _) = right(curve, knee, line, SEEDS);
                assert!(
                    contained * 100 >= SEEDS * 95,
                    "{runs} runs, noise {vary:?}, knee {knee:?}: {contained} of {SEEDS}"
                );
            }
        }
    }
    let (_, exact) = right(&sharp, Some(3), |seed| noisy(&sharp, 5, (0.01, 0.0), seed), SEEDS);
    assert!(exact * 100 >= SEEDS * 90, "{exact} of {SEEDS} name the knee alone");
}

/// One run of a point: windows of equal length whose rates are correlated with their neighbours.
fn windows(
    (iops, latency): (f64, f64),
    (count, noise): (usize, f64),
    random: &mut SplitMix,
) -> KneeRun {
    let (memory, mut state) = (0.5_f64, random.normal());
    let mut out = Vec::new();
    for _ in 0..count {
        state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
        let faster = (noise * state).exp();
        let time = Nanos((latency / faster) as u64);
        out.push(ComparedWindow {
            ios: iops * faster,
            bytes: 0.0,
            seconds: 1.0,
            latencies: SampleLatencies::of_values([time; 10]),
        });
    }
    let mean = |value: &dyn Fn(&ComparedWindow) -> f64| {
        out.iter().map(value).sum::<f64>() / out.len() as f64
    };
    let rate = mean(&|window| window.ios);
    KneeRun { iops: rate, latency: Some(latency * iops / rate), windows: out, ..KneeRun::default() }
}

#[test]
fn one_run_per_point_uses_its_time_windows() {
    const SEEDS: u64 = 100;
    let curve = [2.0, 4.0, 8.0, 16.0].map(device);
    let line = |seed: u64| -> Vec<Vec<KneeRun>> {
        let mut random = SplitMix::new(seed + 1);
        curve.iter().map(|at| vec![windows(*at, (48, 0.05), &mut random)]).collect()
    };
    assert_eq!(estimate(&line(0)).basis, KneeBasis::Windows);
    let (contained, _) = right(&curve, Some(2), line, SEEDS);
    assert!(contained * 100 >= SEEDS * 95, "{contained} of {SEEDS}");
}

#[test]
fn one_short_run_per_point_makes_nothing_certain() {
    let line: Vec<Vec<KneeRun>> = DEPTHS.iter().map(|depth| vec![run(device(*depth))]).collect();
    let found = estimate(&line);
    assert_eq!(found.basis, KneeBasis::SingleValues);
    assert_eq!((found.certain(), found.measured), (None, Some(3)));
    assert!(found.none_possible && found.candidates.len() == 6);
}
