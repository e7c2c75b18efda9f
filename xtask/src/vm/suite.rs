//! Runs scenarios, several per boot, and reports which passed.
//!
//! Scenarios of a machine run one after the other. The devices of a scenario start before it and stop after it, so it
//! does not see what an earlier one left. If a scenario does not end in time or leaves a device that cannot be
//! stopped, the machine is switched off, and the other scenarios run on a new one. With `--machines N`, N machines run
//! side by side.
//!
//! If the kernel of a machine panics, which its emulated drivers sometimes do, the scenario runs once more on a new machine, and
//! the panic is printed.
//!
//! A scenario of several boots (`boots: N`) asks for a power cut in each boot but the last. The host then kills the
//! machine, starts it again with the same drives, and runs the script from its beginning.
//!
//! A failure leaves `target/vm/failed/NAME/output` and `console`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Bench;
use super::drives::Drives;
use super::initramfs::Order;
use super::qemu::Machine;
use super::scenario::{self, Scenario};

/// Time limits of a boot, and of starting or stopping the devices of a scenario.
const AROUND: Duration = Duration::from_secs(60);

/// How long a boot may take until its first scenario begins. A boot takes some seconds, and more on a busy host.
const BOOT: Duration = Duration::from_secs(60);

/// How often a machine that does not boot is started. The emulated timers of a kernel can fail to work on a busy host.
const BOOTS: u32 = 4;

/// Why a scenario fails if its machine prints nothing more.
const SILENT: &str = "the machine does not answer";

/// How a scenario ended.
enum Outcome {
    /// The duration in seconds.
    Passed(String),
    Failed(String),
    /// The scenario asked for a power cut, which happens now.
    PowerCut,
}

/// Maximum number of scenarios of one boot if several machines run side by side, so that they end at about the same time.
const PORTION: usize = 6;

/// What has been done, shared by the machines that run side by side.
struct Tally<'a> {
    waiting: Vec<&'a Scenario>,
    /// Scenarios that ran again because of their machine.
    repeated: Vec<String>,
    count: usize,
    failures: usize,
}

/// How the scenarios of a boot ended.
#[derive(Default)]
struct Judged {
    /// How many have a result.
    done: usize,
    failures: usize,
    /// Why the next one runs again: the kernel panicked, or the machine stopped before the scenario began.
    again: Option<String>,
}

pub(super) fn run(bench: &Bench, scenarios: &[Scenario]) -> Result<ExitCode> {
    let began = Instant::now();
    let failed = super::place().join("failed");
    let _ = fs::remove_dir_all(&failed);
    let waiting = scenarios.iter().collect();
    let tally = Mutex::new(Tally { waiting, repeated: Vec::new(), count: 0, failures: 0 });
    std::thread::scope(|scope| {
        let machine = |number| run_machines(bench, number, &failed, &tally);
        let machine = |number| scope.spawn(move || machine(number));
        let machines: Vec<_> = (1..=bench.options.machines).map(machine).collect();
        machines.into_iter().try_for_each(|thread| thread.join().expect("a machine's thread ends"))
    })?;
    let Tally { count, failures, .. } = tally.into_inner().expect("no thread panicked");
    let seconds = began.elapsed().as_secs();
    if failures == 0 {
        println!("{count} scenarios passed, {seconds} s");
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{failures} of {count} scenarios failed, {seconds} s; output and console: {}",
        failed.display()
    );
    Ok(ExitCode::FAILURE)
}

/// Runs scenarios on one machine after the other until none waits. `number` tells machines that run side by side apart.
fn run_machines(bench: &Bench, number: u32, failed: &Path, tally: &Mutex<Tally>) -> Result<()> {
    let console = super::place().join(format!("console-{number}.log"));
    let most = if bench.options.machines > 1 { PORTION } else { usize::MAX };
    loop {
        let (boot, repeated): (Vec<&Scenario>, _) = {
            let mut tally = tally.lock().expect("no thread panicked");
            let portion = scenario::sharing(&tally.waiting).min(most);
            (tally.waiting.drain(..portion).collect(), tally.repeated.clone())
        };
        if boot.is_empty() {
            return Ok(());
        }
        let judged = one_boot(bench, &boot, (failed, &console), &repeated)?;
        let mut tally = tally.lock().expect("no thread panicked");
        tally.waiting.splice(..0, boot[judged.done..].iter().copied());
        tally.count += judged.done;
        tally.failures += judged.failures;
        if let Some(why) = judged.again {
            let name = &boot[judged.done].name;
            println!("{name} runs again: {why}");
            tally.repeated.push(name.clone());
        }
    }
}

/// Boots and runs as many of the scenarios as one machine can. `repeated`: those that do not run again.
fn one_boot(
    bench: &Bench,
    scenarios: &[&Scenario],
    (failed, console): (&Path, &Path),
    repeated: &[String],
) -> Result<Judged> {
    let names = scenarios.iter().flat_map(|scenario| &scenario.devices);
    let devices = bench.devices.named_all(names)?;
    let mut drives = Drives::new(bench.options.seed)?;
    let start = |drives: &Drives| {
        let order = Order {
            devices: &devices,
            drives,
            order: "mode=scenarios\n".into(),
            files: plan(scenarios)?,
            clock: scenarios[0].clock,
        };
        boot(|| {
            let mut machine = Machine::start(bench, &order, Some(console))?;
            let lines = lines(machine.port("results")?);
            Ok((machine, lines))
        })
    };
    let (mut machine, mut lines) = start(&drives)?;
    let mut judged = Judged::default();
    for scenario in scenarios {
        let mut output = String::new();
        let outcome = loop {
            match follow(&lines, scenario, drives.boot(), &mut output) {
                Outcome::PowerCut => {
                    drives.next_boot(machine.cut())?;
                    (machine, lines) = start(&drives)?;
                }
                outcome => break outcome,
            }
        };
        if matches!(outcome, Outcome::Failed(_)) && !repeated.contains(&scenario.name) {
            let panic = panic_of(console).map(|line| format!("its kernel panicked: {line}"));
            judged.again = panic.or_else(|| stopped_early(&outcome, &output));
            if judged.again.is_some() {
                break;
            }
        }
        judged.done += 1;
        match &outcome {
            Outcome::Failed(why) => {
                judged.failures += 1;
                let kept = keep(failed, scenario, &output, console)?;
                println!("FAILED  {:<24} {why}\n        kept in {}", scenario.name, kept.display());
                let output = output + &machine.errors();
                for line in output.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev() {
                    println!("        {line}");
                }
                if machine_is_spoilt(why) {
                    break;
                }
            }
            Outcome::Passed(seconds) => println!("passed  {:<24} {seconds:>5} s", scenario.name),
            Outcome::PowerCut => {}
        }
    }
    machine.kill();
    Ok(judged)
}

/// Starts a machine until one begins with its first scenario, which is its first line. The last one is returned in any case.
fn boot(
    start: impl Fn() -> Result<(Machine, Receiver<String>)>,
) -> Result<(Machine, Receiver<String>)> {
    for _ in 1..BOOTS {
        let (mut machine, lines) = start()?;
        if lines.recv_timeout(BOOT).is_ok() {
            return Ok((machine, lines));
        }
        machine.kill();
        println!("the machine did not boot: it is started again");
    }
    start()
}

/// The first line about the cause if the kernel panicked.
fn panic_of(console: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(console).ok()?).into_owned();
    let panic = text.find("Kernel panic - ")?;
    let cause = text.find("BUG: ").filter(|cause| *cause < panic).unwrap_or(panic);
    text[cause..].lines().next().map(|line| line.trim_end().to_owned())
}

/// Why a scenario runs again that has printed nothing: its machine stopped first. On a busy host, the emulated timers of a
/// kernel can stop.
fn stopped_early(outcome: &Outcome, output: &str) -> Option<String> {
    match outcome {
        Outcome::Failed(why) if why == SILENT && output.is_empty() => Some(why.clone()),
        _ => None,
    }
}

/// Whether the machine cannot run another scenario.
fn machine_is_spoilt(why: &str) -> bool {
    why.starts_with("the machine") || why.contains("device")
}

/// Writes `/vm/plan`, which has a line per scenario (name, limit in seconds, devices), and the scripts.
fn plan(scenarios: &[&Scenario]) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut plan = String::new();
    for scenario in scenarios {
        let limit = scenario.limit.as_secs();
        plan.push_str(&format!("{} {limit} {}\n", scenario.name, scenario.devices.join(" ")));
        let script = fs::read(&scenario.script).context("a scenario cannot be read")?;
        files.push((format!("/vm/scenarios/{}.sh", scenario.name), script));
    }
    files.push(("/vm/plan".into(), plan.into_bytes()));
    Ok(files)
}

/// The lines of a port. A separate thread reads them, so that waiting for a line can have a limit.
fn lines(port: UnixStream) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(port).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Reads the output of one scenario until it ends, asks for a power cut, or its time is over.
fn follow(
    lines: &Receiver<String>,
    scenario: &Scenario,
    boot: u32,
    output: &mut String,
) -> Outcome {
    let deadline = Instant::now() + scenario.limit + AROUND;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = match lines.recv_timeout(left) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                return Outcome::Failed(SILENT.into());
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Outcome::Failed("the machine has ended".into());
            }
        };
        if let Some(text) = line.strip_prefix("| ") {
            output.push_str(text);
            output.push('\n');
        } else if let Some(end) = line.strip_prefix("end ") {
            let words: Vec<&str> = end.split(' ').collect();
            return match judge(&words, scenario) {
                Outcome::Passed(_) if boot < scenario.boots => {
                    let of = scenario.boots;
                    Outcome::Failed(format!("the machine kept its power in boot {boot} of {of}"))
                }
                outcome => outcome,
            };
        } else if let Some(after) = line.strip_prefix("cut ") {
            let Ok(after) = after.parse() else {
                return Outcome::Failed(format!("the machine asked to cut the power in '{after}'"));
            };
            if boot == scenario.boots {
                return Outcome::Failed("the machine cut the power in its last boot".into());
            }
            // The output up to now arrives before; what is printed until the cut is lost with the machine.
            std::thread::sleep(Duration::from_millis(after));
            return Outcome::PowerCut;
        }
    }
}

/// Parses the words after `end`: name, seconds, exit status, and `dirty` if a device did not stop.
fn judge(words: &[&str], scenario: &Scenario) -> Outcome {
    let &[name, seconds, status, ref rest @ ..] = words else {
        return Outcome::Failed(format!("the machine said '{}'", words.join(" ")));
    };
    if name != scenario.name {
        return Outcome::Failed(format!("the machine ran {name} instead"));
    }
    let limit = scenario.limit.as_secs();
    let why = match (status, rest) {
        (_, [_, ..]) => "a device could not be stopped".into(),
        ("0", _) => return Outcome::Passed(seconds.to_owned()),
        ("137" | "143", _) => format!("took longer than its limit of {limit} s"),
        ("125", _) => "a device did not start".into(),
        (status, _) => format!("ended with {status} after {seconds} s"),
    };
    Outcome::Failed(why)
}

fn keep(failed: &Path, scenario: &Scenario, output: &str, console: &Path) -> Result<PathBuf> {
    let folder = failed.join(&scenario.name);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("output"), output).with_context(|| folder.display().to_string())?;
    let _ = fs::copy(console, folder.join("console"));
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_kernel_is_found_in_its_console() {
        let folder = super::super::scratch::Scratch::new().unwrap();
        let console = folder.join("console");
        fs::write(&console, "[ 1.0] Run /init\n[ 2.0] rdma0 speed is unknown\n").unwrap();
        assert_eq!(panic_of(&console), None);
        let text = "[ 1.0] BUG: kernel NULL pointer dereference, address: 18\r\n[ 1.1] Call Trace:\r\n\
                    [ 1.2] Kernel panic - not syncing: Fatal exception\r\n";
        fs::write(&console, text).unwrap();
        let panic = panic_of(&console);
        assert_eq!(panic.as_deref(), Some("BUG: kernel NULL pointer dereference, address: 18"));
        fs::write(&console, "[ 1.2] Kernel panic - not syncing: no init").unwrap();
        assert_eq!(panic_of(&console).as_deref(), Some("Kernel panic - not syncing: no init"));
    }
}
