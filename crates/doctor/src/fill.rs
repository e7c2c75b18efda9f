//! The command that writes a range which jobs read.

use std::ops::Range;
use std::path::Path;

/// Blocks are whole pages, so that they can be written with `direct=1` too.
pub(crate) const PAGE: u64 = 4096;
/// The largest block, in pages: 1 MiB.
const MOST: u64 = 256;

/// The remedy for a range of a file or device that was not written: a command that does, and, where the
/// range `holds_data`, that it destroys them.
pub(crate) fn fill(path: &Path, range: Range<u64>, holds_data: bool) -> String {
    let loss = if holds_data { ", and destroys what it holds" } else { "" };
    format!("a pass that writes it{loss}: {}", command(path, range.start, range.end))
}

/// The remedy for a zoned device that was not written in full: zones take writes only in order, so
/// that neither `fiord precondition` nor a plain job can write it.
pub(crate) fn fill_zones(path: &Path) -> String {
    format!(
        "a pass that writes every zone, and destroys what they hold: fiord --name=fill {} --direct=1 \
         --zonemode=zbd --rw=write --bs=128k --write_zone_remainder=1",
        filename(path)
    )
}

/// A command that writes `from..to` of a file or device in full: its blocks divide the range, which
/// is rounded up to whole pages.
fn command(path: &Path, from: u64, to: u64) -> String {
    let pages = to.saturating_sub(from).div_ceil(PAGE).max(1);
    let block = (1..=MOST).rev().find(|n| pages.is_multiple_of(*n)).unwrap_or(1) * PAGE / 1024;
    let offset = if from == 0 { String::new() } else { format!(" --offset={from}") };
    format!(
        "fiord --name=fill {}{offset} --size={} --rw=write --bs={block}k",
        filename(path),
        pages * PAGE
    )
}

/// The option that names one file: a colon would separate two, and the shell has its own signs.
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
        let line = |from, to| command(Path::new("/f"), from, to);
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
        let text = |holds| fill(Path::new("/f"), 0..4096, holds);
        assert!(text(false).starts_with("a pass that writes it: fiord --name=fill "));
        let loss = "a pass that writes it, and destroys what it holds: fiord --name=fill ";
        assert!(text(true).starts_with(loss));
    }

    #[test]
    fn zones_are_filled_in_order() {
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
