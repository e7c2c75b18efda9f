//! Sets of CPUs and NUMA nodes: `0,5,8-15`, `all`, `bind:0-1`.

use crate::option::value::{Bases, Value, ValueError};

/// More CPUs or nodes than any Linux kernel numbers (`CONFIG_NR_CPUS` goes up to 8192).
const MOST: u32 = 65_536;

/// `cpus_allowed`: numbers and ranges by commas (or colons).
pub fn cpu_set(text: &str, _: &Bases) -> Result<Value, ValueError> {
    numbers(text, "CPU").map(Value::Set)
}

/// `numa_cpu_nodes`: as [`cpu_set`], or `all`, which is an empty set here.
pub fn numa_nodes(text: &str, _: &Bases) -> Result<Value, ValueError> {
    if text.trim() == "all" {
        return Ok(Value::Set(Vec::new()));
    }
    numbers(text, "node").map(Value::Set)
}

/// `numa_mem_policy`: `default`, `prefer:N`, `bind:NODES`, `interleave:NODES`, `local`. The value
/// is a `Word` with the nodes as written, which [`numa_nodes`] reads again.
pub fn numa_policy(text: &str, _: &Bases) -> Result<Value, ValueError> {
    const MODES: [(&str, bool); 5] = [
        ("default", false),
        ("prefer", true),
        ("bind", true),
        ("interleave", true),
        ("local", false),
    ];
    let text = text.trim();
    let (mode, nodes) = match text.split_once(':') {
        Some((m, n)) => (m, Some(n)),
        None => (text, None),
    };
    let Some(&(word, wants_nodes)) = MODES.iter().find(|(m, _)| *m == mode) else {
        return Err(ValueError::new(format!("`{mode}` is no memory policy"))
            .at(0, mode.len())
            .with_help("policies are default, prefer, bind, interleave and local"));
    };
    let at = mode.len() + 1;
    match nodes {
        None if wants_nodes => Err(ValueError::new(format!("`{word}` needs NUMA nodes"))
            .with_help(format!("write `{word}:0`"))),
        Some(n) if !wants_nodes => {
            Err(ValueError::new(format!("`{word}` takes no NUMA nodes")).at(at, at + n.len()))
        }
        Some(n) => {
            let set = if n == "all" {
                Vec::new()
            } else {
                numbers(n, "node").map_err(|e| e.shifted(at, n.len()))?
            };
            if word == "prefer" && set.len() != 1 {
                return Err(ValueError::new("`prefer` takes exactly one node").at(at, at + n.len()));
            }
            Ok(Value::Word(word, Some(n.to_string())))
        }
        None => Ok(Value::Word(word, None)),
    }
}

fn numbers(text: &str, what: &str) -> Result<Vec<u32>, ValueError> {
    let mut set = Vec::new();
    let mut at = 0;
    for part in text.split([',', ':']) {
        let range = read_part(part, what).map_err(|e| e.shifted(at, part.len()))?;
        set.extend(range);
        at += part.len() + 1;
    }
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

fn read_part(part: &str, what: &str) -> Result<std::ops::RangeInclusive<u32>, ValueError> {
    let number = |t: &str| -> Result<u32, ValueError> {
        match t.trim().parse::<u32>() {
            Ok(n) if n < MOST => Ok(n),
            Ok(_) => Err(ValueError::new(format!("there is no {what} {}", t.trim()))),
            Err(_) if t.trim().is_empty() => {
                Err(ValueError::new(format!("a {what} number is missing")))
            }
            Err(_) => Err(ValueError::new(format!("`{t}` is no {what} number"))
                .with_help("write numbers and ranges by commas, such as `0,5,8-15`")),
        }
    };
    match part.split_once('-') {
        None => number(part).map(|n| n..=n),
        Some((a, b)) => {
            let (a, b) = (number(a)?, number(b)?);
            Ok(a.min(b)..=a.max(b))
        }
    }
}
