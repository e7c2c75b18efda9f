//! Job files: reads one with what it includes and cuts it into sections.

use std::sync::Arc;

use crate::assemble::RawSection;
use crate::diagnostic::Diagnostic;
use crate::load::Loader;
use crate::scan::{Item, scan};
use crate::spec::{Place, Source};

/// Files may include each other this deep.
const DEEPEST: usize = 16;

/// The sections of a job file in order, and what was wrong. `named` is where the file is named.
pub fn sections(
    file: &str,
    named: Place,
    loader: &mut dyn Loader,
) -> (Vec<RawSection>, Vec<Diagnostic>) {
    let mut reader = Reader { loader, sections: Vec::new(), wrong: Vec::new(), open: Vec::new() };
    reader.file(file, named);
    (reader.sections, reader.wrong)
}

struct Reader<'a> {
    loader: &'a mut dyn Loader,
    sections: Vec<RawSection>,
    wrong: Vec<Diagnostic>,
    /// The files being read, outermost first.
    open: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, file: &str, named: Place) {
        if self.open.iter().any(|f| f == file) || self.open.len() >= DEEPEST {
            let chain = self.open.join(" includes ");
            let what = format!("`{file}` is included from within itself or too deep ({chain})");
            self.wrong.push(Diagnostic::error(what, Some(named)));
            return;
        }
        let bytes = match self.loader.read(file) {
            Ok(bytes) => bytes,
            Err(e) => {
                let what = format!("unable to open `{file}` job file: {}", reason(&e));
                let mut error = Diagnostic::error(what, Some(named));
                if file.contains('=') {
                    error = error.help(format!("to give an option write `--{file}`"));
                }
                self.wrong.push(error);
                return;
            }
        };
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(e) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), true),
        };
        let source = Arc::new(Source { name: file.to_string(), text });
        let (items, wrong) = scan(&source);
        self.wrong.extend(wrong);
        self.open.push(file.to_string());
        let included = self.open.len() > 1;
        for item in items {
            // Foreign bytes may stand in comments; in a name or value they would change it.
            if let Some(place) =
                broken.then(|| item.place()).filter(|p| p.text().contains('\u{fffd}'))
            {
                self.wrong.push(Diagnostic::error("the text is not UTF-8", Some(place)));
                continue;
            }
            self.item(item, included);
        }
        self.open.pop();
    }

    fn item(&mut self, item: Item, included: bool) {
        match item {
            Item::Section { place, .. } if included => self.wrong.push(
                Diagnostic::error("an included file may not hold sections", Some(place))
                    .help("include it inside a section, or give it as a job file of its own"),
            ),
            Item::Section { name, place } => self.sections.push(RawSection {
                name,
                place,
                options: Vec::new(),
                command_line: false,
            }),
            Item::Include { file, place } if file.is_empty() => self.wrong.push(
                Diagnostic::error("include names no file", Some(place))
                    .help("write `include FILE`"),
            ),
            Item::Include { place, .. } if self.sections.is_empty() => {
                self.wrong.push(outside("include", place));
            }
            Item::Include { file, place } => self.file(&file, place),
            Item::Option(option) => match self.sections.last_mut() {
                Some(section) => section.options.push(option),
                None => self.wrong.push(outside(&option.name, option.place())),
            },
        }
    }
}

fn outside(name: &str, place: Place) -> Diagnostic {
    Diagnostic::error(format!("`{name}` stands outside of any [job] section"), Some(place))
        .help("put a line such as `[global]` or `[job1]` above it")
}

/// What an I/O error means, without Rust's `(os error N)`.
pub(crate) fn reason(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}
