//! Which characters and colours the terminal can show.

use ratatui_core::style::{Color, Modifier, Style};

use crate::history::LEVELS;
use crate::model::LiveSeverity;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveLook {
    /// Only ASCII characters.
    pub ascii: bool,
    /// Colours. Without them nothing is lost: they repeat what characters say.
    pub color: bool,
}

/// Bars from nothing to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 9] = [' ', '_', '.', '-', ':', '=', '+', '*', '#'];

const HEAT: [char; LEVELS] = [' ', '·', '░', '▒', '▓', '█'];
const ASCII_HEAT: [char; LEVELS] = [' ', '.', ':', '+', '*', '#'];

/// Colours that are visible on light and on dark backgrounds.
const HEAT_COLORS: [Color; LEVELS] =
    [Color::Reset, Color::DarkGray, Color::Blue, Color::Cyan, Color::Magenta, Color::Red];

impl LiveLook {
    /// The look for a locale (`LC_ALL`, `LC_CTYPE` or `LANG`) and the presence of `NO_COLOR`.
    #[must_use]
    pub fn of(locale: &str, no_color: bool) -> Self {
        let locale = locale.to_ascii_lowercase();
        let ascii = !(locale.contains("utf-8") || locale.contains("utf8"));
        LiveLook { ascii, color: !no_color }
    }

    /// The look that the environment asks for.
    #[must_use]
    pub fn from_environment() -> Self {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let locale = names
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        LiveLook::of(&locale.unwrap_or_default(), std::env::var_os("NO_COLOR").is_some())
    }

    /// A bar of a height of `eighths`, 0 to 8.
    #[must_use]
    pub fn bar(self, eighths: usize) -> char {
        let bars = if self.ascii { ASCII_BARS } else { BARS };
        bars[eighths.min(8)]
    }

    /// The character and style of a level of the heat strip.
    #[must_use]
    pub fn heat(self, level: usize) -> (char, Style) {
        let level = level.min(LEVELS - 1);
        let chars = if self.ascii { ASCII_HEAT } else { HEAT };
        (chars[level], self.fg(HEAT_COLORS[level]))
    }

    /// The line between parts of a page.
    #[must_use]
    pub fn line(self) -> char {
        if self.ascii { '-' } else { '─' }
    }

    /// A foreground colour.
    #[must_use]
    pub fn fg(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    #[must_use]
    pub fn curve(self) -> Style {
        self.fg(Color::Cyan)
    }

    #[must_use]
    pub fn label(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The style of something that is wrong.
    #[must_use]
    pub fn alarm(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style of a finding.
    #[must_use]
    pub fn severity(self, severity: LiveSeverity) -> Style {
        match severity {
            LiveSeverity::Note => Style::new().add_modifier(Modifier::BOLD),
            LiveSeverity::Suspect => self.fg(Color::Magenta).add_modifier(Modifier::BOLD),
            LiveSeverity::Invalid | LiveSeverity::Error => self.alarm(),
        }
    }
}
