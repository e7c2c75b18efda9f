//! Archives whose bytes depend on their contents alone: tar in the POSIX format `ustar`, and `ar`, in which a Debian
//! package wraps its parts (man page `deb(5)`).

use std::io::Write;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};

use super::tree::{Entry, Tree};

/// Bytes of a block of a tar archive.
const BLOCK: usize = 512;

/// Returns a compressed tar archive of a tree. Owner and group are root, entries are sorted by path, and all times
/// are `epoch`, in seconds.
///
/// # Errors
///
/// If a path is too long for the format.
pub(super) fn tar_gz(tree: &Tree, top: &str, epoch: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (path, entry) in tree.with_folders() {
        let path = format!("{top}{path}");
        let (kind, mode, data) = match entry {
            Entry::Folder => (Kind::Folder, 0o755, &[][..]),
            Entry::Link(target) => (Kind::Link(target), 0o777, &[][..]),
            Entry::File { mode, data } => (Kind::File, *mode, data.as_slice()),
        };
        header(&mut bytes, &path, kind, mode, data.len(), epoch)?;
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    gzip(&bytes)
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

/// The type of an entry in its header.
#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    File,
    Link(&'a str),
    Folder,
}

/// Appends the header of an entry. Fields: POSIX.1-2017, `pax`, "ustar Interchange Format".
fn header(
    out: &mut Vec<u8>,
    path: &str,
    kind: Kind<'_>,
    mode: u32,
    len: usize,
    epoch: u64,
) -> Result<()> {
    let (letter, path, target) = match kind {
        Kind::File => (b'0', path.to_owned(), ""),
        Kind::Link(target) => (b'2', path.to_owned(), target),
        Kind::Folder => (b'5', format!("{path}/"), ""),
    };
    ensure!(target.len() <= 100, "{target} is too long for tar");
    let (prefix, name) = split(&path).with_context(|| format!("{path} is too long for tar"))?;
    let mut block = [0_u8; BLOCK];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\x000000000\0");
    put(124, format!("{len:011o}\0").as_bytes());
    put(136, format!("{epoch:011o}\0").as_bytes());
    // While the sum is computed, its own field contains spaces.
    put(148, b"        ");
    put(156, &[letter]);
    put(157, target.as_bytes());
    put(257, b"ustar\x0000");
    put(265, b"root");
    put(297, b"root");
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out.extend_from_slice(&block);
    Ok(())
}

/// Splits a path into the prefix and the name of a header: at most 155 and 100 bytes, with a slash between them.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let cuts = path.match_indices('/').map(|(at, _)| (&path[..at], &path[at + 1..]));
    cuts.into_iter().find(|(prefix, name)| prefix.len() <= 155 && name.len() <= 100)
}

/// Returns an `ar` archive of named members, with the time `epoch`.
///
/// # Errors
///
/// If a name has more than 16 bytes.
pub(super) fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Result<Vec<u8>> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        ensure!(name.len() <= 16, "{name} is too long for ar");
        let header =
            format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, data.len());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(data);
        if data.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_up_to_the_limits_of_the_format() {
        let long = format!("{}/{}", "p".repeat(155), "n".repeat(100));
        assert_eq!(split(&long).unwrap().1.len(), 100);
        assert_eq!(split(&format!("{}/{}", "p".repeat(156), "n".repeat(100))), None);
        assert_eq!(split("a/b"), Some(("", "a/b")));
    }

    #[test]
    fn tar_reads_the_archive() {
        let mut tree = Tree::default();
        tree.add("usr/bin/tool", 0o755, b"#!/bin/sh\n".to_vec());
        tree.add(&format!("usr/{}/{}", "d".repeat(80), "f".repeat(60)), 0o644, vec![7; 513]);
        tree.link("usr/link", "bin");
        let archive = tar_gz(&tree, "./", 1_000_000_000).unwrap();
        assert_eq!(archive, tar_gz(&tree, "./", 1_000_000_000).unwrap());
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
        assert_eq!(text.lines().count(), 6, "{text}");
    }

    #[test]
    fn members_of_ar_begin_at_even_offsets() {
        let archive = ar(&[("a", vec![1]), ("b", vec![2, 3])], 0).unwrap();
        assert_eq!(archive.len(), 8 + 60 + 2 + 60 + 2);
        assert!(ar(&[("seventeen-letters", vec![])], 0).is_err());
    }
}
