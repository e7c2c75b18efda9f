//! `ioengine=e4defrag`, on ext4 on a loop device.

use std::path::Path;

use fiord_types::Errno;

use super::calls::counted;
use crate::fiord::{Place, Ran, work};
use crate::ground::Mounted;

const JOB: &str = "--name=j --ioengine=e4defrag --filename=target --donorname=donor --size=256k --bs=32k --rw=write";

/// Writes the file whose blocks are exchanged.
fn write_target(directory: &Path) -> Vec<u8> {
    let data: Vec<u8> = (0..256u32 << 10).map(|i| (i / 7) as u8).collect();
    let file = std::fs::File::create(directory.join("target")).unwrap();
    std::io::Write::write_all(&mut &file, &data).unwrap();
    file.sync_all().unwrap();
    data
}

#[test]
fn blocks_are_exchanged_and_contents_stay() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, "ext4") else { return };
    let root = &mounted.point;
    let data = write_target(root);
    let shown = root.display();
    for inplace in [1, 0] {
        let line = format!("{JOB} --directory={shown} --inplace={inplace}");
        let ran = place.run(&format!("{line} --output-format=json")).ok();
        assert_eq!(
            work(&ran.json())[0].2.map(|dir| (dir.0, dir.1))[1],
            (256 << 10, 8),
            "{inplace}"
        );
        assert!(std::fs::read(root.join("target")).unwrap() == data, "inplace={inplace}");
        if let Some(counts) = counted(&place, "ioctl,fallocate", &line) {
            let trace = std::fs::read_to_string(place.path("trace")).unwrap();
            // EXT4_IOC_MOVE_EXT.
            let exchanges = trace.lines().filter(|line| line.contains("0x66, 0xf, 0x28")).count();
            assert_eq!(exchanges, 8, "{counts:?}");
            let allocations = trace.lines().filter(|line| line.contains("/donor>, 0, ")).count();
            assert_eq!(allocations, if inplace == 1 { 8 } else { 1 }, "{counts:?}");
        }
        assert!(std::fs::read(root.join("target")).unwrap() == data, "inplace={inplace}");
        let donor = std::fs::metadata(root.join("donor")).unwrap().len();
        assert_eq!(donor, if inplace == 1 { 0 } else { 256 << 10 });
    }
}

#[test]
fn counts_equal_those_of_fio() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, "ext4") else { return };
    let line = format!(
        "{JOB} --directory={} --inplace=1 --buffered=0 --output-format=json",
        mounted.point.display()
    );
    let Some(fio) = place.fio(&line) else { return };
    if fio.status != Some(0) {
        return println!("passed over: this fio has no e4defrag");
    }
    assert_eq!(work(&place.run(&line).ok().json()), work(&fio.json()));
}

/// The job verifies the file while its blocks are exchanged, as fio's example `e4defrag.fio` does. The donor gets other
/// contents.
#[test]
fn a_file_is_verified_while_its_blocks_are_exchanged() {
    let place = Place::new();
    let Some(mounted) = Mounted::new(&place, "ext4") else { return };
    let line = |verified: &str| {
        format!(
            "--directory={} --size=256k --bs=32k --name=v --filename={verified} --rw=randwrite --verify=crc32c \
             --loops=4 --name=j --ioengine=e4defrag --filename=target --donorname=donor --rw=write --loops=4",
            mounted.point.display()
        )
    };
    let ran = place.run(&format!("{} --output-format=json", line("target")));
    let jobs = work(&ran.json());
    // The kernel refuses to exchange blocks whose pages are being written at that moment.
    let ends = [0, i64::from(Errno::EBUSY.raw())];
    assert!(jobs[0].1 == 0 && ends.contains(&jobs[1].1), "{ran:?}");
    assert_eq!(jobs[0].2[0].0, 1 << 20, "all of the writes were verified");
    refused(&place.run(&line("donor")), "changes `");
}

#[track_caller]
fn refused(ran: &Ran, what: &str) {
    assert_ne!(ran.status, Some(0), "{ran:?}");
    assert!(ran.err.contains(what) || ran.out.contains(what), "{what}: {ran:?}");
}

#[test]
fn wrong_jobs_are_refused() {
    let place = Place::new();
    let nameless = JOB.replace("--donorname=donor", "");
    refused(&place.run(&nameless), "To fix: set `donorname=FILE`");
    for (rw, what) in [("read", "supports only writes"), ("randrw", "supports only writes")] {
        let line = JOB.replace("--rw=write", &format!("--rw={rw}"));
        refused(&place.run(&line), what);
    }
    refused(&place.run(&format!("{JOB} --verify=crc32c")), "there is nothing to verify");
    let memory = format!("/dev/shm/fiord-e4defrag-{}", std::process::id());
    std::fs::create_dir_all(&memory).unwrap();
    let ran = place.run(&format!("{JOB} --directory={memory}"));
    std::fs::remove_dir_all(&memory).unwrap();
    refused(&ran, "the target is not a file on ext4");
    let Some(mounted) = Mounted::new(&place, "ext4") else { return };
    let root = &mounted.point;
    write_target(root);
    std::fs::write(root.join("precious"), "data").unwrap();
    let other = JOB.replace("--donorname=donor", "--donorname=precious");
    let ran = place.run(&format!("{other} --directory={}", root.display()));
    refused(&ran, "has contents that fiord did not write");
    assert_eq!(std::fs::read(root.join("precious")).unwrap(), b"data");
    let elsewhere =
        JOB.replace("--donorname=donor", &format!("--donorname={}", place.path("d").display()));
    refused(
        &place.run(&format!("{elsewhere} --directory={}", root.display())),
        "on another file system",
    );
}
