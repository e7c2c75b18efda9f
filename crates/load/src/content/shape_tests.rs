//! How shaped contents compress, and how many of their blocks are duplicates.

use std::collections::HashSet;

use fiord_job::option::value::PatternPart;
use fiord_plan::{Compress, ContentPlan as Kind, Dedupe, EnginePlan, JobPlan, Shape};
use fiord_types::{Dir, FileIndex, JobIndex};

use super::AnyContent;
use crate::rng::{Purpose, Rng};
use crate::{Content, Io, IoAttributes};

/// A file as the writes of a job leave it.
struct File {
    bytes: Vec<u8>,
    content: AnyContent,
    buffers: Vec<Vec<u8>>,
    turn: usize,
}

impl File {
    fn new(kind: Kind, size: usize, block: usize, index: usize) -> Self {
        let mut job = JobPlan { content: kind, ..JobPlan::plain(EnginePlan::Null, size as u64) };
        job.identity.index = JobIndex(index);
        let mut content = AnyContent::of(&job, 77).unwrap();
        let mut buffers = vec![vec![0; block]; 3];
        buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
        File { bytes: vec![0; size], content, buffers, turn: 0 }
    }

    fn write(&mut self, offset: usize) {
        let turn = self.turn % self.buffers.len();
        self.turn += 1;
        let len = self.buffers[0].len().min(self.bytes.len() - offset);
        let buffer = &mut self.buffers[turn][..len];
        let io = Io {
            dir: Dir::Write,
            file: FileIndex(0),
            offset: offset as u64,
            len: len as u32,
            attributes: IoAttributes::PLAIN,
        };
        self.content.fill(buffer, &io);
        self.bytes[offset..][..len].copy_from_slice(buffer);
    }

    /// Every block once, in order.
    fn sequential(kind: Kind, size: usize, block: usize) -> Vec<u8> {
        let mut file = File::new(kind, size, block, 0);
        (0..size).step_by(block).for_each(|offset| file.write(offset));
        file.bytes
    }

    /// Every block once, in order, then as many writes at random positions.
    fn random(kind: Kind, size: usize, block: usize) -> Vec<u8> {
        let mut file = File::new(kind, size, block, 0);
        (0..size).step_by(block).for_each(|offset| file.write(offset));
        let mut rng = Rng::new(5, Purpose::Offset, 0);
        for _ in 0..size / block {
            file.write(rng.below((size / block) as u64) as usize * block);
        }
        file.bytes
    }
}

fn compress(percent: u8, chunk: u32, pattern: &[u8]) -> Compress {
    let pattern = match pattern {
        [] => vec![],
        bytes => vec![PatternPart::Bytes(bytes.to_vec())],
    };
    Compress { percent, chunk: chunk.into(), pattern }
}

fn compressing(percent: u8, chunk: u32, pattern: &[u8]) -> Kind {
    Kind::Shaped(Shape { compress: Some(compress(percent, chunk, pattern)), dedupe: None })
}

fn repeating(percent: u8, working_set: Option<u8>, size: usize) -> Dedupe {
    Dedupe { percent, working_set, global: false, blocks: size as u64 / 4096 }
}

/// What LZ4 and zstd save on records of this size, in per cent.
fn saved(bytes: &[u8], record: usize) -> [f64; 3] {
    let mut sizes = [0; 3];
    for record in bytes.chunks(record) {
        let made = [
            lz4_flex::block::compress(record).len(),
            zstd::bulk::compress(record, 3).unwrap().len(),
            zstd::bulk::compress(record, 1).unwrap().len(),
        ];
        sizes.iter_mut().zip(made).for_each(|(size, made)| *size += made.min(record.len()));
    }
    sizes.map(|size| 100.0 - 100.0 * size as f64 / bytes.len() as f64)
}

/// Share of 4 KiB blocks that are equal to an earlier one, in per cent.
fn duplicates(bytes: &[u8]) -> f64 {
    let blocks = bytes.chunks_exact(4096);
    let count = blocks.len() as f64;
    let kinds: HashSet<&[u8]> = blocks.collect();
    100.0 - 100.0 * kinds.len() as f64 / count
}

fn near(what: &str, asked: u8, seen: f64) {
    assert!((f64::from(asked) - seen).abs() <= 2.0, "{what}: asked {asked} %, seen {seen:.2} %");
}

const MIB: usize = 1 << 20;

#[test]
fn compressors_save_the_requested_share() {
    for block in [512, 4096, 65536, MIB] {
        for percent in [1, 3, 25, 50, 90, 99] {
            for (chunk, pattern) in [(512, &b""[..]), (256, b""), (4096, b""), (0, b"\xab\xcd")] {
                let bytes = File::sequential(compressing(percent, chunk, pattern), MIB, block);
                for record in [131_072, MIB] {
                    let names = ["lz4", "zstd -3", "zstd -1"];
                    for (name, seen) in names.iter().zip(saved(&bytes, record)) {
                        let what = format!("{name}, bs={block}, chunk={chunk}, record={record}");
                        near(&what, percent, seen);
                    }
                }
            }
        }
    }
}

#[test]
fn the_pattern_is_what_compresses() {
    let bytes = File::sequential(compressing(50, 512, b"fiord"), MIB, 4096);
    for chunk in bytes.chunks(512) {
        assert!(chunk.ends_with(b"iordf") || chunk[300..].windows(5).any(|w| w == b"fiord"));
        assert!(chunk.iter().filter(|&&byte| byte == 0).count() < 20);
    }
}

#[test]
fn duplicates_are_the_requested_share() {
    let size = 8 * MIB;
    for block in [512, 4096, 6144, 65536, MIB] {
        for percent in [1, 50, 95, 100] {
            for set in [None, Some(5)].into_iter().filter(|s| percent < 100 || s.is_none()) {
                let dedupe = Some(repeating(percent, set, size));
                let kind = Kind::Shaped(Shape { compress: None, dedupe });
                let what = format!("bs={block}, working set {set:?}");
                near(&what, percent, duplicates(&File::sequential(kind.clone(), size, block)));
                let random = duplicates(&File::random(kind, size, block));
                near(&format!("{what}, random"), percent, random);
            }
        }
    }
}

/// If only a small part of a large device is written, it contains duplicates too.
#[test]
fn a_few_writes_to_a_large_device_repeat() {
    let device: u64 = 1 << 40;
    let shape = Shape { compress: None, dedupe: Some(repeating(50, None, device as usize)) };
    let job = JobPlan { content: Kind::Shaped(shape), ..JobPlan::plain(EnginePlan::Null, device) };
    let mut content = AnyContent::of(&job, 1).unwrap();
    let mut rng = Rng::new(9, Purpose::Offset, 0);
    let mut bytes = Vec::new();
    for _ in 0..8192 {
        let mut block = [0; 4096];
        let offset = rng.below(device / 4096) * 4096;
        content.fill(
            &mut block,
            &Io {
                dir: Dir::Write,
                file: FileIndex(0),
                offset,
                len: 4096,
                attributes: IoAttributes::PLAIN,
            },
        );
        bytes.extend_from_slice(&block);
    }
    near("few writes", 50, duplicates(&bytes));
}

#[test]
fn compressible_and_duplicate_shares_hold_together() {
    let size = 8 * MIB;
    for block in [512, 4096, 131_072] {
        let dedupe = Some(repeating(40, Some(10), size));
        let compress = Some(compress(60, 512, b"x"));
        let bytes = File::sequential(Kind::Shaped(Shape { compress, dedupe }), size, block);
        near(&format!("bs={block}, duplicates"), 40, duplicates(&bytes));
        // Single blocks, because a record that contains duplicates compresses better than
        // requested.
        near(&format!("bs={block}, lz4"), 60, saved(&bytes, 4096)[0]);
        near(&format!("bs={block}, zstd"), 60, saved(&bytes, 4096)[1]);
    }
}

#[test]
fn compressible_blocks_are_all_different() {
    for (percent, chunk) in [(50, 0), (50, 65536), (99, 512), (99, 256), (97, 4096)] {
        for block in [512, 4096, MIB] {
            let bytes = File::random(compressing(percent, chunk, b""), 4 * MIB, block);
            let seen = duplicates(&bytes);
            assert!(seen == 0.0, "{percent} %, chunks of {chunk}, bs={block}: {seen} %");
        }
    }
}

#[test]
fn jobs_share_duplicates_only_on_request() {
    let size = 4 * MIB;
    for global in [false, true] {
        // The blocks of both jobs share the kinds.
        let blocks = size as u64 / 4096 * if global { 2 } else { 1 };
        let dedupe = Some(Dedupe { percent: 60, working_set: Some(20), global, blocks });
        let kind = Kind::Shaped(Shape { compress: None, dedupe });
        let files: Vec<Vec<u8>> = (0..2)
            .map(|index| {
                let mut file = File::new(kind.clone(), size, 4096, index);
                (0..size).step_by(4096).for_each(|offset| file.write(offset));
                file.bytes
            })
            .collect();
        let kinds = |bytes: &Vec<u8>| -> HashSet<Vec<u8>> {
            bytes.chunks_exact(4096).map(<[u8]>::to_vec).collect()
        };
        let common = kinds(&files[0]).intersection(&kinds(&files[1])).count();
        assert_eq!(common > 0, global);
        near(&format!("global {global}"), 60, duplicates(&files.concat()));
    }
}
