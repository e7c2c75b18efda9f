//! Arithmetic in parentheses: `size=(4k*8)`, `runtime=(1m+30s)`.
//!
//! The operators, from lowest to highest precedence: `+ -`, `* / %`, leading `-`, `^`
//! (right-associative). Intermediate values are exact fractions. Bare numbers in a time are in
//! microseconds.

use crate::number::literal::{self, Suffixes};
use crate::option::value::ValueError;
use crate::rational::Rational;

/// The maximum nesting depth. It keeps any input from exhausting the stack.
const MAX_DEPTH: usize = 64;

/// Evaluates an expression. The text includes the outer parentheses.
///
/// # Errors
/// The syntax is invalid, or a value is too large or divided by zero.
pub fn evaluate(text: &str, suffixes: Suffixes) -> Result<Rational, ValueError> {
    let suffixes = match suffixes {
        Suffixes::Time { .. } => Suffixes::Time { bare_ns: 1_000 },
        size => size,
    };
    // Times are computed in microseconds, so that a bare factor has no unit: `(2*30s)`.
    let scale = match suffixes {
        Suffixes::Time { .. } => 1_000,
        Suffixes::Size(_) => 1,
    };
    let mut parser = Parser { text, at: 0, depth: 0, suffixes, scale: Rational::whole(scale) };
    let value = parser.sum()?;
    parser.blanks();
    if parser.at < text.len() {
        let c = parser.rest().chars().next().unwrap_or(' ');
        return Err(ValueError::new(format!("unexpected `{c}` after the expression"))
            .at(parser.at, parser.at + c.len_utf8())
            .with_help("To fix: put the whole expression in one pair of parentheses: `(4k*8)`"));
    }
    value.checked_mul(parser.scale).ok_or_else(|| literal::too_large(text))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    suffixes: Suffixes,
    /// The unit of the computation, in units of the literals and the result.
    scale: Rational,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }
    /// Consumes and returns the next operator if it is one of these.
    fn operator(&mut self, any_of: &[u8]) -> Option<u8> {
        self.blanks();
        let op = *self.rest().as_bytes().first()?;
        any_of.contains(&op).then(|| {
            self.at += 1;
            op
        })
    }
    fn combine(&self, start: usize, value: Option<Rational>) -> Result<Rational, ValueError> {
        let part = &self.text[start..self.at];
        value.ok_or_else(|| {
            ValueError::new(format!("`{part}` is too large or too precise to compute"))
                .at(start, self.at)
        })
    }

    fn sum(&mut self) -> Result<Rational, ValueError> {
        let start = self.at;
        let mut left = self.product()?;
        while let Some(op) = self.operator(b"+-") {
            let right = self.product()?;
            let value = if op == b'+' { left.checked_add(right) } else { left.checked_sub(right) };
            left = self.combine(start, value)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Rational, ValueError> {
        let start = self.at;
        let mut left = self.signed()?;
        while let Some(op) = self.operator(b"*/%") {
            let from = self.at;
            let right = self.signed()?;
            if op != b'*' && right.is_zero() {
                return Err(ValueError::new("division by zero").at(from, self.at));
            }
            let value = match op {
                b'*' => left.checked_mul(right),
                b'/' => left.checked_div(right),
                _ => left
                    .checked_div(right)
                    .and_then(|q| right.checked_mul(Rational::whole(q.floor())))
                    .and_then(|whole| left.checked_sub(whole)),
            };
            left = self.combine(start, value)?;
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Rational, ValueError> {
        let mut negative = false;
        while let Some(op) = self.operator(b"+-") {
            negative ^= op == b'-';
        }
        let value = self.power()?;
        Ok(if negative { value.negated() } else { value })
    }

    fn power(&mut self) -> Result<Rational, ValueError> {
        let start = self.at;
        let base = self.atom()?;
        if self.operator(b"^").is_none() {
            return Ok(base);
        }
        self.enter()?;
        let exponent = self.signed()?;
        self.depth -= 1;
        if !exponent.is_whole() {
            return Err(ValueError::new("an exponent must be a whole number").at(start, self.at));
        }
        self.combine(start, base.checked_pow(exponent))
    }

    fn enter(&mut self) -> Result<(), ValueError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(
                ValueError::new("the expression is nested too deeply").at(self.at, self.text.len())
            );
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<Rational, ValueError> {
        self.blanks();
        let open = self.at;
        if self.rest().starts_with('(') {
            self.enter()?;
            self.at += 1;
            let value = self.sum()?;
            self.blanks();
            if !self.rest().starts_with(')') {
                return Err(ValueError::new("this parenthesis is not closed").at(open, open + 1));
            }
            self.at += 1;
            self.depth -= 1;
            return Ok(value);
        }
        let rest = self.rest();
        match rest.chars().next() {
            None => Err(ValueError::new("the expression ends where a number is expected")
                .at(open.saturating_sub(1), open)),
            Some(c) if !c.is_ascii_digit() && c != '.' => {
                Err(ValueError::new(format!("unexpected `{c}` where a number is expected"))
                    .at(open, open + c.len_utf8()))
            }
            Some(_) => {
                let (value, used, _) = literal::literal(rest, self.suffixes)
                    .map_err(|e| e.shifted(open, rest.len()))?;
                self.at += used;
                value.checked_div(self.scale).ok_or_else(|| literal::too_large(rest))
            }
        }
    }
}
