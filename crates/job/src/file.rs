//! Reads a job file and the files that it includes, and splits it into sections.

use fiord_types::Errno;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::load::Loader;
use crate::scan::{Item, scan};
use crate::section::RawSection;
use crate::spec::{Place, SourceText};

/// The maximum depth of nested includes.
const MAX_DEPTH: usize = 16;
/// The maximum number of files for one job file. Without it, sixteen small files that each include
/// the next one ten times would take forever.
const MAX_FILES: usize = 1000;

/// The sections of a job file in order, and the errors found. `named` is the place where the file
/// is named.
pub fn sections(
    file: &str,
    named: Place,
    loader: &mut dyn Loader,
) -> (Vec<RawSection>, Vec<Diagnostic>) {
    let mut reader =
        Reader { loader, sections: Vec::new(), wrong: Vec::new(), open: Vec::new(), files: 0 };
    reader.file(file, named);
    (reader.sections, reader.wrong)
}

struct Reader<'a> {
    loader: &'a mut dyn Loader,
    sections: Vec<RawSection>,
    wrong: Vec<Diagnostic>,
    /// The number of files read so far.
    files: usize,
    /// The files that are being read, outermost first.
    open: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, file: &str, named: Place) {
        let (file, bytes) = match self.read(file) {
            Ok(found) => found,
            Err(e) => {
                let what = format!("unable to open `{file}` job file: {}", Errno::explain(&e));
                let mut error = Diagnostic::error(what, Some(named));
                if file.contains('=') {
                    error = error.help(format!("To fix: to set an option, write `--{file}`"));
                }
                self.wrong.push(error);
                return;
            }
        };
        self.files += 1;
        let again = self.open.contains(&file);
        if again || self.open.len() >= MAX_DEPTH || self.files > MAX_FILES {
            let chain = self.open.join("` includes `");
            let what = match again {
                true => format!("`{file}` includes itself: `{chain}` includes `{file}`"),
                false => format!("too many files include each other: `{chain}` includes `{file}`"),
            };
            // Reports this only once: otherwise each file of the chain would report it again.
            if self.files <= MAX_FILES + 1 {
                self.wrong.push(Diagnostic::error(what, Some(named)));
            }
            return;
        }
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(e) => (String::from_utf8_lossy(e.as_bytes()).into_owned(), true),
        };
        let source = Arc::new(SourceText { name: file.clone(), text });
        let (items, wrong) = scan(&source);
        self.wrong.extend(wrong);
        self.open.push(file);
        let included = self.open.len() > 1;
        for item in items {
            // Invalid bytes are permitted in comments. In a name or value, they would change it.
            if let Some(place) =
                broken.then(|| item.place()).filter(|p| p.text().contains('\u{fffd}'))
            {
                self.wrong.push(Diagnostic::error("this text is not UTF-8", Some(place)));
                continue;
            }
            self.item(item, included);
        }
        self.open.pop();
    }

    /// Reads a file. An included file is searched relative to the current directory, then, as in
    /// fio, relative to the directory of the file that includes it. Returns the path at which it
    /// was found.
    fn read(&mut self, file: &str) -> io::Result<(String, Vec<u8>)> {
        let error = match self.loader.read(file) {
            Ok(bytes) => return Ok((file.to_string(), bytes)),
            Err(error) => error,
        };
        let relative =
            self.open.last().and_then(|from| Path::new(from).parent()).map(|d| d.join(file));
        match relative.as_ref().and_then(|path| path.to_str()) {
            Some(path) if error.kind() == io::ErrorKind::NotFound && path != file => {
                // The message reports the path as written.
                let bytes = self.loader.read(path).map_err(|_| error)?;
                Ok((path.to_string(), bytes))
            }
            _ => Err(error),
        }
    }

    fn item(&mut self, item: Item, included: bool) {
        match item {
            Item::Section { place, .. } if included => self.wrong.push(
                Diagnostic::error("an included file must not contain sections", Some(place)).help(
                    "To fix: include it inside a section, or name it as a separate job file on the \
                     command line",
                ),
            ),
            Item::Section { name, place } => self.sections.push(RawSection {
                name,
                place,
                options: Vec::new(),
                command_line: false,
            }),
            Item::Include { file, place } if file.is_empty() => self.wrong.push(
                Diagnostic::error("the file name after include is missing", Some(place))
                    .help("To fix: write `include FILE`"),
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
    Diagnostic::error(format!("`{name}` is outside of any [job] section"), Some(place))
        .help("To fix: put a line such as `[global]` or `[job1]` above it")
}
