//! Programs of the host: QEMU, a static busybox, and the tools that are copied into the machine. As root on
//! Debian, this module installs them; elsewhere it names the packages to install.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::devices::Device;

/// A required program, its Debian package, and whether it is copied into the machine.
pub(super) struct Tool {
    pub program: &'static str,
    package: &'static str,
    /// Whether it is copied into the machine.
    pub inside: bool,
}

/// All required programs.
pub(super) const TOOLS: &[Tool] = &[
    Tool { program: "qemu-system-x86_64", package: "qemu-system-x86", inside: false },
    Tool { program: "xz", package: "xz-utils", inside: false },
    Tool { program: "tar", package: "tar", inside: false },
    Tool { program: "busybox", package: "busybox-static", inside: false },
    Tool { program: "dmsetup", package: "dmsetup", inside: true },
    Tool { program: "blkzone", package: "util-linux", inside: true },
    // The one of busybox cannot change the user.
    Tool { program: "setpriv", package: "util-linux", inside: true },
    Tool { program: "strace", package: "strace", inside: true },
    // Those of busybox cannot make a pair of interfaces, nor delay packets.
    Tool { program: "ip", package: "iproute2", inside: true },
    Tool { program: "tc", package: "iproute2", inside: true },
    // jq takes ten times as long to start.
    Tool { program: "gojq", package: "gojq", inside: true },
    Tool { program: "mkfs.ext4", package: "e2fsprogs", inside: true },
    Tool { program: "blktrace", package: "blktrace", inside: true },
    Tool { program: "blkparse", package: "blktrace", inside: true },
];

/// The oldest QEMU with all device models; the newest model is flexible data placement on a namespace.
const MIN_QEMU: u32 = 9;

/// Finds a program on `PATH` or in the directories of administrators' programs.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|p| p.is_file())
}

/// Makes sure that all programs are installed.
pub(super) fn prepare() -> Result<()> {
    ensure!(cfg!(target_arch = "x86_64"), "the machine is an x86-64 one: this is not such a host");
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !Debian::here() {
        bail!(
            "missing: {list} (Debian's names of the packages). Install them with your system's package manager: \
             QEMU {MIN_QEMU} or later, a statically linked busybox. As root on Debian this is done here"
        );
    }
    eprintln!("installing {list}");
    let debian = Debian::prepare()?;
    debian.apt(&[&["install", "-y", "-qq", "--no-install-recommends"], &missing[..]].concat())?;
    let still = self::missing();
    ensure!(still.is_empty(), "installed, and still missing or too old: {}", still.join(" "));
    Ok(())
}

/// Returns the files that a pattern of a device's header names.
pub(super) fn files(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return [PathBuf::from(pattern)].into_iter().filter(|path| path.is_file()).collect();
    };
    let folder = Path::new(before).parent().unwrap_or(Path::new("/"));
    let matches = |path: &PathBuf| {
        let text = path.to_string_lossy();
        text.len() >= before.len() + after.len()
            && text.starts_with(before)
            && text.ends_with(after)
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(matches).collect()
}

/// Makes sure that the files that devices copy into the machine exist.
pub(super) fn prepare_devices(devices: &[&Device]) -> Result<()> {
    let lacks = |device: &&&Device| device.files.iter().any(|pattern| files(pattern).is_empty());
    let lacking: Vec<&&Device> = devices.iter().filter(lacks).collect();
    let packages: Vec<&str> =
        lacking.iter().flat_map(|device| &device.packages).map(String::as_str).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !Debian::here() {
        bail!(
            "missing: {list} (Debian's names of the packages). Install them with your system's package manager. As \
             root on Debian this is done here"
        );
    }
    eprintln!("installing {list}");
    let debian = Debian::prepare()?;
    debian.apt(&[&["install", "-y", "-qq", "--no-install-recommends"], &packages[..]].concat())?;
    for device in lacking {
        for pattern in &device.files {
            ensure!(
                !files(pattern).is_empty(),
                "the device {}: {list} is installed, and {pattern} does not exist",
                device.name
            );
        }
    }
    Ok(())
}

fn missing() -> Vec<&'static str> {
    let here = |tool: &&Tool| match tool.program {
        "busybox" => find("busybox").is_none_or(|path| !is_static(&path)),
        "qemu-system-x86_64" => qemu_version().is_none_or(|major| major < MIN_QEMU),
        program => find(program).is_none(),
    };
    TOOLS.iter().filter(here).map(|tool| tool.package).collect()
}

fn qemu_version() -> Option<u32> {
    let output = Command::new(find("qemu-system-x86_64")?).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split("version ").nth(1)?.split('.').next()?.parse().ok()
}

fn is_static(path: &Path) -> bool {
    super::elf::interpreter(path).is_ok_and(|interpreter| interpreter.is_none())
}

/// A Debian system on which this process may install packages.
pub(super) struct Debian {
    /// `-t SUITE` for packages that are too old in the release itself.
    suite: Option<String>,
}

impl Debian {
    /// Returns the system if it is Debian and this process is root.
    pub(super) fn here() -> bool {
        os_release("ID").as_deref() == Some("debian")
            && rustix::process::geteuid().is_root()
            && find("apt-get").is_some()
    }

    /// Adds the backports suite if the release needs it, and updates the package lists.
    pub(super) fn prepare() -> Result<Self> {
        let codename =
            os_release("VERSION_CODENAME").context("/etc/os-release names no release")?;
        let suite = (codename == "bookworm").then(|| format!("{codename}-backports"));
        let debian = Debian { suite };
        if let Some(suite) = &debian.suite
            && !has_source(suite)
        {
            let path = Path::new("/etc/apt/sources.list.d").join(format!("{suite}.list"));
            eprintln!("adding {}", path.display());
            let mirror = mirror(&codename)
                .with_context(|| format!("apt has no source of {codename} to add {suite} to"))?;
            std::fs::write(&path, format!("deb {mirror} {suite} main\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        debian.apt(&["update", "-qq"])?;
        Ok(debian)
    }

    /// Returns an `apt-get` command that prints to standard error.
    pub(super) fn apt(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("apt-get");
        if let Some(suite) = &self.suite {
            command.args(["-t", suite]);
        }
        let output = command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .output()
            .context("apt-get cannot be run")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "apt-get {}:\n{errors}", arguments.join(" "));
        Ok(())
    }
}

fn os_release(key: &str) -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim_matches('"').to_owned())
}

fn has_source(suite: &str) -> bool {
    sources().iter().any(|(codename, _)| codename == suite)
}

/// Returns the address from which this machine installs a release.
fn mirror(release: &str) -> Option<String> {
    sources().into_iter().find(|(codename, _)| codename == release).map(|(_, uri)| uri)
}

/// Returns all suites that apt knows, with their addresses.
fn sources() -> Vec<(String, String)> {
    let format = "$(CODENAME) $(REPO_URI)";
    let output = Command::new("apt-get").args(["indextargets", "--format", format]).output();
    let text = output.map_or(String::new(), |o| String::from_utf8_lossy(&o.stdout).into_owned());
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(codename, uri)| (codename.to_owned(), uri.to_owned()))
        .collect()
}
