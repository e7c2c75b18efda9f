//! Tests of what storage sees of the bytes in files: compression, and hashes of blocks of 4 KiB.

use std::collections::HashSet;

use crate::fiord::Place;

/// Returns by how much LZ4 and zstd shrink records of 128 KiB, and the share of duplicate blocks, in percent.
fn seen(place: &Place, name: &str) -> (f64, f64, f64) {
    let bytes = std::fs::read(place.path(name)).unwrap();
    let (mut lz4, mut zstd) = (0, 0);
    for record in bytes.chunks(128 << 10) {
        lz4 += lz4_flex::block::compress(record).len().min(record.len());
        zstd += zstd::bulk::compress(record, 3).unwrap().len().min(record.len());
    }
    let saved = |left: usize| 100.0 - 100.0 * left as f64 / bytes.len() as f64;
    let kinds: HashSet<&[u8]> = bytes.chunks(4096).collect();
    (saved(lz4), saved(zstd), saved(kinds.len() * 4096))
}

fn written(line: &str) -> (f64, f64, f64) {
    let place = Place::new();
    place.run(&format!("--name=a --filename=f --size=4m --rw=write {line}")).ok();
    seen(&place, "f")
}

#[track_caller]
fn near(asked: f64, seen: f64) {
    assert!((asked - seen).abs() <= 2.0, "asked {asked} %, seen {seen:.2} %");
}

#[test]
fn default_contents_cannot_be_made_smaller() {
    for line in
        ["--bs=512", "--bs=4k", "--bs=64k", "--bs=128k", "--bs=4k --ioengine=io_uring --iodepth=8"]
    {
        let (lz4, zstd, twice) = written(line);
        assert!(lz4 < 0.5 && zstd < 0.5 && twice == 0.0, "{line}: {lz4} {zstd} {twice}");
    }
}

#[test]
fn compressible_contents() {
    for line in
        ["--bs=512", "--bs=4k --refill_buffers=0", "--bs=1m", "--bs=4k --rw=randwrite --loops=2"]
    {
        let (lz4, zstd, twice) = written(&format!("{line} --buffer_compress_percentage=40"));
        near(40.0, lz4);
        near(40.0, zstd);
        near(0.0, twice);
    }
}

#[test]
fn contents_that_come_again() {
    for line in [
        "--bs=512",
        "--bs=4k --dedupe_mode=working_set",
        "--bs=1m",
        "--bs=512 --rw=randwrite --loops=2",
        "--bs=4k --rw=randwrite --time_based --runtime=1",
    ] {
        let (.., twice) = written(&format!("{line} --dedupe_percentage=60"));
        near(60.0, twice);
    }
}

#[test]
fn shared_between_jobs() {
    let place = Place::new();
    place
        .run(
            "--size=4m --rw=write --dedupe_percentage=60 --dedupe_mode=working_set --dedupe_global=1 \
             --dedupe_working_set_percentage=20 --name=a --filename=a --name=b --filename=b",
        )
        .ok();
    let both = [place.path("a"), place.path("b")].map(|path| std::fs::read(path).unwrap()).concat();
    std::fs::write(place.path("f"), &both).unwrap();
    near(60.0, seen(&place, "f").2);
}

#[test]
fn a_mixed_job_writes_its_own_contents() {
    for (content, zeros) in [("--zero_buffers", true), ("--scramble_buffers=1", false)] {
        let place = Place::new();
        std::fs::write(place.path("f"), vec![0xaa; 1 << 20]).unwrap();
        place.run(&format!("--name=a --filename=f --rw=randrw --bs=4k {content}")).ok();
        let bytes = std::fs::read(place.path("f")).unwrap();
        let blocks = || bytes.chunks(4096).filter(|block| block.iter().any(|b| *b != 0xaa));
        assert!(blocks().count() > 50);
        for block in blocks() {
            if zeros {
                assert!(block.iter().all(|b| *b == 0));
            } else {
                assert!(block.iter().filter(|b| **b == 0xaa).count() < 100);
            }
        }
    }
}
