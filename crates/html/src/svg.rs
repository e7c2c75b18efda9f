//! Pieces of SVG.

use std::fmt::{self, Display, Write};

/// A text with the characters escaped that have a meaning in HTML and SVG. Safe in contents and in attributes in quotes.
///
/// ```
/// use fiord_html::svg::Escaped;
///
/// assert_eq!(Escaped("<script>'\"&").to_string(), "&lt;script&gt;&#39;&quot;&amp;");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // HTML has no way to write other control characters.
                c if c.is_control() && !matches!(c, '\n' | '\t') => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A coordinate with at most two decimals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coordinate(pub(crate) f64);

impl Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let (sign, hundredths) = (if hundredths < 0 { "-" } else { "" }, hundredths.abs());
        match (hundredths / 100, hundredths % 100) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (whole, rest) if rest % 10 == 0 => write!(f, "{sign}{whole}.{}", rest / 10),
            (whole, rest) => write!(f, "{sign}{whole}.{rest:02}"),
        }
    }
}

/// A path through points; a point that is not a number makes a gap. A point between two gaps becomes a dot.
pub(crate) fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    let mut lonely = false;
    for (x, y) in points {
        if !(x.is_finite() && y.is_finite()) {
            path.push_str(if lonely { "h0" } else { "" });
            (pen_down, lonely) = (false, false);
            continue;
        }
        // Writing to a string cannot fail.
        let _ =
            write!(path, "{}{} {}", if pen_down { 'L' } else { 'M' }, Coordinate(x), Coordinate(y));
        lonely = !pen_down;
        pen_down = true;
    }
    path.push_str(if lonely { "h0" } else { "" });
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let all = [1.0, 1.5, 1.05, -0.25, 0.001, -0.001];
        let text: Vec<String> = all.iter().map(|c| Coordinate(*c).to_string()).collect();
        assert_eq!(text, ["1", "1.5", "1.05", "-0.25", "0", "0"]);
    }

    #[test]
    fn a_path_has_gaps_and_dots() {
        let gap = (2.0, f64::NAN);
        let points = [(0.0, 1.0), (1.0, 2.0), gap, (3.0, 4.0), gap, (5.0, 6.0)];
        assert_eq!(path(points.into_iter()), "M0 1L1 2M3 4h0M5 6h0");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(Escaped("a\0b\u{1b}[2Jc\nd").to_string(), "a\u{fffd}b\u{fffd}[2Jc\nd");
    }
}
