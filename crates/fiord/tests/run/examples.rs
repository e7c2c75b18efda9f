//! Tests of every job file in `examples/`: fiord accepts it, and a shortened version runs to the end.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::fiord::{Place, Ran, work};

/// Values of the variables in the examples. Files that the test creates replace the devices.
pub(crate) const VARIABLES: [(&str, &str); 9] = [
    ("ZONED", "a.dat"),
    ("DEVICE_A", "a.dat"),
    ("DEVICE_B", "b.dat"),
    ("DRIVE_A", "a.dat"),
    ("DRIVE_B", "b.dat"),
    ("DEVICES", "a.dat:b.dat"),
    ("TARGET", "a.dat"),
    ("NAMESPACE", "a.dat"),
    ("JOURNAL", "journal.dat"),
];

fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "fio"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn run(place: &Place, line: &str) -> Ran {
    let mut command = place.command(line);
    command.envs(VARIABLES);
    Ran::from(command.output().unwrap())
}

/// Returns the job with a fraction of its time and space.
fn shortened(text: &str, direct: bool) -> String {
    let short = |line: &str| match line.split_once('=') {
        Some(("runtime", _)) => "runtime=200ms".to_string(),
        Some(("ramp_time", _)) => "ramp_time=50ms".to_string(),
        Some(("size", _)) => "size=4m".to_string(),
        Some(("direct", _)) if !direct => "direct=0".to_string(),
        _ => line.to_string(),
    };
    text.lines().map(|line| short(line) + "\n").collect()
}

/// Returns the job with small emulated zones in a file, if it uses zones.
fn emulated(text: &str) -> String {
    let zones = |line: &str| match line.split_once('=') {
        Some(("zonemode", _)) => "zonemode=zbd\nzonesize=1m".to_string(),
        Some(("zonesize" | "offset", _)) => String::new(),
        Some(("offset_increment", _)) => String::new(),
        _ => line.to_string(),
    };
    if !text.contains("zonemode=zbd") {
        return text.to_string();
    }
    text.lines().map(|line| zones(line) + "\n").collect()
}

/// Whether the file system of the test directory supports direct I/O.
fn does_direct(path: &Path) -> bool {
    const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
    let opened = fs::File::options().read(true).custom_flags(O_DIRECT).open(path);
    if let Err(e) = &opened {
        println!("without direct I/O, which {} refuses: {e}", path.display());
    }
    opened.is_ok()
}

#[test]
fn every_example_is_understood() {
    let place = Place::new();
    let examples = examples();
    assert!(examples.len() >= 7, "{}", examples.len());
    place.write("a.dat", [0; 4096]);
    place.write("b.dat", [0; 4096]);
    for (name, text) in examples {
        place.write(&name, &text);
        // Not `--parse-only`, which refuses jobs for devices that do not exist here.
        let ran = run(&place, &format!("--showcmd {name}"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{name}: {ran:?}");
    }
}

#[test]
fn every_example_runs_shortened() {
    let place = Place::new();
    let data: Vec<u8> =
        (0..4u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    place.write("a.dat", &data);
    place.write("b.dat", &data);
    let direct = does_direct(&place.path("a.dat"));
    // NVMe commands need a drive: `tests/vm/nvme-*` has one.
    for (name, text) in examples().into_iter().filter(|(name, _)| !name.starts_with("nvme-")) {
        place.write(&name, emulated(&shortened(&text, direct)));
        let ran = run(&place, &format!("--output-format=json {name}"));
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{name}: {ran:?}");
        let jobs = work(&ran.json());
        assert!(!jobs.is_empty(), "{name}");
        for (job, error, dirs) in jobs {
            assert_eq!(error, 0, "{name} {job}");
            assert!(dirs.iter().any(|d| d.1 > 0), "{name} {job}: {dirs:?}");
        }
    }
}
