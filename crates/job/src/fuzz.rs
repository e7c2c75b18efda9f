//! The checks that the fuzz targets (`fuzz/`) and the loop on stable Rust (`tests/fuzz.rs`) run on
//! each input.

use std::io;

use crate::diagnostic::{self, Diagnostic};
use crate::load::{HostWords, Loader, Memory};
use crate::{Invocation, invocation, unsupported};

/// A loader with one file, which contains any bytes.
struct Bytes<'a>(&'a [u8], Memory);

impl Loader for Bytes<'_> {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        if file == "job.fio" { Ok(self.0.to_vec()) } else { self.1.read(file) }
    }
    fn variable(&self, name: &str) -> Option<String> {
        self.1.variable(name)
    }
    fn page_size(&self) -> u64 {
        self.1.page_size()
    }
    fn memory_mb(&self) -> u64 {
        self.1.memory_mb()
    }
    fn cpus(&self) -> u64 {
        self.1.cpus()
    }
    fn host(&self) -> HostWords {
        self.1.host()
    }
}

/// Parses bytes as a job file, and again with `--showcmd`.
pub fn job_file(bytes: &[u8]) {
    let variables = vec![("SIZE".into(), "4k".into()), ("${SIZE}".into(), "${SIZE}".into())];
    let mut loader = Bytes(bytes, Memory { files: Vec::new(), variables });
    check(invocation(&["job.fio".into()], &mut loader));
    check(invocation(&["--showcmd".into(), "job.fio".into()], &mut loader));
}

/// Parses a text as a command line, with one argument per line.
pub fn command_line(text: &str) {
    let args: Vec<String> = text.lines().map(str::to_string).collect();
    check(invocation(&args, &mut Memory::job("[a]\nsize=1m\n")));
}

/// Checks that every use of a parse result works.
fn check(result: Result<Invocation, Vec<Diagnostic>>) {
    match result {
        Err(wrong) => {
            assert!(!wrong.is_empty(), "an error has a message");
            // Four messages are enough: the others take the same code paths.
            let wrong = &wrong[..wrong.len().min(4)];
            assert!(!diagnostic::render(wrong, false).is_empty());
        }
        Ok(run) => {
            let _ = diagnostic::render(&run.warnings[..run.warnings.len().min(4)], true);
            for job in run.jobs.iter().take(4) {
                let _ = diagnostic::render(&unsupported(job), false);
                for s in &job.settings {
                    assert!(job.setting(s.def).is_some(), "{} has a value", s.def.name);
                    assert!(s.place.line_column().0 > 0);
                }
            }
        }
    }
}
