//! One run of one contender.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::rows::Row;

/// A program that understands fio's command line.
pub struct Contender {
    /// What it is called in messages.
    pub name: &'static str,
    /// The program.
    program: PathBuf,
    /// What it says of itself.
    pub version: String,
}

impl Contender {
    /// Asks the program for its version.
    pub fn new(name: &'static str, program: PathBuf) -> Result<Self> {
        // Runs happen elsewhere: a relative path is made absolute, a bare name is left to PATH.
        let program = match program.components().count() {
            1 => program,
            _ => program.canonicalize().with_context(|| program.display().to_string())?,
        };
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .with_context(|| format!("{} cannot be run", program.display()))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        ensure!(output.status.success(), "{} --version failed", program.display());
        Ok(Contender { name, program, version })
    }
}

/// Builds fiord as users do and gives its path.
pub fn build_fiord() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--package", "fiord", "--message-format=json"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "fiord does not build");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "fiord")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo names no executable")
}

/// Bytes of the file that the rows read and write.
const FILE_BYTES: u64 = 256 << 20;

/// What the contenders work on, and for how long.
pub struct Work {
    dir: PathBuf,
    made: bool,
    cpu: u32,
    seconds: f64,
}

impl Work {
    /// Makes the directory and the file, written through and in the page cache.
    pub fn prepare(dir: Option<PathBuf>, cpu: u32, seconds: f64) -> Result<Self> {
        let made = dir.is_none();
        let dir = dir.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("fiord-bench-{}", std::process::id()))
        });
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let work = Work { dir, made, cpu, seconds };
        let file = std::fs::File::create(work.file())?;
        // Not zeros: file systems and devices treat those specially.
        let block: Vec<u8> =
            (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for n in 0..FILE_BYTES >> 20 {
            std::os::unix::fs::FileExt::write_all_at(&file, &block, n << 20)?;
        }
        file.sync_all()?;
        Ok(work)
    }

    fn file(&self) -> PathBuf {
        self.dir.join("bench.dat")
    }

    /// Runs one contender on one row and gives its I/Os a second.
    pub fn run(&self, contender: &Contender, row: &Row) -> Result<f64> {
        let mut command = Command::new(&contender.program);
        command.current_dir(&self.dir).args(["--name=bench", "--output-format=json"]);
        command.args(["--time_based", &format!("--runtime={}ms", (self.seconds * 1000.0) as u64)]);
        command.args([
            "--invalidate=0".to_string(),
            "--thread".to_string(),
            format!("--cpus_allowed={}", self.cpu),
            format!("--size={FILE_BYTES}"),
        ]);
        command.args(row.job.iter().map(|option| match *option {
            "FILE" => format!("--filename={}", self.file().display()),
            other => other.to_string(),
        }));
        let output = command.output().with_context(|| contender.program.display().to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("{} failed:\n{}{text}", contender.name, String::from_utf8_lossy(&output.stderr));
        }
        iops(&text).with_context(|| format!("{} printed:\n{text}", contender.name))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.file());
        if self.made {
            remove(&self.dir);
        }
    }
}

fn remove(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
}

/// The sum over the directions of the first job in fio's JSON.
fn iops(text: &str) -> Result<f64> {
    let document: Value = serde_json::from_str(text)?;
    let job = &document["jobs"][0];
    let sum: f64 = ["read", "write", "trim"].iter().filter_map(|d| job[d]["iops"].as_f64()).sum();
    ensure!(sum > 0.0, "no I/O was done");
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iops_are_summed_over_directions() {
        let text = r#"{"jobs":[{"read":{"iops":70.5},"write":{"iops":30},"trim":{"iops":0.0}}]}"#;
        assert_eq!(iops(text).expect("they are there"), 100.5);
        assert!(iops(r#"{"jobs":[]}"#).is_err());
        assert!(iops("fio: failed").is_err());
    }
}
