//! Bytes, I/Os and flushes of whole jobs, compared with those that fio 3.42 reports for the same
//! options.

use std::process::Command;

use fiord_plan::JobPlan;
use fiord_types::{Bytes, Dir};

use super::{job, said};
use crate::Next;

/// Options, I/Os, bytes and flushes over all directions. If sizes are drawn, only the bytes are
/// known in advance.
#[rustfmt::skip]
const TOTALS: &[(&str, Option<u64>, u64, u64)] = &[
    ("rw=read size=10k", Some(2), 8192, 0),
    ("rw=write size=10k", Some(2), 8192, 0),
    ("rw=read size=10k io_size=9k", Some(2), 8192, 0),
    ("rw=read size=10k io_size=11k", Some(2), 8192, 0),
    ("rw=read size=10k io_size=30k", Some(8), 32768, 0),
    ("rw=write size=10k io_size=11k", Some(2), 8192, 0),
    ("rw=write size=10k io_size=30k", Some(8), 32768, 0),
    ("rw=read size=12k io_size=30k", Some(8), 32768, 0),
    ("rw=read size=12k io_size=6k", Some(2), 8192, 0),
    ("rw=read size=16k io_size=18k", Some(4), 16384, 0),
    ("rw=write size=16k io_size=18k", Some(5), 20480, 0),
    ("rw=trim size=16k io_size=18k", Some(4), 16384, 0),
    ("rw=write size=12k io_size=30k", Some(8), 32768, 0),
    ("rw=randread size=10k", Some(2), 8192, 0),
    ("rw=randread size=10k norandommap", Some(3), 12288, 0),
    ("rw=randread size=10k io_size=9k", Some(2), 8192, 0),
    ("rw=randread size=10k io_size=9k norandommap", Some(3), 12288, 0),
    ("rw=randread size=10k io_size=30k", Some(8), 32768, 0),
    ("rw=randread size=10k io_size=30k norandommap", Some(8), 32768, 0),
    ("rw=randread size=12k io_size=16k", Some(4), 16384, 0),
    ("rw=randread size=16k io_size=18k", Some(4), 16384, 0),
    ("rw=randwrite size=16k io_size=18k", Some(4), 16384, 0),
    ("rw=randtrim size=16k io_size=40k", Some(10), 40960, 0),
    ("rw=read size=16k number_ios=3", Some(3), 12288, 0),
    ("rw=read size=16k number_ios=7", Some(4), 16384, 0),
    ("rw=randread size=16k number_ios=7", Some(4), 16384, 0),
    ("rw=trim size=16k number_ios=2", Some(2), 8192, 0),
    ("rw=read size=12k io_size=30k number_ios=4", Some(4), 16384, 0),
    ("rw=read size=12k io_size=30k number_ios=7", Some(7), 28672, 0),
    ("rw=read size=12k loops=2", Some(6), 24576, 0),
    ("rw=randread size=16k loops=3", Some(12), 49152, 0),
    ("rw=read size=12k io_size=30k loops=2", Some(9), 36864, 0),
    ("rw=read size=12k io_size=30k number_ios=5 loops=2", Some(9), 36864, 0),
    ("rw=read size=16k number_ios=3 loops=3", Some(9), 36864, 0),
    ("rw=read size=32k number_ios=3 loops=4", Some(12), 49152, 0),
    ("rw=read size=16k number_ios=7 loops=3", Some(12), 49152, 0),
    ("rw=read size=32k io_size=8k loops=3", Some(6), 24576, 0),
    ("rw=randread size=32k io_size=8k loops=3", Some(6), 24576, 0),
    ("rw=write size=10k loops=3", Some(6), 24576, 0),
    ("rw=write size=16k loops=3", Some(12), 49152, 0),
    ("rw=randread size=10k loops=3 norandommap", Some(8), 32768, 0),
    ("rw=rw size=32k", Some(8), 32768, 0),
    ("rw=randrw size=32k", Some(8), 32768, 0),
    ("rw=rw size=16k io_size=48k", Some(12), 49152, 0),
    ("rw=randrw size=16k io_size=48k", Some(12), 49152, 0),
    ("rw=randrw size=16k io_size=18k", Some(4), 16384, 0),
    ("rw=rw size=16k io_size=18k", Some(5), 20480, 0),
    ("rw=rw size=16k io_size=50k rwmixread=90", Some(13), 53248, 0),
    ("rw=rw size=64k rwmixread=100", Some(16), 65536, 0),
    ("rw=randrw size=64k rwmixread=0", Some(16), 65536, 0),
    ("rw=randrw norandommap size=16k io_size=30k", Some(8), 32768, 0),
    ("rw=randrw size=1m bs=4k,4k", Some(256), 1048576, 0),
    ("rw=trimwrite size=16k", Some(8), 32768, 0),
    ("rw=trimwrite size=18k", Some(8), 32768, 0),
    ("rw=trimwrite size=16k io_size=40k", Some(20), 81920, 0),
    ("rw=trimwrite size=16k io_size=8k", Some(4), 16384, 0),
    ("rw=trimwrite size=16k io_size=6k", Some(4), 16384, 0),
    ("rw=trimwrite size=16k number_ios=2", Some(4), 16384, 0),
    ("rw=trimwrite size=16k number_ios=5", Some(8), 32768, 0),
    ("rw=trimwrite size=64k bs=4k,8k,8k", Some(16), 131072, 0),
    ("rw=randtrimwrite size=16k", Some(8), 32768, 0),
    ("rw=randtrimwrite size=16k norandommap", Some(8), 32768, 0),
    ("rw=randtrimwrite size=16k io_size=40k", Some(16), 65536, 0),
    ("rw=randtrimwrite size=32k io_size=10k", Some(6), 24576, 0),
    ("rw=read:4k size=32k", Some(8), 32768, 0),
    ("rw=read:4k size=30k", Some(8), 32768, 0),
    ("rw=read:1k size=16k", Some(3), 12288, 0),
    ("rw=read:1k size=64k", Some(13), 53248, 0),
    ("rw=read:2k size=64k loops=2", Some(22), 90112, 0),
    ("rw=write:2k size=64k io_size=200k", Some(50), 204800, 0),
    ("rw=write:6k size=64k", Some(7), 28672, 0),
    ("rw=read:-4k size=32k", Some(8), 32768, 0),
    ("rw=read:-8k size=32k", Some(8), 32768, 0),
    ("rw=read:-12k size=32k io_size=64k", Some(16), 65536, 0),
    ("rw=write:8k size=32k io_size=64k", Some(16), 65536, 0),
    ("rw=rw:4k size=32k", Some(8), 32768, 0),
    ("rw=trim:4k size=32k", Some(8), 32768, 0),
    ("rw=trimwrite:4k size=32k", Some(16), 65536, 0),
    ("rw=randread:4 size=64k", Some(16), 65536, 0),
    ("rw=randread:4 size=64k norandommap", Some(16), 65536, 0),
    ("rw=randread:4 size=32k rw_sequencer=identical", Some(8), 32768, 0),
    ("rw=randwrite:3 size=28k", Some(7), 28672, 0),
    ("rw=randtrim:2 size=64k", Some(16), 65536, 0),
    ("rw=randrw:4 size=64k", Some(16), 65536, 0),
    ("rw=randtrimwrite:4 size=64k", Some(32), 131072, 0),
    ("rw=randread percentage_random=50 size=64k", Some(16), 65536, 0),
    ("rw=randread percentage_random=0 size=32k", Some(8), 32768, 0),
    ("rw=randread percentage_random=0 size=32k io_size=50k", Some(13), 53248, 0),
    ("rw=randread percentage_random=50 size=32k io_size=64k", Some(16), 65536, 0),
    ("rw=randread ba=8k size=64k", Some(16), 65536, 0),
    ("rw=randread ba=512 size=18k io_size=1m", Some(256), 1048576, 0),
    ("rw=read bs=8k,4k,4k size=100k", Some(12), 98304, 0),
    ("rw=read bsrange=4k-16k size=70k", None, 69632, 0),
    ("rw=read bssplit=4k/50:16k/50 size=70k", None, 69632, 0),
    ("rw=read bssplit=3k/50:10k/50 size=69k", None, 70656, 0),
    ("rw=randread bsrange=4k-16k size=68k", None, 69632, 0),
    ("rw=randread bsrange=4k-16k size=70k", None, 69632, 0),
    ("rw=randwrite bssplit=4k/50:16k/50 size=4m", None, 4194304, 0),
    ("rw=randrw bsrange=4k-16k size=1m", None, 1048576, 0),
    ("rw=read nrfiles=3 size=36k", Some(9), 36864, 0),
    ("rw=read nrfiles=3 size=36k file_service_type=roundrobin:2", Some(9), 36864, 0),
    ("rw=read nrfiles=3 size=36k file_service_type=sequential", Some(9), 36864, 0),
    ("rw=read nrfiles=3 size=36k file_service_type=random", Some(9), 36864, 0),
    ("rw=read nrfiles=3 size=36k file_service_type=random:2", Some(9), 36864, 0),
    ("rw=randread nrfiles=3 size=36k", Some(9), 36864, 0),
    ("rw=randread nrfiles=3 size=36k norandommap", Some(9), 36864, 0),
    ("rw=randread nrfiles=3 size=36k norandommap file_service_type=sequential", Some(9), 36864, 0),
    ("rw=randread nrfiles=3 size=36k file_service_type=sequential", Some(9), 36864, 0),
    ("rw=randread nrfiles=3 size=36k io_size=20k", Some(5), 20480, 0),
    ("rw=read nrfiles=3 size=36k io_size=60k", Some(15), 61440, 0),
    ("rw=read nrfiles=3 size=36k io_size=16k", Some(4), 16384, 0),
    ("rw=read nrfiles=4 size=32k openfiles=2", Some(8), 32768, 0),
    ("rw=read nrfiles=4 size=32k openfiles=2 io_size=64k", Some(16), 65536, 0),
    ("rw=randread nrfiles=4 size=32k openfiles=2 file_service_type=random", Some(8), 32768, 0),
    ("rw=write nrfiles=2 size=32k io_size=34k", Some(9), 36864, 0),
    ("rw=write nrfiles=2 size=20k io_size=34k", Some(8), 32768, 0),
    ("rw=rw nrfiles=2 size=32k io_size=64k", Some(16), 65536, 0),
    ("rw=trimwrite nrfiles=2 size=32k", Some(16), 65536, 0),
    ("rw=randtrimwrite nrfiles=2 size=32k", Some(16), 65536, 0),
    ("rw=write size=32k fsync=3", Some(8), 32768, 2),
    ("rw=write size=24k fsync=3", Some(6), 24576, 1),
    ("rw=write size=32k fdatasync=3", Some(8), 32768, 2),
    ("rw=write size=32k fsync=2 fdatasync=3", Some(8), 32768, 4),
    ("rw=write size=10k fsync=2", Some(2), 8192, 1),
    ("rw=write size=32k sync_file_range=write:3", Some(8), 32768, 2),
    ("rw=randwrite size=16k fsync=4 io_size=32k", Some(8), 32768, 1),
    ("rw=randwrite size=16k fsync=4 loops=2", Some(8), 32768, 1),
    ("rw=write size=16k fsync=2 loops=2", Some(8), 32768, 3),
    ("rw=read size=16k fsync=1", Some(4), 16384, 0),
    ("rw=trimwrite size=16k fsync=1", Some(8), 32768, 3),
    ("rw=trimwrite size=16k fsync=2", Some(8), 32768, 1),
    ("rw=write size=16k nrfiles=2 fsync=2", Some(4), 16384, 1),
    ("rw=write size=16k nrfiles=2 fsync=1", Some(4), 16384, 3),
    ("rw=write nrfiles=2 size=32k openfiles=1", Some(8), 32768, 0),
    ("rw=write nrfiles=2 size=32k file_service_type=sequential", Some(8), 32768, 0),
    ("rw=write nrfiles=2 size=32k file_service_type=random", Some(8), 32768, 0),
    ("rw=read:4k nrfiles=2 size=32k file_service_type=sequential", Some(8), 32768, 0),
    ("rw=read bs=1000 size=10000", Some(10), 10000, 0),
    ("rw=randwrite bs=1000 size=10500 number_ios=4 io_size=40k", Some(4), 4000, 0),
    ("rw=randread:8 size=1m", Some(256), 1048576, 0),
    ("rw=randwrite:8 size=1m io_size=3m", Some(768), 3145728, 0),
    ("rw=randtrimwrite size=64k nrfiles=4 openfiles=2", Some(32), 131072, 0),
    ("rw=randread nrfiles=5 size=100k io_size=230k", Some(58), 237568, 0),
    ("rw=randread nrfiles=5 size=100k loops=3", Some(75), 307200, 0),
    ("rw=randwrite nrfiles=5 size=100k loops=2 number_ios=17", Some(34), 139264, 0),
    ("rw=rw size=10k io_size=30k rwmixread=100", Some(8), 32768, 0),
    ("rw=rw bs=4k,16k size=256k rwmixread=0", Some(16), 262144, 0),
    ("rw=randwrite size=1m random_generator=lfsr loops=2", Some(512), 2097152, 0),
    ("rw=randwrite size=64k fsync=1 fdatasync=2", Some(16), 65536, 15),
    ("rw=randwrite size=64k sync_file_range=write:2 fsync=5", Some(16), 65536, 9),
    ("rw=rw rwmixread=0 size=64k fsync=5", Some(16), 65536, 3),
    ("rw=write bs=3k size=100k fsync=4 loops=2", Some(66), 202752, 16),
    ("rw=trim bs=8k size=100k", Some(12), 98304, 0),
    ("rw=randtrim bs=8k size=100k io_size=300k", Some(38), 311296, 0),
    ("rw=randwrite size=1m random_generator=lfsr", Some(256), 1048576, 0),
    ("rw=rw bs=4k,16k size=256k rwmixread=0", Some(16), 262144, 0),
    ("rw=write nrfiles=2 size=32k file_service_type=roundrobin:3", Some(8), 32768, 0),
    ("rw=rw nrfiles=2 size=32k openfiles=1 io_size=100k rwmixread=100", Some(25), 102400, 0),
    ("rw=write nrfiles=3 size=48k file_service_type=random io_size=100k", Some(25), 102400, 0),
];

fn ours(job: &JobPlan) -> (u64, u64, u64) {
    let (mut ios, mut bytes, mut flushes) = (0, 0, 0);
    for next in said(job, 1 << 20) {
        match next {
            Next::Io(io) => (ios, bytes) = (ios + 1, bytes + u64::from(io.len)),
            Next::Flush(..) => flushes += 1,
            _ => {}
        }
    }
    (ios, bytes, flushes)
}

#[test]
fn totals_are_those_of_fio() {
    let mut wrong = Vec::new();
    for &(words, ios, bytes, flushes) in TOTALS {
        let mut job = job(words);
        let ours = ours(&job);
        let fio = (ios.unwrap_or(ours.0), bytes, flushes);
        if ours != fio {
            wrong.push(format!("{words}: {ours:?}, fio: {fio:?}"));
        }
        // A plan that rounds down to whole blocks gives the same totals.
        if !words.contains("io_size") {
            let blocks = job.load.blocks.clone().map(|b| u64::from(b.min())).into_array();
            let block = if words.contains("trim") { blocks[2] } else { blocks[0].min(blocks[1]) };
            job.end.bytes = job.target.files.iter().map(|f| f.len / block * block).sum();
            assert_eq!(self::ours(&job), ours, "{words}, rounded");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks the table with fio, if fio 3.42 is available.
#[test]
fn the_table_agrees_with_fio() {
    let version = Command::new("fio").arg("--version").output();
    if !version.is_ok_and(|v| v.stdout.starts_with(b"fio-3.42")) {
        return;
    }
    for (&(words, ios, bytes, flushes), fio) in TOTALS.iter().zip(fio()) {
        assert_eq!((ios.unwrap_or(fio.0), bytes, flushes), fio, "{words}");
    }
}

/// What fio reports for all jobs, run together on its null engine.
fn fio() -> Vec<(u64, u64, u64)> {
    let mut fio = Command::new("fio");
    fio.args(["--thread", "--ioengine=null", "--output-format=json"]);
    for (i, (words, ..)) in TOTALS.iter().enumerate() {
        fio.arg(format!("--name=j{i}"));
        fio.args(words.split_whitespace().map(|word| format!("--{word}")));
    }
    let text = String::from_utf8(fio.output().unwrap().stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let totals = |job: &serde_json::Value| {
        let of = |dir: &str, key: &str| job[dir][key].as_u64().unwrap();
        let sum = |key| ["read", "write", "trim"].iter().map(|dir| of(dir, key)).sum();
        (sum("total_ios"), sum("io_bytes"), of("sync", "total_ios"))
    };
    json["jobs"].as_array().unwrap().iter().map(totals).collect()
}

/// Each direction gets the share of the I/Os that the mix asks for.
#[test]
fn mixes_keep_their_shares() {
    for percent in [10, 50, 70] {
        let job = job(&format!("rw=randrw rwmixread={percent} size=40m"));
        let ios = super::ios(&job);
        let reads = ios.iter().filter(|io| io.dir == Dir::Read).count() as f64;
        let (n, p) = (ios.len() as f64, f64::from(percent) / 100.0);
        assert!((reads - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{percent}: {reads}");
    }
}

/// Numbers of I/Os and the last offset in KiB, as measured in fio 3.42 with files of 1 MiB and of 2 MiB.
#[test]
fn holes_end_a_pass_where_the_file_goes_on() {
    for (words, count, last) in [
        ("rw=read:4k", 256, 1016),
        ("rw=read:4k io_size=1m", 256, 1016),
        ("rw=read:8k", 86, 1020),
        ("rw=read:8k io_size=512k", 128, 492),
        ("rw=read:8k io_size=1m", 256, 996),
        ("rw=read:8k io_size=2m", 512, 972),
        ("rw=read:8k loops=2", 172, 1020),
        ("rw=read:8k io_size=1m loops=2", 258, 1020),
        ("rw=write:8k io_size=1m", 256, 996),
        ("rw=read:4k file_size=2m", 128, 1016),
        ("rw=write:4k file_size=2m", 128, 1016),
        ("rw=read:12k file_size=2m", 64, 1008),
        ("rw=read:4k file_size=2m io_size=512k", 128, 1016),
        ("rw=read:4k file_size=2m io_size=1m", 256, 1016),
        ("rw=read:4k file_size=2m io_size=2m", 512, 1016),
        ("rw=read:4k file_size=2m loops=2", 256, 1016),
        ("rw=read:8k file_size=2m", 86, 1020),
        ("rw=read:8k file_size=2m io_size=1m", 256, 996),
    ] {
        let all = super::ios(&job(&format!("{words} bs=4k size=1m")));
        let got = (all.len(), all.last().map(|io| io.offset >> 10));
        assert_eq!(got, (count, Some(last)), "{words}");
    }
    // The planner extends the region to the end of the last block: `bs=24k size=1m` is more than whole blocks then.
    for (skip, size, count, last) in [(8, 1072, 15, 1008), (20, 1036, 24, 1012)] {
        let bs = if skip == 8 { 64 } else { 24 };
        let mut job = job(&format!("rw=read:{skip}k bs={bs}k size={size}k file_size=4m"));
        job.end.bytes = job.end.bytes.min(Bytes(1 << 20));
        let all = super::ios(&job);
        let got = (all.len(), all.last().map(|io| io.offset >> 10));
        assert_eq!(got, (count, Some(last)), "{skip}");
    }
    // Reads and writes have a position each, so that bytes end this job.
    let mut job = job("rw=rw:2 bs=4k size=1049086 file_size=4m");
    job.end.bytes = job.end.bytes.min(Bytes(1 << 20));
    job.end.size = Some(Bytes(1 << 20));
    assert_eq!(super::ios(&job).len(), 256);
}
