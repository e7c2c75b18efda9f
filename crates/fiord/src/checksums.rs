//! `--crctest`: the speed of checksums on this machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fiord_formats::verify::body::Body;
use fiord_formats::verify::method::Method;
use fiord_job::option::handle::WordEnum;
use fiord_job::option::table::Verify;

use crate::exit::Exit;
use crate::sink;

/// The length of the data of each checksum in bytes.
const LENGTH: usize = 128 << 10;
/// How long each checksum is measured.
const SPAN: Duration = Duration::from_millis(500);

/// Prints the speed of each checksum, as soon as it is measured.
pub(crate) fn measure(words: &[Verify]) -> Exit {
    let mut data = vec![0; LENGTH];
    Body::new(0x8765_4321, LENGTH as u64).fill(0, &mut data);
    for word in words {
        let Some(method) = fiord_plan::fio_method(*word) else { continue };
        let exit = sink::print(&line(word.word(), mib_per_second(method, &data)));
        if exit != Exit::Success {
            return exit;
        }
    }
    Exit::Success
}

/// A line in fio's layout.
fn line(name: &str, speed: f64) -> String {
    let tabs = if name.len() < 7 { "\t\t" } else { "\t" };
    format!("{name}:{tabs}{speed:8.2} MiB/sec\n")
}

fn mib_per_second(method: Method, data: &[u8]) -> f64 {
    black_box(method.digest(black_box(data)));
    let (start, mut rounds) = (Instant::now(), 0u32);
    loop {
        for _ in 0..8 {
            black_box(method.digest(black_box(data)));
        }
        rounds += 8;
        let elapsed = start.elapsed();
        if elapsed >= SPAN {
            let bytes = f64::from(rounds) * data.len() as f64;
            return bytes / elapsed.as_secs_f64() / f64::from(1 << 20);
        }
    }
}
