//! `write_mode`: the commands that carry out writes.

use fiord_job::option::table::nvme;
use fiord_job::option::value::ValueError;

use crate::model::WriteCommand;
use crate::options::reading::Reading;

/// The values of `write_mode` and their commands.
const WORDS: [(&str, WriteCommand); 5] = [
    ("write", WriteCommand::Data),
    ("uncor", WriteCommand::Uncorrectable),
    ("zeroes", WriteCommand::Zeroes),
    ("verify", WriteCommand::Verify),
    ("zone_append", WriteCommand::Append),
];

/// The value of `write_mode` that selects a command.
pub(crate) fn word(command: WriteCommand) -> &'static str {
    WORDS.iter().find(|(_, known)| *known == command).map_or("write", |(word, _)| word)
}

/// Reads the commands of a job's writes, with their shares in per cent. Empty: all are plain
/// writes.
pub(crate) fn write_commands(job: Reading) -> Vec<(WriteCommand, u8)> {
    let Some(text) = job.explicit(nvme::WRITE_MODE) else { return Vec::new() };
    match parse(&text) {
        Ok(commands) if commands.iter().all(|(command, _)| *command == WriteCommand::Data) => {
            Vec::new()
        }
        Ok(commands) => commands,
        Err(wrong) => {
            job.report(job.error(nvme::WRITE_MODE, wrong.what).help(
                "To fix: write one of `write`, `uncor`, `zeroes`, `verify`, `zone_append`, or several with \
                 their shares: `write/60:zeroes/40`",
            ));
            Vec::new()
        }
    }
}

/// Parses one mode, or several with their shares (`write/60:zeroes/40`). Entries with an empty
/// share (`zeroes/`) divide the rest evenly; the first of them gets the remainder.
fn parse(text: &str) -> Result<Vec<(WriteCommand, u8)>, ValueError> {
    if !text.contains([':', '/']) {
        return Ok(vec![(named(text.trim())?, 100)]);
    }
    if !text.contains(':') {
        return Err(ValueError::new(format!("`{text}` has a share, but a single mode has none")));
    }
    let mut entries = Vec::new();
    for entry in text.split(':') {
        let (word, share) = entry.split_once('/').ok_or_else(|| {
            ValueError::new(format!("`{entry}` has no share: with several modes, each needs a `/`"))
        })?;
        let share = match share.trim() {
            "" => None,
            number => Some(number.parse::<u8>().ok().filter(|n| *n <= 100).ok_or_else(|| {
                ValueError::new(format!("`{number}` is not a share from 0 to 100, in per cent"))
            })?),
        };
        entries.push((named(word.trim())?, share));
    }
    shares(&entries)
}

fn named(word: &str) -> Result<WriteCommand, ValueError> {
    let known = WORDS.iter().find(|(name, _)| *name == word);
    let unknown = || ValueError::new(format!("`{word}` is not a write mode"));
    known.map(|(_, command)| *command).ok_or_else(unknown)
}

fn shares(entries: &[(WriteCommand, Option<u8>)]) -> Result<Vec<(WriteCommand, u8)>, ValueError> {
    let given: u32 = entries.iter().filter_map(|(_, share)| *share).map(u32::from).sum();
    let open = entries.iter().filter(|(_, share)| share.is_none()).count() as u32;
    if given > 100 || (open == 0 && given != 100) {
        return Err(ValueError::new(format!("the shares add up to {given} %, not to 100 %")));
    }
    let left = 100 - given;
    let mut first = true;
    let mut all = Vec::new();
    for (command, share) in entries {
        let share = share.unwrap_or_else(|| {
            let rest = if std::mem::take(&mut first) { left % open } else { 0 };
            (left / open + rest) as u8
        });
        if share > 0 {
            all.push((*command, share));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use WriteCommand::*;

    #[test]
    fn one_mode_or_several_with_shares() {
        for (text, expected) in [
            ("zeroes", vec![(Zeroes, 100)]),
            ("write/60:zeroes/40", vec![(Data, 60), (Zeroes, 40)]),
            ("write/50:zeroes/:uncor/", vec![(Data, 50), (Zeroes, 25), (Uncorrectable, 25)]),
            ("write/:verify/:uncor/", vec![(Data, 34), (Verify, 33), (Uncorrectable, 33)]),
            ("write/0:zone_append/100", vec![(Append, 100)]),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_invalid_modes_and_shares() {
        for (text, why) in [
            ("write/60:zeroes/30", "90 %"),
            ("write/60:zeroes/50", "110 %"),
            ("write/:zeroes", "`zeroes` has no share"),
            ("write:write", "`write` has no share"),
            ("zeros", "`zeros` is not a write mode"),
            ("", "`` is not a write mode"),
            ("write/60:foo/40", "`foo` is not a write mode"),
            ("write/100", "a single mode has none"),
            ("uncor/", "a single mode has none"),
            ("write/101:uncor/", "`101` is not a share"),
            ("write/x:zeroes/", "`x` is not a share"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.what.contains(why), "{text}: {error}");
        }
    }
}
