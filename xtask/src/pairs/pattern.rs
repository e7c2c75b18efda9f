//! Patterns of cases: `#writes iodepth=* !verify=*`.
//!
//! A pattern matches if all its terms do. A term is a word of the command line, the beginning of a word
//! followed by `*`, or `#` and a tag. `!` before a term negates it.

use super::case::{Case, Choice};
use super::model::{Param, Value};

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    terms: Vec<Term>,
}

#[derive(Debug)]
struct Term {
    negated: bool,
    /// The values with which the term, without its negation, matches.
    hits: Vec<Choice>,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Panics
    ///
    /// If no value matches a term: a table in this program has a mistake.
    pub(super) fn new(text: &str, params: &[Param]) -> Self {
        let term = |word: &str| {
            let (negated, word) = match word.strip_prefix('!') {
                Some(word) => (true, word),
                None => (false, word),
            };
            let hits: Vec<Choice> = all(params)
                .filter(|choice| hit(word, &params[choice.param].values[choice.value]))
                .collect();
            assert!(!hits.is_empty(), "no value matches '{word}' in '{text}'");
            Term { negated, hits }
        };
        Pattern { text: text.to_owned(), terms: text.split_whitespace().map(term).collect() }
    }

    pub(super) fn matches(&self, case: &Case) -> bool {
        self.terms.iter().all(|term| term.hits.iter().any(|hit| case.has(*hit)) != term.negated)
    }

    /// Choices that may make a case that matches match no longer: values that a negated term asks for, and other
    /// values of a parameter whose first value matches.
    pub(super) fn ways_out(&self, params: &[Param]) -> Vec<Choice> {
        let others = |hit: &Choice| {
            let param = hit.param;
            (1..params[param].values.len()).map(move |value| Choice { param, value })
        };
        let of = |term: &Term| -> Vec<Choice> {
            if term.negated {
                return term.hits.clone();
            }
            let first = |hit: &&Choice| hit.value == 0;
            let others: Vec<Choice> = term.hits.iter().filter(first).flat_map(others).collect();
            others.into_iter().filter(|other| !term.hits.contains(other)).collect()
        };
        self.terms.iter().flat_map(of).filter(|way| way.value != 0).collect()
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Every value, also the first ones of the parameters.
fn all(params: &[Param]) -> impl Iterator<Item = Choice> + '_ {
    let of = |(param, def): (usize, &Param)| {
        (0..def.values.len()).map(move |value| Choice { param, value })
    };
    params.iter().enumerate().flat_map(of)
}

fn hit(term: &str, value: &Value) -> bool {
    if let Some(tag) = term.strip_prefix('#') {
        return value.tags.split_whitespace().any(|word| word == tag);
    }
    value.words.split_whitespace().any(|word| match term.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == term,
    })
}
