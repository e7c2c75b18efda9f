//! Engines that change the size and the blocks of files: `falloc` and `ftruncate`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::fiord::{Place, work};
use crate::ground::Mounted;

/// Size in bytes and allocated blocks of a file.
fn extent(path: &Path) -> (u64, u64) {
    let now = std::fs::metadata(path).unwrap();
    (now.len(), now.blocks())
}

#[test]
fn file_systems_reserve_extend_and_punch() {
    let place = Place::new();
    changes_extents(&place, &place.path(""));
    for kind in ["ext4", "xfs", "btrfs"] {
        let place = Place::new();
        if let Some(mounted) = Mounted::new(&place, kind) {
            changes_extents(&place, &mounted.point);
        }
    }
}

/// Reserves, punches, truncates and extends a file in a directory.
fn changes_extents(place: &Place, root: &Path) {
    let shown = root.display();
    let run = |line: &str| {
        let common = "--name=j --filename=f --bs=16k --size=256k --output-format=json";
        let ran = place.run(&format!("{common} --directory={shown} {line}")).ok();
        let [(_, 0, dirs)] = &work(&ran.json())[..] else { panic!("{ran:?}") };
        dirs.map(|dir| dir.1)
    };
    let file = root.join("f");
    std::fs::File::create(&file).unwrap().set_len(1 << 20).unwrap();
    assert_eq!(run("--ioengine=falloc --rw=read"), [16, 0, 0], "{shown}");
    let (size, reserved) = extent(&file);
    assert!(size == 1 << 20 && reserved >= 512, "{shown}: {size} {reserved}");
    assert_eq!(run("--ioengine=falloc --rw=trim"), [0, 0, 16], "{shown}");
    let (size, punched) = extent(&file);
    assert!(size == 1 << 20 && punched + 512 <= reserved, "{shown}: {size} {punched}");
    assert_eq!(run("--ioengine=ftruncate --rw=write"), [0, 16, 0], "{shown}");
    assert_eq!(extent(&file).0, 240 << 10, "{shown}: the offset of the last write");
    assert_eq!(run("--ioengine=falloc --rw=write"), [0, 16, 0], "{shown}");
    let (size, blocks) = extent(&file);
    assert!(size == 256 << 10 && blocks >= 512, "{shown}: {size} {blocks}");
}

#[test]
fn strace_shows_the_calls() {
    let place = Place::new();
    let calls = |line: &str| {
        let fiord = env!("CARGO_BIN_EXE_fiord");
        let args = format!(
            "-f -o calls -e trace=fallocate,ftruncate {fiord} --name=j --filename=f {line}"
        );
        let mut command = Command::new("strace");
        command.args(args.split_whitespace()).current_dir(place.path(""));
        let ran = command.output().ok()?;
        assert!(ran.status.success(), "{ran:?}");
        let text = std::fs::read_to_string(place.path("calls")).unwrap();
        let calls =
            text.lines().filter(|line| line.contains("fallocate(") || line.contains("ftruncate("));
        let arguments = calls.filter_map(|line| line.split_once(", ")?.1.split_once(')'));
        Some(arguments.map(|(arguments, _)| arguments.to_owned()).collect::<Vec<_>>())
    };
    place.write("f", [0; 65536]);
    let line = "--bs=32k --size=64k --ioengine=falloc --rw=";
    let Some(read) = calls(&format!("{line}read")) else {
        return eprintln!("skipped: strace is not installed");
    };
    let both = |mode: &str| [format!("{mode}, 0, 32768"), format!("{mode}, 32768, 32768")];
    assert_eq!(read, both("FALLOC_FL_KEEP_SIZE"));
    assert_eq!(calls(&format!("{line}write")).unwrap(), both("0"));
    let punch = both("FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE");
    assert_eq!(calls(&format!("{line}trim")).unwrap(), punch);
    let line = "--bs=32k --size=64k --ioengine=ftruncate --rw=write";
    assert_eq!(calls(line).unwrap(), ["0", "32768"]);
}

#[test]
fn work_that_they_do_not_have_is_refused() {
    let place = Place::new();
    let refused = |line: &str| {
        let ran = place.run(&format!("--name=j --bs=4k --size=64k {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert_eq!(place.names(), [""; 0], "{line}");
        ran.err
    };
    let cases = [
        ("--ioengine=ftruncate --rw=read", "`ioengine=ftruncate` supports only writes"),
        ("--ioengine=ftruncate --rw=trimwrite", "`ioengine=ftruncate` supports only writes"),
        (
            "--ioengine=falloc --rw=write --verify=crc32c",
            "moves no data: there is nothing to verify",
        ),
        ("--readonly --ioengine=falloc --rw=read", "forbids jobs with `ioengine=falloc`"),
        ("--ioengine=falloc --rw=write --filename=/dev/null", "this is a character device"),
        ("--ioengine=ftruncate --rw=write --filename=/dev/null", "this is a character device"),
        ("--ioengine=falloc --rw=read --filename=/etc/fiord", "system directory /etc"),
    ];
    for (line, why) in cases {
        let said = refused(line);
        assert!(said.contains(why), "{line}: {said}");
    }
}

/// A verification could not tell the end of a truncated file from corruption.
#[test]
fn a_file_that_another_job_verifies_is_not_changed() {
    let place = Place::new();
    for engine in ["ftruncate", "falloc", "filedelete"] {
        let line = format!(
            "--size=64k --filename=f --rw=write --name=v --verify=crc32c --name=t --ioengine={engine}"
        );
        let ran = place.run(&line);
        let why = format!("`ioengine={engine}` changes `f`, which another job verifies");
        assert!(ran.status == Some(1) && ran.err.contains(&why), "{ran:?}");
        assert_eq!(place.names(), [""; 0]);
    }
}

/// `direct` and `iodepth` have no effect, and the report says so.
#[test]
fn options_without_effect_are_reported() {
    let place = Place::new();
    let line = "--name=j --bs=4k --size=64k --ioengine=falloc --rw=write --direct=1 --iodepth=8";
    let document = place.run(&format!("{line} --output-format=json")).ok().json();
    let findings = document["fiord"]["findings"].as_array().unwrap();
    let about = |option: &str| {
        findings.iter().any(|finding| finding.to_string().contains(&format!("\"{option}\"")))
    };
    assert!(about("direct") && about("iodepth"), "{findings:#?}");
    assert_eq!(document["jobs"][0]["iodepth_level"]["1"].as_f64(), Some(100.0));
}
