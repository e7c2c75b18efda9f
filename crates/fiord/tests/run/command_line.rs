//! Tests of the command line as a new user meets it: help, mistakes, and the name by which the program is called.

use crate::fiord::{Place, Ran};

/// All subcommands, from the help.
fn subcommands(place: &Place) -> Vec<String> {
    let help = place.run("--help").ok().out;
    let (_, list) = help.split_once("\nCommands").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let named = list
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    named.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_subcommand_is_explained_within_80_columns() {
    let place = Place::new();
    let all = subcommands(&place);
    assert!(all.len() >= 14 && all.contains(&"precondition".to_owned()), "{all:?}");
    for name in &all {
        let explained = place.run(&format!("help {name}")).ok().out;
        assert!(explained.contains(&format!("Usage: fiord {name}")), "{explained}");
        assert_eq!(place.run(&format!("{name} --help")).ok().out, explained);
        for line in explained.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
    assert_eq!(place.run("help").ok().out, place.run("--help").ok().out);
    assert!(
        place.run("help iodepth").ok().out.contains("alias")
            || place.run("help bs").ok().out.contains("alias")
    );
    let finding = place.run("help cache-hits").ok().out;
    assert!(finding.starts_with("`cache-hits`: ") && finding.contains("To fix: "), "{finding}");
    let near = place.run("help cache-hit");
    assert_eq!(near.status, Some(1));
    assert!(near.err.contains("did you mean `fiord help cache-hits`?"), "{near:?}");
}

#[test]
fn a_mistyped_subcommand_has_a_suggestion() {
    let place = Place::new();
    let ran = place.run("help swep");
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("did you mean `fiord help sweep`?"), "{ran:?}");
    let ran = place.run("swep");
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("did you mean `fiord sweep`?"), "{ran:?}");
}

#[test]
fn a_mistyped_option_of_a_subcommand_has_a_suggestion() {
    let place = Place::new();
    for (line, meant) in [
        ("sweep --repaet=3 --name=a --size=1m --set iodepth=1,2", "`--repeat`"),
        ("sweep --name=a --size=1m --unitl=saturated --set iodepth=1,2", "`--until`"),
        ("run --repaet=3 --name=a --size=1m", "`--repeat`"),
        ("report --ouput=x y.json", "`--output`"),
        ("check --formt=json --name=a --size=1m", "`--format`"),
        ("devices --formt=json", "`--format`"),
        ("precondition --limt=3 x", "`--limit`"),
        ("sweep --name=a --iodepht=3 --size=1m --set bs=4k,8k", "`iodepth`"),
        ("sweep --format=jsn --name=a --size=1m --set bs=4k,8k", "`json`"),
    ] {
        let ran = place.run(line);
        assert_eq!(ran.status, Some(1), "{line}: {ran:?}");
        assert!(ran.err.contains(&format!("help: did you mean {meant}?")), "{line}: {}", ran.err);
    }
    let ran = place.run("report --ouput=x y.json");
    assert_eq!(
        ran.err,
        "fiord: unrecognized option '--ouput=x'\n --> command line:1:10\n  |\n\
         1 | report --ouput=x y.json\n  |          ^^^^^\n  |\n  = help: did you mean `--output`?\n"
    );
}

#[test]
fn a_check_mixes_its_options_with_those_of_jobs() {
    let place = Place::new();
    let job = "--ioengine=sim --rw=read --size=1m";
    for line in [
        format!("check --name=a {job} --format=json"),
        format!("check --name=a {job} --format json"),
        format!("check --format=json -- --name=a {job}"),
    ] {
        assert_eq!(place.run(&line).ok().json()["jobs"], 1, "{line}");
    }
}

/// Runs the program through a link of another name.
fn called_as(place: &Place, name: &str, line: &str) -> Ran {
    let link = place.path(name);
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fiord"), &link).unwrap();
    }
    let mut command = place.program_in(&place.path("."), link.to_str().unwrap());
    command.args(line.split_whitespace()).stdin(std::process::Stdio::null());
    Ran::from(command.output().unwrap())
}

#[test]
fn messages_begin_with_the_name_by_which_the_program_was_called() {
    let place = Place::new();
    place.write("strided.fio", "[a]\nzonemode=strided\nsize=1m\n");
    for (line, phrase) in [
        ("--name=a --rw=sideways", "failed parsing rw=sideways"),
        ("--no_such_option=1", "unrecognized option '--no_such_option=1'"),
        ("missing.fio", "unable to open `missing.fio` job file"),
        ("--output-format=json", "No job(s) defined"),
        ("strided.fio", "--zonesize must be specified when using --zonemode=strided"),
        ("--name=a --ioengine=null --size=1m --output=missing/file", "output file open error"),
        ("--debug=help", "dumping debug options:"),
        ("sweep --set=bs=4k,8k missing.fio", "unable to open"),
        ("zones missing", "there is no file missing"),
        ("zones --nosuch", "unrecognized option '--nosuch'"),
        ("help nosuch", "there is no command"),
    ] {
        for (name, other) in [("fiord", "fio: "), ("fio", "fiord: ")] {
            let ran = called_as(&place, name, line);
            let text = format!("{}{}", ran.out, ran.err);
            assert!(text.starts_with(&format!("{name}: ")), "{name} {line}: {ran:?}");
            assert!(text.contains(phrase), "{name} {line}: {ran:?}");
            assert!(!text.contains(other), "{name} {line}: {ran:?}");
        }
    }
    let help = called_as(&place, "fio", "--help").ok().out;
    assert!(
        help.contains("\nfio [options] [job options] <job file(s)>\n  --debug=TYPES"),
        "{help}"
    );
}

/// Scripts that call fio read its help; a new user of fiord reads what to do next.
#[test]
fn without_arguments_the_program_says_what_to_do_next() {
    let place = Place::new();
    let ran = place.run("");
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), "fiord: No job(s) defined\n"));
    assert!(ran.out.lines().count() <= 24, "more than a screen: {}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let example = ran.out.split_once("  fiord --name=test").unwrap().1.split("\nLook").next();
    let example = format!("--name=test {}", example.unwrap().replace("\\\n", " "));
    let example = example.replace("=1g", "=1m").replace("runtime=10", "runtime=100ms");
    place.run(&example).ok();
    assert!(place.path("test.html").exists());
    assert!(called_as(&place, "fio", "").out.contains("--debug=TYPES"));
}

#[test]
fn a_sweep_accepts_job_options_like_a_run() {
    let place = Place::new();
    let line = "sweep --set=bs=4k,8k --name=a --ioengine=null --rw=read --size=1m --format=json";
    let document = place.run(line).ok().json();
    assert_eq!(document["points"].as_array().map(Vec::len), Some(2), "{document}");
    let ran = place.run("sweep --set=bs=4k,8k --name=a --ioengine=nul");
    let works = "these work here: psync, sync, vsync, pvsync, pvsync2, libaio, io_uring, posixaio, mmap, splice";
    assert!(ran.err.contains(works), "{ran:?}");
    let (works, rest) = ran.err.split_once("; these need a device of their kind").unwrap();
    for special in ["libblkio", "sg", "mtd", "rdma", "aio,"] {
        assert!(!works.contains(&format!(" {special}")), "{special}: {works}");
    }
    let (_, missing) = rest.split_once("; this build does not support: ").unwrap();
    assert!(missing.contains("libhdfs"), "{rest}");
}

/// As in fio, a limit on jobs below their number stops none of them.
#[test]
fn max_jobs_below_the_number_of_jobs_stops_none() {
    let place = Place::new();
    let jobs = "--ioengine=null --size=4k --output-format=json --name=a --name=b --numjobs=2";
    let document = place.run(&format!("--max-jobs=1 {jobs}")).ok().json();
    assert_eq!(document["jobs"].as_array().unwrap().len(), 3);
    let findings = document["fiord"]["findings"].to_string();
    assert!(findings.contains("maximum number of jobs (1) exceeded: there are 3"), "{findings}");
}

/// A later job takes the size of its file from the job that makes it, however the path is written.
#[test]
fn a_file_that_an_earlier_job_makes_has_its_size() {
    let place = Place::new();
    let absolute = place.path("x").display().to_string();
    for later in ["x", "./x", &absolute] {
        let jobs = format!(
            "--name=a --filename=x --rw=write --size=1m --name=b --stonewall --filename={later} --rw=read"
        );
        let document = place.run(&format!("--output-format=json {jobs}")).ok().json();
        assert_eq!(document["jobs"][1]["read"]["io_bytes"], 1 << 20, "{later}");
        std::fs::remove_file(place.path("x")).unwrap();
    }
}

/// An I/O has less than 4 GiB: a larger block is made in parts, and the report says so.
#[test]
fn blocks_of_4_gib_are_made_in_parts() {
    let place = Place::new();
    let common = "--name=a --ioengine=null --size=16g --output-format=json";
    for (line, ios, part) in [
        ("--rw=trim --bs=4g", Some(8), "2 I/Os of 2147483648 bytes"),
        ("--rw=trim --bs=5g --io_size=5g", Some(4), "4 I/Os of 1342177280 bytes"),
        (
            "--rw=randtrim --norandommap --bsrange=4k-4g --number_ios=20",
            None,
            "4294963200 bytes instead of 4294967296",
        ),
    ] {
        let document = place.run(&format!("{common} {line}")).ok().json();
        let trims = document["jobs"][0]["trim"]["total_ios"].as_u64();
        // How many trims of random sizes there are depends on the sizes.
        assert!(trims > Some(0) && (ios.is_none() || trims == ios), "{line}: {trims:?}");
        let findings = document["fiord"]["findings"].to_string();
        assert!(findings.contains(part), "{line}: {findings}");
    }
}
