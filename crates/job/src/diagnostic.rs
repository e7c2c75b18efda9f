//! Errors and warnings about jobs and the command line.

use annotate_snippets::{AnnotationKind, Group, Level as Shown, Renderer, Snippet};

use fiord_types::{plain, program};

use crate::option::def::OptionDef;
use crate::secret::{self, Masked};
use crate::spec::Place;

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The run does not start.
    Error,
    /// The run starts, and its report contains a finding of this kind. With `--warnings-fatal`, the
    /// run does not start.
    Warning(Note),
    /// A finding of `fiord check`. The string is the word before the message.
    Found(&'static str),
}

/// The kind of finding to which a warning about a job belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An option has no effect.
    NoEffect,
    /// fiord replaces the value in the job.
    ValueAdjusted,
    /// The job contains something that is probably a mistake.
    DoubtfulJob,
}

impl Note {
    /// The ID of the finding.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Note::NoEffect => "no-effect",
            Note::ValueAdjusted => "value-adjusted",
            Note::DoubtfulJob => "doubtful-job",
        }
    }
}

/// One message: what is wrong, where, and how to fix it.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub level: Level,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// The wrong text in its source, if there is one.
    pub place: Option<Place>,
    /// A label under the underlined text.
    pub label: Option<Box<str>>,
    /// How to fix it, one remedy or hint per entry.
    pub help: Vec<String>,
    /// The job and the option that the message is about.
    pub subject: Box<Subject>,
}

/// The job and the option that a message is about, if there are any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The name of the job.
    pub job: Option<String>,
    /// The documented name of the option.
    pub option: Option<&'static OptionDef>,
}

impl Diagnostic {
    /// Creates an error about a place.
    pub fn error(what: impl Into<String>, place: Option<Place>) -> Self {
        Diagnostic {
            level: Level::Error,
            what: brief(secret::in_sentence(what.into())),
            place,
            label: None,
            help: Vec::new(),
            subject: Box::default(),
        }
    }
    /// Creates a warning about a place.
    pub fn warning(note: Note, what: impl Into<String>, place: Option<Place>) -> Self {
        Diagnostic { level: Level::Warning(note), ..Diagnostic::error(what, place) }
    }
    /// Sets the option that the message is about.
    #[must_use]
    pub fn of_option(mut self, option: &'static OptionDef) -> Self {
        self.subject.option = Some(option);
        self
    }
    /// Adds a remedy (which starts with "To fix:") or a hint.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(brief(help.into()));
        self
    }
    /// Adds a label under the underlined text.
    pub fn label(mut self, label: impl Into<Box<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The message as text with a final line feed: `fiord: what is wrong`, then the file, line and
    /// column with the text underlined, then the remedies. Errors start with the name of the
    /// program: `fio: ` if the user called it by that name, because scripts search for it. `color` adds terminal colours.
    pub fn render(&self, color: bool) -> String {
        let level = match self.level {
            Level::Error => Shown::ERROR.with_name(program::name()),
            Level::Warning(_) => Shown::WARNING.with_name(program::message("warning")),
            Level::Found(word) => Shown::WARNING.with_name(word),
        };
        let mut group = Group::with_title(level.primary_title(plain(&self.what)));
        let window = self.place.as_ref().map(Place::window);
        if let (Some(place), Some(window)) = (&self.place, &window) {
            let mut mark = AnnotationKind::Primary.span(window.span.clone());
            if let Some(label) = &self.label {
                mark = mark.label(plain(label));
            }
            group = group.element(
                Snippet::source(window.text.as_str())
                    .path(plain(&place.source.name))
                    .line_start(window.line)
                    .annotation(mark),
            );
        }
        for help in &self.help {
            // "To fix" takes the place of "help".
            let (level, text) = match help.strip_prefix("To fix: ") {
                Some(remedy) => (Shown::HELP.with_name("To fix"), remedy),
                None => (Shown::HELP, help.as_str()),
            };
            group = group.element(level.message(plain(text)));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut text = renderer.render(&[group]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

/// The maximum length of a text in a message, in bytes. Longer texts are shortened, because a value
/// may have megabytes.
const MAX_TEXT: usize = 4096;
/// How much of the start and of the end of a longer text remains, in bytes.
const SHOWN_OF_LONG_TEXT: usize = 400;

/// Shortens a text above the maximum length to its start, the number of bytes left out, and its
/// end.
fn brief(text: String) -> String {
    if text.len() <= MAX_TEXT {
        return text;
    }
    let head = floor_boundary(&text, SHOWN_OF_LONG_TEXT);
    let tail = floor_boundary(&text, text.len() - SHOWN_OF_LONG_TEXT);
    format!("{}… ({} bytes left out) …{}", &text[..head], tail - head, &text[tail..])
}

/// The maximum number of messages to print.
const MAX_MESSAGES: usize = 20;

/// Renders the messages in order. After the maximum number, adds a line with the number of
/// remaining messages.
#[must_use]
pub fn render(all: &[Diagnostic], color: bool) -> String {
    let mut text: String = all.iter().take(MAX_MESSAGES).map(|d| d.render(color)).collect();
    if all.len() > MAX_MESSAGES {
        let more = all.len() - MAX_MESSAGES;
        text.push_str(&program::message(format_args!("and {more} more messages\n")));
    }
    text
}

/// The part of a line that a message shows.
struct Window {
    text: String,
    line: usize,
    span: std::ops::Range<usize>,
}

/// The maximum length of a shown line, in bytes. The window of a longer line starts shortly before
/// the place.
const MAX_LINE: usize = 400;

impl Place {
    /// The line and the column of the first byte, both starting at 1. The column is in characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let before = &text[..start];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[line_start..].chars().count() + 1)
    }

    #[must_use]
    pub fn text(&self) -> &str {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(start);
        &text[start..end]
    }

    /// The text at this place without the secrets in it, for reports and messages.
    #[must_use]
    pub fn shown_text(&self) -> String {
        Masked::source(self.text(), self.text().starts_with('-')).text
    }

    fn window(&self) -> Window {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_boundary(text, self.span.end).clamp(start, line_end);
        let (mut from, mut to) = (line_start, line_end);
        if to - from > MAX_LINE {
            from = floor_boundary(text, start.saturating_sub(MAX_LINE / 4)).max(line_start);
            to = floor_boundary(text, (from + MAX_LINE).min(line_end)).max(start);
        }
        // A value may begin before the part that is shown.
        let masked = Masked::source(&text[line_start..line_end], self.source.is_command_line());
        let moved = masked.range(&(from - line_start..to - line_start));
        let span = masked.range(&(start - line_start..end.min(to) - line_start));
        let within = |at: usize| at.clamp(moved.start, moved.end) - moved.start;
        Window {
            // The renderer shows other characters that a terminal obeys. The replacement is as long, so the span holds.
            text: masked.text[moved.clone()]
                .replace(|c| matches!(c, '\u{80}'..='\u{9f}' | '\u{61c}'), "·"),
            line: self.line_column().0,
            span: within(span.start)..within(span.end),
        }
    }
}

/// The nearest character boundary at or below a byte.
fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
