//! Output formats: a report as text, JSON and terse.
