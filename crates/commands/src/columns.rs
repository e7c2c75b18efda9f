//! Aligns the columns of a table.

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Formats rows of equal length as lines. Two spaces separate columns; lines end without spaces.
/// `align` returns the alignment of a column by its index. Colours do not count for the width.
pub fn aligned(rows: &[Vec<String>], align: impl Fn(usize) -> Align) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| visible(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let spaces = " ".repeat(widths[column] - visible(cell));
            let (before, after) = match align(column) {
                Align::Left => ("", spaces.as_str()),
                Align::Right => (spaces.as_str(), ""),
            };
            let between = if column > 0 { "  " } else { "" };
            line.extend([between, before, cell, after]);
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// The number of characters that a terminal shows: all except the sequences that select a colour
/// (ECMA-48, 8.3.117).
fn visible(text: &str) -> usize {
    let mut hidden = false;
    let shown = text.chars().filter(|c| {
        let counts = !hidden && *c != '\x1b';
        hidden = *c == '\x1b' || hidden && *c != 'm';
        counts
    });
    shown.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let rows = [row(["name", "n"]), row(["\x1b[32mé\x1b[0m", "100"])];
        let text = aligned(&rows, |column| [Align::Left, Align::Right][column]);
        assert_eq!(text, "name    n\n\x1b[32mé\x1b[0m     100\n");
        let text = aligned(&rows, |_| Align::Left);
        assert_eq!(text.lines().next(), Some("name  n"));
        assert_eq!(aligned(&[], |_| Align::Right), "");
    }
}
