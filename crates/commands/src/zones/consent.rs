//! Asks the user for confirmation before data is lost.

use std::io::{BufRead, Write};

use fiord_sys::terminal;

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The user agrees.
    Yes,
    /// The user refuses.
    No,
    /// No answer is possible: standard input or standard error is not a terminal.
    NoTerminal,
}

/// Source of answers.
pub trait Ask {
    /// Asks a yes-or-no question.
    fn ask(&mut self, question: &str) -> Answer;
}

/// Asks on the terminal: writes to standard error, reads from standard input.
#[derive(Debug)]
pub struct Terminal;

impl Ask for Terminal {
    fn ask(&mut self, question: &str) -> Answer {
        let mut err = std::io::stderr();
        if !(terminal::is_terminal(std::io::stdin()) && terminal::is_terminal(&err)) {
            return Answer::NoTerminal;
        }
        let _ = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(_) if is_yes(&line) => Answer::Yes,
            _ => Answer::No,
        }
    }
}

/// Whether a line is `y` or `yes`, in any case. Everything else counts as no.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Asks for confirmation, unless `yes` gives it in advance.
///
/// # Errors
/// The user refuses, or no terminal is available.
pub fn obtain(yes: bool, ask: &mut dyn Ask) -> Result<(), String> {
    if yes {
        return Ok(());
    }
    match ask.ask("Go on?") {
        Answer::Yes => Ok(()),
        Answer::No => Err("nothing was changed".into()),
        Answer::NoTerminal => {
            Err("nothing was changed: standard input or standard error is not a terminal. To fix: pass \
                 --yes to confirm"
                .into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        assert!(is_yes("y\n") && is_yes(" YES ") && !is_yes("") && !is_yes("yeah\n"));
    }
}
