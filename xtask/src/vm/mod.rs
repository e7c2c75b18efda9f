//! Scenarios on real devices: a Debian kernel in QEMU, with NVMe, zoned and SCSI devices, and fiord inside.
//!
//! `tests/vm/*.sh` are the scenarios and `tests/vm/devices/*.sh` the devices, both shell scripts with a
//! header of `# key: value` lines. `docs/dev/scenario.md` says how to write them.
//!
//! | question | module |
//! |---|---|
//! | how is the command line parsed | `options.rs` |
//! | which programs does the host need, and how are they installed | `host.rs` |
//! | where do the kernel and its modules come from | `kernel.rs` |
//! | which programs are copied into the machine | `program.rs` |
//! | which libraries does a program need | `elf.rs` |
//! | what is in the first file system, and what is its format | `initramfs.rs`, `cpio.rs` |
//! | which scripts exist, and what does a header say | `header.rs` |
//! | which devices exist | `devices.rs` |
//! | where are the drives of devices, and what survives a boot | `drives.rs` |
//! | what does a drive lose when the power fails | `cache.rs` |
//! | how does QEMU reach such a drive | `nbd.rs` |
//! | where are temporary files | `scratch.rs` |
//! | which scenarios exist, and which share a boot | `scenario.rs` |
//! | how is the machine started, and how is its output read | `qemu.rs` |
//! | how do scenarios run, and what remains of a failure | `suite.rs` |
//! | how does one command or a prompt run | `command.rs` |
//! | what runs inside the machine | `guest/*.sh` |

mod cache;
mod command;
mod cpio;
mod devices;
mod drives;
mod elf;
mod header;
mod host;
mod initramfs;
mod kernel;
mod nbd;
mod options;
mod program;
mod qemu;
mod scenario;
mod scratch;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use devices::{Device, Devices};
use kernel::Kernel;
use options::{Options, What};
use program::Program;
use scenario::Scenario;

use crate::place::root;

/// The parts of every boot.
struct Bench {
    kernel: Kernel,
    devices: Devices,
    programs: Vec<Program>,
    options: Options,
}

/// Runs `cargo xtask vm`.
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
    let used = used(&devices, &chosen, &options)?;
    host::prepare_devices(&used)?;
    let place = place();
    // The consoles are here, wherever the kernel comes from.
    std::fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let kernel = Kernel::prepare(&options)?;
    let programs = program::all(&options)?;
    if options.what == What::Prepare {
        println!("kernel {}", kernel.release);
        return Ok(ExitCode::SUCCESS);
    }
    let bench = Bench { kernel, devices, programs, options };
    match &bench.options.what {
        What::Run(line) => command::run(&bench, line),
        What::Shell => command::shell(&bench),
        _ => suite::run(&bench, &chosen),
    }
}

/// Returns the devices that the command may start.
fn used<'a>(
    devices: &'a Devices,
    chosen: &[Scenario],
    options: &Options,
) -> Result<Vec<&'a Device>> {
    match options.what {
        What::Run(_) | What::Shell if options.devices.is_empty() => Ok(devices.together()),
        What::Run(_) | What::Shell => devices.named_all(&options.devices),
        _ => devices.named_all(chosen.iter().flat_map(|scenario| &scenario.devices)),
    }
}

/// The directory of all generated files: `target/vm`.
fn place() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(target) => PathBuf::from(target).join("vm"),
        None => root().join("target/vm"),
    }
}
