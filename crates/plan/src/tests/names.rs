//! The names of files.

use super::*;
use fiord_job::load::Memory;

fn names(line: &str) -> Vec<String> {
    let machine = Fake::empty()
        .dir("d1")
        .dir("d2")
        .dir("t")
        .file("t/p", 8192)
        .file("t/q", 8192)
        .file("t/e/r", 8192)
        .file("t/zero", 0);
    jobs(&machine, line)
        .iter()
        .flat_map(|j| j.target.files.iter().map(|f| f.path.to_string_lossy().into_owned()))
        .collect()
}

/// Each line has the files that existed after fio 3.42 had run the job.
#[test]
fn files_have_the_names_of_fio() {
    let table: &[(&str, &[&str])] = &[
        ("--name=a --size=8k", &["a.0.0"]),
        ("--name=a --size=8k --nrfiles=2 --numjobs=2", &["a.0.0", "a.0.1", "a.1.0", "a.1.1"]),
        ("--size=8k --name=a --numjobs=2 --name=b", &["a.0.0", "a.1.0", "b.0.0"]),
        ("--name=a/b --size=8k", &["a/b.0.0"]),
        ("--name=a --size=8k --filename=x:y", &["x", "y"]),
        ("--name=a --size=8k --filename=x --numjobs=2", &["x", "x"]),
        (r"--name=a --size=8k --filename=F\:\x", &[r"F:\x"]),
        ("--name=a --size=4k --directory=d1:d2 --numjobs=3", &["d1/a.0.0", "d1/a.2.0", "d2/a.1.0"]),
        (
            "--name=a --size=8k --directory=d1:d2 --numjobs=2 --filename=x:y",
            &["d1/x", "d1/y", "d1/x", "d1/y"],
        ),
        ("--name=a --size=8k --directory=d1 --filename=/abs/f", &["/abs/f"]),
        (
            "--name=a --size=12k --nrfiles=2 --numjobs=2 \
             --filename_format=p/q.$jobname.$jobnum.$filenum.$clientuid.z",
            &["p/q.a.0.0..z", "p/q.a.0.1..z", "p/q.a.1.0..z", "p/q.a.1.1..z"],
        ),
        (
            "--name=a --size=12k --nrfiles=2 --filename_format=$jobname$filenum$nope --directory=d1",
            &["d1/a0$nope", "d1/a1$nope"],
        ),
        // Names add up, even those of `[global]`; `nrfiles` limits only the names before it.
        ("--name=a --size=16k --filename=x --filename=y:z", &["x", "y", "z"]),
        ("--filename=x --size=8k --name=a --filename=y --name=b", &["x", "y", "x"]),
        ("--name=a --size=8k --filename=x --filename=x", &["x", "x"]),
        ("--name=a --size=8k --filename=x --filename=y:z --nrfiles=2", &["x", "y"]),
        ("--name=a --size=16k --nrfiles=2 --filename=x --filename=y:z", &["x", "y", "z"]),
        // Empty files are skipped with a warning.
        ("--name=a --opendir=t", &["t/e/r", "t/p", "t/q"]),
        ("--name=a --ioengine=null --size=8k --directory=d2", &["d2/a.0.0"]),
        // Each `filename` adds names; `nrfiles` limits the number of names before it.
        ("--size=12k --filename=x --name=a --filename=y", &["x", "y"]),
        ("--size=12k --filename=x:y --name=a --filename=z --name=b", &["x", "y", "z", "x", "y"]),
        ("--name=a --size=12k --filename=y --filename=z", &["y", "z"]),
        ("--name=a --size=12k --filename=x:y:z --nrfiles=2", &["x", "y"]),
        ("--name=a --size=12k --nrfiles=2 --filename=x:y:z", &["x", "y", "z"]),
        ("--name=a --size=12k --filename=x --nrfiles=1 --filename=y", &["x", "y"]),
        ("--size=12k --filename=x:y --name=a --nrfiles=1 --filename=z", &["x", "y"]),
        ("--name=a --size=12k --filename=x --nrfiles=3", &["x"]),
    ];
    for (line, expected) in table {
        assert_eq!(names(line), *expected, "{line}");
    }
}

#[test]
fn jobs_of_clients_have_names_of_their_own_in_a_directory() {
    let table: &[(&str, &[&str])] = &[
        ("--name=a --size=8k --directory=d1", &["d1/10.0.0.7.a.0.0"]),
        ("--name=a --size=8k --directory=d1 --filename=q/x", &["d1/10.0.0.7.q/x"]),
        ("--name=a --size=8k --directory=d1 --unique_filename=0", &["d1/a.0.0"]),
        ("--name=a --size=8k --directory=d1 --filename=/abs/f", &["/abs/f"]),
        ("--name=a --size=8k", &["a.0.0"]),
        (
            "--name=a --size=8k --directory=d1 --unique_filename=0 --filename_format=$clientuid-$jobname",
            &["d1/10.0.0.7-a"],
        ),
    ];
    let machine = Fake::empty().dir("d1");
    for (line, expected) in table {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        let invocation = fiord_job::invocation(&args, &mut Memory::default()).unwrap();
        let options = PlanOptions { client: Some("10.0.0.7"), ..PlanOptions::of(&invocation) };
        let plan = resolve(&invocation.jobs, options, &machine).unwrap().plan;
        let names: Vec<_> =
            plan.jobs[0].target.files.iter().map(|file| file.path.display().to_string()).collect();
        assert_eq!(names, *expected, "{line}");
    }
}

#[test]
fn refuses_directories_that_cannot_be_listed() {
    let machine = Fake::empty().dir("none");
    assert!(error(&machine, "--name=a --opendir=gone").contains("cannot list `gone`"));
    assert!(error(&machine, "--name=a --opendir=none").contains("no files below `none`"));
}

#[test]
fn the_address_of_a_server_is_not_looked_up_as_a_path() {
    let errors = |line: &str| -> Vec<String> {
        let errors = run(&Fake::empty(), line).expect_err("the engine is not supported yet");
        errors.into_iter().map(|error| error.what).collect()
    };
    let job = "--name=a --rw=write --filename=/dev/server";
    let hdfs = "job `a`: engine `libhdfs` is not supported yet";
    assert_eq!(errors(&format!("{job} --ioengine=libhdfs --size=1m")), [hdfs]);
    let found = errors(&format!("{job} --ioengine=libhdfs"));
    assert!(found[1].contains("only the server knows the size"), "{found:?}");
    // An engine that works on devices.
    let found = errors(&format!("{job} --ioengine=mtd --size=1m"));
    assert!(found[0].contains("there is no device `/dev/server`"), "{found:?}");
}

/// fio 3.42 lists each of them under the same key, of which readers of JSON see the last.
#[test]
fn reports_list_all_names_of_several_lines() {
    let line = "--filename=g --name=a --size=8k --filename=x:y --bs=4k --filename=z --bs=8k";
    let job = job(&Fake::empty(), line);
    let option = |wanted: &str| {
        let mut found = job.identity.options.iter().filter(|(name, _)| name == wanted);
        (found.next().map(|(_, value)| value.as_str()), found.count())
    };
    assert_eq!((option("filename"), option("bs")), ((Some("x:y:z"), 0), (Some("8k"), 0)));
}
