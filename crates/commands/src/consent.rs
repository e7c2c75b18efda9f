//! Asks the user for confirmation before data is lost.

use std::io::{self, BufRead, Write};

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

/// Source of answers. A test answers itself:
///
/// ```
/// use fiord_commands::consent::{self, Answer, Ask};
///
/// struct Never;
/// impl Ask for Never {
///     fn ask(&mut self, question: &str) -> Answer {
///         assert!(!question.is_empty());
///         Answer::No
///     }
/// }
/// assert!(consent::obtain(false, &mut Never).is_err());
/// ```
pub trait Ask {
    /// Asks a yes-or-no question.
    fn ask(&mut self, question: &str) -> Answer;
}

/// Asks on the terminal: writes to standard error, reads from standard input.
#[derive(Debug)]
pub struct Terminal;

impl Ask for Terminal {
    fn ask(&mut self, question: &str) -> Answer {
        let (input, err) = (io::stdin(), io::stderr());
        if !(terminal::is_terminal(&input) && terminal::is_terminal(&err)) {
            return Answer::NoTerminal;
        }
        ask_on(input.lock(), err, question)
    }
}

/// Asks a person: everything but `y` and `yes` in any case counts as no, the end of the input too.
fn ask_on(mut input: impl BufRead, mut output: impl Write, question: &str) -> Answer {
    let _ = write!(output, "{question} [y/N] ").and_then(|()| output.flush());
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(_) if matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes") => Answer::Yes,
        _ => Answer::No,
    }
}

/// Why nothing may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoConsent {
    /// The user refuses.
    #[error("nothing was changed")]
    ByUser,
    /// The user cannot be asked.
    #[error(
        "nothing was changed: standard input or standard error is not a terminal. To fix: pass --yes \
         to confirm"
    )]
    NoTerminal,
}

/// Asks for confirmation, unless `yes` gives it in advance.
///
/// # Errors
/// The user refuses, or no terminal is available.
pub fn obtain(yes: bool, ask: &mut dyn Ask) -> Result<(), NoConsent> {
    if yes {
        return Ok(());
    }
    match ask.ask("Continue?") {
        Answer::Yes => Ok(()),
        Answer::No => Err(NoConsent::ByUser),
        Answer::NoTerminal => Err(NoConsent::NoTerminal),
    }
}

/// Gives one answer to every question, and counts the questions.
#[cfg(test)]
pub(crate) struct Scripted {
    answer: Answer,
    pub(crate) asked: u32,
}

#[cfg(test)]
impl Scripted {
    pub(crate) fn new(answer: Answer) -> Self {
        Scripted { answer, asked: 0 }
    }
}

#[cfg(test)]
impl Ask for Scripted {
    fn ask(&mut self, _: &str) -> Answer {
        self.asked += 1;
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (line, answer) in [
            ("y\n", Answer::Yes),
            (" YES \n", Answer::Yes),
            ("", Answer::No),
            ("\n", Answer::No),
            ("yeah\n", Answer::No),
        ] {
            let mut shown = Vec::new();
            assert_eq!(ask_on(line.as_bytes(), &mut shown, "Continue?"), answer, "{line:?}");
            assert_eq!(shown, b"Continue? [y/N] ");
        }
    }

    #[test]
    fn yes_in_advance_asks_nothing() {
        let mut ask = Scripted::new(Answer::No);
        assert_eq!((obtain(true, &mut ask), ask.asked), (Ok(()), 0));
    }

    #[test]
    fn without_a_terminal_the_error_names_the_option() {
        let obtained = |answer| obtain(false, &mut Scripted::new(answer));
        assert_eq!(obtained(Answer::Yes), Ok(()));
        assert_eq!(obtained(Answer::No), Err(NoConsent::ByUser));
        let error = obtained(Answer::NoTerminal).unwrap_err();
        assert_eq!(error, NoConsent::NoTerminal);
        assert!(error.to_string().ends_with("To fix: pass --yes to confirm"), "{error}");
    }
}
