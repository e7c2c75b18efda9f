//! Prints how fast each method seals and checks writes of 128 KiB, in GB/s.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fiord_formats::verify::body::Body;
use fiord_formats::verify::method::Method;
use fiord_formats::verify::pattern::{BodyPattern, ResolvedPart};
use fiord_formats::verify::write::{ExpectedWrite, WriteFormat, WriteIdentity};

const LENGTH: usize = 128 << 10;

fn speed(mut work: impl FnMut(&mut [u8])) -> f64 {
    let mut buffer = vec![0x5a; LENGTH];
    work(&mut buffer);
    // Other programs may use the CPU, so the fastest of many short measurements counts.
    let fastest = (0..400).map(|_| {
        let start = Instant::now();
        work(black_box(&mut buffer));
        start.elapsed()
    });
    LENGTH as f64 / fastest.min().unwrap_or(Duration::MAX).as_secs_f64() / 1e9
}

fn main() {
    let id = WriteIdentity { offset: 0, seed: 99, number: 1, thread: 1, seconds: 0, nanos: 0 };
    let expected = ExpectedWrite { offset: 0, seed: Some(99), number: Some(1) };
    println!("{:<12} {:>8} {:>8} {:>8}", "GB/s", "digest", "seal", "check");
    for method in Method::ALL {
        let Ok(format) = WriteFormat::new(method, 0, 0, None) else { continue };
        let digest = speed(|buffer| {
            black_box(method.digest(buffer));
        });
        let seal = speed(|buffer| {
            let _ = black_box(format.seal_write(&id, buffer));
        });
        let mut sealed = vec![0; LENGTH];
        let _ = format.seal_write(&id, &mut sealed);
        let check = speed(|_| format.check_write(&expected, black_box(&mut sealed)).unwrap());
        println!("{:<12} {digest:8.2} {seal:8.2} {check:8.2}", format!("{method:?}"));
    }
    let body = speed(|buffer| Body::new(99, LENGTH as u64).fill(0, buffer));
    let copied = vec![1; LENGTH];
    let copy = speed(|buffer| buffer.copy_from_slice(&copied));
    println!("body {body:.2}, memcpy {copy:.2}");
    for parts in [vec![ResolvedPart::Offset], vec![ResolvedPart::Bytes(vec![1; 77])]] {
        for interval in [0, 512, 4096] {
            let pattern = BodyPattern::new(parts.clone(), interval).expect("it has bytes");
            let fill = speed(|buffer| pattern.fill(7, buffer));
            let mut filled = vec![0; LENGTH];
            pattern.fill(7, &mut filled);
            let check = speed(|_| {
                let _ = black_box(pattern.first_difference(7, 0, &filled));
            });
            println!("pattern every {interval}: fill {fill:.2}, check {check:.2}");
        }
    }
}
