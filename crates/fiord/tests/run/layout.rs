//! Tests of files that the run lays out.

use crate::fiord::{Place, work};

/// A mapping cannot extend a file, so the run does.
#[test]
fn mappings_write_files_that_were_not_allocated() {
    let place = Place::new();
    for option in ["fallocate=none", "fallocate=keep", "create_on_open=1"] {
        let line = format!("--name=a --ioengine=mmap --rw=write --size=1m --{option}");
        place.run(&line).ok();
        assert_eq!(std::fs::metadata(place.path("a.0.0")).unwrap().len(), 1 << 20, "{option}");
        std::fs::remove_file(place.path("a.0.0")).unwrap();
    }
}

/// A job that writes and reads a file which it makes when it opens it reads what exists, on all engines alike.
#[test]
fn a_mixed_job_reads_what_its_growing_file_has() {
    let place = Place::new();
    for engine in
        ["psync", "libaio --iodepth=8", "io_uring --iodepth=8", "sync", "posixaio", "pvsync2"]
    {
        for verify in ["", "--verify=crc32c --verify_backlog=16 --verify_async=2"] {
            let line = format!(
                "--name=a --filename=f --size=1m --rw=randrw --create_on_open=1 --fallocate=none --ioengine={engine} \
                 {verify} --output-format=json"
            );
            let job = place.run(&line).ok().json()["jobs"][0].clone();
            let read = &job["read"];
            assert!(read["short_ios"].as_u64() > Some(0), "{line}: {read}");
            let own = read["total_ios"].as_u64().unwrap() * 4096;
            assert!(read["io_bytes"].as_u64().unwrap() < own, "{line}: {read}");
            assert!(job["write"]["total_ios"].as_u64() > Some(100), "{line}: {job}");
            std::fs::remove_file(place.path("f")).unwrap();
        }
    }
    // A job that only reads cannot make it longer.
    place.write("f", vec![1; 4096]);
    let ran = place.run("--name=a --filename=f --size=1m --rw=read --create_on_open=1");
    assert!(ran.status == Some(1) && ran.err.contains("does not extend it"), "{ran:?}");
}

#[test]
fn files_to_read_are_written_first() {
    let place = Place::new();
    let ran = place.run("--name=a --rw=read --bs=64k --size=3m --nrfiles=3").ok();
    assert!(ran.out.contains("a: Laying out IO files (3 files / total 3MiB)\n"), "{}", ran.out);
    assert_eq!(place.names(), ["a.0.0", "a.0.1", "a.0.2"]);
    let bytes = std::fs::read(place.path("a.0.2")).unwrap();
    assert_eq!(bytes.len(), 1 << 20);
    assert!(bytes.chunks(512).all(|block| block.iter().any(|b| *b != 0)));
    let ran = place.run("--name=a --rw=read --bs=64k --size=3m --nrfiles=3").ok();
    assert!(!ran.out.contains("Laying out"), "{}", ran.out);
}

/// In a job file, `filename` takes effect last, so `nrfiles` in the same section does not shorten its list.
/// `name` renames the job, not its files.
#[test]
fn job_files_name_files_as_in_fio() {
    for (text, files) in [
        ("[global]\nfilename=x\n[a]\nfilename=y\n", "x y"),
        ("[global]\nfilename=x:y\n[a]\nnrfiles=1\n", "x"),
        ("[a]\nfilename=x:y\nnrfiles=1\n", "x y"),
        ("[a]\nname=foo\n", "a.0.0"),
        ("[a]\nname=foo\nnumjobs=2\nfilename_format=$jobname-$jobnum\n", "a-0 a-1"),
    ] {
        let place = Place::new();
        place.write("job.fio", text.replacen("]\n", "]\nrw=write\nsize=16k\n", 1));
        place.run("job.fio --output-format=json").ok();
        let names: Vec<String> = place.names().into_iter().filter(|n| n != "job.fio").collect();
        assert_eq!(names.join(" "), files, "{text}");
    }
}

#[test]
fn create_only_makes_and_stops() {
    let place = Place::new();
    let ran = place.run("--name=a --rw=read --size=1m --create_only=1 --output-format=json").ok();
    assert_eq!(work(&ran.json())[0].2[0].1, 0);
    assert_eq!(std::fs::metadata(place.path("a.0.0")).unwrap().len(), 1 << 20);
}

#[test]
fn nothing_is_made_where_that_is_forbidden() {
    let place = Place::new();
    for rw in ["read", "write"] {
        let ran = place.run(&format!("--name=a --rw={rw} --size=1m --allow_file_create=0"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(place.names().is_empty());
        assert!(ran.err.contains("allow_file_create"), "{}", ran.err);
    }
}

#[test]
fn files_are_created_as_the_options_say_and_removed_at_the_end() {
    let place = Place::new();
    std::fs::create_dir(place.path("d")).unwrap();
    place.run("--name=a --rw=write --size=64k --directory=d").ok();
    assert!(place.path("d/a.0.0").exists());
    place.run("--name=b --rw=write --size=64k --unlink=1").ok();
    assert_eq!(place.names(), ["d"]);
}

#[test]
fn every_word_of_fallocate_works_or_says_why() {
    let place = Place::new();
    for word in ["none", "native", "posix", "keep", "truncate", "0", "1"] {
        place.run(&format!("--name=a --rw=write --size=256k --fallocate={word}")).ok();
        assert_eq!(std::fs::metadata(place.path("a.0.0")).unwrap().len(), 256 << 10, "{word}");
        std::fs::remove_file(place.path("a.0.0")).unwrap();
    }
}

#[test]
fn a_file_larger_than_its_file_system_is_refused_before_it_fills_it() {
    let place = Place::new();
    for rw in ["read", "randwrite --overwrite=1"] {
        let ran = place.run(&format!("--name=a --rw={rw} --size=900t"));
        assert_ne!(ran.status, Some(0), "{ran:?}");
        assert!(ran.err.contains("the whole file system has only"), "{}", ran.err);
        assert!(place.names().is_empty(), "nothing is made");
    }
}

/// As in a chroot or during early boot. fiord refuses devices, because it cannot find out who uses them.
#[test]
fn without_proc_and_sys_files_are_written_all_the_same() {
    let place = Place::new();
    let without = |words: &[&str]| {
        let script = "mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec \"$@\"";
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).args(words).current_dir(place.path("."));
        command.output()
    };
    if !without(&["true"]).is_ok_and(|ran| ran.status.success()) {
        return eprintln!("skipped: a mount namespace needs root");
    }
    for engine in ["null", "sim", "psync"] {
        let engine = format!("--ioengine={engine}");
        let words = ["--name=a", "--rw=write", "--size=1m", "--filename=f", &engine];
        let ran = without(&[&[env!("CARGO_BIN_EXE_fiord")], &words[..]].concat()).unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{engine}: {said}");
    }
    assert_eq!(std::fs::metadata(place.path("f")).unwrap().len(), 1 << 20);
}

/// Of jobs that lay out one file at the same time, one does it and the others wait.
#[test]
fn one_of_several_jobs_lays_out_the_file_that_they_share() {
    let place = Place::new();
    for engine in ["psync", "libaio"] {
        let job = format!("--name=a --ioengine={engine} --filename=s --rw=read --size=4m --bs=64k");
        let ran = place.run(&format!("{job} --numjobs=16 --create_serialize=0 --thread")).ok();
        assert_eq!(ran.out.matches("Laying out").count(), 1, "{}", ran.out);
        assert_eq!(ran.out.matches("err= 0").count(), 16, "{}", ran.out);
        std::fs::remove_file(place.path("s")).unwrap();
    }
}
