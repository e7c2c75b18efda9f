//! What the bytes of whole runs look like.

use std::collections::HashSet;

use fiord_job::option::value::PatternPart;
use fiord_plan::{Content as Kind, Dir, EnginePlan, JobPlan};

use super::{AnyContent, pattern};
use crate::{Content, Io, LoadError};

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
        let io = Io { dir: Dir::Write, file: 0, offset, len: len as u32 };
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

/// Blocks of 4 KiB and of a sector, of all writes: none occurs twice.
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
        other.identity.index = 1;
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
fn fixed_stays() {
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
