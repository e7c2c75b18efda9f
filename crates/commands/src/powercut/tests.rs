use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fiord_job::load::Memory;
use fiord_types::Nanos;

use super::settings::{CutMethod, example};
use super::*;
use crate::consent::{Answer, Scripted};
use crate::runs::Launcher;
use crate::runs::progress::RunProgress;
use crate::session::{CommandEnd, Session};

/// An empty directory.
pub(super) fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fiord-powercut-{}-{name}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    path
}

/// Stands in for fiord. As the writer, it begins the journal and runs until it is killed, or does what the file `writer`
/// says. As the check, it prints the file `report`, and ends with the status in the file `status`.
const PROGRAM: &str = r#"#!/bin/sh
cd "${0%/*}"
echo "$*" >>calls
if [ "$1" = verify ]; then
    [ -e check ] && . ./check
    cat report
    cat why >&2 2>/dev/null
    exit "$(cat status)"
fi
for word; do case $word in --verify_journal=*) journal=${word#*=} ;; esac; done
[ -e writer ] && . ./writer
head -c 8192 /dev/zero >"$journal"
exec sleep 100
"#;

fn report(verdict: &str, flushed: u64, lost: u64) -> String {
    format!(
        "{{\"verdict\":\"{verdict}\",\"writes_announced\":9,\"writes_issued\":7,\"writes_acknowledged\":6,\
         \"writes_flushed\":{flushed},\"writes_failed\":0,\"flushes_issued\":3,\"flushes_completed\":2,\
         \"block_bytes\":4096,\"blocks_checked\":30,\"blocks_lost\":{lost},\"blocks_out_of_order\":0,\
         \"blocks_torn\":1,\"blocks_corrupt\":0,\"faults\":{{}},\"extents\":[]}}"
    )
}

/// A place with the stand-in and a target of 1 MiB.
struct Bench(PathBuf);

impl Bench {
    fn new(name: &str) -> Self {
        let place = place(name);
        fs::write(place.join("fiord"), PROGRAM).unwrap();
        fs::set_permissions(place.join("fiord"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(place.join("t"), vec![7; 1 << 20]).unwrap();
        let bench = Bench(place);
        bench.verifies("ok", 0, 5, 0);
        bench
    }

    /// What the check reports from now on.
    fn verifies(&self, verdict: &str, status: i32, flushed: u64, lost: u64) {
        self.write("report", &report(verdict, flushed, lost));
        self.write("status", &status.to_string());
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Runs `fiord powercut` on the target. Returns the end, standard output and standard error.
    fn run(&self, line: &str) -> (Result<CommandEnd, PowercutError>, String, String) {
        let target = self.0.join("t").display().to_string();
        let dir = format!("--dir={}", self.0.join("d").display());
        self.run_line(&[&["x", &target, &dir, "--yes"], &words(line)[..]].concat())
    }

    fn resume(&self, line: &str) -> (Result<CommandEnd, PowercutError>, String, String) {
        let state = format!("--resume={}", self.0.join("d/powercut.json").display());
        self.run_line(&[&["x", &state], &words(line)[..]].concat())
    }

    fn run_line(&self, line: &[&str]) -> (Result<CommandEnd, PowercutError>, String, String) {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: PowercutArgs,
        }
        let args = <Line as clap::Parser>::try_parse_from(line).unwrap().args;
        let (mut out, mut err, mut sink) = (Vec::new(), Vec::new(), std::io::sink());
        let mut progress = RunProgress::new(&mut sink, None);
        let ask = &mut Scripted::new(Answer::NoTerminal);
        let loader = &mut Memory::default();
        let launcher = Launcher {
            program: self.0.join("fiord"),
            version: "v",
            loader,
            progress: &mut progress,
        };
        let end =
            run(&args, &mut Session { out: &mut out, columns: None, err: &mut err, ask }, launcher);
        (end, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

const QUICK: &str = "--cut=kill --after=10ms..20ms --rounds=2 --seed=5";

#[test]
fn rounds_that_pass() {
    let bench = Bench::new("pass");
    let (end, out, err) = bench.run(QUICK);
    assert_eq!(end.unwrap(), CommandEnd::Done, "{out}{err}");
    let (before, table) = out.split_once("\n\n").unwrap();
    assert!(before.ends_with("All data on the target will be lost."), "{out}");
    let shown = "2 rounds with seed 5: fiord kills the writer 0.0 to 0.0 s after its first write";
    assert!(before.contains(shown) && err.is_empty(), "{out}{err}");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(words(lines[0])[..4], ["round", "cut", "after", "written"], "{out}");
    assert_eq!(words(lines[2])[..2], ["2", "kill"], "{out}");
    assert!(
        lines[2].ends_with("passed") && out.contains("2 of 2 rounds: 2 passed; seed 5\n"),
        "{out}"
    );
    assert!(out.contains("The power was not cut"), "{out}");
    let calls = bench.text("calls");
    let first = calls.lines().next().unwrap();
    assert!(first.contains("--verify=fiord") && first.contains("round-0001.journal"), "{first}");
    let check = calls.lines().nth(1).unwrap();
    assert!(check.starts_with("verify --journal=") && check.contains("--same-target"), "{check}");
    assert!(check.ends_with(&format!("-- {}", bench.0.join("t").display())), "{check}");
    // The second round checks what the first one has written.
    let calls: Vec<&str> = calls.lines().collect();
    let last = calls.last().unwrap();
    assert!(
        calls.len() == 5 && last.contains("--journal=") && last.contains("--later="),
        "{calls:?}"
    );
    assert!(last.contains("round-0001.journal") && last.contains("round-0002.journal"), "{last}");
    assert!(!bench.has("d/round-0002.of-0001.json"));
    let (end, ..) = bench.run(&format!("{QUICK} --restart --earlier=0"));
    assert_eq!(end.unwrap(), CommandEnd::Done);
    assert!(!bench.has("d/round-0001.journal"), "the journal of a passed round is removed");
}

/// A failure of power damages what an earlier round has written.
#[test]
fn lost_data_of_an_earlier_round() {
    let bench = Bench::new("earlier");
    bench.write("lost", &report("lost", 5, 2));
    bench.write("check", "case $* in *--later*) cat lost; exit 250 ;; esac\n");
    let (end, out, _) = bench.run(&QUICK.replace("--rounds=2", "--rounds=4 --format=json"));
    assert_eq!(end.unwrap(), CommandEnd::DataLost);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    let round = |at: usize, name: &str| document["rounds"][at][name].clone();
    assert_eq!([round(0, "verdict"), round(1, "verdict")], ["passed", "lost"], "{out}");
    assert_eq!(
        (round(1, "blocks_lost"), round(1, "blocks_of_earlier_rounds")),
        (2.into(), 30.into())
    );
    assert!(bench.has("d/round-0002.of-0001.extents") || bench.has("d/round-0002.of-0001.json"));
    // A loss is reported once.
    assert_eq!([round(2, "verdict"), round(3, "verdict")], ["passed", "lost"], "{out}");
}

#[test]
fn lost_data_is_reported_and_its_journal_kept() {
    let bench = Bench::new("lost");
    bench.verifies("lost", 250, 5, 3);
    let (end, out, _) = bench.run(QUICK);
    assert_eq!(end.unwrap(), CommandEnd::DataLost);
    assert!(out.contains("2 of 2 rounds: 0 passed, 2 lost; seed 5\n"), "{out}");
    assert!(out.contains("did not keep data that it had acknowledged and flushed"), "{out}");
    assert!(bench.has("d/round-0001.journal") && bench.has("d/round-0002.json"));
    // With --stop, what is on the target stays there.
    let (end, out, _) = bench.run(&format!("{QUICK} --stop --restart --format=json"));
    assert_eq!(end.unwrap(), CommandEnd::DataLost);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (document["rounds_done"].as_u64(), document["verdicts"]["lost"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(document["rounds"][0]["blocks_lost"], 3, "{out}");
    assert_eq!((&document["rounds"][0]["cut"], &document["cut"]), (&"kill".into(), &"kill".into()));
}

#[test]
fn without_a_flush_nothing_is_proved() {
    let bench = Bench::new("untested");
    bench.verifies("ok", 0, 0, 0);
    let (end, out, _) = bench.run(QUICK);
    assert_eq!(end.unwrap(), CommandEnd::Failed);
    assert!(
        out.contains("0 passed, 2 untested") && out.contains("To fix: flush more often"),
        "{out}"
    );
}

#[test]
fn the_commands_run_in_order_and_the_power_is_restored_after_an_error() {
    let bench = Bench::new("commands");
    let log = bench.0.join("log").display().to_string();
    let commands = |cut: &str| {
        let dir = format!("--dir={}", bench.0.join("d").display());
        let target = bench.0.join("t").display().to_string();
        let (cut, restore) =
            (format!("--cut=echo cut >>{log}; {cut}"), format!("--restore=echo on >>{log}"));
        let line = [
            "x",
            &target,
            &dir,
            "--yes",
            "--after=10ms",
            "--rounds=2",
            "--linger=10ms",
            "--restart",
            &cut,
            &restore,
        ];
        bench.run_line(&line)
    };
    let (end, out, err) = commands("true");
    assert_eq!(end.unwrap(), CommandEnd::Done, "{out}{err}");
    assert_eq!(bench.text("log"), "cut\non\ncut\non\n");
    assert!(!out.contains("The power was not cut"), "{out}");
    let (end, ..) = commands("exit 3");
    let error = end.unwrap_err().to_string();
    assert!(error.starts_with("the command of --cut failed: exit status 3\n"), "{error}");
    assert!(error.contains("fiord powercut --resume="), "{error}");
    assert_eq!(bench.text("log"), "cut\non\ncut\non\ncut\non\n");
    // Without a cut there is nothing to check: the round is repeated.
    let checks = bench.text("calls").lines().filter(|call| call.starts_with("verify")).count();
    // The second round was checked for what it and the first one have written.
    assert_eq!(checks, 3);
}

#[test]
fn a_writer_that_fails_is_reported_with_its_message() {
    let bench = Bench::new("writer");
    bench.write("writer", "echo no such engine >&2; exit 1");
    let (end, out, _) = bench.run(QUICK);
    let error = end.unwrap_err().to_string();
    assert!(
        error.starts_with("the writer ended before the power was cut: exit status: 1"),
        "{error}"
    );
    assert!(error.ends_with("no such engine") && !out.contains("verdict"), "{error}{out}");
}

#[test]
fn a_check_that_fails_can_be_repeated() {
    let bench = Bench::new("check");
    bench.write("status", "1");
    bench.write("why", "the journal is damaged");
    let (end, ..) = bench.run(QUICK);
    let error = end.unwrap_err().to_string();
    assert!(error.starts_with("cannot check round 1: exit status: 1"), "{error}");
    assert!(error.ends_with("the journal is damaged"), "{error}");
    // The first round is only checked again; the second one needs consent.
    bench.verifies("ok", 0, 5, 0);
    let (end, out, err) = bench.resume("");
    assert!(matches!(end, Err(PowercutError::NoConsent(_))), "{out}{err}");
    assert!(out.contains("1 of 2 rounds: 1 passed"), "{out}");
    let (end, out, _) = bench.resume("--yes");
    assert_eq!(end.unwrap(), CommandEnd::Done);
    assert!(out.contains("2 of 2 rounds: 2 passed"), "{out}");
    let (end, again, _) = bench.resume("");
    assert_eq!((end.unwrap(), again), (CommandEnd::Done, out), "nothing is left to do");
}

#[test]
fn after_a_power_cut_of_the_machine_the_round_is_checked() {
    let bench = Bench::new("machine");
    let (end, ..) = bench.run(&format!("{QUICK} --earlier=0"));
    end.unwrap();
    // As if the machine had been switched off while round 2 wrote.
    let path = bench.0.join("d/powercut.json");
    let mut state: serde_json::Value =
        serde_json::from_str(&bench.text("d/powercut.json")).unwrap();
    state["rounds"].as_array_mut().unwrap().pop();
    state["phase"] = serde_json::json!({ "writing": { "boot": "another", "writer": 1 } });
    bench.verifies("lost", 250, 5, 1);
    // Before the first write: there is nothing to check, and the round is repeated.
    fs::write(&path, state.to_string()).unwrap();
    let (end, out, err) = bench.resume("");
    assert!(matches!(end, Err(PowercutError::NoConsent(_))), "{out}{err}");
    fs::write(&path, state.to_string()).unwrap();
    bench.write("d/round-0002.journal", &"x".repeat(8192));
    let (end, out, _) = bench.resume("--format=json");
    assert_eq!(end.unwrap(), CommandEnd::DataLost);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["rounds"][1]["cut"], "machine", "{out}");
    assert_eq!(document["rounds"][1]["after_ns"], serde_json::Value::Null);
}

#[test]
fn wrong_input_is_refused_before_any_write() {
    let bench = Bench::new("wrong");
    let refused = |line: &str| bench.run(line).0.unwrap_err().to_string();
    let error = refused("--cut=reboot");
    assert!(
        error.contains("--cut='reboot' needs a command that restores") && error.contains("To fix:"),
        "{error}"
    );
    assert!(refused("--cut=kill --restore=true").contains("--restore works only with"));
    assert!(refused("--cut=kill --after=5..2").contains("--after=5..2 is not a range"));
    assert!(refused("--cut=kill --wait=soon").contains("--wait: "));
    assert!(
        refused("--cut=kill -- --name=a --rw=randwrite --iodpth=3")
            .contains("did you mean `iodepth`")
    );
    let none = bench.run_line(&["x", "/dev/fiord-none", "--cut=kill", "--yes"]).0;
    assert!(none.unwrap_err().to_string().starts_with("there is no device /dev/fiord-none"));
    let target = bench.0.join("t").display().to_string();
    let (end, _, err) = bench.run_line(&["x", &target, "--cut=kill"]);
    assert!(matches!(end, Err(PowercutError::NoConsent(_))), "{err}");
    assert!(!bench.has("calls") && !bench.has("d"), "nothing was started");
    assert!(fs::read(&target).unwrap().iter().all(|byte| *byte == 7));
}

#[test]
fn the_state_of_other_rounds_is_refused() {
    let bench = Bench::new("state");
    bench.run(QUICK).0.unwrap();
    let error = bench.run(QUICK).0.unwrap_err().to_string();
    assert!(
        error.contains("has rounds of an earlier call") && error.contains("--restart"),
        "{error}"
    );
    let state = format!("--resume={}", bench.0.join("d/powercut.json").display());
    let other = bench.run_line(&["x", "/etc/hostname", &state]).0.unwrap_err().to_string();
    assert!(other.contains("is the state of") && other.contains("not of /etc/hostname"), "{other}");
    fs::write(bench.0.join("t"), vec![7; 4096]).unwrap();
    let changed = bench.resume("").0.unwrap_err().to_string();
    assert!(changed.contains("it has 4096 bytes instead of 1048576"), "{changed}");
    bench.write("d/powercut.json", "{\"version\":99}");
    assert!(bench.resume("").0.unwrap_err().to_string().contains("another version of fiord (99)"));
    bench.write("d/powercut.json", "[]");
    assert!(bench.resume("").0.unwrap_err().to_string().contains("is not the state of"));
    let missing = bench.run_line(&["x", "--resume=/fiord-none/powercut.json"]).0;
    assert!(missing.unwrap_err().to_string().starts_with("there is no file /fiord-none"));
}

#[test]
fn the_times_of_cuts_lie_in_the_range_and_differ() {
    let mut settings = example(CutMethod::Kill);
    let times: Vec<Nanos> = (1..50).map(|round| settings.cut_time(round)).collect();
    let (low, high) = settings.after;
    assert!(times.iter().all(|time| (low..=high).contains(time)), "{times:?}");
    assert!(times.windows(2).any(|pair| pair[0] != pair[1]));
    settings.after = (low, low);
    assert_eq!(settings.cut_time(3), low);
    assert_eq!(settings::usual_directory(Path::new("/dev/nvme0n1")), Path::new("nvme0n1.powercut"));
}
