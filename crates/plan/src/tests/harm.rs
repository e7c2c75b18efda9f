//! Accidental writes are refused, or known, before the run touches any file.

use fiord_types::Bytes;

use super::{Fake, error, job, jobs, run};

#[test]
fn regular_files_of_the_system_are_not_written() {
    let machine = Fake::default().file("/etc/conf", 4096).dir("/etc").disk("/dev/d2", 1 << 20);
    for (line, does) in [
        ("--rw=write --filename=/etc/conf", "write it"),
        ("--rw=randrw --filename=/etc/conf", "write it"),
        ("--rw=read --size=8k --filename=/etc/conf", "make it longer"),
        ("--rw=read --filename=/etc/conf --unlink=1", "remove it"),
        ("--rw=read --size=8k --filename=/etc/new", "create it"),
        ("--rw=read --size=8k --directory=/etc", "create it"),
        ("--rw=write --size=8k --filename=/dev/d3", "there is no device `/dev/d3`"),
    ] {
        let said = error(&machine, &format!("--name=a {line}"));
        assert!(said.contains(does), "{line}: {said}");
        jobs(&machine, &format!("--name=a {line} --allow_mounted_write=1"));
    }
    for line in [
        "--rw=read --filename=/etc/conf",
        "--rw=write --filename=/dev/d2",
        "--rw=write --size=4k --ioengine=null --filename=/etc/conf",
    ] {
        jobs(&machine, &format!("--name=a {line}"));
    }
}

#[test]
fn a_missing_device_is_reported_as_missing() {
    let machine = Fake::default().dir("/dev");
    for options in [
        "",
        "--zonemode=zbd --direct=1",
        "--allow_file_create=0",
        "--ioengine=sg",
        "--ioengine=io_uring_cmd",
    ] {
        let said = error(&machine, &format!("--name=a --rw=read --filename=/dev/d3 {options}"));
        assert!(said.contains("there is no device `/dev/d3`"), "{options}: {said}");
    }
}

#[test]
fn buffers_do_not_overwrite_files_with_data() {
    let machine = Fake::default().file("/full", 4096).file("/empty", 0);
    let mem = |value: &str| format!("--name=a --size=1m --mem={value}");
    for word in ["mmap", "mmapshared", "mmaphuge"] {
        let said = error(&machine, &mem(&format!("{word}:/full")));
        assert!(said.contains("`/full` holds data"), "{said}");
        let said = error(&machine, &mem(&format!("{word}:/etc/new")));
        assert!(said.contains("system directory /etc"), "{said}");
        jobs(&machine, &mem(&format!("{word}:/empty")));
        jobs(&machine, &mem(&format!("{word}:/new")));
    }
}

#[test]
fn refuses_to_write_through_a_link_at_a_generated_name() {
    let machine = Fake::default().file("link.0.0", 1 << 20);
    let said = error(&machine, "--name=link --rw=write --size=1m");
    assert!(said.contains("`link.0.0` is a symbolic link"), "{said}");
    assert!(run(&machine, "--name=a --rw=write --size=1m --filename=link.0.0").is_ok());
    assert!(run(&machine, "--name=link --rw=read --size=1m").is_ok());
}

#[test]
fn knows_how_much_a_reader_extends_files_of_other_programs() {
    let machine = Fake::default().file("f", 6).file("own", 6).file("a.0.0", 6).file("job.1.2", 6);
    let extends = |line: &str| job(&machine, &format!("--name=a {line}")).target.files[0].extends;
    assert_eq!(extends("--rw=read --size=8k --filename=f"), Bytes(8186));
    assert_eq!(extends("--rw=read --size=8k --filename=f --create_only=1"), Bytes(8186));
    assert_eq!(extends("--rw=write --size=8k --filename=f"), Bytes::ZERO, "it writes anyway");
    assert_eq!(extends("--rw=read --size=8k --filename=own"), Bytes::ZERO, "fiord created it");
    assert_eq!(extends("--rw=read --size=8k --filename=job.1.2"), Bytes::ZERO, "fio's name");
    assert_eq!(extends("--rw=read --size=8k"), Bytes::ZERO, "the job's own name");
    assert_eq!(extends("--rw=read --size=8k --filename=new"), Bytes::ZERO, "it is created");
    let all = jobs(&machine, "--name=a --rw=read --size=8k --filename=f --numjobs=3");
    let bytes: Vec<u64> = all.iter().map(|job| job.target.files[0].extends.0).collect();
    assert_eq!(bytes, [8186, 0, 0], "once");
}

#[test]
fn a_read_only_run_removes_nothing() {
    let machine = Fake::default().file("f", 4096);
    for option in ["unlink", "unlink_each_loop"] {
        let line = format!("--name=a --rw=read --filename=f --{option}=1");
        let said = error(&machine, &format!("--readonly {line}"));
        assert!(said.contains("remove their files"), "{said}");
        jobs(&machine, &line);
    }
}

/// Whether a regular file exists or an earlier job makes it does not matter.
#[test]
fn trims_of_regular_files_are_refused() {
    let machine = Fake::empty().file("f", 1 << 20).disk("/dev/d", 1 << 20);
    let writer = "--size=1m --name=w --rw=write --filename=new";
    for line in [
        "--name=t --filename=f --rw=trim".to_string(),
        "--name=t --filename=new --rw=trim --size=1m".to_string(),
        format!("{writer} --name=t --stonewall --rw=trim --filename=new"),
        format!("{writer} --name=t --rw=randtrimwrite --filename=new"),
        format!(
            "{writer} --name=t --stonewall --rw=write --verify=md5 --trim_percentage=5 --trim_backlog=4 --filename=new"
        ),
    ] {
        assert!(error(&machine, &line).contains("only block devices can be trimmed"), "{line}");
    }
    job(&machine, "--name=t --filename=/dev/d --rw=trim");
    // The engine `falloc` punches holes.
    jobs(&machine, &format!("{writer} --name=t --ioengine=falloc --rw=trim --filename=new"));
}
