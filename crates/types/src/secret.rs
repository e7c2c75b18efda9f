//! A text that must not be shown.

use std::fmt;

/// A password, key or token. `Debug` shows `***`, so that no log or message contains it by accident.
///
/// ```
/// use fiord_types::Secret;
///
/// let key = Secret::new("abc");
/// assert_eq!((format!("{key:?}").as_str(), key.expose()), ("***", "abc"));
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, for the code that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
