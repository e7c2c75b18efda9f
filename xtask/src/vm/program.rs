//! Programs in the machine, with their shared libraries. fiord is the build of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::devices::Device;
use super::elf::{interpreter, is_shared, libraries};
use super::host;
use super::options::Options;

/// A program and the files that it needs.
#[derive(Debug)]
pub(super) struct Program {
    /// Path on the host.
    pub path: PathBuf,
    /// Path in the machine.
    pub inside: String,
    /// Shared libraries and their loader; their paths on the host and in the machine are equal.
    pub libraries: Vec<PathBuf>,
}

impl Program {
    fn new(path: &Path, inside: String) -> Result<Self> {
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        let libraries = match interpreter(&path)?.is_some() || is_shared(&path)? {
            true => libraries(&path)?,
            false => Vec::new(),
        };
        Ok(Program { path, inside, libraries })
    }
}

/// Returns all programs: fiord, the tools of the scenarios, and those named on the command line.
pub(super) fn all(options: &Options) -> Result<Vec<Program>> {
    let built = crate::build::as_tests_do()?;
    let fiord = options.fiord.clone().unwrap_or(built.fiord);
    let mut programs = vec![Program::new(&small(&fiord, "fiord")?, "/with/fiord".into())?];
    // What scenarios compare rates with.
    let bare = small(&built.bare_loop, "bare_loop")?;
    programs.push(Program::new(&bare, "/with/bare_loop".into())?);
    for tool in host::TOOLS.iter().filter(|tool| tool.inside) {
        let path = host::find(tool.program).with_context(|| format!("{} is gone", tool.program))?;
        programs.push(Program::new(&path, format!("/with/{}", tool.program))?);
    }
    for path in &options.with {
        let name = path.file_name().with_context(|| path.display().to_string())?;
        programs.push(Program::new(path, format!("/with/{}", name.to_string_lossy()))?);
    }
    Ok(programs)
}

/// Returns the files that devices need in the machine.
pub(super) fn of_devices(devices: &[&Device]) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for pattern in devices.iter().flat_map(|device| &device.files) {
        for path in host::files(pattern) {
            let inside = path.to_string_lossy().into_owned();
            programs.push(Program::new(&path, inside)?);
        }
    }
    Ok(programs)
}

/// Returns a copy of a program without symbols and debug information, which would only fill the memory of the machine. Without
/// strip(1), the program itself.
fn small(program: &Path, name: &str) -> Result<PathBuf> {
    let place = super::place();
    std::fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let small = place.join(name);
    let mut strip = Command::new("strip");
    strip.arg("--strip-all").arg("-o").arg(&small).arg(program);
    Ok(if strip.status().is_ok_and(|status| status.success()) { small } else { program.into() })
}
