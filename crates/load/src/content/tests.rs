//! The bytes that whole runs write.

use std::collections::HashSet;

use fiord_job::option::value::PatternPart;
use fiord_plan::model::{RdmaPlan, Verb};
use fiord_plan::{ContentPlan as Kind, EnginePlan, JobPlan};
use fiord_types::{Dir, FileIndex, JobIndex, PerDir};

use super::{AnyContent, pattern};
use crate::{Content, Io, IoAttributes, LoadError};

/// Fills the buffers of `slots` slots in turn, and returns what was written.
fn writes(
    job: &JobPlan,
    salt: u64,
    slots: usize,
    lens: &[usize],
) -> Result<Vec<Vec<u8>>, LoadError> {
    let mut content = AnyContent::of(job, salt)?;
    let largest = lens.iter().max().copied().unwrap_or(0);
    let mut buffers = vec![vec![0xa5; largest]; slots];
    buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
    let mut offset = 0;
    let mut write = |(i, &len): (usize, &usize)| {
        let buffer = &mut buffers[i % slots][..len];
        let io = Io {
            dir: Dir::Write,
            file: FileIndex(0),
            offset,
            len: len as u32,
            attributes: IoAttributes::PLAIN,
        };
        offset += len as u64;
        content.fill(buffer, &io);
        buffer.to_vec()
    };
    Ok(lens.iter().enumerate().map(&mut write).collect())
}

fn job(kind: Kind) -> JobPlan {
    JobPlan { content: kind, ..JobPlan::plain(EnginePlan::Null, 1 << 20) }
}

fn written(kind: Kind, salt: u64, slots: usize, lens: &[usize]) -> Vec<Vec<u8>> {
    writes(&job(kind), salt, slots, lens).unwrap()
}

/// Checks that no 4 KiB block and no sector occurs twice in all writes.
fn all_different(writes: &[Vec<u8>]) {
    for size in [512, 4096] {
        let mut seen = HashSet::new();
        for block in writes.iter().flat_map(|write| write.chunks_exact(size)) {
            assert!(seen.insert(block), "two equal blocks of {size} bytes");
        }
    }
}

fn does_not_compress(writes: &[Vec<u8>]) {
    for block in writes.iter().flat_map(|write| write.chunks_exact(4096)) {
        let compressed = lz4_flex::block::compress(block);
        assert!(compressed.len() >= block.len(), "4096 bytes became {}", compressed.len());
    }
}

#[test]
fn default_contents_neither_compress_nor_repeat() {
    for kind in [Kind::Scramble, Kind::Refill] {
        for (slots, len) in [(1, 4096), (8, 16384), (2, 131_072), (3, 512)] {
            let writes = written(kind.clone(), 0, slots, &vec![len; 200]);
            all_different(&writes);
            does_not_compress(&writes);
        }
    }
}

#[test]
fn other_salts_jobs_and_slots_have_other_bytes() {
    for kind in [Kind::Scramble, Kind::Refill, Kind::Fixed] {
        let mut all = written(kind.clone(), 0, 4, &[4096; 4]);
        all.extend(written(kind.clone(), 1, 4, &[4096; 4]));
        let mut other = job(kind.clone());
        other.identity.index = JobIndex(1);
        all.extend(writes(&other, 0, 4, &[4096; 4]).unwrap());
        all_different(&all);
        assert_eq!(written(kind.clone(), 7, 2, &[4096; 8]), written(kind, 7, 2, &[4096; 8]));
    }
}

#[test]
fn odd_lengths_are_filled_to_the_last_byte() {
    for len in [1, 7, 8, 63, 65, 511, 513, 4099] {
        for kind in [Kind::Scramble, Kind::Refill, Kind::Fixed] {
            let writes = written(kind, 3, 8, &[len; 40]);
            for at in 0..len {
                assert!(writes.iter().any(|write| write[at] != 0xa5), "byte {at} of {len}");
            }
        }
        assert_eq!(written(Kind::Zero, 3, 1, &[len]), [vec![0; len]]);
    }
}

#[test]
fn fixed_content_does_not_change() {
    let writes = written(Kind::Fixed, 0, 1, &[4096; 3]);
    assert!(writes.iter().all(|write| *write == writes[0]));
    does_not_compress(&writes);
}

#[test]
fn patterns_repeat_from_the_start_of_each_write() {
    let parts = vec![PatternPart::Bytes(b"hello".to_vec()), PatternPart::Bytes(b"-".to_vec())];
    let writes = written(Kind::Pattern(parts), 0, 1, &[20, 8, 20]);
    assert_eq!(writes, [&b"hello-hello-hello-he"[..], b"hello-he", b"hello-hello-hello-he"]);
}

#[test]
fn patterns_carry_the_offset() {
    let parts = vec![
        PatternPart::Bytes(b"AB".to_vec()),
        PatternPart::Offset,
        PatternPart::Bytes(b"C".to_vec()),
    ];
    let writes = written(Kind::Pattern(parts), 0, 1, &[300, 16]);
    assert_eq!(&writes[0][..13], b"AB\0\0\0\0\0\0\0\0CAB");
    assert_eq!(writes[1], b"AB\x2c\x01\0\0\0\0\0\0CAB\x2c\x01\0");
}

#[test]
fn pattern_files_are_read_by_the_caller() {
    let parts = vec![PatternPart::File("p".into()), PatternPart::Offset];
    let unread = writes(&job(Kind::Pattern(parts.clone())), 0, 1, &[]);
    assert_eq!(unread, Err(LoadError::PatternFile("p".into())));
    let parts = pattern::with_files(&parts, |path| Ok::<_, ()>(path.repeat(3).into_bytes()));
    let parts = parts.unwrap();
    assert_eq!(parts, [PatternPart::Bytes(b"ppp".to_vec()), PatternPart::Offset]);
    assert_eq!(written(Kind::Pattern(parts), 0, 1, &[4]), [b"ppp\0"]);
    let empty = writes(&job(Kind::Pattern(vec![])), 0, 1, &[]);
    assert_eq!(empty, Err(LoadError::NoPattern));
}

/// The least that zstd and LZ4 leave of records of this size, in per cent.
fn left_of_records(writes: &[Vec<u8>], record: usize, level: i32) -> f64 {
    let bytes = writes.concat();
    let mut least = f64::MAX;
    for record in bytes.chunks(record) {
        let zstd = zstd::bulk::compress(record, level).unwrap().len();
        let size = zstd.min(lz4_flex::block::compress(record).len());
        least = least.min(100.0 * size as f64 / record.len() as f64);
    }
    least
}

/// Storage compresses neighbouring data, and consecutive writes come from the same buffers.
#[test]
fn writes_of_a_record_do_not_compress_against_each_other() {
    for (slots, len) in
        [(1, 512), (1, 4096), (3, 4096), (32, 4096), (1, 5000), (1, 65536), (2, 131_008)]
    {
        let writes = written(Kind::Scramble, 0, slots, &vec![len; (1 << 20) / len]);
        for (record, level) in [(131_072, 3), (1 << 20, 3), (1 << 20, 19)] {
            let left = left_of_records(&writes, record, level);
            assert!(left > 99.5, "bs={len}, {slots} slots, records of {record}: {left:.1} % left");
        }
    }
    // Several sizes: a buffer may hold a part of another block.
    for sizes in [vec![512, 4096], vec![65536, 131_072], vec![4096, 8192, 65536, 512, 7000]] {
        let mut job = job(Kind::Scramble);
        job.load.blocks =
            PerDir::from_fn(|_| fiord_plan::BlockSize::Range { min: 512, max: 131_072 });
        let lens: Vec<usize> = sizes.iter().copied().cycle().take(200).collect();
        for slots in [1, 2, 3, 32] {
            let writes = writes(&job, 0, slots, &lens).unwrap();
            let left = left_of_records(&writes, 131_072, 3);
            assert!(left > 99.5, "{sizes:?}, {slots} slots: {left:.1} % left");
        }
    }
    // From 128 KiB on a write is a record of its own.
    for len in [131_072, 1 << 20] {
        let writes = written(Kind::Scramble, 0, 1, &vec![len; (4 << 20) / len]);
        assert!(left_of_records(&writes, 131_072, 3) > 99.5, "bs={len}");
    }
}

/// Blocks that go to a peer are different, but only their marks change.
#[test]
fn blocks_of_a_stream_only_get_marks() {
    for len in [4096, 65_536, 5000] {
        let mut job = job(Kind::Scramble);
        job.engine = EnginePlan::Rdma(RdmaPlan { verb: Verb::Send, waits: false, bind: None });
        let writes = writes(&job, 0, 1, &vec![len; 300]).unwrap();
        all_different(&writes);
        let whole = len / 4096 * 4096;
        let kept = |pair: &[Vec<u8>]| {
            let equal = pair[0][..whole].iter().zip(&pair[1]).filter(|(a, b)| a == b).count();
            equal as f64 / whole as f64
        };
        let least = writes.windows(2).map(kept).fold(1.0, f64::min);
        assert!(least > 0.98, "bs={len}: {least}");
    }
}

/// Random writes to a file from a few buffers, some of them twice to the same place. With `reads`,
/// about half of the I/Os are reads into the buffers. Returns the share of the file that
/// compressors leave, and the share of its 4 KiB groups with new bytes.
fn random_writes(blocks: usize, len: usize, slots: usize, reads: bool) -> (f64, f64) {
    use crate::rng::{Purpose, Rng};
    let mut job = job(Kind::Scramble);
    if reads {
        job.load.mix = fiord_plan::Mix::ReadWrite { read_percent: 50 };
    }
    let mut content = AnyContent::of(&job, 0).unwrap();
    let mut buffers = vec![vec![0; len]; slots];
    buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
    let mut file = vec![0; blocks * len];
    // Every block once, as when a file is laid out, with bytes that do not repeat.
    AnyContent::of(&self::job(Kind::Refill), 9).unwrap().prepare(&mut file);
    let mut rng = Rng::new(1, Purpose::Content, 0);
    let (mut anew, mut groups) = (0, 0);
    for i in 0..3 * blocks {
        let at = (rng.draw() % blocks as u64) as usize * len;
        let buffer = &mut buffers[i % slots];
        if reads && rng.draw().is_multiple_of(2) {
            buffer.copy_from_slice(&file[at..at + len]);
            continue;
        }
        let before = buffer.clone();
        let io = Io {
            dir: Dir::Write,
            file: FileIndex(0),
            offset: at as u64,
            len: len as u32,
            attributes: IoAttributes::PLAIN,
        };
        content.fill(buffer, &io);
        let same = |(a, b): (&[u8], &[u8])| a[40..48] == b[40..48];
        groups += len / 4096;
        anew += before.chunks(4096).zip(buffer.chunks(4096)).filter(|pair| !same(*pair)).count();
        file[at..at + len].copy_from_slice(buffer);
    }
    all_different(std::slice::from_ref(&file));
    let left = left_of_records(std::slice::from_ref(&file), 1 << 20, 1);
    (left, anew as f64 / groups as f64)
}

#[test]
fn random_writes_do_not_compress_against_each_other() {
    for (len, slots) in [(4096, 1), (4096, 32), (16384, 4), (65536, 1)] {
        let (left, anew) = random_writes((32 << 20) / len, len, slots, false);
        assert!(left > 99.5, "bs={len}, {slots} slots: {left:.1} % left");
        // The file has 32 stretches of a MiB, so some of the last dozen writes went to the same
        // one.
        assert!((0.1..0.25).contains(&anew), "bs={len}, {slots} slots: {anew:.2} made anew");
        let (left, anew) = random_writes((32 << 20) / len, len, slots, true);
        assert!(left > 99.5, "bs={len}, {slots} slots, reads: {left:.1} % left");
        // The data that was read is seldom what was written just before.
        assert!((0.4..0.7).contains(&anew), "bs={len}, {slots} slots, reads: {anew:.2} made anew");
    }
}

/// A number per block that differs whenever two blocks of these contents differ: they differ in a
/// mark at the start of a cache line, or everywhere.
fn fingerprint(block: &[u8]) -> u64 {
    let fold = |sum: u64, line: &[u8]| {
        let word = line.first_chunk().map_or(0, |start| u64::from_le_bytes(*start));
        (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    block.chunks_exact(64).fold(0, fold)
}

/// No two of the 4 KiB blocks that a run of 4 GiB writes are equal; a quarter of it for each size
/// and kind.
#[test]
fn four_gib_have_no_two_equal_blocks() {
    for (kind, len) in [
        (Kind::Scramble, 4096),
        (Kind::Scramble, 131_072),
        (Kind::Refill, 65536),
        (Kind::Scramble, 1 << 20),
    ] {
        let job = job(kind);
        let mut content = AnyContent::of(&job, 3).unwrap();
        let mut buffers = vec![vec![0; len]; 4];
        buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
        let mut seen = Vec::with_capacity(1 << 18);
        for i in 0..(1 << 30) / len {
            let buffer = &mut buffers[i % 4];
            let io = Io {
                dir: Dir::Write,
                file: FileIndex(0),
                offset: 0,
                len: len as u32,
                attributes: IoAttributes::PLAIN,
            };
            content.fill(buffer, &io);
            seen.extend(buffer.chunks_exact(4096).map(fingerprint));
        }
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "bs={len}");
    }
}

/// Reads of a job go to the buffers of its writes.
#[test]
fn data_that_was_read_is_not_written_again() {
    use fiord_plan::{BlockSize, Mix};
    let kinds = [Kind::Zero, Kind::Fixed, Kind::Scramble, Kind::Refill];
    let pattern = Kind::Pattern(vec![PatternPart::Bytes(b"abc".to_vec())]);
    for kind in kinds.into_iter().chain([pattern]) {
        for sizes in [BlockSize::Fixed(4096), BlockSize::Range { min: 4096, max: 8192 }] {
            let mut job = job(kind.clone());
            job.load.mix = Mix::ReadWrite { read_percent: 50 };
            job.load.blocks = PerDir::from_fn(|_| sizes.clone());
            let mut content = AnyContent::of(&job, 5).unwrap();
            assert!(content.touches());
            let mut buffer = vec![0xa5; 8192];
            content.prepare(&mut buffer);
            let mut writes = Vec::new();
            for i in 0..64 {
                let io = Io {
                    dir: Dir::Write,
                    file: FileIndex(0),
                    offset: i * 4096,
                    len: 4096,
                    attributes: IoAttributes::PLAIN,
                };
                content.fill(&mut buffer[..4096], &io);
                writes.push(buffer[..4096].to_vec());
                if i % 3 != 0 {
                    // A read returns other data, or what this job wrote.
                    let read = if i % 3 == 1 { vec![0x11; 4096] } else { writes[0].clone() };
                    buffer[..4096].copy_from_slice(&read);
                }
            }
            let alike = writes.iter().filter(|w| w.iter().filter(|&&b| b == 0x11).count() > 100);
            assert_eq!(alike.count(), 0, "{kind:?}");
            if matches!(kind, Kind::Scramble | Kind::Refill) {
                all_different(&writes);
                assert!(left_of_records(&writes, 131_072, 3) > 99.5, "{kind:?}");
            } else {
                assert!(writes.iter().all(|write| *write == writes[0]), "{kind:?}");
            }
        }
    }
}

#[test]
fn a_mixed_job_only_scrambles_a_buffer_without_reads() {
    let mut job = job(Kind::Scramble);
    job.load.mix = fiord_plan::Mix::ReadWrite { read_percent: 50 };
    job.load.blocks = PerDir::from_fn(|_| fiord_plan::BlockSize::Fixed(131_072));
    job.load.align = PerDir::all(131_072);
    let mut content = AnyContent::of(&job, 5).unwrap();
    let mut buffer = vec![0; 131_072];
    content.prepare(&mut buffer);
    let io = Io {
        dir: Dir::Write,
        file: FileIndex(0),
        offset: 0,
        len: 131_072,
        attributes: IoAttributes::PLAIN,
    };
    content.fill(&mut buffer, &io);
    let before = buffer.clone();
    content.fill(&mut buffer, &io);
    let changed = before.iter().zip(&buffer).filter(|(a, b)| a != b).count();
    assert!((1900..3000).contains(&changed), "{changed} bytes changed");
}
