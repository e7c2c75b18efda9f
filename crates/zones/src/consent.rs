//! How the user is asked before data is lost.

use std::io::{BufRead, Write};

use fiord_sys::terminal;

/// What was said to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Do it.
    Yes,
    /// Leave it.
    No,
    /// There is nobody to ask: standard input or standard error is no terminal.
    Nobody,
}

/// Who answers.
pub trait Ask {
    /// Puts a question that is answered by yes or no.
    fn ask(&mut self, question: &str) -> Answer;
}

/// The terminal.
#[derive(Debug)]
pub struct Terminal;

impl Ask for Terminal {
    fn ask(&mut self, question: &str) -> Answer {
        let mut err = std::io::stderr();
        if !(terminal::is_terminal(std::io::stdin()) && terminal::is_terminal(&err)) {
            return Answer::Nobody;
        }
        let _ = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
        let mut line = String::new();
        match std::io::stdin().lock().read_line(&mut line) {
            Ok(_) if is_yes(&line) => Answer::Yes,
            _ => Answer::No,
        }
    }
}

/// Anything else is no.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Asks, unless the answer was given beforehand.
///
/// # Errors
/// The answer is no, or there is none.
pub fn obtain(yes: bool, ask: &mut dyn Ask) -> Result<(), String> {
    if yes {
        return Ok(());
    }
    match ask.ask("Go on?") {
        Answer::Yes => Ok(()),
        Answer::No => Err("nothing was changed".into()),
        Answer::Nobody => {
            Err("nothing was changed: there is no terminal to ask on; --yes says that it is meant"
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
