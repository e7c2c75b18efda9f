//! The name by which the user called this program, with which its messages begin.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

static CALLED_AS_FIO: AtomicBool = AtomicBool::new(false);

/// Notes the path by which this program was called (`argv[0]`).
pub fn called_as(path: &OsStr) {
    let is_fio = Path::new(path).file_name() == Some(OsStr::new("fio"));
    CALLED_AS_FIO.store(is_fio, Ordering::Relaxed);
}

/// `fio` if this program was called by that name, for example through a link, because scripts search its messages for it.
/// Otherwise `fiord`.
#[must_use]
pub fn name() -> &'static str {
    if CALLED_AS_FIO.load(Ordering::Relaxed) { "fio" } else { "fiord" }
}

/// Puts the name of the program before a message.
#[must_use]
pub fn message(text: impl Display) -> String {
    format!("{}: {text}", name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_name_counts() {
        for (path, expected) in [
            ("fio", "fio: no"),
            ("/usr/bin/fio", "fio: no"),
            ("fiord", "fiord: no"),
            ("fio/fiord", "fiord: no"),
            ("fio-3.42", "fiord: no"),
            ("", "fiord: no"),
        ] {
            called_as(OsStr::new(path));
            assert_eq!(message("no"), expected, "{path}");
        }
    }
}
