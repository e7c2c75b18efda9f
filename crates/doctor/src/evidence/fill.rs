//! Builds the command that writes a range that jobs read.

use std::ops::Range;
use std::path::Path;

use fiord_types::Bytes;

/// Page size. Blocks are whole pages, so that the command also works with `direct=1`.
pub(crate) const PAGE: Bytes = Bytes(4096);
/// Maximum block size, in pages: 1 MiB.
const MAX_PAGES: u64 = 256;

/// Returns the remedy for an unwritten range of a file or device: a command that writes it. If
/// the range `holds_data`, the remedy says that the command destroys the data.
pub(crate) fn fill(path: &Path, range: Range<Bytes>, holds_data: bool) -> String {
    let loss = if holds_data { ", which destroys the data in it" } else { "" };
    format!("write the range first{loss}: {}", command(path, range.start, range.end))
}

/// Returns the remedy for a zoned device that was not written in full. Zones accept only sequential
/// writes, so neither `fiord precondition` nor a plain job can fill them.
pub(crate) fn fill_zones(path: &Path) -> String {
    format!(
        "write all zones first, which destroys the data in them: fiord --name=fill {} --direct=1 \
         --zonemode=zbd --rw=write --bs=128k --write_zone_remainder=1",
        filename(path)
    )
}

/// Returns a command that writes the bytes `from..to` of a file or device. It rounds the range up to
/// whole pages, and its block size divides the range.
fn command(path: &Path, from: Bytes, to: Bytes) -> String {
    let pages = to.saturating_sub(from).div_ceil(PAGE).max(1);
    let block = PAGE * (1..=MAX_PAGES).rev().find(|n| pages.is_multiple_of(*n)).unwrap_or(1);
    let offset = if from == Bytes::ZERO { String::new() } else { format!(" --offset={from}") };
    format!(
        "fiord --name=fill {}{offset} --size={} --rw=write --bs={}k",
        filename(path),
        PAGE * pages,
        block.as_kib()
    )
}

/// Returns the `--filename` option for one path. It escapes colons, which would separate two names, and
/// quotes characters that are special to the shell.
fn filename(path: &Path) -> String {
    let escaped = path.display().to_string().replace(':', "\\:");
    let plain = |c: char| c.is_alphanumeric() || "/._-+,@%=".contains(c);
    match escaped.chars().all(plain) {
        true => format!("--filename={escaped}"),
        false => format!("--filename='{}'", escaped.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_divide_the_range() {
        let line = |from, to| command(Path::new("/f"), Bytes(from), Bytes(to));
        assert_eq!(
            line(64 << 20, 128 << 20),
            "fiord --name=fill --filename=/f --offset=67108864 --size=67108864 --rw=write --bs=1024k"
        );
        assert!(line(0, 1536 << 10).ends_with("--size=1572864 --rw=write --bs=768k"));
        assert!(line(0, 1000).ends_with("--size=4096 --rw=write --bs=4k"));
        assert!(line(0, 4096 * 257).ends_with("--bs=4k"), "a prime number of pages");
    }

    #[test]
    fn a_remedy_that_destroys_data_says_so() {
        let text = |holds| fill(Path::new("/f"), Bytes::ZERO..Bytes(4096), holds);
        assert!(text(false).starts_with("write the range first: fiord --name=fill "));
        let loss = "write the range first, which destroys the data in it: fiord --name=fill ";
        assert!(text(true).starts_with(loss));
    }

    #[test]
    fn zones_are_filled_sequentially() {
        let text = fill_zones(Path::new("/dev/nvme0n2"));
        assert!(
            text.contains("--filename=/dev/nvme0n2 --direct=1 --zonemode=zbd --rw=write"),
            "{text}"
        );
        assert!(text.contains("destroys"));
    }

    #[test]
    fn a_path_is_one_file_for_the_shell_and_for_the_option() {
        assert_eq!(filename(Path::new("/srv/a b")), "--filename='/srv/a b'");
        assert_eq!(filename(Path::new("/srv/a:b")), "--filename='/srv/a\\:b'");
        assert_eq!(filename(Path::new("it's")), "--filename='it'\\''s'");
    }
}
