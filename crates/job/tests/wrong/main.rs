//! More than two hundred invalid inputs. Each causes a message that underlines the wrong text.

mod inputs;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::invocation;
use fiord_job::load::Memory;

use crate::inputs::{COMMANDS, FILES, OPTIONS, PLACELESS};

fn run(args: &[&str], file: &str) -> Vec<Diagnostic> {
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    invocation(&args, &mut Memory::job(file)).err().unwrap_or_default()
}

/// Checks that the first message underlines `marked` and can be rendered.
fn check(input: &str, wrong: &[Diagnostic], marked: &str) -> Result<(), String> {
    let Some(first) = wrong.first() else { return Err(format!("{input:?} was accepted")) };
    let Some(place) = &first.place else { return Err(format!("{input:?}: no place: {first:?}")) };
    if place.text() != marked {
        return Err(format!("{input:?}: {:?} is underlined: {}", place.text(), first.what));
    }
    let text = first.render(false);
    let (line, column) = place.line_column();
    let position = format!("{}:{line}:", place.source.name);
    if !text.starts_with("fiord: ") || !text.contains(&position) || column == 0 {
        return Err(format!("{input:?}: no position {position} in\n{text}"));
    }
    Ok(())
}

#[test]
fn the_table_has_more_than_two_hundred_options() {
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
        assert!(first.render(false).starts_with("fiord: "), "{first:?}");
    }
}

/// Messages about misspelt names and words suggest the right one.
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

/// `F\:\fiofile` is one file. Without the first backslash, the name is an error, not two files.
#[test]
fn windows_paths_need_an_escape() {
    let jobs = |text: &str| {
        let file = format!("[a]\nfilename={text}\nsize=1m\n");
        let run = invocation(&["job.fio".to_string()], &mut Memory::job(&file)).unwrap();
        run.jobs[0].get(fiord_job::option::table::FILENAME).unwrap()
    };
    assert_eq!(jobs(r"F\:\fiofile"), [r"F:\fiofile"]);
    for text in [r"F:\x", r"/dev/sda:c:\data"] {
        let wrong = run(&["job.fio"], &format!("[a]\nfilename={text}\n"));
        assert!(wrong[0].what.contains("separates two files"), "{wrong:?}");
        assert!(wrong[0].help[0].contains(r"\:\"), "{wrong:?}");
    }
    assert_eq!(jobs(r"f:\:x"), ["f", ":x"]);
    assert_eq!(jobs(r"/dev/dsk/foo@3,0\:c:/dev/sda"), ["/dev/dsk/foo@3,0:c", "/dev/sda"]);
}

/// Scripts search for these phrases, which fio prints too.
#[test]
fn messages_contain_the_phrases_that_scripts_search_for() {
    const RANGE: &str = "value out of range";
    const LIST: &str = "the list exceeding max length";
    for (option, phrase) in [
        ("rwmixread=150", RANGE),
        ("iodepth=0", RANGE),
        ("numjobs=1t", RANGE),
        ("lat_percentiles=2", RANGE),
        ("latency_percentile=101", RANGE),
        ("size=200%", RANGE),
        ("offset=-1%", RANGE),
        ("runtime=-1", RANGE),
        ("size=-4k", RANGE),
        ("bsrange=0-4k", RANGE),
        ("percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21", LIST),
        ("bs=1k,2k,3k,4k", LIST),
        ("bs=1k-2k,1k,1k,1k", LIST),
        ("bssplit=4k/50:8k/50,4k,4k,4k", LIST),
    ] {
        let wrong = run(&["job.fio"], &format!("[a]\n{option}\n"));
        let text = wrong.first().map(|d| d.render(false)).unwrap_or_default();
        assert!(text.starts_with(&format!("fiord: failed parsing {option}: ")), "{text}");
        assert!(text.contains(phrase), "{option}: {text}");
    }
}
