//! Parses the text of an option into its [`Value`].

use fiord_types::PerDir;

use super::def::{Kind, OptionDef, Suffix, Unit, Word};
use super::engine::EngineDef;
use super::read::ranges::split_range;
use super::value::{Amount, Bases, SizeRange, Value, ValueError};
use crate::number;

impl OptionDef {
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match value(self, Some(self.default?), &Bases::default()) {
            Ok(value) => Some(value),
            Err(e) => panic!("the default of {} cannot be read: {}", self.name, e.what),
        }
    }
}

/// Parses and checks the text after `=`. `text` is `None` if there was no `=`.
///
/// # Errors
/// The text is not a value of the option, or a required value is missing.
pub fn value(def: &OptionDef, text: Option<&str>, bases: &Bases) -> Result<Value, ValueError> {
    let Some(text) = text else {
        return match (def.kind, def.bare) {
            (Kind::Switch, _) => Ok(Value::Flag(true)),
            (Kind::Text, Some(text)) => Ok(Value::Text(text.to_string())),
            (_, Some(text)) => value(def, Some(text), bases),
            (_, None) => Err(needs_value(def)),
        };
    };
    // An empty text is a value only if the bare name or the default stands for the empty value too
    // (`write_bw_log=`).
    if text.trim().is_empty() && def.bare != Some("") && def.default != Some("") {
        return Err(needs_value(def));
    }
    match def.kind {
        Kind::Switch => switch(text, bases),
        Kind::Bool => flag(text),
        Kind::Text => Ok(Value::Text(text.to_string())),
        Kind::Int { min, max, unit } => {
            let v = number::integer(text, unit, bases)?;
            in_range(text, v, min, max)?;
            Ok(Value::Int(v))
        }
        Kind::Ints { min, max, unit } => ints(text, |t| {
            let v = number::integer(t, unit, bases)?;
            in_range(t, v, min, max)?;
            Ok(v)
        }),
        Kind::Amount { max_percent } => amount(text, max_percent, bases).map(Value::Amount),
        Kind::Time { unit } => number::nanos(text, unit).map(Value::Time),
        Kind::Floats { min, max, max_len } => floats(text, min, max, max_len),
        Kind::Ranges { min } => {
            triple(text, &[',', '/'], |t| range(t, min, bases)).map(Value::Ranges)
        }
        Kind::Words { words, suffix } => {
            word(def, words, suffix, text.trim(), bases).map(|(w, s)| Value::Word(w, s))
        }
        Kind::WordList { words, suffix } => word_list(def, words, suffix, text, bases),
        Kind::Custom { read, .. } => read.read(text, bases),
    }
}

/// Parses the part of a text that fio reads: of a text that ends with a separator (`iodepth=16,`,
/// `rw=randread,`), and of a rate that ends with `/s`, no part of the value is lost. Of a product of two counts
/// (`iodepth=128*1`), it is the first one. Returns the value and the part of the text that was parsed, or `None` for
/// other texts.
#[must_use]
pub fn in_part<'t>(def: &OptionDef, text: &'t str, bases: &Bases) -> Option<(Value, &'t str)> {
    let text = text.trim();
    let part = match def.kind {
        Kind::Words { suffix: Suffix::Int | Suffix::Step | Suffix::Text, .. } => {
            text.strip_suffix(',')
        }
        Kind::Ints { unit: Unit::BytesPerSecond, .. } => text.strip_suffix("/s"),
        Kind::Custom { .. } => text.strip_suffix(','),
        Kind::Int { unit: Unit::Count, .. } if text.contains('*') => {
            let (count, times) = text.split_once('*')?;
            times.trim().parse::<u32>().ok()?;
            Some(count.trim())
        }
        _ => text.strip_suffix([',', ':']),
    }?;
    Some((value(def, Some(part), bases).ok()?, part))
}

fn needs_value(def: &OptionDef) -> ValueError {
    ValueError::new(format!("{} needs a value", def.name))
        .with_help(format!("To fix: write a value, for example `{}`", def.example))
}

fn flag(text: &str) -> Result<Value, ValueError> {
    match text.trim() {
        "1" => Ok(Value::Flag(true)),
        "0" => Ok(Value::Flag(false)),
        other if other.parse::<i128>().is_ok() => Err(ValueError::out_of_range(other, "1 max")
            .with_help("To fix: write 1 for on or 0 for off")),
        other => Err(ValueError::new(format!("`{other}` is neither 0 nor 1"))
            .with_help("To fix: write 1 for on or 0 for off")),
    }
}

/// Parses a switch. As in fio, any whole number is valid: `time_based=30` is on.
fn switch(text: &str, bases: &Bases) -> Result<Value, ValueError> {
    match number::integer(text, Unit::Count, bases) {
        Ok(v) if v >= 0 => Ok(Value::Flag(v != 0)),
        _ => flag(text),
    }
}

/// Checks the range. The message names the bound in fio's format: `(100 max)`.
fn in_range(text: &str, v: i128, min: i64, max: u64) -> Result<(), ValueError> {
    let text = text.trim();
    if v > i128::from(max) {
        return Err(ValueError::out_of_range(text, format_args!("{max} max"))
            .with_help(format!("allowed values are {min} to {max}")));
    }
    if v < i128::from(min) {
        let help = match max {
            u64::MAX => format!("allowed values are {min} and above"),
            max => format!("allowed values are {min} to {max}"),
        };
        return Err(ValueError::out_of_range(text, format_args!("{min} min")).with_help(help));
    }
    Ok(())
}

/// Parses one to three values for reads, writes and trims. Missing values at the end repeat the
/// last value; an empty value means the default.
fn triple<T: Copy>(
    text: &str,
    separators: &[char],
    read: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<PerDir<Option<T>>, ValueError> {
    let mut out = [None; 3];
    let (mut at, mut count) = (0, 0);
    for part in split_outside(text, separators) {
        // A comma after the third value is allowed and has no effect.
        if count >= 3 && !(count == 3 && part.trim().is_empty()) {
            return Err(ValueError::list_too_long("values", 3).at(at, text.len()).with_help(
                "To fix: write at most three values, separated by commas: read, write, trim",
            ));
        }
        if !part.trim().is_empty() {
            out[count] = Some(read(part).map_err(|e| e.shifted(at, part.len()))?);
        }
        count += 1;
        at += part.len() + 1;
    }
    for i in count..3 {
        out[i] = out[count - 1];
    }
    if out.iter().all(Option::is_none) {
        return Err(ValueError::new("all values between the commas are empty"));
    }
    Ok(out.into())
}

/// Parses one to three numbers for reads, writes and trims, by the rules of [`triple`]. As in fio,
/// `a-b` or `a:b` means `a` for its own position and `b` for the positions after it: `bs=4k-16k` is
/// not a range but 4k for reads and 16k for writes and trims. See [`looks_like_range`].
fn ints(text: &str, read: impl Fn(&str) -> Result<i128, ValueError>) -> Result<Value, ValueError> {
    if !looks_like_range(text) {
        return triple(text, &[','], read).map(Value::Ints);
    }
    let read_at = |at: usize, t: &str| read(t).map_err(|e| e.shifted(at, t.len()));
    let mut out = [None; 3];
    let mut at = 0;
    for (i, part) in split_outside(text, &[',']).into_iter().enumerate() {
        if i > 2 {
            return Err(ValueError::list_too_long("values", 3).at(at, text.len()));
        }
        let last = match split_range(part) {
            Some((a, b)) => {
                out[i] = Some(read_at(at, a)?);
                Some(read_at(at + a.len() + 1, b)?)
            }
            None if part.trim().is_empty() => None,
            None => {
                out[i] = Some(read_at(at, part)?);
                out[i]
            }
        };
        out.iter_mut().skip(i + 1).for_each(|o| *o = last);
        at += part.len() + 1;
    }
    Ok(Value::Ints(out.into()))
}

/// Whether a list of numbers contains a pair that a user may have meant as a range.
#[must_use]
pub fn looks_like_range(text: &str) -> bool {
    split_outside(text, &[',']).iter().any(|p| split_range(p).is_some())
}

/// Splits a text at separators outside parentheses.
fn split_outside<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0usize);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && separators.contains(&c) => {
                parts.push(&text[from..i]);
                from = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn amount(text: &str, max_percent: f64, bases: &Bases) -> Result<Amount, ValueError> {
    let body = text.trim();
    // Job files that a script writes with `printf` may have two percent signs (`50%%`).
    let percent = body.trim_end_matches('%');
    if percent.len() < body.len() {
        let v = number::float(percent).map_err(|e| e.shifted(0, percent.len()))?;
        if v < 0.0 {
            return Err(ValueError::out_of_range(body, "a percentage cannot be negative"));
        }
        if v > max_percent {
            return Err(ValueError::out_of_range(body, format_args!("{max_percent}% max"))
                .with_help("To fix: to transfer more than the size of the target, use io_size"));
        }
        return Ok(Amount::Percent(v));
    }
    if let Some(zones) = body.strip_suffix(['z', 'Z']) {
        let v =
            number::integer(zones, Unit::Count, bases).map_err(|e| e.shifted(0, zones.len()))?;
        return u64::try_from(v)
            .map(Amount::Zones)
            .map_err(|_| ValueError::new(format!("invalid number of zones `{body}`")));
    }
    number::bytes(text, bases).map(Amount::Bytes)
}

fn range(text: &str, min: u64, bases: &Bases) -> Result<SizeRange, ValueError> {
    let Some((a, b)) = split_range(text) else {
        return Err(ValueError::new(format!("`{}` is not a range", text.trim()))
            .with_help("To fix: write the lower and the upper bound: `1k-4k`"));
    };
    let low = number::bytes(a, bases).map_err(|e| e.shifted(0, a.len()))?;
    let high = number::bytes(b, bases).map_err(|e| e.shifted(a.len() + 1, b.len()))?;
    let range = SizeRange::between(low, high);
    if range.low() < min {
        return Err(ValueError::out_of_range(range.low(), format_args!("{min} min")));
    }
    Ok(range)
}

fn floats(text: &str, min: f64, max: f64, max_len: usize) -> Result<Value, ValueError> {
    let (mut list, mut at) = (Vec::new(), 0);
    for part in text.split(':') {
        let v = number::float(part).map_err(|e| e.shifted(at, part.len()))?;
        if v < min || v > max {
            return Err(ValueError::out_of_range(part.trim(), format_args!("{min} to {max}"))
                .at(at, at + part.len()));
        }
        list.push(v);
        at += part.len() + 1;
    }
    if list.len() > max_len {
        return Err(ValueError::list_too_long("numbers", max_len).with_help(format!(
            "at most {max_len} numbers are allowed, and the list has {}",
            list.len()
        )));
    }
    Ok(Value::Floats(list))
}

fn word_list(
    def: &OptionDef,
    words: &'static [Word],
    suffix: Suffix,
    text: &str,
    bases: &Bases,
) -> Result<Value, ValueError> {
    let (mut list, mut at) = (Vec::new(), 0);
    for part in text.split(',') {
        list.push(
            word(def, words, suffix, part.trim(), bases).map_err(|e| e.shifted(at, part.len()))?,
        );
        at += part.len() + 1;
    }
    Ok(Value::Words(list))
}

fn word(
    def: &OptionDef,
    words: &'static [Word],
    suffix: Suffix,
    text: &str,
    bases: &Bases,
) -> Result<(&'static str, Option<String>), ValueError> {
    let (name, rest) = match text.split_once(':') {
        Some((n, r)) => (n, Some(r)),
        None => (text, None),
    };
    let Some(found) = words.iter().find(|w| w.name == name) else {
        let error = unknown_word(def, words, name);
        return Err(if name.is_empty() { error } else { error.at(0, name.len()) });
    };
    let start = name.len() + 1;
    match (suffix, rest) {
        (_, None) => {}
        (Suffix::None, Some(r)) => {
            return Err(ValueError::new(format!("`:{r}` cannot follow `{name}` in {}", def.name))
                .at(start - 1, text.len()));
        }
        (_, Some(r)) if r.trim().is_empty() => {
            return Err(
                ValueError::new(format!("the value after `{name}:` is missing")).at(0, text.len())
            );
        }
        // A number of bytes to skip forwards or backwards: any number is valid.
        (Suffix::Step, Some(r)) if !name.starts_with("rand") => {
            number::integer(r, Unit::Bytes, bases).map_err(|e| e.shifted(start, r.len()))?;
        }
        (Suffix::Int | Suffix::Step, Some(r)) => {
            let n =
                number::integer(r, Unit::Count, bases).map_err(|e| e.shifted(start, r.len()))?;
            in_range(r, n, 1, u32::MAX.into()).map_err(|e| e.shifted(start, r.len()))?;
        }
        (Suffix::Text, Some(_)) => {}
    }
    Ok((found.means.unwrap_or(found.name), rest.map(str::to_string)))
}

/// A heading, and the engines under it.
type EngineGroup = (&'static str, fn(&EngineDef) -> bool);

/// The groups of engines in a list for people.
const ENGINE_GROUPS: [EngineGroup; 4] = [
    ("these work here", |e| e.is_built() && !e.is_special() && e.moves_data),
    ("these do no I/O on data", |e| e.is_built() && !e.is_special() && !e.moves_data),
    ("these need a device of their kind, a peer, a server or a library", |e| {
        e.is_built() && e.is_special()
    }),
    ("this build does not support", |e| !e.is_built()),
];

/// Lists the names of engines: first those that do I/O on any file or disk, because a user is most likely to want one of
/// them.
fn engines() -> String {
    let group = |(what, wanted): &EngineGroup| {
        let of_group = super::table::engines().iter().filter(|engine| wanted(engine));
        let names: Vec<&str> = of_group.map(|engine| engine.name).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    ENGINE_GROUPS.iter().filter_map(group).collect::<Vec<_>>().join("; ")
}

fn unknown_word(def: &OptionDef, words: &'static [Word], name: &str) -> ValueError {
    let names = words.iter().map(|w| w.name);
    let mut help = match crate::suggest::nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    };
    let list: Vec<&str> = names.collect();
    match def.name {
        "ioengine" => help.push_str(&engines()),
        _ => help.push_str(&format!("{} takes one of: {}", def.name, list.join(", "))),
    }
    let what = match name {
        "" => format!("the value of {} is missing", def.name),
        _ => format!("invalid value `{name}` for {}", def.name),
    };
    ValueError::new(what).with_help(help)
}

#[cfg(test)]
mod tests;
