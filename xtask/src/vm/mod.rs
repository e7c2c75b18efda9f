//! Scenarios on real devices: a Debian kernel in QEMU, with NVMe, zoned and SCSI devices, and fiord inside.
//!
//! `tests/vm/*.sh` are the scenarios and `tests/vm/devices/*.sh` the devices, both shell scripts with a
//! header of `# key: value` lines. `docs/vm.md` says how to write them.
//!
//! | question | module |
//! |---|---|
//! | what was asked for | `options.rs` |
//! | which programs of the host are needed, how they get here | `host.rs` |
//! | where the kernel and its modules come from | `kernel.rs` |
//! | how fiord is built for the machine, which programs go in | `program.rs` |
//! | which libraries a program needs | `elf.rs` |
//! | what lies in the first file system, and its format | `initramfs.rs`, `cpio.rs` |
//! | which scripts there are, what a header says | `header.rs` |
//! | which devices there are | `devices.rs` |
//! | which scenarios there are, and which share a boot | `scenario.rs` |
//! | how the machine is started and listened to | `qemu.rs` |
//! | how scenarios are run, judged and kept on failure | `suite.rs` |
//! | one command, or a prompt | `command.rs` |
//! | what runs inside | `guest/*.sh` |

mod command;
mod cpio;
mod devices;
mod elf;
mod header;
mod host;
mod initramfs;
mod kernel;
mod options;
mod program;
mod qemu;
mod scenario;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use devices::Devices;
use kernel::Kernel;
use options::{Options, What};
use program::Program;

use crate::place::root;

/// What every boot is made of.
struct Bench {
    kernel: Kernel,
    devices: Devices,
    programs: Vec<Program>,
    options: Options,
}

/// `cargo xtask vm`.
pub(crate) fn main(args: &[String]) -> Result<ExitCode> {
    let options = match options::parse(args)? {
        Some(options) => options,
        None => {
            print!("{}", options::HELP);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let devices = Devices::read(&root().join("tests/vm/devices"))?;
    let scenarios = scenario::read(&root().join("tests/vm"), &devices)?;
    if options.what == What::List {
        print!("{}", scenario::list(&scenarios, &devices));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = scenario::choose(scenarios, &options.only)?;
    host::prepare()?;
    let place = place();
    // Consoles are kept there, wherever the kernel comes from.
    std::fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let kernel = Kernel::prepare(&options)?;
    if options.what == What::Prepare {
        println!("kernel {}", kernel.release);
        return Ok(ExitCode::SUCCESS);
    }
    let programs = program::all(&options)?;
    let bench = Bench { kernel, devices, programs, options };
    match &bench.options.what {
        What::Run(line) => command::run(&bench, line),
        What::Shell => command::shell(&bench),
        _ => suite::run(&bench, &chosen),
    }
}

/// Where everything made here lies: `target/vm`.
fn place() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => PathBuf::from(target).join("vm"),
        None => root().join("target/vm"),
    }
}
