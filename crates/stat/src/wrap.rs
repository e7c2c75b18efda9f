//! Long lines of text on a terminal.

/// Breaks a line at spaces, so that it fits `columns`. Later lines are indented by `indent` spaces. A longer word stays whole.
/// `None`: the line goes to a file or a program, which expects it whole.
///
/// ```
/// use fiord_stat::wrap::wrapped;
///
/// assert_eq!(wrapped("  note: the job is too short", Some(20), 4), "  note: the job is\n    too short");
/// assert_eq!(wrapped("  note: the job is too short", None, 4), "  note: the job is too short");
/// ```
#[must_use]
pub fn wrapped(line: &str, columns: Option<usize>, indent: usize) -> String {
    let Some(columns) = columns.filter(|columns| line.chars().count() > *columns) else {
        return line.to_owned();
    };
    let start = line.len() - line.trim_start().len();
    let mut out = line[..start].to_owned();
    let mut used = start;
    let mut first = true;
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if first {
            first = false;
        } else if used + 1 + length > columns {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn no_line_is_longer_than_the_terminal_unless_one_word_is() {
        let line =
            "      psync has one. To fix: use numjobs=32 or another engine, such as io_uring";
        let told = wrapped(line, Some(30), 6);
        assert!(told.lines().all(|line| line.chars().count() <= 30), "{told}");
        assert!(told.lines().all(|line| line.starts_with("      ")), "{told}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&told), words(line));
        assert_eq!(wrapped("a/very/long/path b", Some(5), 2), "a/very/long/path\n  b");
    }
}
