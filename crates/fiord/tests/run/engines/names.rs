//! Engines that work on names: `filecreate` and its relatives.

use serde_json::Value;

use crate::fiord::{Place, work};

const ENGINES: [&str; 6] =
    ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];

/// The I/Os that the jobs of a report read, and the calls that they timed.
fn calls(document: &Value) -> Vec<(u64, u64)> {
    let jobs = document["jobs"].as_array().unwrap().iter();
    let count = |value: &Value| value.as_u64().unwrap();
    jobs.map(|job| (count(&job["read"]["total_ios"]), count(&job["read"]["clat_ns"]["N"])))
        .collect()
}

/// What a report counts, and what is left in the directory, in fiord and in fio.
#[test]
fn calls_and_names_are_those_of_fio() {
    let lines = [
        "--nrfiles=7 --filesize=4k",
        "--nrfiles=7 --filesize=16k --bs=4k",
        "--nrfiles=7 --filesize=4k --openfiles=2 --file_service_type=random",
        "--nrfiles=7 --filesize=4k --unlink=1 --numjobs=2",
        "--nrfiles=7 --filesize=4k --create_only=1",
    ];
    for engine in ENGINES {
        for line in lines {
            let line = format!("--name=j --ioengine={engine} {line} --output-format=json");
            let (ours, theirs) = (Place::new(), Place::new());
            let ran = ours.run(&line).ok().json();
            let Some(fio) = theirs.fio(&line).filter(|ran| ran.status == Some(0)) else { continue };
            let fio = fio.json();
            if fio["fio version"]
                .as_str()
                .is_some_and(|v| v.starts_with("fio-3.33") && engine.starts_with("dir"))
            {
                continue;
            }
            assert_eq!(work(&ran), work(&fio), "{line}");
            assert_eq!(calls(&ran), calls(&fio), "{line}");
            assert_eq!(ours.names(), theirs.names(), "{line}");
        }
    }
}

/// Creates, looks up and removes items with three jobs, as in `docs/metadata.md`, for files and for directories.
#[test]
fn jobs_share_a_tree() {
    let place = Place::new();
    for kind in ["file", "dir"] {
        for more in ["", "tree_per_job=1\ntree_leaves_only=1", "via_uring=1\niodepth=8"] {
            let job = format!(
                "[global]\nioengine={kind}create\nfilename=tree\ntree_items=5\ntree_depth=2\ntree_width=3\n\
                 numjobs=2\nstonewall\n{more}\n[create]\n[stat]\nioengine={kind}stat\nrw=randread\n\
                 tree_shift=1\n[remove]\nioengine={kind}delete\nunlink=1\n"
            );
            place.write("tree.fio", job);
            let ran = place.run("tree.fio --output-format=json").ok().json();
            let items = if more.contains("leaves") { 45 } else { 65 };
            assert_eq!(calls(&ran), [(items, items); 6], "{kind} {more}");
            assert_eq!(place.names(), ["tree.fio"], "{kind} {more}");
        }
    }
}

#[test]
fn a_tree_is_created_and_looked_up() {
    let place = Place::new();
    let tree = "--filename=tree --tree_items=4 --tree_depth=1 --tree_width=2";
    let create = format!("--name=c --ioengine=filecreate {tree} --output-format=json");
    assert_eq!(calls(&place.run(&create).ok().json()), [(12, 12)]);
    assert!(place.path("tree/d.2/file.0.3").is_file() && place.path("tree/file.0.0").is_file());
    let again = place.run(&create);
    assert_eq!(again.status, Some(1));
    assert!(again.err.contains("tree/file.0.0: it exists. To fix: remove it first"), "{again:?}");
    let none = "--name=s --ioengine=filestat --filename=other --tree_items=4 --allow_file_create=0";
    let missing = place.run(none);
    assert!(missing.status == Some(1) && missing.err.contains("ENOENT"), "{missing:?}");
    assert_eq!(place.names(), ["tree"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::new();
    place.write("f", "");
    std::fs::create_dir(place.path("d")).unwrap();
    let cases = [
        ("--ioengine=filecreate --filename=d", "`d` is a directory, not a regular file"),
        ("--ioengine=dircreate --filename=f", "`f` is a regular file, not a directory"),
        (
            "--ioengine=filestat --filename=x --filesize=4k --allow_file_create=0",
            "allow_file_create=0",
        ),
        (
            "--ioengine=filedelete --filename=x --filesize=4k --allow_file_create=0",
            "allow_file_create=0",
        ),
        (
            "--ioengine=filestat --filename=f --filesize=4k --rw=write --verify=md5",
            "nothing to verify",
        ),
        ("--ioengine=filestat --filename=f --filesize=4k --rw=trim", "supports no trims"),
        ("--ioengine=filestat --filename=f --filesize=4k --rw=write --fsync=1", "no open files"),
        (
            "--ioengine=filestat --filename=f --filesize=4k --pre_read=1",
            "nothing to read in advance",
        ),
        ("--ioengine=filecreate --filename=/etc/fiord-x", "system directory /etc"),
        ("--readonly --ioengine=filedelete --filename=f --filesize=4k", "--readonly forbids jobs"),
        ("--ioengine=filestat --tree_items=3", "needs the name of its root"),
        ("--ioengine=filestat --filename=x --filesize=4k --tree_depth=3", "needs `tree_items`"),
        (
            "--ioengine=filestat --filename=f --tree_items=3",
            "the root of the tree, `f`, is a regular file",
        ),
    ];
    for (line, why) in cases {
        let ran = place.run(&format!("--name=j {line}"));
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(why), "{line}: {}", ran.err);
        assert_eq!(place.names(), ["d", "f"], "{line}");
    }
}

/// The file system refuses a name: the job fails with the reason, and other jobs continue.
#[test]
fn failures_name_the_cause() {
    let place = Place::new();
    place.write("f.0.1", "");
    let line = "--output-format=json --name=d --ioengine=dircreate --nrfiles=2 --filename_format=f.0.$filenum";
    let ran = place.run(&format!("{line} --name=ok --ioengine=filecreate --nrfiles=3"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("not a directory"), "{ran:?}");
    let twice =
        "--output-format=json --name=d --ioengine=filedelete --nrfiles=3 --filesize=4k --loops=2";
    let ran = place.run(&format!("{twice} --name=ok --ioengine=filecreate --nrfiles=3"));
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("func=unlink, error=No such file or directory"), "{ran:?}");
    assert!(ran.err.contains("an earlier pass removed it. To fix:"), "{ran:?}");
    let jobs = work(&ran.json());
    assert_eq!((jobs[0].1, jobs[1].1, jobs[1].2[0].1), (2, 0, 3));
}
