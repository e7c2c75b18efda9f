//! What fio wrote is read, and what fiord writes is read by fio.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fiord_formats::verify::body::Body;
use fiord_formats::verify::header::{Expected, HeaderLayout, VerifyHeader};
use fiord_formats::verify::interval::{check, exchange, header_and_digest, seal};
use fiord_formats::verify::method::Method;
use fiord_formats::verify::state::VerifyState;

const METHODS: [(&str, Method); 16] = [
    ("meta", Method::Meta),
    ("md5", Method::Md5),
    ("crc64", Method::Crc64),
    ("crc32", Method::Crc32),
    ("crc32c", Method::Crc32c),
    ("crc32c-intel", Method::Crc32c),
    ("crc16", Method::Crc16),
    ("crc7", Method::Crc7),
    ("sha1", Method::Sha1),
    ("sha256", Method::Sha256),
    ("sha512", Method::Sha512),
    ("sha3-224", Method::Sha3224),
    ("sha3-256", Method::Sha3256),
    ("sha3-384", Method::Sha3384),
    ("sha3-512", Method::Sha3512),
    ("xxhash", Method::Xxhash),
];

fn lines(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter(|line| !line.starts_with('#'))
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn expected(header: &VerifyHeader) -> Expected {
    Expected {
        length: header.length,
        offset: header.offset,
        seed: Some(header.seed),
        number: Some(header.number),
    }
}

#[test]
fn recorded_headers_and_digests_of_fio_are_those_of_the_computed_body() {
    for line in lines(include_str!("data/verify-headers.txt")) {
        let (name, hex) = line.split_once(' ').unwrap();
        let recorded = bytes(hex);
        let header = VerifyHeader::read(&recorded).unwrap();
        let method = METHODS.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(header.method, method, "{name}");
        assert_eq!((header.number, header.offset), (1, u64::from(header.length)), "{name}");
        assert_eq!(recorded.len(), header_and_digest(header.layout, method), "{name}");

        let mut write = vec![0; header.length as usize];
        Body::new(header.seed, header.length.into()).fill(0, &mut write);
        seal(&mut write, &header).unwrap();
        assert_eq!(write[..recorded.len()], recorded, "{name}, {} bytes", header.length);
        assert_eq!(check(&write, method, &expected(&header)), Ok(header));
    }
}

#[test]
fn recorded_states_of_fio_are_read() {
    let states: Vec<_> = lines(include_str!("data/verify-states.txt")).map(bytes).collect();
    for file in &states {
        let state = VerifyState::read(file).unwrap();
        assert_eq!((state.number, state.index, state.name.as_slice()), (16, 0, &b"st"[..]));
        assert_eq!(state.incomplete, [None; 4]);
        assert_eq!(&state.write().unwrap(), &states[0]);
    }
}

/// The layout that the fio of `PATH` writes; `None` without fio.
fn layout_of_fio() -> Option<HeaderLayout> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let minor: u32 = text.trim().strip_prefix("fio-3.")?.split(['-', '.']).next()?.parse().ok()?;
    Some(if minor < 41 { HeaderLayout::Before341 } else { HeaderLayout::Current })
}

fn fio(file: &Path, arguments: &[String]) -> bool {
    let mut command = Command::new("fio");
    command.arg("--name=verify").arg(format!("--filename={}", file.display()));
    command.args(["--size=8k", "--bs=2k", "--ioengine=psync", "--verify_state_save=0"]);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

fn scratch(writer: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fiord-formats-{}-written-by-{writer}", std::process::id()))
}

/// Calls `each` with the options of each job that both programs run: method, interval and header offset.
///
/// SHA-512 is left out for the old layout: fio 3.33 stores bytes of the data there instead of a digest.
fn each_job(layout: HeaderLayout, each: impl Fn(Method, usize, usize, Vec<String>)) {
    let shapes = [(2048, 0), (512, 0), (512, 200)].into_iter().cycle();
    for ((name, method), (interval, offset)) in METHODS.into_iter().zip(shapes) {
        if layout == HeaderLayout::Before341 && method == Method::Sha512 {
            continue;
        }
        let mut options = vec![format!("--verify={name}"), format!("--verify_interval={interval}")];
        if offset > 0 {
            options.push(format!("--verify_offset={offset}"));
        }
        each(method, interval, offset, options);
    }
}

#[test]
fn intervals_that_fio_writes_are_checked() {
    let Some(layout) = layout_of_fio() else { return };
    let path = scratch("fio");
    each_job(layout, |method, interval, offset, mut options| {
        options.extend(["--rw=write".into(), "--do_verify=0".into()]);
        assert!(fio(&path, &options), "{options:?}");
        let mut file = std::fs::read(&path).unwrap();
        for (index, bytes) in file.chunks_mut(interval).enumerate() {
            exchange(bytes, header_and_digest(layout, method), offset).unwrap();
            let expected = Expected {
                length: interval as u32,
                offset: (index * interval) as u64,
                seed: None,
                number: Some((index * interval / 2048) as u64),
            };
            let header = check(bytes, method, &expected).unwrap();
            assert_eq!((header.layout, header.method), (layout, method));
            let body = Body::new(header.seed, 2048);
            let start = header_and_digest(layout, method);
            let position = index * interval % 2048 + start;
            assert_eq!(body.first_difference(position as u64, &bytes[start..]), None);
        }
        std::fs::remove_file(&path).unwrap();
    });
}

#[test]
fn fio_accepts_intervals_of_fiord_and_no_flipped_bit() {
    let Some(layout) = layout_of_fio() else { return };
    let path = scratch("fiord");
    each_job(layout, |method, interval, offset, mut options| {
        let mut file = vec![0; 8192];
        for (number, write) in file.chunks_mut(2048).enumerate() {
            let seed = 0x1234_5678_9abc_def1 + number as u64;
            Body::new(seed, 2048).fill(0, write);
            for (index, bytes) in write.chunks_mut(interval).enumerate() {
                let header = VerifyHeader {
                    layout,
                    method,
                    length: interval as u32,
                    seed,
                    offset: (number * 2048 + index * interval) as u64,
                    seconds: 1,
                    fraction: 2,
                    number: number as u64,
                    thread: 1,
                };
                seal(bytes, &header).unwrap();
                exchange(bytes, header_and_digest(layout, method), offset).unwrap();
            }
        }
        // Without `verify_fatal`, fio's exit status depends on the last interval of each read alone.
        options.extend(["--rw=read".into(), "--verify_fatal=1".into()]);
        std::fs::write(&path, &file).unwrap();
        assert!(fio(&path, &options), "{options:?}");
        if method != Method::Meta {
            file[4096 + 450] ^= 4;
            std::fs::write(&path, &file).unwrap();
            assert!(!fio(&path, &options), "{options:?}");
        }
        std::fs::remove_file(&path).unwrap();
    });
}
