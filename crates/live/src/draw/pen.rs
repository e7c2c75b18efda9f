//! Draws texts and curves into a part of the screen. What does not fit is cut off.

use fiord_types::plain;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use crate::look::LiveLook;

/// Draws into an area, whose upper left corner is (0, 0).
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    pub(super) look: LiveLook,
}

impl<'a> Pen<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, look: LiveLook) -> Self {
        let area = *buffer.area();
        Pen { buffer, area, look }
    }

    pub(super) fn width(&self) -> u16 {
        self.area.width
    }

    pub(super) fn height(&self) -> u16 {
        self.area.height
    }

    /// The `rows` rows from `top` on.
    pub(super) fn part(&mut self, top: u16, rows: u16) -> Pen<'_> {
        let top = top.min(self.area.height);
        let area =
            Rect { y: self.area.y + top, height: rows.min(self.area.height - top), ..self.area };
        Pen { buffer: self.buffer, area, look: self.look }
    }

    /// Writes a text. Returns the column after it.
    pub(super) fn text(&mut self, x: u16, y: u16, text: &str, style: impl Into<Style>) -> u16 {
        self.text_in(x, y, self.area.width.saturating_sub(x), text, style)
    }

    /// Writes a text into at most `width` columns. Returns the column after it.
    pub(super) fn text_in(
        &mut self,
        x: u16,
        y: u16,
        width: u16,
        text: &str,
        style: impl Into<Style>,
    ) -> u16 {
        if x >= self.area.width || y >= self.area.height {
            return x;
        }
        let width = width.min(self.area.width - x);
        let (at, row) = (self.area.x + x, self.area.y + y);
        let (end, _) = self.buffer.set_stringn(at, row, plain(text), width.into(), style);
        end - self.area.x
    }

    /// Writes a text that ends at the last of `width` columns.
    pub(super) fn right(
        &mut self,
        x: u16,
        y: u16,
        width: u16,
        text: &str,
        style: impl Into<Style>,
    ) {
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        let shift = width.saturating_sub(length);
        self.text_in(x + shift, y, width - shift, text, style);
    }

    /// Writes one character.
    pub(super) fn put(&mut self, x: u16, y: u16, symbol: char, style: Style) {
        self.text_in(x, y, 1, symbol.encode_utf8(&mut [0; 4]), style);
    }

    /// Draws bars for values, the last one at the right, scaled to the largest.
    pub(super) fn bars(&mut self, (x, y): (u16, u16), (width, height): (u16, u16), values: &[f32]) {
        let shown = &values[values.len().saturating_sub(width.into())..];
        let most = shown.iter().copied().fold(0.0, f32::max);
        if most <= 0.0 {
            return;
        }
        let start = x + width - u16::try_from(shown.len()).unwrap_or(width);
        let style = self.look.curve();
        for (column, value) in (start..).zip(shown) {
            let full = f32::from(height) * 8.0;
            let mut eighths = (value / most * full).round() as usize;
            if *value > 0.0 {
                eighths = eighths.max(1);
            }
            for row in (0..height).rev() {
                let bar = self.look.bar(eighths.min(8));
                self.put(column, y + row, bar, style);
                eighths = eighths.saturating_sub(8);
            }
        }
    }

    /// Draws a bar that shows a share of 0 to 1.
    pub(super) fn gauge(&mut self, x: u16, y: u16, width: u16, share: Option<f64>) {
        let inner = width.saturating_sub(2);
        let filled = (share.unwrap_or(0.0).clamp(0.0, 1.0) * f64::from(inner)).round() as u16;
        let (full, empty) = if self.look.ascii { ('#', '.') } else { ('█', '░') };
        self.put(x, y, '[', Style::new());
        for column in 0..inner {
            let symbol = if column < filled { full } else { empty };
            self.put(x + 1 + column, y, symbol, self.look.curve());
        }
        self.put(x + 1 + inner, y, ']', Style::new());
    }

    /// Draws a line with a title.
    pub(super) fn rule(&mut self, y: u16, title: &str) {
        let mut x = 0;
        if !title.is_empty() {
            x = self.text(0, y, title, Style::new().add_modifier(Modifier::BOLD)) + 1;
        }
        let (line, style) = (self.look.line(), self.look.label());
        (x..self.area.width).for_each(|column| self.put(column, y, line, style));
    }

    /// Changes the style of a row.
    pub(super) fn highlight(&mut self, y: u16) {
        if y < self.area.height {
            let row = Rect { y: self.area.y + y, height: 1, ..self.area };
            self.buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

/// Breaks a text into lines of at most `width` columns, at spaces where possible.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width).max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let gap = usize::from(length > 0);
            if length + gap + word.len() <= width {
                if gap > 0 {
                    line.push(' ');
                }
                length += gap + word.len();
                line.extend(word.drain(..));
            } else if length == 0 {
                line.extend(word.drain(..width));
                lines.push(std::mem::take(&mut line));
            } else {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn texts_are_wrapped_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("a /very/long/path/here b", 10), ["a", "/very/long", "/path/here", "b"]);
        assert_eq!(wrap("", 10), [""]);
        assert_eq!(wrap("äöü äöü äöü", 8), ["äöü äöü", "äöü"]);
    }
}
