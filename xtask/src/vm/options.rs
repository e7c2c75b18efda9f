//! The command line of `cargo xtask vm`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::scenario::Clock;
use crate::args::Args;

/// The text of `--help`.
pub(super) const HELP: &str = "\
cargo xtask vm [OPTION…]

Without --run, --shell, --list or --prepare, runs the scenarios of tests/vm.

  --only NAME       run only this scenario; may be given more than once
  --list            list the scenarios and the devices
  --run 'COMMAND'   run one shell command on the devices, with its output and exit status
  --shell           start a shell prompt with the devices
  --devices A,B     the devices that --run and --shell start (all that can run together)
  --limit SECONDS   time limit of --run (300)
  --with PATH       copy a program and its libraries into the machine; may be given more than once
  --out DIR         copy the files that the command leaves in /out to DIR
  --steady          advance the clock with executed instructions, for steadier results of --run and --shell
  --fiord PATH      a fiord to use instead of the one that the tests build
  --seed N          decides which blocks a drive with a write cache loses when the power fails (1)
  --machines N      machines that run scenarios side by side (1)
  --memory MIB      memory of the machine (2048)
  --cpus N          CPUs of the machine (2)
  --kernel FILE     a kernel to use instead of Debian's, together with --modules
  --modules DIR     the modules of this kernel (/lib/modules/RELEASE)
  --prepare         install, unpack and build everything that a boot needs, then exit
";

/// What the command does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Runs scenarios.
    Scenarios,
    /// Lists scenarios and devices.
    List,
    /// Runs one command.
    Run(String),
    /// Starts a shell prompt.
    Shell,
    /// Only checks and prepares what a boot needs.
    Prepare,
}

/// The parsed command line.
#[derive(Debug)]
pub(super) struct Options {
    /// What the command does.
    pub what: What,
    /// Names of scenarios; empty means all.
    pub only: Vec<String>,
    /// Names of devices for a command or a prompt; empty means all that can run at the same time.
    pub devices: Vec<String>,
    /// The clock of the machine for a command or a prompt.
    pub clock: Clock,
    /// Time limit of a command.
    pub limit: Duration,
    /// Programs to copy into the machine.
    pub with: Vec<PathBuf>,
    /// Directory for files from the machine.
    pub out: Option<PathBuf>,
    /// A fiord to use instead of the one that the tests build.
    pub fiord: Option<PathBuf>,
    /// Decides what drives lose when the power fails.
    pub seed: u64,
    /// Machines that run scenarios side by side.
    pub machines: u32,
    /// Memory in MiB.
    pub memory: u32,
    pub cpus: u32,
    /// A kernel and its modules that are already unpacked.
    pub kernel: Option<(PathBuf, PathBuf)>,
}

/// Parses the command line; `None` if it asks for help.
pub(super) fn parse(args: &[String]) -> Result<Option<Options>> {
    let mut options = Options {
        what: What::Scenarios,
        only: Vec::new(),
        devices: Vec::new(),
        clock: Clock::Host,
        limit: Duration::from_secs(300),
        with: Vec::new(),
        out: None,
        fiord: None,
        seed: 1,
        machines: 1,
        memory: 2048,
        cpus: 2,
        kernel: None,
    };
    let (mut image, mut modules) = (None, None);
    let mut args = Args::new(args);
    while let Some(option) = args.option() {
        match option {
            "--help" | "-h" => return Ok(None),
            "--only" => options.only.push(args.value()?),
            "--list" => options.what = What::List,
            "--run" => options.what = What::Run(args.value()?),
            "--shell" => options.what = What::Shell,
            "--prepare" => options.what = What::Prepare,
            "--devices" => {
                options.devices.extend(args.value::<String>()?.split(',').map(str::to_owned))
            }
            "--limit" => options.limit = args.seconds()?,
            "--with" => options.with.push(args.value()?),
            "--out" => options.out = Some(args.value()?),
            "--steady" => options.clock = Clock::Instructions,
            "--fiord" => options.fiord = Some(args.value()?),
            "--seed" => options.seed = args.value()?,
            "--machines" => {
                options.machines = args.value()?;
                ensure!(options.machines > 0, "--machines needs at least one");
            }
            "--memory" => options.memory = args.value()?,
            "--cpus" => options.cpus = args.value()?,
            "--kernel" => image = Some(args.value()?),
            "--modules" => modules = Some(args.value()?),
            _ => return Err(args.unknown(HELP)),
        }
    }
    options.kernel = match (image, modules) {
        (Some(image), Some(modules)) => Some((image, modules)),
        (None, None) => None,
        _ => bail!("--kernel and --modules go together"),
    };
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> Result<Option<Options>> {
        parse(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_with_devices() {
        let options = of(&["--run", "ls /dev", "--devices", "zns,brd"]).unwrap().unwrap();
        assert_eq!(options.what, What::Run("ls /dev".into()));
        assert_eq!(options.devices, ["zns", "brd"]);
    }

    #[test]
    fn mistakes_are_reported() {
        assert!(of(&["--run"]).is_err());
        assert!(of(&["--fast"]).is_err());
        assert!(of(&["--machines", "0"]).is_err());
        assert!(of(&["--kernel", "/boot/vmlinuz"]).is_err());
        assert!(of(&["--help"]).unwrap().is_none());
    }
}
