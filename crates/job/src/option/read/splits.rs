//! `bssplit`: block sizes with weights, for reads, writes and trims.

use fiord_types::PerDir;

use crate::number;
use crate::option::value::{Bases, ValueError};

/// The maximum number of sizes per direction.
const MAX_SIZES: usize = 64;

/// Parses lists such as `4k/10:64k/50:32k/40` or `4k/50:8k/,64k/100`.
///
/// Sizes without a weight share what the other weights leave of 100 evenly. A remainder goes to the
/// last size, also if all sizes have a weight. Directions follow the rule of `bs`: a missing list
/// repeats the list before it, an empty list stays empty.
///
/// # Errors
/// A size or a weight is invalid, the weights exceed 100, or there are too many sizes or lists.
pub fn splits(text: &str, bases: &Bases) -> Result<PerDir<Vec<(u64, u8)>>, ValueError> {
    let mut all: [Vec<(u64, u8)>; 3] = Default::default();
    let mut at = 0;
    let mut count = 0;
    for part in text.split(',') {
        if count == 3 {
            return Err(ValueError::list_too_long("lists", 3).at(at, text.len()).with_help(
                "To fix: write one list, or three separated by commas: read, write, trim",
            ));
        }
        if !part.trim().is_empty() {
            all[count] = direction(part, bases).map_err(|e| e.shifted(at, part.len()))?;
        }
        count += 1;
        at += part.len() + 1;
    }
    if all.iter().all(Vec::is_empty) {
        return Err(ValueError::new("the block sizes are missing")
            .with_help("To fix: write sizes with weights in per cent: `4k/60:64k/40`"));
    }
    for i in count..3 {
        all[i] = all[i - 1].clone();
    }
    Ok(all.into())
}

fn direction(text: &str, bases: &Bases) -> Result<Vec<(u64, u8)>, ValueError> {
    let mut list: Vec<(u64, Option<u8>)> = Vec::new();
    let mut at = 0;
    for entry in text.split(':') {
        let (size, weight) = entry.split_once('/').unwrap_or((entry, ""));
        let bytes = number::bytes(size, bases).map_err(|e| e.shifted(at, size.len()))?;
        if bytes == 0 {
            return Err(ValueError::new("a block size of 0 is too small").at(at, at + size.len()));
        }
        let weight = match weight.trim() {
            "" => None,
            w => Some(w.parse::<u8>().ok().filter(|w| *w <= 100).ok_or_else(|| {
                let start = at + size.len() + 1;
                ValueError::new(format!("invalid weight `{w}`"))
                    .at(start, at + entry.len())
                    .with_help(
                        "To fix: write a whole number of per cent from 0 to 100, or leave it out",
                    )
            })?),
        };
        list.push((bytes, weight));
        at += entry.len() + 1;
    }
    if list.len() > MAX_SIZES {
        return Err(ValueError::list_too_long("block sizes", MAX_SIZES));
    }
    fill(&list)
}

fn fill(list: &[(u64, Option<u8>)]) -> Result<Vec<(u64, u8)>, ValueError> {
    let given: u32 = list.iter().filter_map(|(_, w)| w.map(u32::from)).sum();
    if given > 100 {
        return Err(ValueError::new(format!("the weights add up to {given}, more than 100")));
    }
    let open = list.iter().filter(|(_, w)| w.is_none()).count() as u32;
    let share = (100 - given).checked_div(open).unwrap_or(0);
    let mut out: Vec<(u64, u8)> =
        list.iter().map(|(b, w)| (*b, w.unwrap_or(share as u8))).collect();
    let sum: u32 = out.iter().map(|(_, w)| u32::from(*w)).sum();
    if let Some(last) = out.last_mut() {
        last.1 += (100 - sum) as u8;
    }
    Ok(out)
}
