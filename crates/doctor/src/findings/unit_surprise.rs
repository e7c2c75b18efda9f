//! `unit-surprise`: `4GiB` is 4·10⁹ under the default `kb_base=1024`.

use fiord_job::option::def::{Kind, Unit};
use fiord_job::spec::Setting;
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "unit-surprise",
    severity: Severity::Suspect,
    title: "KiB, MiB and GiB are powers of 1000 by default",
    about: "fio's units are reversed by default: with `kb_base=1024`, which is the default, `4k`, \
            `4KB` and `4g` are powers of 1024, and `4Ki`, `4KiB` and `4GiB` are powers of 1000. \
            fiord does the same, because job files would otherwise change their meaning.",
    detection: "A size has an `i` in its unit, and `kb_base` is 1024.",
    effect: "`size=4GiB` is 4,000,000,000 bytes, 6.9 % less than 4 GiB. `bs=4KiB` is 4000 bytes, \
             which direct I/O does not accept; of 128 such blocks in a row, 124 cross a boundary \
             between two pages of 4096 bytes.",
    remedy: "write `4g` for powers of 1024; or set `kb_base=1000` before it, which makes `GiB` \
             powers of 1024 and `GB` powers of 1000, as the standards define.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for job in known.sections() {
        let Some(spec) = known.spec(job) else { continue };
        if spec.bases.kb != 1024 {
            continue;
        }
        // A setting of `[global]` is reported once, with the first job.
        let first = job.identity.section == 0;
        let settings = spec.settings.iter().filter(|setting| first || !setting.global);
        for setting in settings {
            findings.report_if(finding(job, setting));
        }
    }
}

fn finding(job: &JobPlan, setting: &Setting) -> Option<FindingBuilder> {
    let sizes = matches!(
        setting.def.kind,
        Kind::Amount { .. }
            | Kind::Int { unit: Unit::Bytes | Unit::BytesPerSecond, .. }
            | Kind::Ints { unit: Unit::Bytes | Unit::BytesPerSecond, .. }
            | Kind::Ranges { .. }
            | Kind::Custom { .. }
    );
    let text = setting.text.as_deref().filter(|_| sizes)?;
    let (number, letter, typed) = binary_unit(text)?;
    let name = setting.def.name;
    let power = "kmgtp".find(letter)? as u32 + 1;
    let thousands = 1000f64.powi(power as i32);
    let is = (number.parse::<f64>().ok()? * thousands).floor();
    let less = 100.0 - 100.0 * thousands / 1024f64.powi(power as i32);
    let mut said = SaidNumbers::default();
    let what = format!(
        "{name}={text} is in powers of 1000: {typed} is {} bytes",
        said.exact("bytes", is as u64)
    );
    // A finding about a setting of `[global]` names no job.
    let finding = match setting.global {
        true => FindingBuilder { section: Some(job.identity.section), ..CHECK.for_run(what) },
        false => CHECK.for_job(job, what),
    };
    let meant = set(setting.def, text.replace(typed, &format!("{number}{letter}")));
    let finding = finding
        .evidence(format!(
            "with kb_base=1024, units with an i are powers of 1000: {} less than powers of 1024",
            said.percent("less", less / 100.0)
        ))
        .remedy(format!("write {meant} for powers of 1024, or set kb_base=1000"))
        .settings([meant])
        .numbers(said)
        .option(setting.def);
    Some(finding)
}

/// Returns the first number with a unit such as `KiB` in a text: the number, the first letter of the
/// unit in lower case, and the number with its unit as written.
fn binary_unit(text: &str) -> Option<(&str, char, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let number = |b: &&u8| b.is_ascii_digit() || **b == b'.';
        let digits = bytes[at..].iter().take_while(number).count();
        if digits == 0 || bytes[at] == b'.' {
            at += 1;
            continue;
        }
        // A digit inside a word is not a number.
        let word = at > 0 && (bytes[at - 1].is_ascii_alphabetic() || bytes[at - 1] == b'.');
        let unit = &text[at + digits..];
        let letters = unit.bytes().take_while(u8::is_ascii_alphabetic).count();
        let lower = unit[..letters].to_ascii_lowercase();
        let mut chars = lower.chars();
        let (letter, rest) = (chars.next(), chars.as_str());
        if let (false, Some(letter @ ('k' | 'm' | 'g' | 't' | 'p')), "i" | "ib") =
            (word, letter, rest)
        {
            return Some((&text[at..at + digits], letter, &text[at..at + digits + letters]));
        }
        at += digits + letters;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::found_once;

    #[test]
    fn reports_units_with_an_i_with_the_default_base() {
        let found = found_once(
            &CHECK,
            "--name=a --ioengine=sim --rw=read --size=4GiB",
            &[
                "--name=a --ioengine=sim --rw=read --size=4g",
                "--name=a --ioengine=sim --rw=read --size=4GB",
                "--name=a --ioengine=sim --rw=read --kb_base=1000 --size=4GiB",
                "--name=a --ioengine=sim --rw=read --size=1m --description=4GiB",
            ],
        );
        assert!(found.what.contains("4000000000 bytes"), "{found:?}");
        assert!(found.remedy.starts_with("write size=4g for"), "{found:?}");
    }

    #[test]
    fn finds_the_unit_among_others() {
        assert_eq!(binary_unit("4k-16KiB"), Some(("16", 'k', "16KiB")));
        assert_eq!(binary_unit("f4gi"), None);
        assert_eq!(binary_unit("64mib"), Some(("64", 'm', "64mib")));
        assert_eq!(binary_unit("1.5GiB"), Some(("1.5", 'g', "1.5GiB")));
        assert_eq!(binary_unit("64"), None);
    }
}
