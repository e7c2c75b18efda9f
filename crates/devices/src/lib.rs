//! `fiord devices`: what disks there are, what they are, how they are attached, who uses them.
//!
//! | question | module |
//! |---|---|
//! | one line a disk, as wide as the terminal | `table.rs` |
//! | everything about one disk | `sheet.rs` |
//! | the way to the root complex | `tree.rs` |
//! | the same for programs | `json.rs` |
//! | sizes, links and users in words | [`words`] |
//!
//! All four are pure functions of a survey ([`fiord_sys::survey`]).

mod json;
mod sheet;
mod table;
mod tree;
pub mod words;

use std::path::Path;

use fiord_sys::root::Root;
use fiord_sys::survey::{Depth, Disk, SharedLink, Survey, sharing};
use fiord_sys::{file, terminal};

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Devices: names (nvme0n1), nodes (/dev/disk/by-id/…) or files on them. Without any, all that
    /// hold data, in a table.
    device: Vec<String>,
    /// Show the way of each to the root complex, and who shares it.
    #[arg(long, conflicts_with = "long")]
    tree: bool,
    /// Everything that is known of each, also where none is named.
    #[arg(long)]
    long: bool,
    /// Empty loop devices, RAM disks and drives without a medium too.
    #[arg(long)]
    all: bool,
    /// How it is shown.
    #[arg(long, default_value = "normal", value_parser = ["normal", "json"])]
    format: String,
    /// Read the machine from a copy of its /sys, /proc, /dev and /run below this directory.
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: String,
}

/// The disks of one answer, with what they share.
struct Shown {
    /// Those asked for.
    disks: Vec<Disk>,
    /// Links above them, with *all* disks of the machine that share each.
    links: Vec<SharedLink>,
    /// Why mounts and swap could not be told of any disk.
    unchecked: Option<String>,
}

/// The answer, or what is wrong.
pub fn show(args: &Args) -> Result<String, String> {
    let root = if args.root == "/" { Root::machine() } else { Root::at(&args.root) };
    if !root.path("/sys/block").is_dir() {
        return Err(format!(
            "fiord: there is no {}\n  help: /sys must be mounted, or --root={} hold a copy of one\n",
            root.path("/sys/block").display(),
            args.root
        ));
    }
    let wanted =
        args.device.iter().map(|name| resolve(name, &root)).collect::<Result<Vec<_>, _>>()?;
    let survey = Survey::new(root, Depth::Full);
    let all = survey.disks();
    let mut shown = choose(&all, &wanted, args.all);
    shown.unchecked = survey.unchecked().map(|why| why.to_string());
    if let Some(missing) = wanted.iter().flatten().find(|name| !all.iter().any(|d| is(d, name))) {
        return Err(format!("fiord: the kernel has no disk {missing}\n"));
    }
    let text = match () {
        () if args.format == "json" => return Ok(json::text(&shown)),
        () if args.tree => tree::text(&shown),
        () if args.long || !wanted.is_empty() => sheet::text(&shown),
        () => table::text(&shown, width()),
    };
    Ok(text + &words::unchecked_line(&shown))
}

/// Columns to fill: the terminal's; of what is none, `COLUMNS`, else any number.
fn width() -> usize {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal::width(std::io::stdout()).or_else(told).unwrap_or(usize::MAX)
}

fn is(disk: &Disk, name: &str) -> bool {
    disk.name == name || disk.generic.as_deref() == Some(name)
}

fn choose(all: &[Disk], wanted: &[Vec<String>], empty_too: bool) -> Shown {
    let links = sharing::links(all);
    let holds_data = |disk: &&Disk| empty_too || disk.capacity > 0 || disk.name.starts_with("ng");
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

/// The kernel's names of the disks that a name, a node or a file stands for.
fn resolve(text: &str, root: &Root) -> Result<Vec<String>, String> {
    let known = |name: &str| {
        root.path("/sys/block").join(name).exists()
            || root.path("/sys/class/nvme-generic").join(name).exists()
    };
    let name = text.strip_prefix("/dev/").unwrap_or(text);
    if !name.contains('/') && known(name) {
        return Ok(vec![name.to_owned()]);
    }
    let path = Path::new(text);
    if !root.is_machine() || !path.exists() {
        return Err(format!(
            "fiord: {text} is neither a disk nor a file\n  help: `fiord devices --all` lists all \
             disks\n"
        ));
    }
    let facts = file::facts(path).map_err(|error| format!("fiord: {error}\n"))?;
    if facts.kind == file::Kind::Char {
        let name = std::fs::canonicalize(path).ok();
        let name = name.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        if let Some(name) = name.filter(|name| known(name)) {
            return Ok(vec![name]);
        }
    }
    match fiord_sys::diskstats::disks_of(path) {
        Ok(disks) if !disks.is_empty() => Ok(disks.into_iter().map(|disk| disk.name).collect()),
        Ok(_) => Err(format!("fiord: {text} is on no disk of this machine\n")),
        Err(error) => Err(format!("fiord: {error}\n")),
    }
}

#[cfg(test)]
mod tests;
