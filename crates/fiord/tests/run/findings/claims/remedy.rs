//! Applies the options of a remedy to a case, and compares the runs.

use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::{Finding, Severity};

use crate::findings::claims::draw::DrawnCase;
use crate::findings::claims::holds::RanCase;
use crate::fiord::{Work, work};

/// What a remedy may change, because the finding is about it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Subject {
    /// The number of I/Os in flight.
    Depth,
    /// The number of I/Os, or the size.
    Length,
    Rate,
    /// Neither of these.
    None,
}

fn subject(id: &str) -> Subject {
    match id {
        "depth-ignored" | "aio-threads" | "depth-not-reached" | "replay-late" => Subject::Depth,
        "too-short" | "size-per-job" | "unit-surprise" | "zone-limits" => Subject::Length,
        "rate-missed" | "hidden-stalls" | "rate-and-rwmix" => Subject::Rate,
        _ => Subject::None,
    }
}

/// Returns the case with the options of the remedy.
pub(crate) fn applied(case: &DrawnCase, finding: &Finding) -> DrawnCase {
    let mut case = case.clone();
    for ClaimedSetting { job, option, value } in &finding.claim.settings {
        let name = job.as_ref().or(finding.job.as_ref());
        for section in case.sections.iter_mut().filter(|s| name.is_none_or(|name| *name == s.name))
        {
            let own = |text: &String| text[2..].split('=').next() == Some(option.as_str());
            section.options.retain(|text| !own(text));
            section.options.extend(value.as_ref().map(|value| format!("--{option}={value}")));
        }
    }
    case
}

/// The sentence without its numbers.
fn theme(finding: &Finding) -> String {
    let words =
        finding.what.split(' ').filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    words.filter(|word| !["KiB", "MiB", "B", "%"].contains(word)).collect::<Vec<_>>().join(" ")
}

/// Returns what is wrong with the remedy of a finding: the finding is still there, it measures something else, or it makes a
/// result invalid.
pub(crate) fn failures(
    before: &RanCase<'_>,
    finding: &Finding,
    after: &RanCase<'_>,
    (then, now): (&[Finding], &[Finding]),
) -> Vec<String> {
    let mut wrong = Vec::new();
    let same = |other: &&Finding| {
        (&other.id, &other.job, theme(other)) == (&finding.id, &finding.job, theme(finding))
    };
    if let Some(still) = now.iter().find(same) {
        wrong.push(format!("the finding is still there: {still:?}"));
    }
    let known = |other: &Finding| then.iter().any(|one| one.id == other.id);
    let new = now.iter().find(|one| one.severity == Severity::Invalid && !known(one));
    wrong.extend(new.map(|new| format!("the remedy makes the result invalid: {new:?}")));
    let subject = subject(&finding.id);
    let timed = before.case.sections.iter().any(|section| section.value("runtime").is_some());
    if finding.id == "ended-in-ramp" {
        // The job does what it did, and a part of that is measured.
        let made = |ran: &RanCase<'_>| {
            ran.records.iter().flatten().map(|job| job.ios.len()).sum::<usize>()
        };
        let (then, now) = (made(before), made(after));
        wrong.extend((then != now).then(|| format!("the job made {then} I/Os, now {now}")));
        return wrong;
    }
    if subject == Subject::Length || subject == Subject::Rate && timed {
        return wrong;
    }
    let (then, now) = (work(&before.json), work(&after.json));
    // A rate for each direction decides the mix of directions.
    let all = |work: &[Work]| {
        let dirs = || work.iter().flat_map(|(_, _, dirs)| dirs);
        dirs().fold((0, 0), |sum, (bytes, ios)| (sum.0 + bytes, sum.1 + ios))
    };
    let equal = if subject == Subject::Rate { all(&then) == all(&now) } else { then == now };
    if !equal {
        wrong.push(format!("the remedy changes what is measured: {then:?}, now {now:?}"));
    }
    wrong
}
