//! Tests of `--debug`: lines in fio's form, which scripts read, on the stream of the results.

use crate::fiord::{Place, Ran};

const JOB: &str = "--name=a --filename=f --size=16k --bs=4k --rw=write";

/// Returns the text of each line of a category, without the process number.
fn lines<'a>(out: &'a str, category: &str) -> Vec<&'a str> {
    let column = format!("{category:<8} ");
    let own = out.lines().filter_map(|line| line.strip_prefix(&column));
    own.map(|line| line.split_once(' ').unwrap().1.trim_start()).collect()
}

/// Returns the lines of a stage, without the name of the I/O.
fn stage<'a>(out: &'a str, stage: &str) -> Vec<&'a str> {
    let own = lines(out, "io").into_iter().filter_map(|line| line.strip_prefix(stage));
    own.map(|line| line.split_once(": ").unwrap().1).collect()
}

#[test]
fn each_io_has_its_stages() {
    let place = Place::new();
    let expected = [0, 1, 2, 3].map(|n| format!("off={:#x},len=0x1000,ddir=1,file=f", n * 4096));
    for (engine, options) in [
        ("psync", ""),
        ("null", "--iodepth=4"),
        ("io_uring", "--iodepth=4"),
        ("libaio", "--iodepth=2 --iodepth_batch=2"),
        ("sim", "--iodepth=4"),
        ("psync", "--io_submit_mode=offload --iodepth=2 --rate_iops=1000"),
        ("psync", "--lockfile=exclusive"),
        ("psync", "--rate_iops=1000"),
    ] {
        let line = format!("{JOB} --ioengine={engine} {options} --debug=io");
        let out = place.run(&line).ok().out;
        assert!(out.starts_with("fiord: set debug option io\n"), "{out}");
        for name in ["fill: io_u 0x", "prep: io_u 0x", "queue: io_u 0x"] {
            assert_eq!(stage(&out, name), expected, "{line}: {out}");
        }
        let mut complete = stage(&out, "complete: io_u 0x");
        complete.sort_unstable();
        assert_eq!(complete, expected, "{line}: {out}");
    }
    let out = place.run(&format!("{JOB} --fsync=2 --fdatasync=3 --debug=io")).ok().out;
    let kinds = stage(&out, "queue: io_u 0x").into_iter();
    let ddirs: Vec<_> = kinds.map(|io| io.split(',').nth(2).unwrap()).collect();
    for (ddir, count) in [("ddir=1", 4), ("ddir=3", 1), ("ddir=4", 1)] {
        assert_eq!(ddirs.iter().filter(|io| **io == ddir).count(), count, "{ddirs:?}");
    }
}

/// fio's lines for the equivalent job begin with the same words.
#[test]
fn ios_are_those_that_fio_traces() {
    let place = Place::new();
    let line = format!("{JOB} --ioengine=psync --debug=io");
    let Some(fio) = place.fio(&line).filter(|ran| ran.status == Some(0)) else {
        return eprintln!("skipped: no fio here");
    };
    let ours = place.run(&line).ok();
    for name in ["fill: io_u 0x", "prep: io_u 0x", "queue: io_u 0x", "complete: io_u 0x"] {
        assert_eq!(stage(&ours.out, name), stage(&fio.out, name));
    }
}

#[test]
fn options_and_limits_as_they_are_read() {
    let place = Place::new();
    let run = |line: &str| place.run(line).ok().out;
    let out =
        run("--parse-only --debug=parse --ss_dur=10s --ss=iops:10% --name=a --ioengine=null \
                   --size=4k --time_based --runtime=9");
    assert_eq!(
        lines(&out, "parse"),
        [
            "handle_option=steadystate_duration, ptr=10s",
            "handle_option=steadystate, ptr=iops:10%",
            "set steady state threshold to 10.000000%",
            "handle_option=name, ptr=a",
            "handle_option=ioengine, ptr=null",
            "handle_option=size, ptr=4k",
            "handle_option=time_based, ptr=(null)",
            "handle_option=runtime, ptr=9",
        ]
    );
    let out = run("--parse-only --debug=parse --ss_dur=10s --ss=bw:12");
    assert!(lines(&out, "parse").contains(&"set steady state BW threshold to 12"), "{out}");
}

#[test]
fn verification_rates_and_zones_of_a_job() {
    let place = Place::new();
    let job = "--name=a --ioengine=sim --rw=write --bs=4k --size=128k --verify=crc32c --verify_async=2 --rate_iops=,90000,0 \
               --rate_min=,1k,0 --zonemode=zbd --zonesize=64k --zonecapacity=32k --max_open_zones=2";
    let out = place.run(&format!("{job} --debug=verify,rate,zbd,mutex")).ok().out;
    let verify = lines(&out, "verify");
    assert_eq!(verify[0], "a: method crc32c, header in every 4096 bytes at offset 0", "{out}");
    let pass = "a: checks its writes after the loop, with 2 threads; knows its writes by ";
    assert!(verify[1].starts_with(pass), "{out}");
    let rates = ["a: writes: at most 90000 IOPS", "a: writes: at least 1024 bytes/s"];
    assert_eq!(lines(&out, "rate"), rates);
    let zones = "a.0.0: zones of 65536 bytes, emulated, 32768 bytes writable";
    assert_eq!(lines(&out, "zbd"), ["a: max_open_zones=2, job_max_open_zones=no limit", zones]);
    assert!(out.contains("fiord: mutex is about a part that fiord does not have"), "{out}");
}

#[test]
fn seeds_show_what_repeats() {
    let place = Place::new();
    let job = "--ioengine=null --size=4k --name=a --numjobs=2 --debug=random";
    let seeds = |options: &str| {
        let out = place.run(&format!("{job} {options}")).ok().out;
        let lines = lines(&out, "random").into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(lines.len(), 4, "{out}");
        assert_eq!((&*lines[0], &*lines[2]), ("FIO_RAND_NR_OFFS=1", "FIO_RAND_NR_OFFS=1"));
        let number = |line: &str| line.strip_prefix("rand_seeds[0]=").unwrap().parse::<u64>();
        [1, 3].map(|i: usize| number(&lines[i]).unwrap())
    };
    let first = seeds("");
    assert_ne!(first[0], first[1]);
    assert_eq!(seeds(""), first);
    assert_ne!(seeds("--randseed=7"), first);
    assert_ne!(seeds("--randrepeat=0"), seeds("--randrepeat=0"));
}

#[test]
fn lines_go_where_results_go_and_of_one_job_where_that_is_asked() {
    let place = Place::new();
    let jobs = "--ioengine=null --size=4k --name=a --name=b --output-format=json";
    let ran =
        place.run(&format!("{jobs} --debug=io,process,mem,file --debug=job:1 --output=o")).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let text = std::fs::read_to_string(place.path("o")).unwrap();
    let (debug, document) = text.split_once("\n{\n").unwrap();
    let ran = Ran { out: format!("{{\n{document}"), ..ran };
    assert_eq!(ran.json()["jobs"].as_array().unwrap().len(), 2);
    assert!(debug.contains("fiord: set debug option io\n"), "{debug}");
    assert!(debug.contains("fiord: set debug jobno 1\n"), "{debug}");
    assert_eq!(stage(debug, "queue: io_u 0x"), ["off=0x0,len=0x1000,ddir=0,file=b.0.0"]);
    assert_eq!(lines(debug, "mem"), ["Alloc 4096 for buffers"]);
    assert_eq!(lines(debug, "file"), ["add file b.0.0"]);
    let states = lines(debug, "process");
    assert!(states.len() == 3 && states[0].ends_with("started"), "{states:?}");
    assert!(states[2].ends_with("runstate RUNNING -> EXITED"), "{states:?}");
}

#[test]
fn categories_are_fios() {
    let place = Place::new();
    let help = place.run("--debug=help").ok().out;
    assert!(help.starts_with("fiord: dumping debug options:process,file,io,mem,"), "{help}");
    assert!(help.ends_with(",zbd,sprandom,all\n"), "{help}");
    let job = "--name=a --ioengine=null --size=4k";
    let all = place.run(&format!("--debug=all {job}")).ok().out;
    assert!(all.starts_with("fiord: set all debug options\n"), "{all}");
    for word in help.trim().rsplit_once(':').unwrap().1.split(',').filter(|word| *word != "job") {
        place.run(&format!("--debug={word}, {job}")).ok();
    }
    for wrong in ["nonsense", "io,nonsense", "job", "job:x", "process:0"] {
        let ran = place.run(&format!("--debug={wrong} {job}"));
        assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{wrong}");
    }
}
