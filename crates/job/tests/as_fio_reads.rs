//! The behaviour of fio 3.42 for texts that its documentation does not describe. Where fio accepts
//! such a text, fiord accepts it too and warns.

use fiord_job::diagnostic::{Level, Note};
use fiord_job::load::Memory;
use fiord_job::option::table::{BS, BUFFER_PATTERN, OFFSET, RWMIXREAD, SIZE, THREAD};
use fiord_job::option::value::{Amount, Value};
use fiord_job::{Invocation, invocation};
use fiord_types::{Bytes, PerDir};

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|a| a.to_string()).collect()
}

#[track_caller]
fn file(text: &str) -> Invocation {
    let mut loader = Memory::job(text);
    loader.variables = [("OPT", "bs=2k"), ("N", "bs"), ("V", "2k"), ("T", "thread"), ("E", "")]
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .to_vec();
    invocation(&args(&["job.fio"]), &mut loader).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

#[track_caller]
fn command(list: &[&str]) -> Invocation {
    invocation(&args(list), &mut Memory::default()).unwrap_or_else(|e| panic!("{list:?}: {e:?}"))
}

fn refused(line: &str) -> bool {
    let text = format!("[a]\nsize=1m\n{line}\n");
    invocation(&args(&["job.fio"]), &mut Memory::job(&text)).is_err()
}

/// The value of an option that causes one warning.
#[track_caller]
fn value(line: &str) -> Option<Value> {
    let mut run = file(&format!("[a]\n{line}\n"));
    let [warning] = &run.warnings[..] else { panic!("{line}: {:?}", run.warnings) };
    assert_eq!(warning.level, Level::Warning(Note::ValueAdjusted));
    assert!(warning.what.contains("is read as"), "{}", warning.what);
    run.jobs[0].settings.pop().map(|setting| setting.value)
}

#[test]
fn separators_at_the_end_are_ignored_with_a_warning() {
    let word = |w, s: Option<&str>| Some(Value::Word(w, s.map(str::to_string)));
    assert_eq!(value("size=4k,"), Some(Value::Amount(Amount::Bytes(4096))));
    assert_eq!(value("iodepth=16,"), Some(Value::Int(16)));
    assert_eq!(value("direct=1,"), Some(Value::Flag(true)));
    assert_eq!(value("thread=0,"), Some(Value::Flag(false)));
    assert_eq!(value("runtime=30,"), Some(Value::Time(30_000_000_000)));
    assert_eq!(value("percentile_list=50:99:"), Some(Value::Floats(vec![50.0, 99.0])));
    assert_eq!(value("cpus_allowed=0-1,"), Some(Value::Set(vec![0, 1])));
    assert_eq!(value("rw=randwrite,"), word("randwrite", None));
    assert_eq!(value("rw=randrw:2,"), word("randrw", Some("2")));
    assert_eq!(value("sync=dsync:"), word("dsync", None));
    assert_eq!(file("[a]\nkb_base=1000,\nbs=4k\n").jobs[0].get(BS), PerDir::all(Some(Bytes(4000))));
}

#[test]
fn a_rate_may_end_in_per_second() {
    assert_eq!(value("rate=100kb/s"), Some(Value::Ints(PerDir::all(Some(100 << 10)))));
    assert!(refused("bs=4k/s"));
}

/// fio reads the first number; xfstests multiplies it by a factor of load.
#[test]
fn of_a_product_of_counts_the_first_is_read_with_a_warning() {
    assert_eq!(value("iodepth=128*1"), Some(Value::Int(128)));
    assert_eq!(value("iodepth=32 * 4"), Some(Value::Int(32)));
    assert_eq!(value("numjobs=2*3"), Some(Value::Int(2)));
    let run = file("[a]\niodepth=128*2\n");
    assert_eq!(run.warnings[0].what, "iodepth=128*2 is read as iodepth=128");
    let help = &run.warnings[0].help;
    assert_eq!(help[..], ["To fix: write iodepth=128, or iodepth=(128*2) for the product"]);
    for wrong in
        ["iodepth=128*", "iodepth=*2", "iodepth=0*2", "iodepth=2*x", "size=4k*4", "bs=4k*2"]
    {
        assert!(refused(wrong), "{wrong}");
    }
}

/// The expected bytes are those that fio writes.
#[test]
fn digits_of_a_pattern_end_where_the_next_part_begins() {
    use fiord_job::option::value::PatternPart;
    for (text, bytes) in [
        ("\"abcd\"-120xdeadface", b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce".to_vec()),
        ("120xCD", vec![12, 0xcd]),
        ("1200xCD", vec![120, 0xcd]),
        ("00xCD", vec![0, 0xcd]),
        ("0xAB0xCD", vec![0xab, 0xcd]),
        ("0xAB00XCD", vec![0x0a, 0xb0, 0xcd]),
        ("0xf0xf", vec![0x0f, 0x0f]),
        ("-120", vec![0x88, 0xff, 0xff, 0xff]),
    ] {
        let run = file(&format!("[a]\nbuffer_pattern={text}\n"));
        let wanted = vec![PatternPart::Bytes(bytes)];
        assert_eq!(run.jobs[0].get(BUFFER_PATTERN), Some(wanted), "{text}");
    }
    assert!(refused("buffer_pattern=1x5"));
    assert!(refused("buffer_pattern=0xAB0x0xCD"));
}

#[test]
fn percent_signs_may_be_doubled() {
    let job = &file("[a]\nsize=50%%\noffset=50%%%\n").jobs[0];
    assert_eq!(job.get(SIZE), Some(Amount::Percent(50.0)));
    assert_eq!(job.get(OFFSET), Amount::Percent(50.0));
    assert_eq!(file("[a]\nrwmixread=30%%\n").jobs[0].get(RWMIXREAD), 30);
    assert!(refused("size=%%"));
    assert!(refused("size=101%%"));
}

/// fio accepts the options of its profiles in every job, where they have no effect.
#[test]
fn options_of_profiles_have_no_effect_in_a_job() {
    let lines = "threads=1\nblock=4k\nnumruns=2\ndir=/tmp\nload=2\nprep=1\ntest-duration=5\n";
    let run = file(&format!("[a]\nsize=1m\n{lines}"));
    assert_eq!(run.warnings.len(), 7, "{:?}", run.warnings);
    for warning in &run.warnings {
        assert_eq!(warning.level, Level::Warning(Note::NoEffect));
        assert!(warning.what.contains("option of profile"), "{}", warning.what);
    }
    assert_eq!(command(&["--name=a", "--size=1m", "--threads=1"]).warnings.len(), 1);
    assert!(refused("threads=abc"));
    assert!(refused("threads"));
}

/// fio accepts most of these values, but not with the meaning that users expect.
#[test]
fn values_with_another_meaning_in_fio_are_errors() {
    for line in [
        "runtime=1h30m",
        "runtime=1x",
        "size=1-2k",
        "iodepth=4,8",
        "iodepth=50%",
        "bs=1z",
        "bs=4k bs=8k",
        "direct=2,",
        "direct=true",
        "rw=write:",
        "rw=,write",
        "ioengine=null,",
        "stonewall=abc",
    ] {
        assert!(refused(line), "{line}");
    }
}

#[test]
fn every_section_whose_name_begins_with_global_sets_defaults() {
    for name in ["global", "global ", "globals", "global 2"] {
        let run = file(&format!("[{name}]\nbs=8k\n[a]\n"));
        assert_eq!(run.jobs.len(), 1, "{name}");
        assert_eq!(run.jobs[0].get(BS), PerDir::all(Some(Bytes(8192))), "{name}");
        assert_eq!(run.warnings.len(), usize::from(name.trim() != "global"), "{name}");
    }
    assert_eq!(file("[GLOBAL]\nbs=8k\n[ global]\n").jobs.len(), 2);
}

#[test]
fn the_last_bracket_closes_a_section() {
    assert_eq!(
        file("[a]b]\n[[c]]\n").jobs.iter().map(|j| &j.name[..]).collect::<Vec<_>>(),
        ["a]b", "[c]"]
    );
}

#[test]
fn a_variable_may_be_a_name_or_a_whole_option() {
    for line in ["${OPT}", "${N}=2k", "${N}=${V}", "b${E}s=2k", " ${OPT} "] {
        assert_eq!(
            file(&format!("[a]\n{line}\n")).jobs[0].get(BS),
            PerDir::all(Some(Bytes(2048))),
            "{line}"
        );
    }
    assert!(file("[a]\n${T}\n").jobs[0].get(THREAD));
    assert!(refused("${NOPE}"));
    assert!(refused("${NOPE}=1"));
}

#[test]
fn name_renames_a_job_but_not_its_section() {
    let job = &file("[a]\nname=foo\n").jobs[0];
    assert_eq!((&job.name[..], &job.section[..]), ("foo", "a"));
}

#[test]
fn short_options_work() {
    use fiord_job::Action;
    let shown = |list: &[&str]| match command(list).action {
        Action::Print(text) | Action::ShowCmd(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(&["-cbs"]), shown(&["--cmdhelp=bs"]));
    assert_eq!(shown(&["-c"]), shown(&["--cmdhelp"]));
    assert_eq!(shown(&["-ilibaio"]), shown(&["--enghelp=libaio"]));
    assert_eq!(shown(&["-s", "--name=a"]), shown(&["--showcmd", "--name=a"]));
    let general = command(&[
        "-oout", "-r", "-w", "-x", "a", "-Fjson", "-V5", "-L", "1", "-E2", "-O", "1s", "-e",
        "never", "-j4", "-f", "-a1", "-K/tmp", "-dio", "--name=a",
    ])
    .general;
    assert_eq!(general.output.as_deref(), Some("out"));
    assert!(general.readonly && general.warnings_fatal);
    assert_eq!(general.sections, ["a"]);
    assert_eq!((general.terse_version, general.max_jobs), (5, Some(4)));
    assert_eq!(general.status_interval, Some(1_000_000_000));
    assert_eq!(general.debug, ["io"]);
    assert_eq!(general.aux_path.as_deref(), Some("/tmp"));
}

#[test]
fn general_options_accept_the_values_that_fio_accepts() {
    // fio runs more jobs than `--max-jobs`.
    let run = command(&["--max-jobs=3", "--name=a", "--numjobs=4"]);
    assert!(run.warnings[0].what.contains("maximum number of jobs"), "{:?}", run.warnings);
    assert!(command(&["--append-terse=1", "--name=a"]).warnings.is_empty());
    assert_eq!(command(&["--terse-version=03", "--name=a"]).general.terse_version, 3);
    for list in [["--status-interval=0", "--name=a"], ["--eta-newline=0", "--name=a"]] {
        assert!(invocation(&args(&list), &mut Memory::default()).is_err(), "{list:?}");
    }
}
