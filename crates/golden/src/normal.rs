//! The text format: its lines with all numbers masked.

use crate::difference::Difference;

/// Compares the shape of the text with the reference's, line by line.
///
/// # Errors
/// The first difference.
pub fn shape(reference: &str, ours: &str) -> Result<(), Difference> {
    let (mut a, mut b) = (masked(reference), masked(ours));
    // A run shorter than one window has no samples, and its length depends on the machine.
    let sampled = |lines: &[(usize, String)]| lines.iter().any(|(_, l)| is_sample(l));
    if sampled(&a) != sampled(&b) {
        a.retain(|(_, l)| !is_sample(l));
        b.retain(|(_, l)| !is_sample(l));
    }
    for i in 0..a.len().max(b.len()) {
        match (a.get(i), b.get(i)) {
            (Some(x), Some(y)) if x.1 == y.1 => {}
            (Some(x), Some(y)) => {
                return Err(Difference::Line {
                    line: y.0 + 1,
                    ours: line(ours, y.0).into(),
                    ours_shape: y.1.clone(),
                    reference: line(reference, x.0).into(),
                    reference_shape: x.1.clone(),
                });
            }
            (Some(x), None) => return Err(Difference::MissingLine(line(reference, x.0).into())),
            (None, Some(y)) => {
                let text = line(ours, y.0).into();
                return Err(Difference::ExtraLine { line: y.0 + 1, text });
            }
            (None, None) => {}
        }
    }
    Ok(())
}

fn is_sample(line: &str) -> bool {
    line.starts_with("   bw (R)") || line.starts_with("   iops ")
}

fn line(text: &str, index: usize) -> &str {
    text.lines().nth(index).unwrap_or("")
}

/// Returns the compared lines with their indexes in the text. Masks numbers, units and dates, merges
/// repeated rows of percentiles and buckets, and leaves out disks.
fn masked(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_disks, mut ours) = (false, false);
    for (i, line) in before_findings(text).lines().enumerate() {
        // Lines that fio does not have come last in the block of a job and begin with `fiord:`.
        ours = line.starts_with("  fiord: ") || ours && line.starts_with("   ");
        if ours {
            continue;
        }
        let heads_disks = line.starts_with("Disk stats") || line == "As the device saw it:";
        if heads_disks {
            // The empty line before the block belongs to it.
            if found.last().is_some_and(|(_, l)| l.is_empty()) {
                found.pop();
            }
            in_disks = true;
        }
        if in_disks && (heads_disks || line.starts_with("  ")) {
            continue;
        }
        in_disks = false;
        let shape = mask(line);
        let repeats = shape.starts_with("     |") || shape.starts_with("  lat (");
        if !(repeats && found.last().is_some_and(|(_, l)| *l == shape)) {
            found.push((i, shape));
        }
    }
    found
}

/// Returns the text without findings. They come after everything that fio prints, so the text ends there.
fn before_findings(text: &str) -> &str {
    let ours = ["\n\nGenerator: ", "\n\nFindings (", "\n\nNot checked: "];
    let end = ours.iter().filter_map(|begin| text.find(begin)).min();
    end.map_or(text, |end| &text[..end + 1])
}

fn mask(line: &str) -> String {
    if line.starts_with("     | ") {
        return "     | percentiles".into();
    }
    if line.starts_with("  lat (") {
        return "  lat (T) buckets".into();
    }
    if line.starts_with("fio-3.42") {
        return "fio-3.42".into();
    }
    let mut line = line.to_string();
    if let Some(at) = line.find(": pid=") {
        line.truncate(at + 6);
    }
    if let Some((job, _)) = line.split_once(": Laying out") {
        return format!("{job}: Laying out");
    }
    numbers(&line)
}

const UNITS: [&str; 36] = [
    "Kibit/s", "Mibit/s", "Gibit/s", "Tibit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "bit/s",
    "KiB/s", "MiB/s", "GiB/s", "TiB/s", "kB/s", "MB/s", "GB/s", "TB/s", "B/s", "KiB", "MiB", "GiB",
    "TiB", "kB", "MB", "GB", "TB", "nsec", "usec", "msec", "Ki", "Mi", "Gi", "ns", "us", "ms", "B",
];

/// Replaces every number, the blanks before it and the unit after it by `#`, a time unit in parentheses by
/// `(T)`, and a rate unit in parentheses by `(R)`.
fn numbers(line: &str) -> String {
    let mut line = line.to_string();
    for unit in ["nsec", "usec", "msec"] {
        line = line.replace(&format!("({unit})"), "(T)");
    }
    for unit in ["(   kB/s)", "(  KiB/s)", "(  MiB/s)"] {
        line = line.replace(unit, "(R)");
    }
    let mut masked = String::new();
    let mut rest = line.as_str();
    while let Some(c) = rest.chars().next() {
        // A digit in a word (`lat4`, `a1`) is part of the word.
        let in_word = masked.chars().next_back().is_some_and(|p| p.is_alphanumeric() || p == '_');
        if !c.is_ascii_digit() || in_word {
            masked.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        while masked.ends_with(' ') && masked.trim_end().ends_with(['=', '[']) {
            masked.pop();
        }
        if masked.ends_with("=-") {
            masked.pop();
        }
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if let Some(unit) = UNITS.iter().find(|u| rest.starts_with(**u)) {
            rest = &rest[unit.len()..];
        } else if rest.starts_with(['k', 'M', 'G', 'T', 's']) && ends_word(&rest[1..]) {
            rest = &rest[1..];
        }
        masked.push('#');
    }
    masked
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_count() {
        let a = "  read: IOPS=23.0k, BW=89.9MiB/s (94.3MB/s)(8192KiB/89msec)\n\
                 \u{20}    |  1.00th=[    3]\n     | 99.00th=[    3]\n\nDisk stats (read/write):\n  vda: x\n";
        let b = "  read: IOPS=5, BW=9B/s (9B/s)(1GiB/1msec)\n     |  1.00th=[    3]\n";
        assert_eq!(shape(a, b), Ok(()));
        let c = "  write: IOPS=5, BW=9B/s (9B/s)(1GiB/1msec)\n     |  1.00th=[    3]\n";
        let difference = shape(a, c).expect_err("it differs").to_string();
        assert!(
            difference.contains("has the shape `  write: IOPS=#, BW=# (#)(#/#)`"),
            "{difference}"
        );
    }
}
