//! `fiord devices`: shows disks, their properties, their PCIe links, and their users.
//!
//! | question | module |
//! |---|---|
//! | how is the table with one line for each disk formatted | `table.rs` |
//! | how are all facts about a disk formatted | `sheet.rs` |
//! | how is the PCIe tree formatted | `tree.rs` |
//! | how is the JSON built | `json.rs` |
//! | how are sizes, links and users formatted | [`words`] |
//!
//! All output formats are pure functions of a survey ([`fiord_sys::survey`]).

mod json;
mod sheet;
mod table;
mod tree;
pub mod words;

use std::path::{Path, PathBuf};

use fiord_sys::root::Root;
use fiord_sys::survey::{Disk, DiskSurvey, SharedLink, SurveyDepth, sharing};
use fiord_sys::{diskstats, file, terminal};
use fiord_types::Bytes;

use crate::session::{CannotPrint, CommandEnd, Session};
use crate::target::{TargetError, facts};

/// Why disks cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum DevicesError {
    /// There is no list of disks.
    #[error(
        "{path} does not exist\n  To fix: mount /sys, or put a copy of it below --root={}",
        .root.display()
    )]
    NoSysfs {
        /// The directory with the list.
        path: PathBuf,
        /// Value of `--root`.
        root: PathBuf,
    },
    /// A name that is not that of a disk, or a path with `--root`.
    #[error("{name} is neither a disk nor a file\n  To fix: `fiord devices --all` lists all disks")]
    Unknown {
        /// The name as typed.
        name: String,
    },
    /// The file does not exist or cannot be examined.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The kernel does not list the disk.
    #[error("the kernel has no disk {name}\n  To fix: `fiord devices --all` lists all disks")]
    NoDisk {
        /// Name of the disk.
        name: String,
    },
    /// The file is on no local disk.
    #[error("{path} is not on a disk of this machine")]
    Elsewhere {
        /// Path as typed.
        path: String,
    },
    /// The disks under a file cannot be determined.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The list cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// Command line of `fiord devices`.
#[derive(Debug, clap::Args)]
pub struct DevicesArgs {
    /// Devices: names (nvme0n1), nodes (/dev/disk/by-id/…) or files on them. Default: a table of
    /// all disks that have a capacity.
    device: Vec<String>,
    /// Show the PCIe tree from the root complex to the disks, with shared links.
    #[arg(long, conflicts_with = "long")]
    tree: bool,
    /// Show all facts about each disk, even without named devices.
    #[arg(long)]
    long: bool,
    /// Include empty loop devices, RAM disks and drives without a medium.
    #[arg(long)]
    all: bool,
    /// Output format.
    #[arg(long, default_value = "normal", value_parser = ["normal", "json"])]
    format: String,
    /// Read a copy of another machine's /sys, /proc, /dev and /run below this directory.
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: String,
}

/// The disks to show, with their shared links.
pub(crate) struct Shown {
    /// The requested disks.
    disks: Vec<Disk>,
    /// Links above these disks, with *all* disks of the machine that share each link.
    links: Vec<SharedLink>,
    /// Reason why mounts and swap space could not be read.
    unchecked: Option<String>,
}

/// Shows disks.
///
/// # Errors
/// A name is not that of a disk, or there is no list of disks.
pub fn run(args: &DevicesArgs, session: &mut Session) -> Result<CommandEnd, DevicesError> {
    session.print(&show(args)?)?;
    Ok(CommandEnd::Done)
}

/// Returns the formatted disks.
fn show(args: &DevicesArgs) -> Result<String, DevicesError> {
    let root = if args.root == "/" { Root::machine() } else { Root::at(&args.root) };
    let list = root.path("/sys/block");
    if !list.is_dir() {
        return Err(DevicesError::NoSysfs { path: list, root: args.root.clone().into() });
    }
    let wanted =
        args.device.iter().map(|name| resolve(name, &root)).collect::<Result<Vec<_>, _>>()?;
    let survey = DiskSurvey::new(root, SurveyDepth::Full);
    let all = survey.disks();
    let mut shown = choose(&all, &wanted, args.all);
    shown.unchecked = survey.unchecked().map(|why| why.to_string());
    if let Some(missing) = wanted.iter().flatten().find(|name| !all.iter().any(|d| is(d, name))) {
        return Err(DevicesError::NoDisk { name: missing.clone() });
    }
    let text = match () {
        () if args.format == "json" => return Ok(json::text(&shown)),
        () if args.tree => tree::text(&shown),
        () if args.long || !wanted.is_empty() => sheet::text(&shown),
        () => table::text(&shown, width()),
    };
    Ok(text + &words::unchecked_line(&shown))
}

/// Width of the table: that of the terminal, else `COLUMNS`, else unlimited.
fn width() -> usize {
    let of_environment = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal::width(std::io::stdout()).or_else(of_environment).unwrap_or(usize::MAX)
}

fn is(disk: &Disk, name: &str) -> bool {
    disk.name == name || disk.generic.as_deref() == Some(name)
}

fn choose(all: &[Disk], wanted: &[Vec<String>], empty_too: bool) -> Shown {
    let links = sharing::links(all);
    let holds_data =
        |disk: &&Disk| empty_too || disk.capacity > Bytes::ZERO || disk.name.starts_with("ng");
    let disks: Vec<Disk> = if wanted.is_empty() {
        all.iter().filter(holds_data).cloned().collect()
    } else {
        let mut names: Vec<&String> = Vec::new();
        for name in wanted.iter().flatten() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.iter().filter_map(|name| all.iter().find(|disk| is(disk, name)).cloned()).collect()
    };
    let above = |link: &SharedLink| link.disks.iter().any(|d| disks.iter().any(|s| s.name == *d));
    Shown { links: links.into_iter().filter(above).collect(), disks, unchecked: None }
}

/// Resolves a name, a node or a file to kernel names of disks.
fn resolve(text: &str, root: &Root) -> Result<Vec<String>, DevicesError> {
    let known = |name: &str| {
        root.path("/sys/block").join(name).exists()
            || root.path("/sys/class/nvme-generic").join(name).exists()
    };
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    if !name.contains('/') && known(name) {
        return Ok(vec![name.to_owned()]);
    }
    let path = Path::new(text);
    if !root.is_machine() || !(text.contains('/') || path.exists()) {
        return Err(DevicesError::Unknown { name: text.into() });
    }
    if facts(path)?.kind == file::InodeType::Char {
        let name = std::fs::canonicalize(path).ok();
        let name = name.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        if let Some(name) = name.filter(|name| known(name)) {
            return Ok(vec![name]);
        }
    }
    let disks = diskstats::disks_of(path)?;
    if disks.is_empty() {
        return Err(DevicesError::Elsewhere { path: text.into() });
    }
    Ok(disks.into_iter().map(|disk| disk.name).collect())
}

#[cfg(test)]
mod tests;
