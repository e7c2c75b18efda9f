//! More than two hundred wrong inputs: each gives a message with the right text underlined.

use fiord_job::diagnostic::Diagnostic;
use fiord_job::invocation;
use fiord_job::load::Memory;

/// Wrong options in a job section, and what of them is underlined.
const OPTIONS: &[(&str, &str)] = &[
    // Names.
    ("nosuch=1", "nosuch"),
    ("iodepht=4", "iodepht"),
    ("iodep=4", "iodep"),
    ("IODEPTH=4", "IODEPTH"),
    ("block size=4k", "block size"),
    ("rw read", "rw read"),
    ("--rw=read", "--rw"),
    ("rw:read", "rw:read"),
    ("\u{fc}ber=1", "\u{fc}ber"),
    ("hipri", "hipri"),
    ("userspace_reap=1", "userspace_reap"),
    ("sqthread_poll", "sqthread_poll"),
    ("direct ioengine=libaio", "direct ioengine"),
    ("output=x", "output"),
    ("section=a", "section"),
    ("include2 x", "include2 x"),
    // No value.
    ("rw", "rw"),
    ("rw=", "rw"),
    ("rw=   ", "rw"),
    ("bs", "bs"),
    ("bs=", "bs"),
    ("iodepth", "iodepth"),
    ("iodepth=", "iodepth"),
    ("direct", "direct"),
    ("runtime=", "runtime"),
    ("filename=", "filename"),
    ("filename=:", ":"),
    ("filename=::::", "::::"),
    ("percentile_list=", "percentile_list"),
    ("bssplit=", "bssplit"),
    ("ioengine=", "ioengine"),
    ("description=", "description"),
    ("thread=", "thread"),
    ("ioengine", "ioengine"),
    // Words.
    ("rw=sideways", "sideways"),
    ("rw=READ", "READ"),
    ("rw=rand", "rand"),
    ("rw=raed", "raed"),
    ("rw=read,write", "read,write"),
    ("rw=randrw:foo", "foo"),
    ("rw=randrw:", "randrw:"),
    ("rw=randread:-1", "-1"),
    ("rw=randread:0", "0"),
    ("rw=randread:8:9", ":9"),
    ("rw=read:4q", "q"),
    (
        "rw=read:99999999999999999999999999999999999999999999",
        "99999999999999999999999999999999999999999999",
    ),
    ("rw=:8", ":8"),
    ("ioengine=psycn", "psycn"),
    ("ioengine=posix aio", "posix aio"),
    ("ioengine=uring", "uring"),
    ("ioengine=sync2", "sync2"),
    ("fallocate=maybe", "maybe"),
    ("fadvise_hint=2x", "2x"),
    ("file_service_type=robin", "robin"),
    ("lockfile=yes", "yes"),
    ("filetype=directory", "directory"),
    ("random_generator=mersenne", "mersenne"),
    ("rw_sequencer=random", "random"),
    ("io_submit_mode=later", "later"),
    ("clocksource=tsc", "tsc"),
    ("unified_rw_reporting=some", "some"),
    ("exit_what=everyone", "everyone"),
    ("cpus_allowed_policy=own", "own"),
    ("mem=heap", "heap"),
    ("sync=maybe", "maybe"),
    ("kb_base=1023", "1023"),
    ("kb_base=k", "k"),
    ("unit_base=2", "2"),
    ("zonemode=some", "some"),
    ("verify=crc33", "crc33"),
    ("verify=md4", "md4"),
    ("write_hint=tiny", "tiny"),
    ("numa_mem_policy=near", "near"),
    ("rate_process=normal", "normal"),
    ("ioengine=psync ; libaio\nrw=foo", "foo"),
    // Switches.
    ("direct=2", "2"),
    ("direct=yes", "yes"),
    ("direct=true", "true"),
    ("direct=on", "on"),
    ("direct=-1", "-1"),
    ("direct=01", "01"),
    ("direct=1 1", "1 1"),
    ("time_based=yes", "yes"),
    ("time_based=-1", "-1"),
    ("stonewall=x", "x"),
    ("group_reporting=true", "true"),
    ("thread=threads", "threads"),
    ("buffered=0x1", "0x1"),
    // Numbers.
    ("iodepth=x", "x"),
    ("iodepth=0", "0"),
    ("iodepth=-1", "-1"),
    ("iodepth=1.5", "1.5"),
    ("iodepth=1,2", ",2"),
    ("iodepth=4 5", " 5"),
    ("iodepth=0x", "x"),
    ("iodepth=0xg", "xg"),
    ("iodepth=1e3", "e"),
    ("iodepth=99999999999", "99999999999"),
    (
        "iodepth=99999999999999999999999999999999999999999999999999",
        "99999999999999999999999999999999999999999999999999",
    ),
    ("iodepth=1_000", "_000"),
    ("iodepth=\u{663}", "\u{663}"),
    ("iodepth=.", "."),
    ("iodepth=-", "-"),
    ("iodepth=+", "+"),
    ("iodepth=--1", "-1"),
    ("iodepth=1..2", ".2"),
    ("numjobs=many", "many"),
    ("numjobs=4jobs", "jobs"),
    ("nice=20", "20"),
    ("nice=-21", "-21"),
    ("rwmixread=101", "101"),
    ("rwmixread=-1", "-1"),
    ("rwmixread=50%%", "%"),
    ("rwmixwrite=1000", "1000"),
    ("percentage_random=101", "101"),
    ("prioclass=4", "4"),
    ("prio=8", "8"),
    ("significant_figures=11", "11"),
    ("cgroup_weight=99", "99"),
    ("cgroup_weight=1001", "1001"),
    ("loops=forever", "forever"),
    ("nrfiles=0.5", "0.5"),
    ("fsync=often", "often"),
    ("number_ios=ten", "ten"),
    // Sizes.
    ("bs=0", "0"),
    ("bs=-4k", "-4k"),
    ("bs=4q", "q"),
    ("bs=4kk", "kk"),
    ("bs=4ib", "ib"),
    ("bs=4kbb", "kbb"),
    ("bs=4 kilobytes", "kilobytes"),
    ("bs=k", "k"),
    ("bs=4k8", "8"),
    ("bs=\"4k\"", "\"4k\""),
    ("bs=1k,2k,3k,4k", "4k"),
    ("bs=,,,", ",,,"),
    ("bs=,", ","),
    ("bs=4k,x", "x"),
    ("bs=4k,,y", "y"),
    ("bs=20%", "%"),
    ("bs=8z", "z"),
    ("bs=18446744073709551616", "18446744073709551616"),
    ("bs=99999999p", "99999999p"),
    ("size=1x", "x"),
    ("size=-1", "-1"),
    ("size=%", "%"),
    ("size=x%", "x"),
    ("size=-20%", "-20%"),
    ("size=z", "z"),
    ("size=1.5z", "1.5"),
    ("size=1g 2g", " 2g"),
    ("size=1g,2g", ",2g"),
    ("size=20%%", "20%"),
    ("size=ten", "ten"),
    ("size=150%", "150%"),
    ("offset=101%", "101%"),
    ("size=99999999999999p", "99999999999999p"),
    ("io_size=half", "half"),
    ("offset=here", "here"),
    ("offset=-4k", "-4k"),
    ("offset_increment=x", "x"),
    ("filesize=0", "0"),
    ("filesize=4k-", "4k-"),
    ("filesize=4k-x", "x"),
    ("filesize=x-4k", "x"),
    ("filesize=1k-2k-3k", "-3k"),
    ("bsrange=4k", "4k"),
    ("bsrange=4k-", "4k-"),
    ("bsrange=-4k", "-4k"),
    ("bsrange=0-4k", "0-4k"),
    ("bsrange=1k-4k,4k", "4k"),
    ("bsrange=1k-4x", "x"),
    ("bsrange=1k-2k,1k-2k,1k-2k,1k-2k", "1k-2k"),
    ("bssplit=x", "x"),
    ("bssplit=4k/x", "x"),
    ("bssplit=4k/101", "101"),
    ("bssplit=4k/-1", "-1"),
    ("bssplit=4k/60:8k/50", "4k/60:8k/50"),
    ("bssplit=4k/50/50", "50/50"),
    ("bssplit=0/100", "0"),
    ("bssplit=4k/50:", "4k/50:"),
    ("bssplit=,", ","),
    ("bssplit=4k/1,4k/1,4k/1,4k/1", "4k/1"),
    // Expressions.
    ("size=(4k*8", "("),
    ("size=(", "("),
    ("size=()", ")"),
    ("size=(4k*)", ")"),
    ("size=(*4k)", "*"),
    ("size=(4k**2)", "*"),
    ("size=(4k 8k)", "("),
    ("size=(1/0)", "0"),
    ("size=(1%0)", "0"),
    ("size=(2^0.5)", "2^0.5"),
    ("size=(2^999)", "2^999"),
    ("size=(9p*9p*9p)", "9p*9p*9p"),
    ("size=(4k-8k)", "(4k-8k)"),
    ("size=(4q)", "q"),
    ("size=(4k*8)k", "k"),
    ("size=(4k))", ")"),
    ("size=(a)", "a"),
    ("bs=(4k,8k)", "("),
    ("runtime=(5x)", "x"),
    // Times.
    ("runtime=abc", "abc"),
    ("runtime=5k", "k"),
    ("runtime=-5", "-5"),
    ("runtime=5seconds", "seconds"),
    ("runtime=5 minutes", "minutes"),
    ("runtime=1h30m", "30m"),
    ("runtime=1:30", ":30"),
    ("runtime=99999999999d", "99999999999d"),
    ("ramp_time=soon", "soon"),
    ("startdelay=5-", "5-"),
    ("startdelay=x-5", "x"),
    ("startdelay=1-2-3", "-3"),
    ("thinktime=1w", "w"),
    // Lists.
    ("percentile_list=99:x", "x"),
    ("percentile_list=101", "101"),
    ("percentile_list=-1", "-1"),
    ("percentile_list=99,99.9", "99,99.9"),
    ("percentile_list=nan", "nan"),
    ("percentile_list=inf", "inf"),
    (
        "percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21",
        "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21",
    ),
    ("cpus_allowed=x", "x"),
    ("cpus_allowed=all", "all"),
    ("cpus_allowed=1,", "1,"),
    ("cpus_allowed=1-x", "1-x"),
    ("cpus_allowed=1-2-3", "1-2-3"),
    ("cpus_allowed=-1", "-1"),
    ("cpus_allowed=99999999", "99999999"),
    ("cpus_allowed=0-4294967295", "0-4294967295"),
    ("numa_cpu_nodes=first", "first"),
    ("numa_mem_policy=bind", "bind"),
    ("numa_mem_policy=prefer:0,1", "0,1"),
    ("numa_mem_policy=local:0", "0"),
    ("numa_mem_policy=bind:x", "x"),
    ("buffer_pattern=abc", "a"),
    ("buffer_pattern=0x", "0x"),
    ("buffer_pattern=\"abc", "\""),
    ("buffer_pattern=\"\"", "\"\""),
    ("buffer_pattern='", "'"),
    ("buffer_pattern=99999999999", "99999999999"),
    ("buffer_pattern=%d", "%"),
    ("buffer_pattern=0x12zz", "z"),
    ("buffer_pattern=a\u{e9}", "a"),
    ("buffer_pattern=\u{e9}", "\u{e9}"),
    ("randseed=dice", "dice"),
    ("randseed=99999999999999999999", "99999999999999999999"),
    // Variables.
    ("bs=${NOPE}", "${NOPE}"),
    ("bs=${UNIT}k", "${UNIT}k"),
    ("bs=$jobname", "$jobname"),
    ("iodepth=$nosuch", "$nosuch"),
    ("iodepth=$ncpus*", "$ncpus*"),
    ("bs=${", "${"),
];

/// Whole job files that are wrong, and what is underlined first.
const FILES: &[(&str, &str)] = &[
    ("bs=4k\n[a]\nsize=1m\n", "bs=4k"),
    ("bs\n", "bs"),
    ("[a\nsize=1m\n", "[a"),
    ("[\n", "["),
    ("[]\nsize=1m\n", "[]"),
    ("[  ]\nsize=1m\n", "[  ]"),
    ("[a] b\nsize=1m\n", "b"),
    ("[a]]\n", "]"),
    ("[a]\n=5\n", "="),
    ("[a]\n=\n", "="),
    ("[a]\n = \n", "="),
    ("include x\n[a]\n", "x"),
    ("[a]\ninclude\n", "include"),
    ("[a]\ninclude nofile\n", "nofile"),
    ("[a]\ninclude=nofile\n", "nofile"),
    ("[a]\ninclude job.fio\n", "job.fio"),
    ("[global]\nnosuch=1\n[a]\n", "nosuch"),
    ("[global]\nhipri\n[a]\nioengine=io_uring\n", "hipri"),
    ("[global]\nioengine=io_uring\n[a]\nioengine=psync\nhipri\n", "hipri"),
    ("\u{feff}[a]\nsize=1m\n", "\u{feff}[a]"),
    ("[a]\nsize=1m\n[b\n", "[b"),
    ("[a]\n\0=1\n", "\0"),
    ("[a]\r\nrw=x\r\n", "x"),
    ("[a]\n   rw   =   x   \n", "x"),
    ("[a]\nrw=x # comment\n", "x"),
    ("[a]\nrw=x", "x"),
    ("<job>\n", "<job>"),
    ("{\"jobs\": []}\n", "{\"jobs\": []}"),
];

/// Whole command lines that are wrong, and what is underlined first.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["--nosuch"], "nosuch"),
    (&["--nosuch=1", "--name=a"], "nosuch"),
    (&["-nosuch"], "nosuch"),
    (&["--name"], "name"),
    (&["--name="], "name"),
    (&["--bs"], "bs"),
    (&["--name=a", "--bs"], "bs"),
    (&["--version=3"], "3"),
    (&["--parse-only=1"], "1"),
    (&["--output"], "output"),
    (&["--output-format"], "output-format"),
    (&["--output-format=xml"], "--output-format=xml"),
    (&["--output-format=json,xml"], "--output-format=json,xml"),
    (&["--output-format="], "--output-format="),
    (&["--output="], "--output="),
    (&["--section="], "--section="),
    (&["--aux-path", ""], "--aux-path"),
    (&["--terse-version=1"], "--terse-version=1"),
    (&["--terse-version=6"], "--terse-version=6"),
    (&["--eta=sometimes"], "--eta=sometimes"),
    (&["--eta-interval=100ms"], "--eta-interval=100ms"),
    (&["--eta-interval=x"], "--eta-interval=x"),
    (&["--eta-newline=x"], "--eta-newline=x"),
    (&["--status-interval=1k"], "--status-interval=1k"),
    (&["--max-jobs=0"], "--max-jobs=0"),
    (&["--max-jobs=x"], "--max-jobs=x"),
    (&["--alloc-size=x"], "--alloc-size=x"),
    (&["--debug=nothing"], "--debug=nothing"),
    (&["--debug=io,prase"], "--debug=io,prase"),
    (&["--iod=1", "--name=a"], "iod"),
    (&["--s", "1"], "s"),
    (&["--", "-x"], "-x"),
    (&["--name=a", "--userspace_reap", "--ioengine=libaio"], "userspace_reap"),
    (&["--ioengine=libaio", "--name=a", "--ioengine=psync", "--userspace_reap"], "userspace_reap"),
    (&["--name=a", "--rw", "sideways"], "sideways"),
    (&["--name=a", "--rw=read", "--direct"], "direct"),
    (&["--name=a", "--time_based=x"], "x"),
    (&["--name=a", "--bs=${HOME}"], "${HOME}"),
    (&["--readonly", "--name=a", "--rw=randrw"], "rw=randrw"),
    (&["--name=a", "--rw=trim", "--readonly"], "rw=trim"),
    (&["--server"], "--server"),
    (&["--client=host"], "--client=host"),
    (&["--bandwidth-log"], "--bandwidth-log"),
    (&["--idle-prof=percpu"], "--idle-prof=percpu"),
    (&["--trigger=true"], "--trigger=true"),
    (&["--="], "--="),
    (&["-="], "-="),
    (&["nofile.fio"], "nofile.fio"),
    (&["-"], "-"),
    (&["size=1m"], "size=1m"),
    (&["--name=a", "rw=read"], "rw=read"),
    (&["-name=a", "-size=1m", ""], ""),
];

/// Invocations whose message has no place in a text.
const PLACELESS: &[&[&str]] = &[
    &["--enghelp=nosuch"],
    &["--enghelp=psync"],
    &["--enghelp=libaio,nosuch"],
    &["--max-jobs=3", "--name=a", "--numjobs=4"],
    &["job.fio", "--section=nosuch"],
];

fn run(args: &[&str], file: &str) -> Vec<Diagnostic> {
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    invocation(&args, &mut Memory::job(file)).err().unwrap_or_default()
}

/// The first message underlines `marked` and can be rendered.
fn check(input: &str, wrong: &[Diagnostic], marked: &str) -> Result<(), String> {
    let Some(first) = wrong.first() else { return Err(format!("{input:?} was accepted")) };
    let Some(place) = &first.place else { return Err(format!("{input:?}: no place: {first:?}")) };
    if place.text() != marked {
        return Err(format!("{input:?}: {:?} is underlined: {}", place.text(), first.what));
    }
    let text = first.render(false);
    let (line, column) = place.line_column();
    let position = format!("{}:{line}:", place.source.name);
    if !text.starts_with("fio: ") || !text.contains(&position) || column == 0 {
        return Err(format!("{input:?}: no position {position} in\n{text}"));
    }
    Ok(())
}

#[test]
fn there_are_more_than_two_hundred() {
    let all = OPTIONS.len() + FILES.len() + COMMANDS.len() + PLACELESS.len();
    assert!(OPTIONS.len() >= 200, "{} of {all}", OPTIONS.len());
}

#[test]
fn wrong_options_are_underlined() {
    let mut failures = Vec::new();
    for (option, marked) in OPTIONS {
        let file = format!("[job]\nsize=1m\n{option}\n");
        failures.extend(check(option, &run(&["job.fio"], &file), marked).err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn wrong_files_are_underlined() {
    let failures: Vec<_> = FILES
        .iter()
        .filter_map(|(file, marked)| check(file, &run(&["job.fio"], file), marked).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn wrong_command_lines_are_underlined() {
    let failures: Vec<_> = COMMANDS
        .iter()
        .filter_map(|(args, marked)| check(&args.join(" "), &run(args, ""), marked).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn messages_without_a_place_say_what_is_wrong() {
    for args in PLACELESS {
        let wrong = run(args, "[a]\nsize=1m\n");
        let first = wrong.first().unwrap_or_else(|| panic!("{args:?} was accepted"));
        assert!(first.render(false).starts_with("fio: "), "{first:?}");
    }
}

/// Names and words that are nearly right get the right one shown.
#[test]
fn near_misses_are_named() {
    for (option, near) in [
        ("iodepht=4", "iodepth"),
        ("blocksiez=4k", "blocksize"),
        ("rw=raed", "read"),
        ("rw=randwirte", "randwrite"),
        ("ioengine=psycn", "psync"),
        ("ioengine=iouring", "io_uring"),
        ("ioengien=psync", "ioengine"),
        ("file_service_type=roundrobbin", "roundrobin"),
        ("fallocate=kepp", "keep"),
        ("numjob=4", "numjobs"),
    ] {
        let wrong = run(&["job.fio"], &format!("[a]\n{option}\n"));
        let help = wrong.first().map(|d| d.help.join(" ")).unwrap_or_default();
        assert!(help.contains(&format!("did you mean `{near}`")), "{option}: {help}");
    }
}

#[test]
fn unset_variables_are_named() {
    let wrong = run(&["job.fio"], "[a]\nfilename=${TARGET}\n");
    assert!(wrong[0].help[0].contains("TARGET is not set"), "{wrong:?}");
}

/// The same text in `F\:\fiofile` is one file, without the backslash two.
#[test]
fn windows_paths_are_lists_of_files() {
    let jobs = |text: &str| {
        let file = format!("[a]\nfilename={text}\nsize=1m\n");
        let run = invocation(&["job.fio".to_string()], &mut Memory::job(&file)).unwrap();
        run.jobs[0].paths("filename").unwrap()
    };
    assert_eq!(jobs(r"F\:\fiofile"), [r"F:\fiofile"]);
    assert_eq!(jobs(r"F:\x"), ["F", r"\x"]);
    assert_eq!(jobs(r"/dev/dsk/foo@3,0\:c:/dev/sda"), ["/dev/dsk/foo@3,0:c", "/dev/sda"]);
}
