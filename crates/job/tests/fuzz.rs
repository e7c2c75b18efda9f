//! Fuzzing on stable Rust: mutated job files and command lines for one second, or for
//! `FIORD_FUZZ_SECONDS`. A panic prints the seed and the input that caused it.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use fiord_job::fuzz;
use fiord_job::option::table;

/// A small random generator (xorshift64*). The same seed repeats a run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

const PIECES: &[&str] = &[
    "[",
    "]",
    "[global]",
    "[a]",
    "\n",
    "\r\n",
    "=",
    ";",
    "#",
    "include ",
    "include job.fio",
    "${",
    "}",
    "${SIZE}",
    "$ncpus",
    "$pagesize",
    "$mb_memory",
    "$jobname",
    "(",
    ")",
    "*",
    "/",
    "%",
    "^",
    "+",
    "-",
    ",",
    ":",
    "\\:",
    "\"",
    "'",
    "0x",
    "4k",
    "1.5m",
    "8z",
    "20%",
    "10s",
    "ms",
    "us",
    "kib",
    "99999999999999999999",
    "-1",
    "1-2",
    "all",
    "%o",
    "\u{e9}",
    "\u{fffd}",
    "\0",
    "\u{1f41f}",
    " ",
    "\t",
    "--",
    "--name=",
    "--showcmd",
    "--section=",
    "=1",
    "=0",
];

fn text(random: &mut Random) -> String {
    let mut out = String::from(if random.below(4) > 0 { "[a]\n" } else { "" });
    for _ in 0..random.below(24) {
        match random.below(8) {
            0 | 1 => out.push_str(random.pick(PIECES)),
            2 => {
                let def = table::engine_options()[random.below(table::engine_options().len())];
                out.push_str(if random.below(2) == 0 { def.example } else { def.name });
            }
            _ => {
                let def = table::options()[random.below(table::options().len())];
                out.push_str(match random.below(3) {
                    0 => def.name,
                    _ => def.example,
                });
                if random.below(3) == 0 {
                    out.push('=');
                    out.push_str(random.pick(PIECES));
                }
            }
        }
        if random.below(3) > 0 {
            out.push('\n');
        }
    }
    out
}

/// Deletes, duplicates and overwrites bytes.
fn mutated(random: &mut Random, text: String) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    for _ in 0..random.below(6) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, b"=:,()-/%\"\\\n[$;0"[random.below(15)]),
            _ => {
                let end = (at + random.below(16)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

#[test]
fn no_input_panics() {
    let seconds = std::env::var("FIORD_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(1));
    // Short runs use the same seed every time, long runs a new one.
    let mut seed = match seconds {
        None => 1,
        Some(_) => u64::from(std::process::id()) << 32 | 1,
    };
    let mut inputs = 0u64;
    while Instant::now() < end {
        seed += 1;
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let text = text(&mut random);
        let bytes = mutated(&mut random, text);
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        let result = catch_unwind(|| {
            fuzz::job_file(&bytes);
            fuzz::command_line(&lossy.replace("[a]\n", "--name=a\n--"));
            fuzz::command_line(&lossy.replace('\n', "\n--"));
        });
        assert!(result.is_ok(), "seed {seed} panics on {lossy:?}");
        inputs += 1;
    }
    println!("{inputs} inputs");
}
