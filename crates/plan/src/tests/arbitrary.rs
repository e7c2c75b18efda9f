//! For any options, `resolve` returns a consistent plan or errors.

use fiord_job::option::def::Kind;
use fiord_job::option::table;
use fiord_types::{Bytes, JobIndex};
use proptest::prelude::*;

use super::*;

/// Values that are unusual for some kind of option.
const VALUES: [&str; 40] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "100",
    "4k",
    "1m",
    "8g",
    "100t",
    "-1",
    "-4k",
    "1%",
    "50%",
    "100%",
    "250%",
    "8z",
    "18446744073709551615",
    "9223372036854775807",
    "4294967295",
    "1-2",
    "4k-64k",
    "64k-4k",
    "4k,8k",
    ",8k",
    "4k/50:64k/50",
    "x",
    "x:y:z",
    "f",
    "f:g",
    "there",
    "/dev/d",
    "/dev/home",
    "nowhere/at/all",
    "all",
    "0,3",
    "0-9",
    "5s",
    "10ms-20ms",
    "1:50:99.9",
];

fn machine() -> Fake {
    Fake::empty()
        .file("f", 102_400)
        .file("g", 0)
        .locked("secret")
        .dir("there")
        .file("there/in", 5000)
        .disk("/dev/d", 1 << 30)
        .disk("/dev/none", 0)
        .mounted("/dev/home")
}

/// An option with a valid or invalid value.
fn option() -> impl Strategy<Value = String> {
    let count = table::options().len() + table::engine_options().len();
    (0..count, 0..VALUES.len(), 0..64usize, 0..4u8).prop_map(|(at, value, word, how)| {
        let all = table::options().iter().chain(table::engine_options());
        let def = all.copied().nth(at).unwrap();
        // Thousands of instances or millions of files are valid, but slow.
        if matches!(def.name, "numjobs" | "nrfiles") {
            return format!("--{}={}", def.name, word % 9);
        }
        match (def.kind, how) {
            (_, 0) => format!("--{}", def.example),
            (Kind::Words { words, .. } | Kind::WordList { words, .. }, 1 | 2) => {
                format!("--{}={}", def.name, words[word % words.len()].name)
            }
            _ => format!("--{}={}", def.name, VALUES[value]),
        }
    })
}

/// Options that most jobs set.
fn common() -> impl Strategy<Value = String> {
    let rw = ["read", "write", "randread", "randrw", "randwrite:8", "trimwrite", "rw:4k"];
    let engines = ["psync", "libaio", "io_uring", "null", "mmap", "sim"];
    let files = ["", "--filename=f", "--filename=f:x", "--filename=/dev/d", "--nrfiles=3"];
    let sizes = ["", "--size=1m", "--size=50%", "--filesize=4k-64k", "--size=10k"];
    (0..rw.len(), 0..engines.len(), 0..files.len(), 0..sizes.len()).prop_map(move |(r, e, f, s)| {
        format!("--rw={} --ioengine={} {} {}", rw[r], engines[e], files[f], sizes[s])
    })
}

/// Adds those options to the line that the reader accepts.
fn those_that_parse(mut line: String, options: &[String]) -> String {
    for option in options {
        let longer = format!("{line} {option}");
        let args: Vec<String> = longer.split_whitespace().map(String::from).collect();
        if fiord_job::invocation(&args, &mut load::Memory::default()).is_ok() {
            line = longer;
        }
    }
    line
}

fn holds_together(resolved: &Resolved) {
    for (index, job) in resolved.plan.jobs.iter().enumerate() {
        assert_eq!(job.identity.index, JobIndex(index));
        assert!(job.identity.instance < job.identity.instances);
        assert!(job.start.wait_for.iter().all(|w| *w < JobIndex(index)));
        assert!(!job.target.files.is_empty());
        assert!((1..=job.target.files.len() as u32).contains(&job.target.open_files));
        assert!(job.end.loops >= 1 && job.depth.depth >= 1);
        assert!(job.process.memory_align.0.is_power_of_two());
        assert!(job.load.blocks.values().all(|b| b.min() >= 1 && b.min() <= b.max()));
        assert!(!job.end.time_based || job.end.runtime.is_some());
        for file in &job.target.files {
            let end = file.offset.checked_add(file.len).expect("regions do not wrap");
            assert!(file.len > Bytes::ZERO && end <= Bytes(i64::MAX as u64), "{file:?}");
            assert!(file.size_needed.is_none_or(|n| n == end || n >= end), "{file:?}");
            if file.kind == crate::FileKind::Block {
                assert!(end <= file.size_now.unwrap(), "{file:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn never_panics(
        common in common(),
        options in prop::collection::vec(option(), 0..12),
        second in prop::collection::vec(option(), 0..6),
    ) {
        let line = those_that_parse(format!("--name=a {common}"), &options);
        let line = those_that_parse(format!("{line} --name=b --size=4k"), &second);
        if let Ok(resolved) = run(&machine(), &line) {
            holds_together(&resolved);
        }
    }

    #[test]
    fn offsets_never_wrap(
        size in any::<u64>(),
        offset in any::<u64>(),
        increment in any::<u64>(),
        files in 1..4u8,
        instances in 1..5u8,
    ) {
        let line = format!(
            "--name=a --size={size} --offset={offset} --offset_increment={increment} \
             --nrfiles={files} --numjobs={instances}"
        );
        if let Ok(resolved) = run(&machine(), &line) {
            holds_together(&resolved);
        }
    }
}
