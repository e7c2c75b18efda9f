//! The format of an initramfs: a cpio archive with "new ASCII" headers (`newc`), as described in the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::collections::BTreeSet;
use std::path::Path;

/// An archive under construction.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

const DIRECTORY: u32 = 0o040_755;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_777;

impl Archive {
    /// Adds a file and the directories above it.
    pub(super) fn file(&mut self, path: &str, mode: u32, data: &[u8]) {
        self.folders_above(path);
        self.entry(path, REGULAR | mode, data);
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.folders_above(path);
        self.entry(path, SYMLINK, target.as_bytes());
    }

    /// Adds a directory. Returns whether the archive did not have it yet.
    fn folders_above(&mut self, path: &str) {
        let above: Vec<_> = Path::new(path).ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            let folder = folder.to_string_lossy().into_owned();
            if !folder.is_empty() && folder != "/" && self.folders.insert(folder.clone()) {
                self.entry(&folder, DIRECTORY, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, mode: u32, data: &[u8]) {
        let name = path.trim_start_matches('/');
        self.entries += 1;
        // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
        let size = u32::try_from(data.len()).expect("a file of an initramfs is below 4 GiB");
        let name_size = u32::try_from(name.len() + 1).expect("a path is short");
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Returns the whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_come_before_what_lies_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("/a/b/c", 0o644, b"hello");
        archive.file("/a/b/d", 0o755, b"");
        archive.link("/a/e", "b");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 6);
        assert!(text.find("a/b/c\0").unwrap() > text.find("a/b\0").unwrap());
        assert!(text.starts_with("07070100000001000041ED"));
    }
}
