//! Sets of CPUs and NUMA nodes: `0,5,8-15`, `all`, `bind:0-1`.

use crate::option::value::{Bases, NumaPolicy, ValueError};

/// The limit on CPU and node numbers. Linux kernels have fewer (`CONFIG_NR_CPUS` goes up to 8192).
const MAX_NUMBER: u32 = 65_536;

/// Parses `cpus_allowed`: numbers and ranges, separated by commas (or colons).
///
/// # Errors
/// A part is not a number or a range, or a number is too large.
pub fn cpu_set(text: &str, _: &Bases) -> Result<Vec<u32>, ValueError> {
    numbers(text, "CPU")
}

/// Parses `numa_cpu_nodes`: numbers and ranges, or `all`, which returns an empty set.
///
/// # Errors
/// A part is not a number or a range, or a number is too large.
pub fn numa_nodes(text: &str, _: &Bases) -> Result<Vec<u32>, ValueError> {
    if text.trim() == "all" {
        return Ok(Vec::new());
    }
    numbers(text, "node")
}

/// Parses `numa_mem_policy`: `default`, `prefer:N`, `bind:NODES`, `interleave:NODES` or `local`.
///
/// # Errors
/// The policy is unknown, or its nodes are missing, superfluous or invalid.
pub fn numa_policy(text: &str, _: &Bases) -> Result<NumaPolicy, ValueError> {
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
        return Err(ValueError::new(format!("invalid memory policy `{mode}`"))
            .at(0, mode.len())
            .with_help("policies are default, prefer, bind, interleave and local"));
    };
    let at = mode.len() + 1;
    let set = match nodes {
        None if wants_nodes => {
            return Err(ValueError::new(format!("`{word}` needs NUMA nodes"))
                .with_help(format!("To fix: write nodes after a colon, for example `{word}:0`")));
        }
        Some(n) if !wants_nodes => {
            return Err(
                ValueError::new(format!("`{word}` takes no NUMA nodes")).at(at, at + n.len())
            );
        }
        None | Some("all") => Vec::new(),
        Some(n) => numbers(n, "node").map_err(|e| e.shifted(at, n.len()))?,
    };
    match word {
        "local" => Ok(NumaPolicy::Local),
        "bind" => Ok(NumaPolicy::Bind(set)),
        "interleave" => Ok(NumaPolicy::Interleave(set)),
        "prefer" => match set[..] {
            [node] => Ok(NumaPolicy::Prefer(node)),
            _ => Err(ValueError::new("`prefer` takes exactly one node").at(at, text.len())),
        },
        _ => Ok(NumaPolicy::Default),
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
    set.sort();
    set.dedup();
    Ok(set)
}

fn read_part(part: &str, what: &str) -> Result<std::ops::RangeInclusive<u32>, ValueError> {
    let number = |t: &str| -> Result<u32, ValueError> {
        match t.trim().parse::<u32>() {
            Ok(n) if n < MAX_NUMBER => Ok(n),
            Ok(_) => Err(ValueError::new(format!("{what} {} does not exist", t.trim()))),
            Err(_) if t.trim().is_empty() => {
                Err(ValueError::new(format!("a {what} number is missing")))
            }
            Err(_) => Err(ValueError::new(format!("invalid {what} number `{t}`")).with_help(
                "To fix: write numbers and ranges separated by commas, such as `0,5,8-15`",
            )),
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
