//! Writes the cells of a screen to a terminal, as text with control sequences that all terminals of today know
//! (ECMA-48 and xterm).

use std::io;

use fiord_sys::terminal::{self, TerminalWriter};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// The size of a terminal that does not report one.
const USUAL: (u16, u16) = (80, 24);

/// A terminal that receives cells. Everything is written in one call for each screen.
#[derive(Debug)]
pub struct AnsiTerminal {
    out: TerminalWriter,
    pending: Vec<u8>,
}

impl AnsiTerminal {
    /// Writes to a terminal.
    #[must_use]
    pub fn new(out: TerminalWriter) -> Self {
        AnsiTerminal { out, pending: Vec::new() }
    }
}

/// Appends the sequence for the style of a cell.
fn set_style(out: &mut Vec<u8>, cell: &Cell) {
    out.extend(b"\x1b[0");
    let modifiers = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ];
    for (_, number) in modifiers.iter().filter(|(modifier, _)| cell.modifier.contains(*modifier)) {
        out.extend(format!(";{number}").bytes());
    }
    if let Some(number) = foreground(cell.fg) {
        out.extend(format!(";{number}").bytes());
    }
    out.push(b'm');
}

/// The parameter for a foreground colour; `None` for the terminal's own.
fn foreground(color: Color) -> Option<u8> {
    let colors = [
        Color::Black,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::Gray,
    ];
    let dark = colors.iter().position(|other| *other == color).map(|at| 30 + at as u8);
    dark.or((color == Color::DarkGray).then_some(90))
}

impl Backend for AnsiTerminal {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut style = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.pending.extend(format!("\x1b[{};{}H", y + 1, x + 1).bytes());
            }
            if style != Some((cell.fg, cell.modifier)) {
                set_style(&mut self.pending, cell);
                style = Some((cell.fg, cell.modifier));
            }
            self.pending.extend(cell.symbol().bytes());
            // Another than a plain character may be wider.
            let plain = cell.symbol().len() == 1;
            next = plain.then_some((x + 1, y));
        }
        Ok(())
    }

    /// The cursor is hidden all the time.
    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The cursor is shown when the terminal is restored.
    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// The position of the hidden cursor does not matter.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.pending.extend(b"\x1b[0m\x1b[2J");
        Ok(())
    }

    /// The view only clears everything.
    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = terminal::size(&self.out).unwrap_or(USUAL);
        Ok(Size { width: width.max(1), height: height.max(1) })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size { width: 0, height: 0 } })
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.out.write_all(&self.pending);
        self.pending.clear();
        written.map_err(io::Error::other)
    }
}
