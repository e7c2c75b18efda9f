//! Messages for the person who wrote the job.

use annotate_snippets::{AnnotationKind, Group, Level as Shown, Renderer, Snippet};

use crate::spec::Place;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The run does not start.
    Error,
    /// The run starts, and its report contains a finding of this kind; with `--warnings-fatal` it does
    /// not start.
    Warning(Note),
    /// Something that was found out about the job, and the word that stands before it.
    Found(&'static str),
}

/// The kind of finding that a warning about a job becomes in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// An option changes nothing.
    NoEffect,
    /// A value counts as another one.
    ValueAdjusted,
    /// Something in the job is probably not meant.
    DoubtfulJob,
}

impl Note {
    /// The id of the finding.
    pub fn id(self) -> &'static str {
        match self {
            Note::NoEffect => "no-effect",
            Note::ValueAdjusted => "value-adjusted",
            Note::DoubtfulJob => "doubtful-job",
        }
    }
}

/// One message: what is wrong, where, and what would be right.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub level: Level,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// The text that is wrong.
    pub place: Option<Place>,
    /// A label under the underlined text.
    pub label: Option<Box<str>>,
    /// What would be right.
    pub help: Vec<String>,
    /// Whom it is about.
    pub subject: Box<Subject>,
}

/// The job and the option that a message is about, where it is about one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// The name of the job.
    pub job: Option<String>,
    /// The documented name of the option.
    pub option: Option<&'static str>,
}

impl Diagnostic {
    /// An error about a place.
    pub fn error(what: impl Into<String>, place: Option<Place>) -> Self {
        Diagnostic {
            level: Level::Error,
            what: brief(what.into()),
            place,
            label: None,
            help: Vec::new(),
            subject: Box::default(),
        }
    }
    /// A warning about a place.
    pub fn warning(note: Note, what: impl Into<String>, place: Option<Place>) -> Self {
        Diagnostic { level: Level::Warning(note), ..Diagnostic::error(what, place) }
    }
    /// Names the option that it is about.
    pub fn of_option(mut self, option: &'static str) -> Self {
        self.subject.option = Some(option);
        self
    }
    /// Adds what would be right.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(brief(help.into()));
        self
    }
    /// Adds a label under the underlined text.
    pub fn label(mut self, label: impl Into<Box<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The message as text that ends in a line feed: `fio: what is wrong`, then file, line and
    /// column with the text underlined, then what would be right. Errors begin with `fio: ` because
    /// scripts look for that. `color` adds terminal colours.
    pub fn render(&self, color: bool) -> String {
        let level = match self.level {
            Level::Error => Shown::ERROR.with_name("fio"),
            Level::Warning(_) => Shown::WARNING.with_name("fio: warning"),
            Level::Found(word) => Shown::WARNING.with_name(word),
        };
        let mut group = Group::with_title(level.primary_title(self.what.as_str()));
        let window = self.place.as_ref().map(Place::window);
        if let (Some(place), Some(window)) = (&self.place, &window) {
            let mut mark = AnnotationKind::Primary.span(window.span.clone());
            if let Some(label) = &self.label {
                mark = mark.label(&**label);
            }
            group = group.element(
                Snippet::source(window.text.as_str())
                    .path(place.source.name.as_str())
                    .line_start(window.line)
                    .annotation(mark),
            );
        }
        for help in &self.help {
            group = group.element(Shown::HELP.message(help.as_str()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut text = renderer.render(&[group]);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

/// A text of a message longer than this, in bytes, is shortened: a value may have megabytes.
const LONGEST: usize = 4096;
/// What is left of its start and of its end, bytes.
const KEPT: usize = 400;

/// A text, or the start and the end of a very long one with the number of bytes between.
fn brief(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let head = floor_boundary(&text, KEPT);
    let tail = floor_boundary(&text, text.len() - KEPT);
    format!("{}… ({} bytes left out) …{}", &text[..head], tail - head, &text[tail..])
}

/// As many messages as anybody reads at once.
const MOST: usize = 20;

/// The messages, one after the other; of very many the first ones and how many more there are.
pub fn render(all: &[Diagnostic], color: bool) -> String {
    let mut text: String = all.iter().take(MOST).map(|d| d.render(color)).collect();
    if all.len() > MOST {
        text.push_str(&format!("fio: and {} more\n", all.len() - MOST));
    }
    text
}

/// The line that a message shows.
struct Window {
    text: String,
    line: usize,
    span: std::ops::Range<usize>,
}

/// A line longer than this is shown from near the place on, so that no input fills the terminal.
const WIDEST: usize = 400;

impl Place {
    /// Line and column of the first byte, both from 1, the column in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let before = &text[..start];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[line_start..].chars().count() + 1)
    }

    /// The text at the place.
    pub fn text(&self) -> &str {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end).max(start);
        &text[start..end]
    }

    fn window(&self) -> Window {
        let text = &self.source.text;
        let start = floor_boundary(text, self.span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_boundary(text, self.span.end).clamp(start, line_end);
        let (mut from, mut to) = (line_start, line_end);
        if to - from > WIDEST {
            from = floor_boundary(text, start.saturating_sub(WIDEST / 4)).max(line_start);
            to = floor_boundary(text, (from + WIDEST).min(line_end)).max(start);
        }
        Window {
            text: text[from..to].to_string(),
            line: self.line_column().0,
            span: (start - from)..(end.min(to) - from),
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
