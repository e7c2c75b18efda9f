//! Compares fiord's output with recorded output of fio 3.42 (`compat/golden/`), and with the fio on
//! PATH if there is one.

use std::path::PathBuf;
use std::process::Command;

use fiord_job::load::{MachineLoader, Memory};
use fiord_job::{Action, Invocation, invocation};

/// The job of the golden `showcmd` case; `compat/README.md` describes it.
const JOBFILE: &str = "[global]\nbs=4k\nioengine=psync\nsize=4m\n\n\
                       [reader]\nrw=randread\n\n\
                       [writer]\nrw=write\nbs=64k,128k\nstonewall\n";

fn golden(case: &str, file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../compat/golden").join(case);
    std::fs::read_to_string(path.join(file)).unwrap_or_default()
}

/// The arguments of a golden command, without redirections.
fn arguments(case: &str) -> Vec<String> {
    golden(case, "cmd")
        .split_whitespace()
        .skip(1)
        .map(|a| a.replace("JOBFILE", "job.fio"))
        .collect()
}

fn run(args: &[String], file: &str) -> Result<Invocation, Vec<fiord_job::diagnostic::Diagnostic>> {
    invocation(args, &mut Memory::job(file))
}

#[test]
fn showcmd_prints_what_fio_prints() {
    let run = run(&arguments("showcmd"), JOBFILE).unwrap();
    let Action::ShowCmd(text) = run.action else { panic!("{:?}", run.action) };
    assert_eq!(text.trim_end_matches('\n'), golden("showcmd", "normal").trim_end_matches('\n'));
}

#[test]
fn parse_only_succeeds() {
    let run = run(&arguments("parse-only"), "").unwrap();
    assert_eq!(run.action, Action::ParseOnly);
    assert_eq!(run.jobs.len(), 1);
}

#[test]
fn messages_about_options_start_with_the_words_of_fio() {
    fiord_types::program::called_as("/usr/bin/fio".as_ref());
    for (case, begin) in [
        ("err-bad-value", "fio: failed parsing rw=sideways"),
        ("err-out-of-range", "fio: failed parsing rwmixread=150"),
        ("err-unknown-option", "fio: unrecognized option '--no_such_option=1'"),
    ] {
        let wrong = run(&arguments(case), "").unwrap_err();
        let text = wrong[0].render(false);
        assert!(text.starts_with(begin), "{text}");
        assert!(golden(case, "stderr").contains(begin), "{case}");
        assert_eq!(golden(case, "exit").trim(), "1");
    }
}

/// fiord accepts every golden command, except for the three that fio rejects too.
#[test]
fn every_golden_command_is_accepted() {
    for entry in
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../compat/golden")).unwrap()
    {
        let case = entry.unwrap().file_name().into_string().unwrap();
        let refused = ["err-bad-value", "err-out-of-range", "err-unknown-option"];
        let result = run(&arguments(&case), JOBFILE);
        let text = result.as_ref().err().map(|w| fiord_job::diagnostic::render(w, false));
        assert_eq!(result.is_err(), refused.contains(&case.as_str()), "{case}: {text:?}");
    }
}

/// Job files for which fio and fiord print the same command lines.
const SAME: &[&str] = &[
    "[a]\nsize=1m\nfilename=x\nbs=4k\n",
    "[a]\nsize=1m ; comment\nbs=4k # comment\n; comment\n# comment\n\n",
    "[global]\nsize=1m\nkb_base=1000\n[a]\nbs=4k\n[b]\nrw=write\n",
    "[a]\ndescription=some words here\nrw=randread:8\ntime_based\nruntime=10\n",
    "[a]\nuserspace_reap\nsize=1m\nioengine=libaio\nbs=4k\n",
    "[a]\nstonewall\nnew_group\ngroup_reporting=1\nthread\ndirect=1\n",
    "[a]\nlockfile=none\nsize=1m\nfilename_format=job\nbs=4k\n",
    "[a]\nsize=$pagesize\niodepth=$ncpus\nbs=${FIORD_NO_SUCH_VARIABLE}4k\n",
    "[a]\nbssplit=4k/50:8k/50\ncpus_allowed=0\nioengine=null\n\n[a]\nrw=write\n",
    "\t[a]\n  size=1m  \n",
];

#[test]
fn the_installed_fio_prints_the_same_command_lines() {
    let dir = std::env::temp_dir().join(format!("fiord-job-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("job.fio").to_string_lossy().into_owned();
    for job in SAME {
        std::fs::write(&file, job).unwrap();
        let ours = invocation(&["--showcmd".into(), file.clone()], &mut MachineLoader).unwrap();
        let Action::ShowCmd(ours) = ours.action else { panic!("{:?}", ours.action) };
        let Ok(theirs) = Command::new("fio").arg("--showcmd").arg(&file).output() else { break };
        let theirs = String::from_utf8_lossy(&theirs.stdout);
        assert_eq!(ours.trim_end(), theirs.trim_end(), "{job}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
