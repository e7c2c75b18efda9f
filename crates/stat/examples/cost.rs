//! Measures the cost of recording one I/O: `cost [count]` prints nanoseconds for each usual set of axes.
//! With one set and `perf stat -e instructions:u` it measures instructions.

use std::hint::black_box;
use std::time::Instant;

use fiord_stat::recorder::{Recorder, Times, axes};
use fiord_types::{Bytes, Dir, Nanos};

fn run<const A: u32>(name: &str, count: u64) {
    let mut recorder = Recorder::new(A, &[Dir::Read]);
    let mut value = 88_172_645_463_325_252u64;
    let begin = Instant::now();
    for _ in 0..count {
        // A cheap generator, so that branches cannot learn the values.
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ns = black_box(value >> 46);
        let times = Times { slat: Nanos(ns >> 4), clat: Nanos(ns), lat: Nanos(ns + 9) };
        recorder.complete::<A>(Dir::Read, Bytes(4096), times);
    }
    let ns = begin.elapsed().as_nanos() as f64 / count as f64;
    black_box(&recorder);
    println!("{name:8} {ns:.2} ns");
}

/// Measures the cost of recording the latency from the due time in addition to the usual set.
fn intended(count: u64) {
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Read]);
    let mut value = 88_172_645_463_325_252u64;
    let begin = Instant::now();
    for _ in 0..count {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        recorder.intended(Dir::Read, Nanos(black_box(value >> 46)));
    }
    let ns = begin.elapsed().as_nanos() as f64 / count as f64;
    black_box(&recorder);
    println!("{:8} {ns:.2} ns", "intended");
}

fn main() {
    let count = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000_000);
    let only = std::env::args().nth(2);
    let wanted = |name: &str| only.as_deref().is_none_or(|o| o == name);
    if wanted("none") {
        let mut value = 88_172_645_463_325_252u64;
        for _ in 0..count {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            black_box(value >> 46);
        }
    }
    if wanted("bare") {
        run::<{ axes::BARE }>("bare", count);
    }
    if wanted("sync") {
        run::<{ axes::SYNC }>("sync", count);
    }
    if wanted("intended") {
        intended(count);
    }
    if wanted("async") {
        run::<{ axes::ASYNC }>("async", count);
    }
    if wanted("dynamic") {
        run::<{ axes::DYNAMIC | axes::ASYNC }>("dynamic", count);
    }
}
