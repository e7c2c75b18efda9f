//! The contents of the machine's first and only file system.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::Bench;
use super::cpio::Archive;
use super::devices::Device;
use super::drives::Drives;
use super::host;
use super::kernel::Module;
use super::program::{self, Program};
use super::scenario::Clock;

/// The instructions for the machine, in `/vm/order` and the files beside it.
pub(super) struct Order<'a> {
    /// Devices of this boot.
    pub devices: &'a [&'a Device],
    /// The drives of the devices.
    pub drives: &'a Drives,
    /// The clock of the machine.
    pub clock: Clock,
    /// Shell assignments.
    pub order: String,
    /// Additional files: path in the machine and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Writes the file system of one boot.
pub(super) fn write(path: &Path, bench: &Bench, order: &Order) -> Result<()> {
    let mut archive = Archive::default();
    archive.file("/init", 0o755, include_bytes!("guest/init.sh"));
    archive.file("/vm/devices.sh", 0o644, include_bytes!("guest/devices.sh"));
    archive.file("/vm/checks.sh", 0o644, include_bytes!("guest/checks.sh"));
    let text = order.drives.order() + &order.order;
    archive.file("/vm/order", 0o644, text.as_bytes());
    for (name, contents) in &order.files {
        archive.file(name, 0o644, contents);
    }
    for device in order.devices {
        archive.file(&format!("/vm/devices/{}.sh", device.name), 0o644, &read(&device.script)?);
    }
    let busybox = host::find("busybox").context("busybox is gone")?;
    archive.file("/bin/busybox", 0o755, &read(&busybox)?);
    archive.link("/sbin/modprobe", "/bin/busybox");
    let needed = program::of_devices(order.devices)?;
    programs(&mut archive, bench.programs.iter().chain(&needed))?;
    modules(&mut archive, bench, order.devices)?;
    fs::write(path, archive.finish()).with_context(|| format!("cannot write {}", path.display()))
}

fn programs<'a>(archive: &mut Archive, programs: impl Iterator<Item = &'a Program>) -> Result<()> {
    let mut libraries = Vec::new();
    for program in programs {
        let mode = fs::metadata(&program.path)?.permissions().mode() & 0o777;
        archive.file(&program.inside, mode, &read(&program.path)?);
        libraries.extend(&program.libraries);
    }
    libraries.sort();
    libraries.dedup();
    for library in libraries {
        archive.file(&library.to_string_lossy(), 0o755, &read(library)?);
    }
    Ok(())
}

/// Writes the modules and `modules.dep` for modprobe: a module and, after a colon, its dependencies.
fn modules(archive: &mut Archive, bench: &Bench, devices: &[&Device]) -> Result<()> {
    let wanted: Vec<String> = devices.iter().flat_map(|device| device.modules.clone()).collect();
    let chosen = bench.kernel.closure(&wanted)?;
    let folder = format!("/lib/modules/{}", bench.kernel.release);
    let mut dependencies = String::new();
    for module in &chosen {
        let mut needs = Vec::new();
        all_needs(module, &chosen, &mut needs);
        let needs: String = needs.iter().map(|name| format!(" {name}.ko")).collect();
        let _ = writeln!(dependencies, "{}.ko:{needs}", module.name);
        archive.file(&format!("{folder}/{}.ko", module.name), 0o644, &module.bytes);
    }
    archive.file(&format!("{folder}/modules.dep"), 0o644, dependencies.as_bytes());
    Ok(())
}

/// Returns the dependencies of a module, direct ones first, as modprobe expects.
fn all_needs<'a>(module: &'a Module, all: &'a [Module], needs: &mut Vec<&'a str>) {
    for name in &module.needs {
        if let Some(other) = all.iter().find(|other| &other.name == name) {
            needs.retain(|seen| seen != name);
            needs.push(name);
            all_needs(other, all, needs);
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
