//! "Did you mean": finds the nearest name by edit distance.

/// The candidate with the fewest edits (insertion, deletion, replacement, or swap of neighbours),
/// if that number is small enough for the length of `typed`. The first candidate wins a tie.
pub fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(64).collect();
    let bytes: usize = typed.iter().map(|c| c.len_utf8()).sum();
    let most = match typed.len() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        // Each edit changes the length by at most one character.
        .filter(|c| c.len() <= bytes + most && c.len() + 4 * most >= bytes)
        .map(|c| (distance(&typed, &c.chars().collect::<Vec<_>>(), most), c))
        .filter(|(d, c)| *d <= most && *d < c.chars().count().max(typed.len()))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// The optimal string alignment distance, or a number above `most` if the distance is larger than
/// that.
fn distance(a: &[char], b: &[char], most: usize) -> usize {
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        // When two rows are above the limit, the distance cannot fall below it again.
        if row.iter().chain(&last).all(|d| *d > most) {
            return most + 1;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    fn near(typed: &str) -> Option<&'static str> {
        nearest(typed, ["iodepth", "bs", "ba", "rw", "read", "numjobs", "norandommap"].into_iter())
    }

    #[test]
    fn a_few_edits_are_forgiven() {
        assert_eq!(near("iodepht"), Some("iodepth"));
        assert_eq!(near("io_depth"), Some("iodepth"));
        assert_eq!(near("numjob"), Some("numjobs"));
        assert_eq!(near("norandomap"), Some("norandommap"));
        assert_eq!(near("raed"), Some("read"));
        assert_eq!(near("bss"), Some("bs"));
    }

    #[test]
    fn distant_names_are_not_suggested() {
        assert_eq!(near("frequency"), None);
        assert_eq!(near("x"), None);
        assert_eq!(near(""), None);
        assert_eq!(near("\u{1f41f}\u{1f41f}"), None);
    }
}
