//! `ioengine=external`: the example library, and libraries that are wrong.

use std::path::Path;
use std::process::Command;

use crate::fiord::{Place, work};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Compiles a library, if there is a compiler. `None`: the test is skipped.
fn library(place: &Place, source: &Path, name: &str, options: &[&str]) -> Option<()> {
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-I"]).arg(Path::new(ROOT).join("include"));
    let built = cc.args(options).arg("-o").arg(place.path(name)).arg(source).status();
    match built {
        Ok(status) => assert!(status.success(), "cc {name}: {status}"),
        Err(error) => {
            println!("skipped: cc: {error}");
            return None;
        }
    }
    Some(())
}

fn example(place: &Place, name: &str, options: &[&str]) -> Option<()> {
    library(place, &Path::new(ROOT).join("examples/external-engine.c"), name, options)
}

#[test]
fn the_example_library_does_the_io_of_its_jobs() {
    let place = Place::new();
    let Some(()) = example(&place, "x.so", &["-Wall", "-Wextra", "-Werror"]) else { return };
    for (options, reads, writes) in [
        ("--rw=write --iodepth=8", 0, 64),
        ("--rw=randread --iodepth=4 --direct=1", 64, 0),
        ("--rw=randwrite --verify=crc32c --iodepth=8 --fsync=16", 64, 64),
        ("--rw=read --nrfiles=4 --openfiles=2 --filesize=64k --numjobs=2", 64, 0),
        ("--rw=randread --rate_iops=2000 --iodepth=4", 64, 0),
    ] {
        let line = format!(
            "--name=j --ioengine=external:./x.so --bs=4k --size=256k {options} --output-format=json"
        );
        let jobs = work(&place.run(&line).ok().json());
        assert!(jobs.iter().all(|(_, error, _)| *error == 0));
        let (_, _, [read, write, _]) = &jobs[0];
        assert_eq!([read.1, write.1], [reads, writes], "{options}");
    }
    // The default engine reads what the library has written.
    place
        .run(
            "--name=j --ioengine=external:x.so --size=64k --rw=write --verify=crc32c --do_verify=0",
        )
        .ok();
    place.run("--name=j --size=64k --rw=write --verify=crc32c --verify_only").ok();
    let ran = place.run("--no-exec --name=j --ioengine=external:./x.so --size=64k");
    assert!(ran.err.contains("ioengine=external is forbidden by --no-exec"), "{ran:?}");
}

#[test]
fn wrong_libraries_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("text.so", "no library");
    place.write("fio.c", "struct ioengine_ops { int version; } ioengine;\n");
    // A library that ends the process when it is loaded must not be loaded to find that out.
    place.write(
        "fio2.c",
        "#include <stdlib.h>\nvoid get_ioengine(void **p) { *p = 0; }\n\
         __attribute__((constructor)) static void start(void) { abort(); }\n",
    );
    place.write("none.c", "int x;\n");
    let Some(()) = example(&place, "old.so", &["-Dfiord_engine_reap=reap"]) else { return };
    for name in ["fio", "fio2", "none"] {
        library(&place, &place.path(&format!("{name}.c")), &format!("{name}.so"), &[]);
    }
    place.write(
        "v.c",
        "#define FIORD_ENGINE_API 7\nunsigned fiord_engine_api(void) { return 7; }\n",
    );
    library(&place, &place.path("v.c"), "v.so", &[]);
    for (name, says) in [
        ("external", "names no library"),
        ("external:missing.so", "No such file or directory"),
        ("external:./text.so", "this is not a shared library"),
        ("external:.", "this is not a shared library"),
        ("external:./fio.so", "this is a plug-in for fio, and fiord cannot load it"),
        ("external:./fio2.so", "this is a plug-in for fio, and fiord cannot load it"),
        ("external:./none.so", "the library has no function fiord_engine_api"),
        ("external:./old.so", "the library has no function fiord_engine_reap"),
        (
            "external:./v.so",
            "it is built for version 7 of the interface, and this fiord has version 1",
        ),
    ] {
        let ran = place.run(&format!("--name=a --ioengine={name} --size=4k"));
        assert!(ran.status == Some(1) && ran.err.contains(says), "{name}: {ran:?}");
    }
}

#[test]
fn what_a_library_returns_is_checked() {
    let place = Place::new();
    let source =
        std::fs::read_to_string(Path::new(ROOT).join("examples/external-engine.c")).unwrap();
    for (name, from, to, says) in [
        (
            "more",
            "= carry_out(e, op);",
            "= 4097;",
            "the library returned 4097 for an op of 4096 bytes",
        ),
        (
            "twice",
            ".slot = op->slot;",
            ".slot = 77;",
            "a completion of slot 77, which has no op in flight",
        ),
        ("error", "= carry_out(e, op);", "= -5;", "Input/output error"),
        ("short", "= carry_out(e, op);", "= 0;", "end of file"),
        (
            "open",
            "*engine = e;\n\treturn 0;",
            "*engine = e;\n\treturn -ENODEV;",
            "fiord_engine_open: No such device",
        ),
        ("full", "if (e->count == e->depth)", "if (1)", "Resource temporarily unavailable"),
        ("reap", "\treturn n;", "\treturn -EIO;", "fiord_engine_reap: Input/output error"),
    ] {
        assert!(source.contains(from), "{name}");
        let (file, library_name) = (format!("{name}.c"), format!("{name}.so"));
        place.write(&file, source.replace(from, to));
        let Some(()) = library(&place, &place.path(&file), &library_name, &[]) else { return };
        let ran =
            place.run(&format!("--name=a --ioengine=external:./{library_name} --bs=4k --size=64k"));
        assert!(ran.status == Some(1) && ran.err.contains(says), "{name}: {ran:?}");
    }
}
