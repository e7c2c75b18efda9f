//! Lists of hosts, as users write them: `n[01-12],login`.
//!
//! ```text
//! list    = host { "," host }
//! host    = { letters | "[" choice { "," choice } "]" }
//! choice  = number "-" number | host
//! ```
//!
//! Each bracket stands for its choices, and several brackets for all their combinations, where the last one changes
//! fastest: `r[1-2]n[a,b]` is `r1na,r1nb,r2na,r2nb`. A choice can contain brackets. Numbers keep the leading zeros of the
//! first number. Brackets around an IPv6 address stay as they are.
//!
//! ```
//! let hosts = fiord_fabric::hostlist::parse("n[09-11],r[1-2]x").unwrap();
//! assert_eq!(hosts, ["n09", "n10", "n11", "r1x", "r2x"]);
//! ```

use std::net::Ipv6Addr;

use thiserror::Error;

/// Maximum number of hosts that a list may have.
pub const MAX_HOSTS: usize = 100_000;

/// The longest name of a host in bytes, as in the domain name system.
pub const MAX_NAME: usize = 255;

/// How deep brackets may be nested.
const MAX_DEPTH: usize = 8;

/// Why a list of hosts cannot be read. `Display` begins with the position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}character {column}: {why}", line_prefix(.line))]
pub struct HostListError {
    /// The line of a host file, from 1. `None` for a list from the command line.
    line: Option<usize>,
    /// The first character that is wrong, from 1.
    column: usize,
    why: String,
}

fn line_prefix(line: &Option<usize>) -> String {
    line.map(|line| format!("line {line}, ")).unwrap_or_default()
}

/// Reads a list of hosts. A host can occur more than once.
///
/// # Errors
/// The text is not such a list, has no host, or has more than [`MAX_HOSTS`].
pub fn parse(text: &str) -> Result<Vec<String>, HostListError> {
    let hosts = read(text, MAX_HOSTS)?;
    if hosts.is_empty() { Err(no_host(None)) } else { Ok(hosts) }
}

/// Reads a host file: one list of hosts in each line. `#` begins a comment. Empty lines are ignored.
///
/// # Errors
/// A line is not a list of hosts, or the file has no host or more than [`MAX_HOSTS`].
pub fn parse_file(text: &str) -> Result<Vec<String>, HostListError> {
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let list = line.split('#').next().unwrap_or_default();
        if list.trim().is_empty() {
            continue;
        }
        let more = read(list, MAX_HOSTS - hosts.len());
        hosts.extend(more.map_err(|error| HostListError { line: Some(number + 1), ..error })?);
    }
    if hosts.is_empty() { Err(no_host(Some(1))) } else { Ok(hosts) }
}

fn no_host(line: Option<usize>) -> HostListError {
    HostListError { line, column: 1, why: "the list names no host".into() }
}

fn read(text: &str, most: usize) -> Result<Vec<String>, HostListError> {
    let mut reader = Reader { text, at: 0, most };
    let hosts = reader.list(0)?;
    match reader.next() {
        None => Ok(hosts),
        Some(_) => Err(reader.error("`]` without `[` before it")),
    }
}

/// Reads from left to right. `at` is the byte that comes next.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    most: usize,
}

impl<'a> Reader<'a> {
    fn next(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn error(&self, why: impl Into<String>) -> HostListError {
        self.error_at(self.at, why)
    }

    fn error_at(&self, at: usize, why: impl Into<String>) -> HostListError {
        let column = self.text[..at].chars().count() + 1;
        HostListError { line: None, column, why: why.into() }
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Reads hosts until the end of the text, or the `]` that closes the list.
    fn list(&mut self, depth: usize) -> Result<Vec<String>, HostListError> {
        let mut hosts = Vec::new();
        loop {
            self.skip_blanks();
            if self.next().is_none() && depth == 0 && hosts.is_empty() {
                return Ok(hosts);
            }
            let begin = self.at;
            let more = match self.range(depth)? {
                Some(range) => range,
                None => self.host(depth)?,
            };
            if hosts.len() + more.len() > self.most {
                return Err(self.error_at(begin, too_many()));
            }
            hosts.extend(more);
            self.skip_blanks();
            match self.next() {
                Some(',') => self.at += 1,
                None | Some(']') => return Ok(hosts),
                Some(_) => {
                    let why = "a space inside a name. To fix: separate hosts with commas";
                    return Err(self.error(why));
                }
            }
        }
    }

    /// Reads one host with its brackets: all combinations.
    fn host(&mut self, depth: usize) -> Result<Vec<String>, HostListError> {
        let begin = self.at;
        let mut hosts = vec![String::new()];
        loop {
            let piece = self.at;
            let endings = match self.next() {
                Some('[') => self.bracket(depth)?,
                Some(c) if !c.is_whitespace() && c != ',' && c != ']' => vec![self.letters()?],
                _ => break,
            };
            if hosts.len().saturating_mul(endings.len()) > self.most {
                return Err(self.error_at(piece, too_many()));
            }
            hosts = combinations(&hosts, &endings);
            if hosts.iter().any(|host| host.len() > MAX_NAME) {
                let why = format!("a name of more than {MAX_NAME} characters");
                return Err(self.error_at(begin, why));
            }
        }
        match hosts.iter().find(|host| host.is_empty() || host.starts_with('-')) {
            // Within brackets, both are parts of names: `n[,-b]` is `n,n-b`.
            _ if depth > 0 => Ok(hosts),
            None => Ok(hosts),
            Some(empty) if empty.is_empty() => Err(self.error_at(begin, "a name is missing")),
            Some(option) => {
                let why =
                    format!("`{option}` looks like an option: a host name does not begin with `-`");
                Err(self.error_at(begin, why))
            }
        }
    }

    /// Reads letters outside brackets.
    fn letters(&mut self) -> Result<String, HostListError> {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']');
        let letters = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let wrong = |c: char| c.is_control() || matches!(c, '"' | '\'' | '\\' | '`' | '$' | ';');
        if let Some(offset) = letters.find(wrong) {
            let why = "a host name cannot contain this character";
            return Err(self.error_at(self.at + offset, why));
        }
        self.at += letters.len();
        Ok(letters.to_owned())
    }

    /// Reads a bracket: all choices.
    fn bracket(&mut self, depth: usize) -> Result<Vec<String>, HostListError> {
        let open = self.at;
        if depth == MAX_DEPTH {
            return Err(self.error(format!("more than {MAX_DEPTH} nested brackets")));
        }
        let inside = self.text[open + 1..].split(']').next().unwrap_or_default();
        let address = inside.split('%').next().unwrap_or_default();
        if address.parse::<Ipv6Addr>().is_ok() && self.text[open + 1..].contains(']') {
            self.at += inside.len() + 2;
            return Ok(vec![format!("[{inside}]")]);
        }
        self.at += 1;
        let choices = self.list(depth + 1)?;
        if choices.iter().all(String::is_empty) {
            return Err(self.error_at(open, "the brackets are empty"));
        }
        if self.next() != Some(']') {
            return Err(self.error_at(open, "`[` without `]` after it"));
        }
        self.at += 1;
        Ok(choices)
    }

    /// Reads `01-12` within brackets. `None` if the text continues with something else.
    fn range(&mut self, depth: usize) -> Result<Option<Vec<String>>, HostListError> {
        let rest = &self.text[self.at..];
        let choice = rest[..rest.find([',', ']', '[']).unwrap_or(rest.len())].trim_end();
        let Some((first, last)) = choice.split_once('-').filter(|_| depth > 0) else {
            return Ok(None);
        };
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(first) || !digits(last) {
            return Ok(None);
        }
        if last.starts_with('0') && last.len() != first.len() {
            let why = format!("`{choice}`: write both numbers with the same number of digits");
            return Err(self.error(why));
        }
        let number =
            |s: &str| s.parse::<u64>().map_err(|_| self.error(format!("`{s}` is too large")));
        let (low, high) = (number(first)?, number(last)?);
        if low > high {
            return Err(self.error(format!("`{choice}` ends before it begins")));
        }
        if high - low >= self.most as u64 {
            return Err(self.error(too_many()));
        }
        let width = if first.starts_with('0') { first.len() } else { 0 };
        self.at += choice.len();
        Ok(Some((low..=high).map(|n| format!("{n:0width$}")).collect()))
    }
}

fn too_many() -> String {
    format!("more than {MAX_HOSTS} hosts")
}

/// Each beginning with each ending.
fn combinations(beginnings: &[String], endings: &[String]) -> Vec<String> {
    let with = |begin| endings.iter().map(move |end| format!("{begin}{end}"));
    beginnings.iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(text: &str) -> String {
        parse(text).unwrap().join(" ")
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_and_ranges() {
        assert_eq!(hosts("a"), "a");
        assert_eq!(hosts(" a , b,root@c.example.org:2222 "), "a b root@c.example.org:2222");
        assert_eq!(hosts("n[01-03],x"), "n01 n02 n03 x");
        assert_eq!(hosts("n[8-11]"), "n8 n9 n10 n11");
        assert_eq!(hosts("n[008-11,20]z"), "n008z n009z n010z n011z n20z");
        assert_eq!(hosts("us-east,n[a-b,1-x]"), "us-east na-b n1-x");
        assert_eq!(hosts("a,a"), "a a");
    }

    #[test]
    fn brackets_combine_and_nest() {
        assert_eq!(hosts("r[1-2]n[a,b]"), "r1na r1nb r2na r2nb");
        assert_eq!(hosts("[a,b[1-2,x]]-ib"), "a-ib b1-ib b2-ib bx-ib");
        assert_eq!(hosts("[,-b]n".replace("[,", "n[,").as_str()), "nn n-bn");
    }

    #[test]
    fn addresses_stay() {
        assert_eq!(hosts("10.0.0.[1-2],::1"), "10.0.0.1 10.0.0.2 ::1");
        assert_eq!(hosts("[fe80::1%eth0],[::1]:99"), "[fe80::1%eth0] [::1]:99");
    }

    #[test]
    fn errors_have_a_position() {
        assert_eq!(error(""), "character 1: the list names no host");
        assert_eq!(error("a,,b"), "character 3: a name is missing");
        assert_eq!(error("a,"), "character 3: a name is missing");
        assert_eq!(error("n[1-2"), "character 2: `[` without `]` after it");
        assert_eq!(error("ä,n1-2]"), "character 7: `]` without `[` before it");
        assert_eq!(error("n[]"), "character 2: the brackets are empty");
        assert_eq!(error("n[5-3]"), "character 3: `5-3` ends before it begins");
        assert!(error("n[1-010]").starts_with("character 3: `1-010`: write both numbers"));
        assert!(error("a b").starts_with("character 3: a space inside a name"));
        assert!(error("-oProxyCommand=x").contains("looks like an option"));
        assert!(error("[-,]x").contains("looks like an option"));
        assert!(error("a;b").starts_with("character 2: a host name cannot contain this character"));
        assert!(error("n[1-99999999999999999999]").ends_with("is too large"));
    }

    #[test]
    fn lists_are_bounded() {
        assert_eq!(parse("n[1-100000]").unwrap().len(), MAX_HOSTS);
        assert_eq!(error("n[0-100000]"), "character 3: more than 100000 hosts");
        assert_eq!(error("[1-999][1-999]"), "character 8: more than 100000 hosts");
        assert_eq!(error("n[1-100000],x"), "character 13: more than 100000 hosts");
        assert!(error(&"[".repeat(50_000)).contains("more than 8 nested brackets"));
        assert!(error(&"n".repeat(256)).contains("a name of more than 255 characters"));
        assert!(error(&format!("{}[1-9]", "n".repeat(255))).contains("255 characters"));
    }

    #[test]
    fn files_have_comments() {
        let file = "# the rack\nn[1-2]\n\n  x, y # both\n";
        assert_eq!(parse_file(file).unwrap(), ["n1", "n2", "x", "y"]);
        let wrong = parse_file("a\nb slots=4\n").unwrap_err().to_string();
        assert!(wrong.starts_with("line 2, character 3: a space inside a name"), "{wrong}");
        assert!(parse_file("# none\n").unwrap_err().to_string().ends_with("names no host"));
        assert!(parse_file("n[1-60000]\nm[1-60000]").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_an_error(text in "[a1\\-\\[\\], 0]{0,40}") {
            if let Ok(hosts) = parse(&text) {
                prop_assert!(!hosts.is_empty() && hosts.len() <= MAX_HOSTS);
                prop_assert!(hosts.iter().all(|host| !host.is_empty() && host.len() <= MAX_NAME));
            }
        }

        #[test]
        fn ranges_have_all_numbers(low in 0u64..5000, length in 0u64..300) {
            let hosts = parse(&format!("n[{low:04}-{:04}]", low + length)).unwrap();
            let wanted: Vec<_> = (low..=low + length).map(|n| format!("n{n:04}")).collect();
            prop_assert_eq!(hosts, wanted);
        }
    }
}
