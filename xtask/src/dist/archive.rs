//! Archives whose bytes depend on their contents alone: tar, and `ar`, in which a Debian package wraps its parts (man page
//! `deb(5)`).

use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::EntryType;

use super::tree::{Entry, Tree};

/// Returns a compressed tar archive of a tree. Owner and group are root, entries are sorted by path, and all times
/// are `epoch`, in seconds. `below_dot`: paths begin with `./`, as in Debian packages.
///
/// # Errors
///
/// If a path is too long for the format.
pub(super) fn tar_gz(tree: &Tree, below_dot: bool, epoch: u64) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, entry) in tree.with_folders() {
        let mut header = tar::Header::new_ustar();
        header.set_mtime(epoch);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        let (kind, mode, data, end) = match entry {
            Entry::Folder => (EntryType::Directory, 0o755, &[][..], "/"),
            Entry::Link(_) => (EntryType::Symlink, 0o777, &[][..], ""),
            Entry::File { mode, data } => (EntryType::Regular, *mode, data.as_slice(), ""),
        };
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(data.len() as u64);
        header.set_path(format!("{path}{end}"))?;
        if let Entry::Link(target) = entry {
            header.set_link_name(target)?;
        }
        if below_dot {
            begin_with_dot(&mut header).with_context(|| format!("{path} is too long for tar"))?;
        }
        header.set_cksum();
        archive.append(&header, data)?;
    }
    gzip(&archive.into_inner()?)
}

/// Puts `./` before the path, which the library would remove. `None`: the path is too long.
fn begin_with_dot(header: &mut tar::Header) -> Option<()> {
    let fields = header.as_ustar_mut()?;
    let start = if fields.prefix[0] == 0 { &mut fields.name[..] } else { &mut fields.prefix[..] };
    start.rotate_right(2);
    let free = start.first_chunk_mut::<2>().filter(|free| **free == [0, 0])?;
    *free = *b"./";
    Some(())
}

/// Compresses data. The header of the result contains no name and no time.
///
/// # Errors
///
/// Never for data in memory; the writer's interface has an error.
pub(super) fn gzip(data: &[u8]) -> Result<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    writer.write_all(data)?;
    Ok(writer.finish()?)
}

/// Returns an `ar` archive of named members, with the time `epoch`.
///
/// # Errors
///
/// Never for data in memory; the writer's interface has an error.
pub(super) fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = ar::Builder::new(Vec::new());
    for (name, data) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), data.len() as u64);
        header.set_mtime(epoch);
        header.set_mode(0o100_644);
        archive.append(&header, data.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_up_to_the_limits_of_the_format() {
        let of = |prefix: usize, name: usize, below_dot| {
            let mut tree = Tree::default();
            tree.add(&format!("{}/{}", "p".repeat(prefix), "n".repeat(name)), 0o644, Vec::new());
            tar_gz(&tree, below_dot, 0)
        };
        assert!(of(99, 100, false).is_ok() && of(97, 100, true).is_ok());
        assert!(of(99, 101, false).is_err() && of(155, 100, true).is_err());
    }

    #[test]
    fn tar_reads_the_archive() {
        let mut tree = Tree::default();
        tree.add("usr/bin/tool", 0o755, b"#!/bin/sh\n".to_vec());
        tree.add(&format!("usr/{}/{}", "d".repeat(80), "f".repeat(60)), 0o644, vec![7; 513]);
        tree.link("usr/link", "bin");
        let archive = tar_gz(&tree, true, 1_000_000_000).unwrap();
        assert_eq!(archive, tar_gz(&tree, true, 1_000_000_000).unwrap());
        let mut tar = std::process::Command::new("tar");
        tar.args(["--list", "--verbose", "--gzip", "--utc", "--file=-"]);
        tar.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let Ok(mut child) = tar.spawn() else {
            eprintln!("skipped: tar is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        assert!(
            text.contains("-rwxr-xr-x root/root        10 2001-09-09 01:46 ./usr/bin/tool\n"),
            "{text}"
        );
        assert!(text.contains(" ./usr/link -> bin\n"), "{text}");
        assert!(text.contains("f\n") && text.lines().all(|line| line.contains(" ./usr")), "{text}");
        assert_eq!(text.lines().count(), 6, "{text}");
    }

    #[test]
    fn members_of_ar_begin_at_even_offsets() {
        let archive = ar(&[("a", vec![1]), ("b", vec![2, 3])], 7).unwrap();
        assert_eq!(archive.len(), 8 + 60 + 2 + 60 + 2);
        let header = b"a               7           0     0     100644  1         `\n\x01\n";
        assert_eq!(&archive[8..70], header);
    }
}
