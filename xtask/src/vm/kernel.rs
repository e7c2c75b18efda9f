//! The kernel of the machine: Debian's, unpacked from its package, or one named on the command line.
//!
//! The unpacked files stay in `target/vm/kernel`: the image, and every module by its name, without compression.
//! The section `.modinfo` of a module names the modules that it depends on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::host::Debian;
use super::options::Options;

/// The kernel series for which the scenarios are written.
const MIN_SERIES: (u32, u32) = (6, 12);

/// A kernel with its modules.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The release, as in `uname -r`.
    pub release: String,
    /// The image to boot.
    pub image: PathBuf,
    /// Path of each module, by its name with `_`.
    modules: BTreeMap<String, PathBuf>,
}

/// A module to copy into the machine.
pub(super) struct Module {
    pub name: String,
    /// Uncompressed contents.
    pub bytes: Vec<u8>,
    /// Required modules.
    pub needs: Vec<String>,
}

impl Kernel {
    /// Returns the kernel named on the command line, otherwise the unpacked one, otherwise fetches Debian's.
    pub(super) fn prepare(options: &Options) -> Result<Self> {
        if let Some((image, modules)) = &options.kernel {
            return Self::of(image.clone(), modules);
        }
        let folder = super::place().join("kernel");
        if !folder.join("complete").exists() {
            fetch(&folder)?;
        }
        let modules = only_entry(&folder.join("root/lib/modules"))
            .or_else(|_| only_entry(&folder.join("root/usr/lib/modules")))?;
        let release = modules.file_name().context("a release")?.to_string_lossy().into_owned();
        Self::of(folder.join("root/boot").join(format!("vmlinuz-{release}")), &modules)
    }

    fn of(image: PathBuf, folder: &Path) -> Result<Self> {
        ensure!(image.is_file(), "{} is not a kernel", image.display());
        let release = folder.file_name().context("--modules ends with the release")?;
        let mut modules = BTreeMap::new();
        collect(&folder.join("kernel"), &mut modules)?;
        ensure!(!modules.is_empty(), "{} holds no modules", folder.display());
        Ok(Kernel { release: release.to_string_lossy().into_owned(), image, modules })
    }

    /// Returns modules with their dependencies, dependencies first. Modules built into the kernel have no file.
    pub(super) fn closure(&self, names: &[String]) -> Result<Vec<Module>> {
        let mut chosen: Vec<Module> = Vec::new();
        for name in names {
            self.add(name, &mut chosen)?;
        }
        Ok(chosen)
    }

    fn add(&self, name: &str, chosen: &mut Vec<Module>) -> Result<()> {
        let name = name.replace('-', "_");
        if chosen.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let Some(path) = self.modules.get(&name) else {
            return Ok(());
        };
        let bytes = plain(path)?;
        let needs = depends(&bytes);
        for other in &needs {
            self.add(other, chosen)?;
        }
        chosen.push(Module { name, bytes, needs });
        Ok(())
    }
}

/// Fetches Debian's kernel package and unpacks it.
fn fetch(folder: &Path) -> Result<()> {
    if !Debian::here() {
        bail!(
            "there is no kernel for the machine yet. As root on Debian it is fetched here; elsewhere name one of \
             Linux {}.{} or later: --kernel /boot/vmlinuz-RELEASE --modules /lib/modules/RELEASE",
            MIN_SERIES.0,
            MIN_SERIES.1
        );
    }
    Debian::prepare()?;
    let package = package()?;
    eprintln!("fetching {package}");
    let download = folder.join("download");
    fs::create_dir_all(&download).with_context(|| download.display().to_string())?;
    run(Command::new("apt-get").args(["download", "-qq", &package]).current_dir(&download))?;
    let archive = only_entry(&download)?;
    run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(folder.join("root")))?;
    fs::remove_dir_all(&download).with_context(|| download.display().to_string())?;
    fs::write(folder.join("complete"), package).context("target/vm/kernel")
}

/// Returns the package with the newest kernel: `linux-image-amd64` depends on it.
fn package() -> Result<String> {
    let output = Command::new("apt-cache").args(["show", "linux-image-amd64"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    newest(&text).context(
        "no source of packages has Linux 6.12 or later: add the backports suite of this Debian release",
    )
}

/// Finds the package of the newest release in the output of `apt-cache show linux-image-amd64`.
fn newest(text: &str) -> Option<String> {
    let names =
        text.lines().filter_map(|line| line.strip_prefix("Depends: ")?.split_whitespace().next());
    let version = |name: &str| -> Option<(u32, u32, u32)> {
        let mut numbers = name.strip_prefix("linux-image-")?.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next()?.parse().ok();
        Some((next()?, next()?, next()?))
    };
    let found = names.filter_map(|name| Some((version(name)?, name)));
    let (_, name) = found.filter(|(v, _)| (v.0, v.1) >= MIN_SERIES).max()?;
    Some(name.to_owned())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}:\n{errors}", output.status);
    Ok(())
}

fn only_entry(folder: &Path) -> Result<PathBuf> {
    let mut entries =
        folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    let first = entries.next().with_context(|| format!("nothing is in {}", folder.display()))??;
    Ok(first.path())
}

/// Returns all modules below a directory, by name.
fn collect(folder: &Path, modules: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, modules)?;
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && let Some((stem, "ko" | "ko.xz" | "ko.zst" | "ko.gz")) = name.split_once('.')
        {
            modules.insert(stem.replace('-', "_"), path);
        }
    }
    Ok(())
}

/// Returns the uncompressed contents of a module.
fn plain(path: &Path) -> Result<Vec<u8>> {
    let program = match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(path).with_context(|| path.display().to_string()),
    };
    let output = Command::new(program).args(["-d", "-c"]).arg(path).output().context(program)?;
    ensure!(output.status.success(), "{program} cannot unpack {}", path.display());
    Ok(output.stdout)
}

/// Returns the modules that a module names in `depends=` of its `.modinfo`, a list of `key=value` texts that
/// end with a zero byte.
fn depends(bytes: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = bytes.windows(key.len()).position(|window| window == key) else {
        return Vec::new();
    };
    let value = bytes[at + key.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value).into_owned();
    names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_what_it_needs() {
        assert_eq!(depends(b"x\0depends=nvme-core,t10-pi\0y"), ["nvme_core", "t10_pi"]);
        assert!(depends(b"x\0depends=\0y").is_empty());
        assert!(depends(b"x").is_empty());
    }

    #[test]
    fn the_newest_kernel_is_taken_by_its_numbers() {
        let text = "Depends: linux-image-6.1.0-9-amd64 (= 6.1.9)\n\n\
                    Depends: linux-image-6.12.9+deb12-amd64 (= 1)\nDepends: linux-image-6.12.95+deb12-amd64 (= 1)";
        assert_eq!(newest(text).as_deref(), Some("linux-image-6.12.95+deb12-amd64"));
        assert_eq!(newest("Depends: linux-image-6.1.0-9-amd64 (= 6.1.9)"), None);
    }
}
