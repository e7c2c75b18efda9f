//! Sizes and offsets. Each line holds what fio 3.42 did with the same job on the same files: the
//! bytes it transferred and the sizes of the files afterwards, except where a comment says why not.

use fiord_types::Bytes;

use super::*;
use crate::model::FilePlan;

/// The expected region of a job instance.
#[derive(Debug, PartialEq)]
struct Seen {
    bytes: u64,
    /// Name, offset, length, and the size that the file needs at least.
    files: Vec<(String, u64, u64, Option<u64>)>,
}

fn seen(job: &JobPlan) -> Seen {
    let file = |f: &FilePlan| {
        let needed = f.size_needed.map(|bytes| bytes.0);
        (f.path.to_string_lossy().into_owned(), f.offset.0, f.len.0, needed)
    };
    Seen { bytes: job.end.bytes.0, files: job.target.files.iter().map(file).collect() }
}

fn machine() -> Fake {
    Fake::empty()
        .file("f", 102_400)
        .file("g", 40_960)
        .file("tiny", 1000)
        .file("m", 1 << 20)
        .disk("/dev/d", 1 << 20)
}

/// Jobs with one file: line, bytes, offset, length, size needed.
#[test]
fn one_file() {
    const M: u64 = 1 << 20;
    type Line = (&'static str, u64, u64, u64, Option<u64>);
    let table: &[Line] = &[
        ("--size=10001", 8192, 0, 10_001, Some(10_001)),
        ("--size=1m", M, 0, M, Some(M)),
        ("--size=1m --io_size=2m", 2 * M, 0, M, Some(M)),
        ("--size=1m --io_size=50%", M / 2, 0, M, Some(M)),
        ("--size=1m --offset=512k", M, M / 2, M, Some(M + M / 2)),
        ("--size=8m --bsrange=6k-20k", 8_386_560, 0, 8 * M, Some(8 * M)),
        ("--filename=m", M, 0, M, None),
        ("--filename=m --size=512k", M / 2, 0, M / 2, None),
        ("--filename=m --size=2m", 2 * M, 0, 2 * M, Some(2 * M)),
        ("--filename=m --size=1m --offset=512k", M, M / 2, M, Some(M + M / 2)),
        ("--filename=m --offset=512k", M / 2, M / 2, M / 2, None),
        ("--filename=m --offset=1k", 1_044_480, 1024, M - 1024, None),
        ("--filename=m --offset=25%", 786_432, M / 4, M / 4 * 3, None),
        ("--filename=m --offset=25% --size=50%", M / 2, M / 4, M / 2, None),
        ("--filename=m --offset=75% --size=50%", M / 4, M / 4 * 3, M / 4, None),
        ("--filename=f --size=0", 102_400, 0, 102_400, None),
        ("--filename=f --offset=33%", 65_536, 36_864, 65_536, None),
        ("--filename=f --offset=33% --offset_align=16k", 53_248, 49_152, 53_248, None),
        ("--filename=f --offset=33k --offset_align=16k", 65_536, 33_792, 68_608, None),
        ("--filename=f --size=33%", 32_768, 0, 33_792, None),
        ("--filename=f --io_size=50%", 51_200, 0, 102_400, None),
        ("--filename=f --io_size=150k", 153_600, 0, 102_400, None),
        ("--filename=f --filesize=40k", 40_960, 0, 40_960, None),
        ("--filename=f --filesize=140k", 143_360, 0, 143_360, Some(143_360)),
        ("--filename=f --filesize=80k --offset=20k", 61_440, 20_480, 61_440, None),
        ("--filename=f --filesize=40k --size=50%", 20_480, 0, 20_480, None),
        ("--filename=f --filesize=40k --size=50% --offset=10k", 20_480, 10_240, 20_480, None),
        ("--filename=f --file_append=1 --size=8k --rw=write", 8192, 102_400, 8192, Some(110_592)),
        ("--filesize=80k --offset=20k", 61_440, 20_480, 61_440, Some(81_920)),
        ("--filesize=80k --size=20k --io_size=100k", 102_400, 0, 81_920, Some(81_920)),
        ("--filesize=80k --size=200k", 81_920, 0, 81_920, Some(81_920)),
        ("--filesize=1m --size=50%", M / 2, 0, M / 2, Some(M / 2)),
        // A percentage of a file that does not exist is 0, as in fio.
        ("--size=100k --offset=25%", 102_400, 0, 102_400, Some(102_400)),
        ("--filename=/dev/d", M, 0, M, None),
        ("--filename=/dev/d --size=8k", 8192, 0, 8192, None),
        ("--filename=/dev/d --size=2m", M, 0, M, None),
        // The last sequential block begins before the end of `size`, and is whole if the target holds it.
        ("--filename=/dev/d --size=512k --bs=4160", M / 2, 0, 127 * 4160, None),
        ("--filename=/dev/d --size=512k --bs=4160 --io_size=1m", M, 0, 127 * 4160, None),
        ("--filename=/dev/d --size=512k --bs=4160 --rw=randread", 524_160, 0, M / 2, None),
        ("--filename=/dev/d --size=1m --bs=4160", 1_048_320, 0, M, None),
        ("--filename=/dev/d --size=512k --offset=512k --bs=4160", 524_160, M / 2, M / 2, None),
        ("--filename=m --size=512k --bs=4160", M / 2, 0, 127 * 4160, None),
        ("--filename=m --filesize=512k --bs=4160", 524_160, 0, M / 2, None),
        ("--filename=m --size=1m --bs=4160", 1_048_320, 0, M, None),
        ("--filename=/dev/d --size=512k --bs=64k --rw=read:20k", M / 2, 0, 568 << 10, None),
        ("--filename=/dev/d --size=500k --bs=64k --rw=read:20k", 458_752, 0, 500 << 10, None),
        ("--filename=/dev/d --size=512k --bs=24k --rw=read:20k", 516_096, 0, M / 2, None),
        // What has no size is as large as `size`.
        ("--ioengine=null --size=1m --offset=30%", M, 315_392, M, None),
        ("--ioengine=null --size=1m --offset=30% --offset_align=64k", M, 327_680, M, None),
        ("--ioengine=null --size=1m --offset=30% --io_size=256k", M / 4, 315_392, M, None),
        ("--filename=/dev/d --size=1m --offset=512k", M / 2, M / 2, M / 2, None),
        ("--filename=/dev/d --size=50% --offset=25%", M / 2, M / 4, M / 2, None),
        ("--filename=/dev/d --filesize=512k", M / 2, 0, M / 2, None),
        ("--filename=/dev/d --filesize=2m", M, 0, M, None),
        ("--filename=/dev/d --filesize=512k --offset=256k", M / 4, M / 4, M / 4, None),
        ("--filename=/dev/d --file_append=1", M, 0, M, None),
        ("--filename=/dev/d --fill_device=1 --rw=write", M, 0, M, None),
        ("--ioengine=null --size=1m --filename=/dev/nope", M, 0, M, None),
    ];
    for (line, bytes, offset, len, needed) in table {
        let job = job(&machine(), &format!("--name=a {line}"));
        let file = &job.target.files[0];
        let got = (job.end.bytes, file.offset, file.len, file.size_needed);
        let expected = (Bytes(*bytes), Bytes(*offset), Bytes(*len), needed.map(Bytes));
        assert_eq!(got, expected, "{line}");
    }
}

/// Jobs with several files: line, bytes, sizes needed (or lengths if the files need no size).
#[test]
fn several_files() {
    let table: &[(&str, u64, &[u64])] = &[
        ("--size=1m --nrfiles=3", 1_044_480, &[349_525; 3]),
        ("--size=10k --nrfiles=3", 0, &[3413; 3]),
        ("--size=1m --nrfiles=3 --filesize=100k", 307_200, &[102_400; 3]),
        ("--size=12k --filename=x:y:z", 12_288, &[4096; 3]),
        // fio's own documentation says that `nrfiles` is ignored here; fio 3.42 does this.
        ("--size=12k --filename=x:y:z --nrfiles=2", 8192, &[6144; 2]),
        ("--size=40k --filename=x:y --nrfiles=5", 40_960, &[20_480; 2]),
        ("--filename=f:g", 143_360, &[102_400, 40_960]),
        // One block of `f` extends past the end of its region.
        ("--filename=f:g --size=100k", 102_400, &[53_248, 51_200]),
        ("--filename=f:f --size=33%", 65_536, &[33_792; 2]),
        ("--filesize=80k --size=200k --nrfiles=4", 204_800, &[81_920; 4]),
    ];
    for (line, bytes, sizes) in table {
        let seen = seen(&job(&machine(), &format!("--name=a {line}")));
        assert_eq!(seen.bytes, *bytes, "{line}");
        let got: Vec<u64> = seen.files.iter().map(|f| f.3.unwrap_or(f.2)).collect();
        assert_eq!(got, *sizes, "{line}");
    }
}

#[test]
fn offsets_of_instances() {
    let table: &[(&str, &[(u64, u64)])] = &[
        ("--numjobs=3 --size=8k --offset_increment=4k", &[(0, 8192), (4096, 8192), (8192, 8192)]),
        (
            "--numjobs=3 --size=8k --offset_increment=4k --offset=1k",
            &[(1024, 8192), (5120, 8192), (9216, 8192)],
        ),
        (
            "--numjobs=4 --filename=f --offset_increment=30%",
            &[(0, 102_400), (32_768, 69_632), (61_440, 40_960), (94_208, 8192)],
        ),
        (
            "--numjobs=4 --filename=f --offset_increment=25% --size=25%",
            &[(0, 25_600), (28_672, 25_600), (53_248, 25_600), (77_824, 24_576)],
        ),
    ];
    for (line, expected) in table {
        let jobs = jobs(&machine(), &format!("--name=a {line}"));
        let got: Vec<(u64, u64)> =
            jobs.iter().map(|j| (j.target.files[0].offset.0, j.target.files[0].len.0)).collect();
        // fio lists the first instance, then the others in descending order.
        let mut expected = expected.to_vec();
        expected[1..].reverse();
        assert_eq!(got, expected, "{line}");
    }
}

/// Impossible jobs: line and a part of the message. fio 3.42 ends with status 1 for each of them.
#[test]
fn refuses_impossible_regions() {
    let table = [
        ("--size=1000", "size too small"),
        ("--rw=write", "you need to specify size="),
        ("--size=100%", "you need to specify size="),
        ("--filename=/dev/zero", "you need to specify size="),
        ("--ioengine=null", "you need to specify size="),
        ("--ioengine=null --size=50%", "you need to specify size="),
        ("--filename=tiny", "blocksize is larger than data set range"),
        ("--filename=f --file_append=1 --rw=write", "you need to specify size="),
        ("--filename=m --offset=2m", "offset 2097152 is at or past the end"),
        ("--filename=/dev/d --offset=2m", "offset 2097152 is at or past the end"),
        ("--filename=f --numjobs=4 --offset_increment=40k", "offset 122880 is at or past"),
        ("--filename=f:missing", "`missing` does not exist"),
        ("--size=1m --io_size=250%", "io_size values greater than 100%"),
        ("--size=8m --offset=9223372036854775807", "more than a file can hold"),
    ];
    let machine = machine().with("/dev/zero", crate::FoundKind::Char, 0);
    for (line, part) in table {
        let what = error(&machine, &format!("--name=a {line}"));
        assert!(what.contains(part), "{line}: {what}");
    }
}

#[test]
fn drawn_file_sizes() {
    let line = "--name=a --rw=write --nrfiles=20 --filesize=100k-200k";
    let first = job(&machine(), line);
    let sizes: Vec<u64> = first.target.files.iter().map(|f| f.len.0).collect();
    assert!(sizes.iter().all(|s| (102_400..=204_800).contains(s) && s % 4096 == 0), "{sizes:?}");
    assert!(sizes.iter().any(|s| *s != sizes[0]), "{sizes:?}");
    assert_eq!(first, job(&machine(), line), "the same in every run");
    let other = job(&machine(), &format!("{line} --randseed=7"));
    assert_ne!(first.target.files, other.target.files);
    // Workers that share a file agree on its size.
    let shared = jobs(&machine(), "--name=a --numjobs=3 --filename=x --filesize=100k-200k");
    assert!(shared.iter().all(|j| j.target.files[0].len == shared[0].target.files[0].len));
}

#[test]
fn files_that_earlier_jobs_make() {
    let jobs = jobs(
        &machine(),
        "--name=a --rw=write --size=8k --filename=x --name=b --rw=read --filename=x",
    );
    assert_eq!(jobs[1].target.files[0].len, Bytes(8192));
    let what = error(
        &machine(),
        "--name=b --rw=read --filename=x --name=a --rw=write --size=8k --filename=x",
    );
    assert!(what.starts_with("job `b`: you need to specify size="), "{what}");
}

#[test]
fn refuses_forbidden_targets() {
    let machine = machine().locked("secret").dir("there").mounted("/dev/home").disk("/dev/none", 0);
    let table = [
        ("--filename=there", "`there` is a directory"),
        ("--filename=secret", "no permission to read `secret`"),
        ("--filename=secret --rw=write", "no permission to write `secret`"),
        ("--size=4k --directory=there:gone", "gone is not a directory"),
        ("--filename=/dev/home --rw=write", "appears mounted"),
        ("--filename=/dev/home --rw=randtrim", "appears mounted"),
        ("--filename=/dev/none", "has no capacity"),
        ("--filename=/dev/d --bs=3000 --direct=1", "needs multiples of its block size of 512"),
        ("--filename=/dev/d --filetype=file", "`/dev/d` is a block device, not a regular file"),
        ("--filename=m --rw=trim", "only block devices can be trimmed"),
        ("--filename=gone --size=8k --rw=randtrim", "only block devices can be trimmed"),
        ("--size=8k --allow_file_create=0", "file creation disallowed"),
    ];
    for (line, part) in table {
        let what = error(&machine, &format!("--name=a {line}"));
        assert!(what.contains(part), "{line}: {what}");
    }
    job(&machine, "--name=a --filename=/dev/home --rw=read");
    job(&machine, "--name=a --filename=/dev/home --rw=write --allow_mounted_write=1");
}

/// An image that backs a mounted loop device: `fiord check` refuses it as the run does.
#[test]
fn refuses_to_write_to_a_file_that_is_in_use() {
    let machine = machine().used_file("image", 1 << 20);
    let what = error(&machine, "--name=a --filename=image --rw=write --size=1m");
    assert!(what.contains("`image` appears mounted"), "{what}");
    job(&machine, "--name=a --filename=image --rw=read --size=1m");
}

/// `offset_increment` in per cent on a target without a size, as in fio 3.42.
#[test]
fn percentages_of_what_has_no_size_are_of_the_size_of_the_job() {
    let line = "--name=a --ioengine=null --rw=read --size=1m --offset_increment=10% --numjobs=3";
    let offsets = |line: &str| -> Vec<u64> {
        let files =
            |job: &JobPlan| job.target.files.iter().map(|f| f.offset.0 >> 10).collect::<Vec<_>>();
        jobs(&machine(), line).iter().flat_map(files).collect()
    };
    let mut all = offsets(line);
    all.sort_unstable();
    assert_eq!(all, [0, 104, 208]);
    let files = "--name=a --ioengine=null --rw=read --size=1m --offset=30% --nrfiles=2";
    assert_eq!(offsets(files), [156, 156]);
}
