//! Expands environment variables and reserved words in values.

use crate::load::Loader;
use crate::scan::RawOption;

/// Expands the `${VAR}`s in an option's name. As in fio, which expands whole lines, a variable may
/// also contain `name=value`.
pub fn name(raw: &RawOption, loader: &dyn Loader) -> RawOption {
    let mut raw = raw.clone();
    if !raw.variables || !raw.name.contains("${") {
        return raw;
    }
    let name = environment(&raw.name, loader);
    match (name.split_once('='), &raw.text) {
        (Some((name, text)), None) => {
            raw.name = name.trim().to_string();
            raw.text = Some(text.trim().to_string());
        }
        _ => raw.name = name.trim().to_string(),
    }
    raw
}

/// The words about the host of a run on many hosts, without the `$`. fio does not have them.
pub const HOST_WORDS: [&str; 3] = ["host", "rank", "ranks"];

/// Expands `${VAR}` (to nothing if it is unset), then `$pagesize`, `$mb_memory` and `$ncpus`, then `$host`, `$rank` and
/// `$ranks`, which fio does not have. These three end where a letter or digit would follow: `$hostname` stays unchanged.
/// In braces (`${ranks}m`) they can be before letters. A variable of the environment with such a name comes first.
///
/// As fio documents, arithmetic with these words needs no parentheses: if the text contains one of
/// them and the result consists only of numbers and operators, it is evaluated (`8*$mb_memory`).
/// `$jobname`, `$jobnum`, `$filenum` and `$clientuid` are expanded later and stay unchanged here.
pub fn expand(text: &str, variables: bool, loader: &dyn Loader) -> String {
    let mut out = if variables { environment(text, loader) } else { text.to_string() };
    if !out.contains('$') {
        return out;
    }
    let mut replaced = false;
    let mut put = |word: &str, value: &dyn Fn() -> String| {
        if out.contains(word) {
            out = out.replace(word, &value());
            replaced = true;
        }
    };
    // Query the machine only for words that occur: a query is slow, and there are many values.
    put("$pagesize", &|| loader.page_size().to_string());
    put("$mb_memory", &|| loader.memory_mb().to_string());
    put("$ncpus", &|| loader.cpus().to_string());
    replaced |= put_host(&mut out, loader);
    let computes = |b: u8| matches!(b, b'+' | b'*' | b'/' | b'-' | b'^' | b'%');
    if replaced
        && out.bytes().any(computes)
        && let Some(v) = plain_arithmetic(&out)
    {
        return v.to_string();
    }
    out
}

/// Expands `${VAR}` only, so that another host can expand the words about itself. `None` if the text has no such words.
pub fn text_for_hosts(text: &str, variables: bool, loader: &dyn Loader) -> Option<String> {
    let out = if variables { environment(text, loader) } else { text.to_string() };
    let words = ["$pagesize", "$mb_memory", "$ncpus", "$host", "$rank", "${host}", "${rank"];
    words.iter().any(|word| out.contains(word)).then_some(out)
}

/// Expands `$host`, `$rank` and `$ranks`, with or without braces. Returns whether a number is among them.
fn put_host(out: &mut String, loader: &dyn Loader) -> bool {
    if !["$host", "$rank", "${host}", "${rank"].iter().any(|word| out.contains(word)) {
        return false;
    }
    let host = loader.host();
    let [name, rank, ranks] = HOST_WORDS;
    let words = [(name, host.name), (rank, host.rank.to_string()), (ranks, host.ranks.to_string())];
    let mut numbers = false;
    let text = std::mem::take(out);
    let mut rest = text.as_str();
    while let Some(at) = rest.find('$') {
        let word = &rest[at..];
        let end = match word[1..].starts_with('{') {
            true => word.find('}').map_or(2, |end| end + 1),
            false => {
                let letters = word[1..].find(|c: char| !c.is_ascii_alphanumeric());
                letters.map_or(word.len(), |length| length + 1)
            }
        };
        let (word, behind) = word.split_at(end);
        let bare = word[1..].strip_prefix('{').and_then(|word| word.strip_suffix('}'));
        let found = words.iter().find(|(this, _)| *this == bare.unwrap_or(&word[1..]));
        numbers |= found.is_some_and(|(this, _)| *this != name);
        out.push_str(&rest[..at]);
        out.push_str(found.map_or(word, |(_, value)| value));
        rest = behind;
    }
    out.push_str(rest);
    numbers
}

/// The value of a text that consists only of digits, operators, parentheses and spaces. `None` for
/// other texts.
fn plain_arithmetic(text: &str) -> Option<i128> {
    let plain = |b: u8| b.is_ascii_digit() || b"+-*/%^() ".contains(&b);
    if !text.bytes().all(plain) {
        return None;
    }
    let counts = crate::number::Suffixes::Size(Default::default());
    crate::expression::evaluate(text, counts).ok().map(|v| v.floor())
}

/// The names of the variables in a text that are unset or empty.
pub fn unset(text: &str, loader: &dyn Loader) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    walk(text, |part| {
        if let Part::Variable(name) = part
            && !HOST_WORDS.contains(&name)
            && loader.variable(name).is_none_or(|v| v.is_empty())
            && !names.iter().any(|n| n == name)
        {
            names.push(name.to_string());
        }
    });
    names
}

fn environment(text: &str, loader: &dyn Loader) -> String {
    let mut out = String::with_capacity(text.len());
    walk(text, |part| match part {
        Part::Text(text) => out.push_str(text),
        Part::Variable(name) => match loader.variable(name) {
            Some(value) => out.push_str(&value),
            // A word about the host, which is expanded later.
            None if HOST_WORDS.contains(&name) => {
                out.extend(["${", name, "}"]);
            }
            None => {}
        },
    });
    out
}

enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Splits a text at its `${VAR}`s. A `${` without a closing brace is plain text.
fn walk<'a>(text: &'a str, mut each: impl FnMut(Part<'a>)) {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(len) = rest[start + 2..].find('}') else { break };
        each(Part::Text(&rest[..start]));
        each(Part::Variable(&rest[start + 2..start + 2 + len]));
        rest = &rest[start + 3 + len..];
    }
    each(Part::Text(rest));
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use fiord_types::HostIndex;

    use super::*;
    use crate::load::{HostWords, Memory};

    /// The third of twelve hosts.
    struct Third(Memory);

    impl Loader for Third {
        fn read(&mut self, file: &str) -> std::io::Result<Vec<u8>> {
            self.0.read(file)
        }
        fn variable(&self, name: &str) -> Option<String> {
            self.0.variable(name)
        }
        fn page_size(&self) -> u64 {
            self.0.page_size()
        }
        fn memory_mb(&self) -> u64 {
            self.0.memory_mb()
        }
        fn cpus(&self) -> u64 {
            self.0.cpus()
        }
        fn host(&self) -> HostWords {
            let ranks = NonZeroU32::new(12).unwrap();
            HostWords { name: "n-02".into(), rank: HostIndex(2), ranks }
        }
    }

    #[test]
    fn the_words_of_the_host_end_where_a_letter_or_digit_would_follow() {
        let third = Third(Memory::default());
        let expanded = |text: &str| expand(text, true, &third);
        assert_eq!(expanded("/data/$host/$jobname.$rank_of_$ranks"), "/data/n-02/$jobname.2_of_12");
        assert_eq!(expanded("$hostname $ranks2 $$rank ${rank $"), "$hostname $ranks2 $2 ${rank $");
        assert_eq!(expanded("$rank*4096"), "8192");
        assert_eq!(expanded("($rank*1g)"), "(2*1g)");
        // Braces end a word.
        assert_eq!(expanded("${ranks}m-${host}x${rank}"), "12m-n-02x2");
        assert_eq!(expanded("${rank}*4096"), "8192");
        assert_eq!(expand("${ranks}m", false, &third), "12m");
        let mut of_user = Memory::default();
        of_user.variables.push(("host".into(), "mine".into()));
        assert_eq!(expand("${host} $host", true, &Third(of_user)), "mine n-02");
        assert!(unset("${host}${rank}${ranks}", &third).is_empty());
        // The expansion of `$host` can be a name, on which arithmetic is not possible.
        assert_eq!(expanded("$host"), "n-02");
        let kept = |text: &str| text_for_hosts(text, true, &third);
        assert_eq!(kept("/$host/${NONE}x").as_deref(), Some("/$host/x"));
        assert_eq!(kept("${ranks}m").as_deref(), Some("${ranks}m"));
        assert_eq!(kept("$jobnum"), None);
        assert_eq!(expand("$host $rank/$ranks", true, &Memory::default()), "localhost 0/1");
    }
}
