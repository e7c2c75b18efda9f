//! The targets of the benchmark: a directory, a file in the page cache, a loop device.

use std::fmt::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::row::FILE_BYTES;
use super::servers::{self, Servers};

/// The directory and its files; removed on drop.
pub(super) struct Place {
    pub dir: PathBuf,
    made: bool,
    device: Option<PathBuf>,
    /// The servers of rows whose engines connect to one.
    pub servers: Servers,
}

impl Place {
    /// Creates the directory and the file, which is flushed and stays in the page cache.
    pub(super) fn prepare(dir: Option<PathBuf>) -> Result<Self> {
        let made = dir.is_none();
        let dir = dir.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("fiord-bench-{}", std::process::id()))
        });
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let place = Place { dir, made, device: None, servers: Servers::default() };
        write_file(&place.file())?;
        Ok(place)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.dir.join("bench.dat")
    }

    /// The file that rows read after they have written it themselves.
    pub(super) fn sealed(&self) -> PathBuf {
        self.dir.join("sealed.dat")
    }

    /// The path that rows lay out.
    pub(super) fn layout(&self) -> PathBuf {
        self.dir.join("layout.dat")
    }

    /// The directory with very many files.
    pub(super) fn many_files(&self) -> PathBuf {
        self.dir.join("many")
    }

    /// The directory for rows about names. In memory unless the user named a directory: a disk would hide the cost of
    /// the calls.
    pub(super) fn names(&self) -> PathBuf {
        let memory = Path::new("/dev/shm");
        match self.made && memory.is_dir() {
            true => memory.join(format!("fiord-bench-{}", std::process::id())),
            false => self.dir.join("names"),
        }
    }

    /// The trace of rows that replay one: reads and writes at random offsets of a file. A run of a second has a
    /// million I/Os; a shorter one has fewer.
    pub(super) fn trace(&self, seconds: f64) -> Result<PathBuf> {
        let path = self.dir.join("trace.log");
        let ios = (seconds * 1e6).clamp(20_000.0, 1e6) as u64;
        let mut text = String::from("fio version 3 iolog\n0 replayed add\n0 replayed open\n");
        for io in 0..ios {
            let block = io.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46;
            let action = if block & 1 == 0 { "read" } else { "write" };
            writeln!(text, "{io} replayed {action} {} 4096", block * 4096)?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// The journal of rows with `--verify_journal=journal.dat`.
    fn journal(&self) -> PathBuf {
        self.dir.join("journal.dat")
    }

    fn backing(&self) -> PathBuf {
        self.dir.join("loop.dat")
    }

    /// Returns a loop device over a separate file; the first call creates it. Fails without root.
    pub(super) fn loop_device(&mut self) -> Result<PathBuf> {
        if let Some(device) = &self.device {
            return Ok(device.clone());
        }
        write_file(&self.backing())?;
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(self.backing())
            .output()
            .context("losetup cannot be run")?;
        ensure!(
            output.status.success(),
            "no loop device: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let device = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        self.device = Some(device.clone());
        Ok(device)
    }
}

/// Writes a file of [`FILE_BYTES`] that stays in the page cache.
fn write_file(path: &Path) -> Result<()> {
    let file = std::fs::File::create(path).with_context(|| path.display().to_string())?;
    // Not zeros, because file systems and devices treat them specially.
    let block: Vec<u8> =
        (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for n in 0..FILE_BYTES >> 20 {
        file.write_all_at(&block, n << 20)?;
    }
    file.sync_all()?;
    Ok(())
}

impl Drop for Place {
    fn drop(&mut self) {
        // They use files of the directory.
        self.servers = Servers::default();
        servers::remove_files(&self.dir);
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
        for file in [
            self.file(),
            self.sealed(),
            self.layout(),
            self.journal(),
            self.backing(),
            self.dir.join("trace.log"),
        ] {
            let _ = std::fs::remove_file(file);
        }
        if self.made {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
