//! The directory and the loop device of one worker.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::random::Random;

/// Size of the loop device in bytes.
pub(super) const DISK: usize = 8 << 20;

/// Size of the file that exists before the run, in bytes.
const BIG: usize = 2 << 20;

/// A directory in the sandbox. A loop device, if this machine permits one, is `disk` in it.
#[derive(Debug)]
pub(super) struct Desk {
    /// The directory in which programs run.
    pub directory: PathBuf,
    /// The loop device, outside the sandbox. The kernel detaches it when nothing has it open.
    device: Option<File>,
}

impl Desk {
    /// Makes the directory, and tries to make the device.
    pub(super) fn new(place: &Path, number: usize) -> Result<Self> {
        let directory = place.join(number.to_string());
        fs::create_dir(&directory)?;
        let image = memory(place).join(format!("fiord-pairs-{}-{number}", std::process::id()));
        fs::write(&image, vec![0; DISK])?;
        let device = attach(&image).ok();
        // The device keeps the file until it is detached.
        fs::remove_file(&image)?;
        let desk = Desk { directory, device };
        if let Some(device) = &desk.device {
            let number = device.metadata()?.rdev();
            let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
            let made = Command::new("mknod")
                .arg(desk.disk())
                .args(["b", &major.to_string(), &minor.to_string()])
                .status()?;
            ensure!(made.success(), "mknod failed");
        }
        Ok(desk)
    }

    /// Whether cases on a device can run.
    pub(super) fn has_device(&self) -> bool {
        self.device.is_some()
    }

    /// The node of the device.
    fn disk(&self) -> PathBuf {
        self.directory.join("disk")
    }

    /// Removes what the case before left, and fills what this case needs.
    pub(super) fn prepare(&mut self, args: &[String]) -> Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path != self.disk() {
                if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
            }
        }
        let needs = |file: &str| args.iter().any(|arg| arg == &format!("--filename={file}"));
        if needs("big") {
            fs::write(self.directory.join("big"), noise(BIG))?;
        }
        if needs("disk")
            && let Some(device) = &mut self.device
        {
            device.rewind()?;
            device.write_all(&noise(DISK))?;
            device.sync_all()?;
        }
        Ok(())
    }
}

/// A directory in memory, where trims take the same short time in each run; otherwise `place`.
fn memory(place: &Path) -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.into() } else { place.into() }
}

fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Random::new(1).fill(&mut bytes);
    bytes
}

/// Attaches a loop device, which the kernel detaches when the file is closed.
fn attach(image: &Path) -> Result<File> {
    let losetup = |args: &[&str], path: &Path| -> Result<String> {
        let output = Command::new("losetup")
            .args(args)
            .arg(path)
            .output()
            .context("losetup(8) cannot be run")?;
        let why = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "losetup: {}", why.trim());
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let path = PathBuf::from(losetup(&["--find", "--show"], image)?);
    let device = File::options().write(true).open(&path);
    losetup(&["--detach"], &path)?;
    Ok(device?)
}
