//! Tests of what storage sees of the bytes in files: compression, and hashes of blocks of 4 KiB.

use std::collections::HashSet;

use crate::fiord::{Place, Ran};

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

/// Whether fio has the format of headers of fio 3.42.
fn is_new(fio: &Ran) -> bool {
    fio.out.contains("fio-3.42")
}

/// The contents of verified blocks below their headers. What fiord writes is right for a later run, and for fio.
#[test]
fn contents_below_the_headers_of_verify() {
    for (line, saved, twice) in [
        ("--bs=64k --verify=crc32c --buffer_compress_percentage=60", 60.0, 0.0),
        (
            "--bs=8k --verify=md5 --buffer_compress_percentage=40 --buffer_compress_chunk=512",
            40.0,
            0.0,
        ),
        (
            "--bs=32k --verify=sha256 --verify_interval=16k --buffer_compress_percentage=50 --buffer_pattern=0xabcd",
            50.0,
            0.0,
        ),
        (
            "--bs=128k --verify=xxhash --verify_offset=1k --buffer_compress_percentage=30 --rw=randwrite",
            30.0,
            0.0,
        ),
        ("--bs=256k --verify=meta --dedupe_percentage=50", 0.0, 50.0),
        (
            "--bs=128k --verify=md5 --dedupe_percentage=40 --buffer_compress_percentage=50 --norandommap",
            50.0,
            40.0,
        ),
    ] {
        let place = Place::new();
        let job = format!("--name=a --filename=f --size=4m --rw=write {line}");
        place.run(&job).ok();
        let (lz4, zstd, duplicates) = seen(&place, "f");
        // Duplicates within a record compress, too.
        if twice == 0.0 {
            near(saved, lz4);
            near(saved, zstd);
        }
        near(twice, duplicates);
        place.run(&format!("{job} --verify_only=1")).ok();
        if let Some(fio) = place.fio(&format!("{job} --rw=read --verify_only=0")).filter(is_new) {
            assert_eq!(fio.status, Some(0), "{line}: {fio:?}");
        }
        let mut bytes = std::fs::read(place.path("f")).unwrap();
        bytes[(1 << 20) + 5000] ^= 4;
        place.write("f", &bytes);
        let check =
            format!("{job} --verify_only=1 --continue_on_error=verify --output-format=json");
        let verify = &place.run(&check).json()["jobs"][0]["fiord"]["verify"]["faults"];
        // `meta` has no digest.
        let expected = if line.contains("=meta") { None } else { Some(1) };
        assert_eq!(verify["bit-flips"]["extents"].as_u64(), expected, "{line}: {verify}");
    }
}

/// `buffer_pattern` fills the blocks below their headers.
#[test]
fn a_pattern_below_the_headers_of_verify() {
    let place = Place::new();
    let job = "--name=a --filename=f --size=64k --bs=8k --rw=write --verify=crc32c --buffer_pattern=0xabcd";
    place.run(job).ok();
    let bytes = std::fs::read(place.path("f")).unwrap();
    for block in bytes.chunks(8192) {
        assert!(block[64..].chunks(2).all(|pair| pair == [0xab, 0xcd]), "{:x?}", &block[..128]);
    }
    place.run(&format!("{job} --verify_only=1")).ok();
    if let Some(fio) = place.fio(&job.replace("rw=write", "rw=read")).filter(is_new) {
        assert_eq!(fio.status, Some(0), "{fio:?}");
    }
}
