//! Tests of the job language from command line to jobs, with files in memory.

use fiord_types::{Bytes, Nanos, PerDir};

use crate::load::Memory;
use crate::option::handle::WithSuffix;
use crate::option::table::*;
use crate::option::value::Amount;
use crate::{Action, Invocation, invocation};

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|a| a.to_string()).collect()
}

fn job(text: &str) -> Invocation {
    invocation(&args(&["job.fio"]), &mut Memory::job(text)).expect("a right job file")
}

fn command(list: &[&str]) -> Invocation {
    invocation(&args(list), &mut Memory::default()).expect("a right command line")
}

#[test]
fn a_global_section_applies_to_the_jobs_below_it() {
    let run = job("[global]\nbs=8k\nioengine=null\n[one]\n[global]\nbs=16k\n[two]\nsize=1m\n");
    assert_eq!(run.jobs.len(), 2);
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(8192))));
    assert_eq!(run.jobs[1].get(BS), PerDir::all(Some(Bytes(16384))));
    assert_eq!(run.jobs[1].get(SIZE), Some(Amount::Bytes(1 << 20)));
    assert_eq!(run.jobs[1].get(IOENGINE), "null");
    assert_eq!(run.globals.len(), 3);
}

#[test]
fn options_before_the_first_name_are_global() {
    let run = command(&["--bs=4k", "--name=a", "--rw=randread:8", "-name", "b", "--bs", "8k"]);
    assert_eq!(run.jobs.len(), 2);
    assert_eq!(run.jobs[0].get(RW), WithSuffix { word: Rw::RandRead, suffix: Some("8".into()) });
    assert_eq!(run.jobs[1].get(BS), PerDir::all(Some(Bytes(8192))));
    assert_eq!(run.jobs[0].setting(NAME).unwrap().text.as_deref(), Some("a"));
}

#[test]
fn unset_options_have_their_default() {
    let run = job("[a]\nsize=1m\n");
    assert_eq!(run.jobs[0].get(IODEPTH), 1);
    assert!(!run.jobs[0].get(DIRECT));
    assert!(!run.jobs[0].get(TIME_BASED));
    assert_eq!(run.jobs[0].get(FILENAME), None);
}

#[test]
fn a_job_called_global_sets_defaults() {
    let run =
        command(&["--name=global", "--bs=8k", "--name=a", "--name=global", "--bs=16k", "--name=b"]);
    assert_eq!(run.jobs.len(), 2);
    assert_eq!(run.jobs.iter().map(|j| &j.name[..]).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(8192))));
    assert_eq!(run.jobs[1].get(BS), PerDir::all(Some(Bytes(16384))));
    let shown =
        command(&["--showcmd", "--bs=8k", "--name=a", "--name=global", "--bs=16k", "--name=b"]);
    let text = "fio --bs=8k --name=a --name=global --bs=16k --name=b \n";
    assert_eq!(shown.action, Action::ShowCmd(text.into()));
}

#[test]
fn options_and_files_may_be_mixed_and_options_come_first() {
    let mut loader = Memory::job("[global]\nbs=8k\n[f]\nsize=1m\n");
    loader.files.push(("second.fio".into(), "[g]\n[h]\n".into()));
    let list =
        args(&["--iodepth=2", "job.fio", "--name=a", "--rw=write", "second.fio", "--name=b"]);
    let run = invocation(&list, &mut loader).unwrap();
    let names: Vec<&str> = run.jobs.iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "f", "g", "h"]);
    // Each further file starts a new group. Global options of one file do not apply to the next
    // file.
    assert_eq!(
        run.jobs.iter().map(|j| j.new_group).collect::<Vec<_>>(),
        [false, false, false, true, false]
    );
    assert_eq!(run.jobs.iter().map(|j| j.get(IODEPTH)).collect::<Vec<_>>(), [2; 5]);
    assert_eq!(run.jobs[2].get(BS), PerDir::all(Some(Bytes(8192))));
    assert_eq!(run.jobs[3].get(BS), PerDir::all(Some(Bytes(4096))));
}

#[test]
fn options_may_be_shortened_and_have_one_dash() {
    let run = command(&["-name=a", "-ioeng=null", "--siz", "1m", "-runt=5", "--status-i=10"]);
    assert_eq!(run.jobs[0].engine().name, "null");
    assert_eq!(run.jobs[0].get(SIZE), Some(Amount::Bytes(1 << 20)));
    assert_eq!(run.jobs[0].get(RUNTIME), Nanos(5_000_000_000));
    assert_eq!(run.general.status_interval, Some(10_000_000_000));
}

#[test]
fn general_options() {
    use crate::command::{Eta, Format};
    let run = command(&[
        "--output=out.txt",
        "--output-format=json+,normal,json+",
        "--append-terse",
        "--terse-version=5",
        "--eta=never",
        "--eta-newline=5s",
        "--eta-interval=500ms",
        "--max-jobs=8",
        "--warnings-fatal",
        "--aux-path",
        "/tmp",
        "--debug=io,file",
        "--alloc-size=65536",
        "--section=a",
        "--section=b",
        "--readonly",
        "--name=a",
    ]);
    let g = run.general;
    assert_eq!(g.output.as_deref(), Some("out.txt"));
    assert_eq!(g.formats, [Format::JsonPlus, Format::Normal, Format::Terse]);
    assert_eq!((g.terse_version, g.eta), (5, Eta::Never));
    assert_eq!((g.eta_newline, g.eta_interval), (Some(5_000_000_000), 500_000_000));
    assert_eq!((g.max_jobs, g.warnings_fatal, g.readonly), (Some(8), true, true));
    assert_eq!(g.aux_path.as_deref(), Some("/tmp"));
    assert_eq!(g.debug, ["io", "file"]);
    assert_eq!(g.sections, ["a", "b"]);
    assert_eq!(command(&["--minimal", "--name=a"]).general.formats, [Format::Terse]);
    assert_eq!(command(&["--name=a"]).general.formats, [Format::Normal]);
    assert_eq!(command(&["--debug=all", "--name=a"]).general.debug.len(), 20);
}

#[test]
fn actions_that_only_print() {
    let printed = |list: &[&str]| match command(list).action {
        Action::Print(text) => text,
        other => panic!("{list:?}: {other:?}"),
    };
    assert!(printed(&["--version"]).starts_with("fio-3.42"));
    assert!(printed(&["-v", "--nosuch-after"][..1]).contains("fiord"));
    assert!(matches!(command(&["--help"]).action, Action::Help));
    assert!(printed(&["--cmdhelp"]).contains("iodepth "));
    assert_eq!(printed(&["--cmdhelp"]), printed(&["--cmdhelp=all"]));
    assert!(printed(&["--cmdhelp=tree_items"]).contains(" docs/metadata.md."));
    assert!(printed(&["--cmdhelp=blocksize"]).contains("alias: blocksize"));
    assert!(printed(&["--cmdhelp=iodepht"]).contains("showing closest match"));
    assert!(printed(&["--cmdhelp=zzzzzzzz"]).contains("No such command"));
    assert!(printed(&["--enghelp"]).contains("\tio_uring\n"));
    assert!(printed(&["--enghelp=io_uring"]).contains("sqthread_poll "));
    assert!(printed(&["--enghelp=libaio,userspace_reap"]).contains("engines: libaio"));
    assert!(crate::unsupported::list().contains("not supported yet"));
    assert!(printed(&["--debug=help"]).contains("steadystate"));
    assert!(matches!(command(&["--parse-only"]).action, Action::ParseOnly));
    assert!(matches!(command(&[]).action, Action::NoJobs));
}

#[test]
fn section_selects_the_sections_to_run() {
    let mut loader = Memory::job("[global]\nbs=8k\n[a]\n[b]\n[a]\nbs=4k\n[c]\n");
    let run = invocation(&args(&["--section=a", "--section=c", "job.fio"]), &mut loader).unwrap();
    assert_eq!(run.jobs.iter().map(|j| &j.name[..]).collect::<Vec<_>>(), ["a", "a", "c"]);
    let wrong = invocation(&args(&["--section=aa", "job.fio"]), &mut loader).unwrap_err();
    assert!(wrong[0].help[0].contains("did you mean `a`"), "{wrong:?}");
}

#[test]
fn included_files_belong_to_their_section() {
    let mut loader =
        Memory::job("[global]\ninclude glob.fio\n[test]\nrw=randread\ninclude test.fio\n[b]\n");
    loader.files.push(("glob.fio".into(), "thread=1\ngroup_reporting=1\n".into()));
    loader.files.push(("test.fio".into(), "ioengine=libaio\ninclude deep.fio\n".into()));
    loader.files.push(("deep.fio".into(), "iodepth=4\n".into()));
    let run = invocation(&args(&["job.fio"]), &mut loader).unwrap();
    assert!(run.jobs[1].get(THREAD) && run.jobs[1].get(GROUP_REPORTING));
    assert_eq!(run.jobs[0].get(IODEPTH), 4);
    assert_eq!(run.jobs[0].setting(IODEPTH).unwrap().place.source.name, "deep.fio");
    assert_eq!(run.jobs[1].engine().name, "psync");
    for bad in ["[x]\n", "include test.fio\n", "nosuch=1\n"] {
        loader.files[3].1 = bad.into();
        let wrong = invocation(&args(&["job.fio"]), &mut loader).unwrap_err();
        assert_eq!(wrong[0].place.as_ref().unwrap().source.name, "deep.fio");
    }
}

/// An included file is searched relative to the current directory, then relative to the including
/// file.
#[test]
fn included_files_are_searched_in_two_directories() {
    let find = |present: &[&str]| {
        let mut loader = Memory::default();
        loader.files.push(("dir/job.fio".into(), "[a]\ninclude more.fio\n".into()));
        for name in present {
            let depth = if name.contains('/') { "2" } else { "1" };
            loader.files.push((name.to_string(), format!("iodepth={depth}\n")));
        }
        invocation(&args(&["dir/job.fio"]), &mut loader)
    };
    assert_eq!(find(&["dir/more.fio"]).unwrap().jobs[0].get(IODEPTH), 2);
    assert_eq!(find(&["more.fio", "dir/more.fio"]).unwrap().jobs[0].get(IODEPTH), 1);
    assert!(find(&[]).unwrap_err()[0].what.contains("`more.fio`"));
    // A file that includes itself under another name is detected too.
    let mut loader = Memory::default();
    loader.files.push(("dir/job.fio".into(), "[a]\ninclude job.fio\n".into()));
    assert!(invocation(&args(&["dir/job.fio"]), &mut loader).is_err());
}

#[test]
fn endless_includes_are_errors() {
    let mut loader = Memory::job("[a]\ninclude 0\n");
    for i in 0..15 {
        loader.files.push((i.to_string(), format!("include {}\n", i + 1).repeat(10)));
    }
    loader.files.push(("15".into(), "bs=4k\n".into()));
    let wrong = invocation(&args(&["job.fio"]), &mut loader).unwrap_err();
    assert!(wrong[0].what.starts_with("too many files"), "{:?}", wrong[0]);
    assert!(wrong.len() < 2000);
}

#[test]
fn variables_and_reserved_words() {
    let mut loader = Memory::job(
        "[a]\nsize=${SIZE}\nbs=$pagesize\niodepth=2*$ncpus\nio_size=8*$mb_memory\n\
         description=${NOPE}x${SIZE}\nfilename_format=$jobname.$jobnum.$filenum\nnumjobs=($ncpus+1)\n",
    );
    loader.variables.push(("SIZE".into(), "64m".into()));
    let run = invocation(&args(&["job.fio"]), &mut loader).unwrap();
    let a = &run.jobs[0];
    assert_eq!(a.get(SIZE), Some(Amount::Bytes(64 << 20)));
    assert_eq!(a.get(BS), PerDir::all(Some(Bytes(4096))));
    assert_eq!(a.get(IODEPTH), 8);
    assert_eq!(a.get(IO_SIZE), Some(Amount::Bytes(8000)));
    assert_eq!(a.get(NUMJOBS), 5);
    assert_eq!(a.get(DESCRIPTION).as_deref(), Some("x64m"));
    assert_eq!(a.get(FILENAME_FORMAT), "$jobname.$jobnum.$filenum");
    assert_eq!(a.setting(IO_SIZE).unwrap().text.as_deref(), Some("8000"));
    // The shell has already expanded variables on the command line; fiord expands only the reserved
    // words there.
    let run = command(&["--name=a", "--bs=$pagesize", "--description=${SIZE}"]);
    assert_eq!(run.jobs[0].get(DESCRIPTION).as_deref(), Some("${SIZE}"));
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(4096))));
}

#[test]
fn kb_base_applies_to_its_section_or_to_later_options() {
    let run = job("[a]\nbs=4k\nkb_base=1000\n[b]\nbs=4k\n");
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(4000))));
    assert_eq!(run.jobs[1].get(BS), PerDir::all(Some(Bytes(4096))));
    let run = job("[global]\nkb_base=1000\n[a]\nbs=4k\n");
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(4000))));
    assert_eq!(run.jobs[0].bases.kb, 1000);
    let run = command(&["--name=a", "--bs=4k", "--kb_base=1000", "--size=1k"]);
    assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(4096))));
    assert_eq!(run.jobs[0].get(SIZE), Some(Amount::Bytes(1000)));
}

#[test]
fn engine_options_follow_their_engine() {
    let run = job("[global]\nhipri\nioengine=io_uring\n[a]\n[b]\nioengine=psync\n");
    assert!(run.jobs[0].get(io_uring::HIPRI) && run.jobs[0].is_set(io_uring::HIPRI));
    assert!(
        !run.jobs[1].is_set(io_uring::HIPRI),
        "psync has no such option: it is dropped with the engine"
    );
    let run = job("[a]\nuserspace_reap\nsize=1m\nioengine=libaio\n");
    assert!(run.jobs[0].get(libaio::USERSPACE_REAP));
    assert_eq!(run.jobs[0].settings.last().unwrap().def.name, "userspace_reap");
}

/// An unknown engine causes one message, and no messages about options of that engine.
#[test]
fn an_unknown_engine_causes_one_message() {
    let file = "[a]\nsqthread_poll=1\nioengine=iouring\nhipri\n";
    let wrong = invocation(&args(&["job.fio"]), &mut Memory::job(file)).unwrap_err();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    let list = args(&["--name=a", "--ioengine=iouring", "--hipri", "--nosuch=1"]);
    let wrong = invocation(&list, &mut Memory::default()).unwrap_err();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}

#[test]
fn names_of_jobs() {
    let run = job("[global]\nname=g\n[a]\n[b]\nname=bb\n[a b]\n[GLOBAL]\n");
    assert_eq!(
        run.jobs.iter().map(|j| &j.name[..]).collect::<Vec<_>>(),
        ["a", "bb", "a b", "GLOBAL"]
    );
}

#[test]
fn invalid_utf8_is_permitted_only_in_comments() {
    let read = |bytes: &[u8]| {
        struct File(Vec<u8>);
        impl crate::load::Loader for File {
            fn read(&mut self, _: &str) -> std::io::Result<Vec<u8>> {
                Ok(self.0.clone())
            }
            fn variable(&self, _: &str) -> Option<String> {
                None
            }
            fn page_size(&self) -> u64 {
                4096
            }
            fn memory_mb(&self) -> u64 {
                1
            }
            fn cpus(&self) -> u64 {
                1
            }
            fn host(&self) -> crate::load::HostWords {
                crate::load::HostWords::alone("x")
            }
        }
        invocation(&args(&["x"]), &mut File(bytes.to_vec()))
    };
    assert!(read(b"[a]\n; gr\xfc\xdfe\nsize=1m ; \xff\n").is_ok());
    let wrong = read(b"[a]\nfilename=gr\xfc\xdfe\n").unwrap_err();
    assert!(wrong[0].what.contains("UTF-8"), "{wrong:?}");
    assert_eq!(wrong[0].place.as_ref().unwrap().line_column(), (2, 1));
}

#[test]
fn unsupported_options_are_errors() {
    let file = "[global]\nerror_dump=0\n\n[j]\nioengine=libhdfs\nnamenode=x\nsteadystate=iops:1%\n";
    let Ok(run) = invocation(&args(&["job.fio"]), &mut Memory::job(file)) else {
        panic!("options that are not built are still read")
    };
    let wrong = crate::unsupported(&run.jobs[0]);
    let all: Vec<&str> = wrong.iter().map(|d| &d.what[..]).collect();
    assert!(all.contains(&"option namenode is not supported yet (job j, line 6)"), "{all:?}");
    let found = "ioengine libhdfs is not supported yet (job j, line 5)";
    let found =
        wrong.iter().find(|diagnostic| diagnostic.what == found).expect("libhdfs is refused");
    assert!(found.help[0].starts_with("it needs libhdfs, a Java runtime"), "{found:?}");
    assert!(!all.iter().any(|w| w.contains("error_dump")), "its own default asks for nothing");
    let run = command(&["--name=x", "--ioengine=libhdfs", "--namenode=x"]);
    let wrong = crate::unsupported(&run.jobs[0]);
    let here = "option namenode is not supported yet (job x, command line)";
    assert!(wrong.iter().any(|diagnostic| diagnostic.what == here), "{wrong:?}");
}

#[test]
fn options_that_each_job_file_overrides_cause_warnings() {
    let warnings = |line: &[&str], file: &str| -> Vec<String> {
        let run = invocation(&args(line), &mut Memory::job(file)).unwrap();
        run.warnings.iter().map(|warning| warning.what.clone()).collect()
    };
    let file = "[global]\nruntime=1\n[a]\nbs=8k\n[b]\n";
    let line = ["job.fio", "--runtime=3", "--bs=64k"];
    let found = warnings(&line, file);
    // Job b has the block size of the command line.
    assert_eq!(found, ["`runtime=3` on the command line has no effect: job.fio sets runtime=1"]);
    assert_eq!(warnings(&["job.fio", "--runtime=1"], file), [""; 0]);
    assert_eq!(warnings(&["--runtime=3", "--name=a", "--runtime=5"], file), [""; 0]);
}

#[test]
fn misleading_values_cause_warnings() {
    let run = job("[a]\nbs=4k-16k\ntime_based=30\n");
    assert_eq!(run.warnings.len(), 2);
    assert!(run.warnings[0].render(false).starts_with("fiord: warning: bs=4k-16k is not a range"));
    assert!(run.warnings[1].help[0].contains("runtime=30"));
    let fatal = args(&["--warnings-fatal", "job.fio"]);
    assert!(invocation(&fatal, &mut Memory::job("[a]\nbs=4k-16k\n")).is_err());
}

#[test]
fn messages_show_the_place() {
    let text = "[a]\nsize=1m\n  rw = raed ; oh\n";
    let wrong = invocation(&args(&["job.fio"]), &mut Memory::job(text)).unwrap_err();
    let shown = wrong[0].render(false);
    assert!(
        shown.starts_with("fiord: failed parsing rw=raed: invalid value `raed` for rw\n"),
        "{shown}"
    );
    assert!(shown.contains("--> job.fio:3:8"), "{shown}");
    assert!(shown.contains("3 |   rw = raed ; oh"), "{shown}");
    assert!(shown.contains("^^^^"), "{shown}");
    assert!(shown.contains("help: did you mean `read`?"), "{shown}");
}

#[test]
fn a_remedy_needs_no_other_heading() {
    let message = crate::diagnostic::Diagnostic::error("no", None).help("To fix: write yes");
    assert_eq!(message.render(false), "fiord: no\n |\n = To fix: write yes\n");
}

#[test]
fn a_long_line_is_shown_in_part() {
    let text = format!("[a]\nfilename={} \nrw={}\n", "x".repeat(5000), "y".repeat(5000));
    let wrong = invocation(&args(&["job.fio"]), &mut Memory::job(&text)).unwrap_err();
    assert!(wrong[0].render(false).len() < 20_000);
}

/// `--showcmd` prints every option, set to its own example, in a form that fiord can parse again.
#[test]
fn showcmd_output_can_be_parsed_again() {
    // A job file cannot contain a profile.
    let others =
        |d: &&&'static crate::option::def::OptionDef| !matches!(d.name, "name" | "profile");
    for def in crate::option::table::options().iter().filter(others) {
        let file = format!("[a]\n{}\n", def.example);
        let list = args(&["--showcmd", "job.fio"]);
        let shown = match invocation(&list, &mut Memory::job(&file)).map(|r| r.action) {
            Ok(Action::ShowCmd(text)) => text,
            other => panic!("{}: {other:?}", def.example),
        };
        // Splits like a shell: removes the one pair of double quotes and its escapes.
        let rest = shown.trim_end().strip_prefix("fio --name=a ").unwrap_or_default().to_string();
        let plain = rest.replacen('"', "", 1);
        let plain = plain.strip_suffix('"').unwrap_or(&rest).replace("\\\"", "\"");
        let plain = plain.replace("\\$", "$").replace("\\\\", "\\").replace("\\`", "`");
        let first = job(&file);
        let again = command(&["--name=a", &plain]);
        let value =
            |run: &Invocation| run.jobs[0].setting(*def).map(|setting| setting.value.clone());
        assert_eq!(value(&first), value(&again), "{shown}");
    }
}

#[test]
fn sections_beyond_the_limit_on_jobs_are_not_read() {
    let sections = |n: usize| -> String { (0..n).map(|i| format!("[j{i}]\nrw=read\n")).collect() };
    assert_eq!(job(&sections(4096)).jobs.len(), 4096);
    // The text after the limit is not a valid job file.
    let text = sections(4097) + &"[broken]\nno option\n".repeat(10_000);
    let wrong = |list: &[&str]| invocation(&args(list), &mut Memory::job(&text)).unwrap_err();
    let errors = wrong(&["job.fio"]);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].what, "maximum number of jobs (4096) reached");
    assert_eq!(
        wrong(&["--max-jobs=4100", "job.fio"])[0].what,
        "maximum number of jobs (4100) reached"
    );
}

#[test]
fn values_of_megabytes_are_shortened_in_messages() {
    let long = "9".repeat(5_000_000);
    for text in [
        format!("[a]\nsize={long}\n"),
        format!("[a]\nioengine={long}\n"),
        format!("[a]\n{long}=1\n"),
    ] {
        let errors = invocation(&args(&["job.fio"]), &mut Memory::job(&text)).unwrap_err();
        let shown = crate::diagnostic::render(&errors, false);
        assert!(shown.len() < 10_000, "{} bytes", shown.len());
        assert!(shown.contains("bytes left out"), "{shown}");
    }
}
