//! The results as a table for people and as one JSON document.

use fiord_types::Nanos;
use serde_json::{Map, Value, json};

use super::result::{CutKind, HEADINGS, RoundResult, RoundVerdict};
use super::settings::{CutMethod, PowercutSettings};
use super::state::RoundsState;
use crate::columns::{Align, aligned};

/// What the rounds will do, before the user confirms.
#[must_use]
pub fn announcement(settings: &PowercutSettings) -> String {
    let (low, high) = (seconds(settings.after.0), seconds(settings.after.1));
    let cut = match &settings.method {
        CutMethod::Kill => format!(
            "fiord kills the writer {low} to {high} s after its first write. The device keeps its power: this tests \
             only the software"
        ),
        CutMethod::Manual => "you cut the power by hand".to_owned(),
        CutMethod::Command { cut, restore } => format!(
            "{low} to {high} s after the first write, `{cut}` cuts the power; `{restore}` restores it"
        ),
    };
    format!(
        "{} rounds with seed {}: {cut}.\nAll data on the target will be lost.\n",
        settings.rounds(),
        settings.seed()
    )
}

/// The table and a summary.
#[must_use]
pub fn text(state: &RoundsState) -> String {
    let mut rows = vec![HEADINGS.map(String::from).to_vec()];
    rows.extend(state.rounds().iter().map(RoundResult::cells));
    let left = |column| matches!(column, 1 | 10);
    let mut out = aligned(&rows, |column| if left(column) { Align::Left } else { Align::Right });
    out.push('\n');
    out += &summary(state);
    out
}

/// Explains the results in a few lines.
fn summary(state: &RoundsState) -> String {
    let settings = state.settings();
    let (done, count) = (state.rounds(), |wanted| count(state, wanted));
    let mut out = format!(
        "{} of {} rounds: {} passed",
        done.len(),
        settings.rounds(),
        count(RoundVerdict::Passed)
    );
    for verdict in [RoundVerdict::Lost, RoundVerdict::Corrupt, RoundVerdict::Untested] {
        if count(verdict) > 0 {
            out += &format!(", {} {}", count(verdict), verdict.word());
        }
    }
    out += &format!("; seed {}\n", settings.seed());
    let broken = count(RoundVerdict::Lost) + count(RoundVerdict::Corrupt);
    if broken > 0 {
        out += &format!(
            "{} did not keep data that it had acknowledged and flushed. Journals and bad extents: {}\n",
            settings.target.path.display(),
            state.dir().join("round-*").display()
        );
    }
    if count(RoundVerdict::Untested) > 0 {
        out += "In untested rounds no flush had completed, so nothing could be lost. To fix: flush more often (fsync), or \
                cut later (--after)\n";
    }
    if settings.method == CutMethod::Kill && done.iter().all(|one| one.cut == CutKind::Kill) {
        out += "The power was not cut: with --cut=kill only the writer ends, which tests the software and not the \
                device\n";
    }
    out
}

fn count(state: &RoundsState, verdict: RoundVerdict) -> usize {
    state.rounds().iter().filter(|done| done.verdict == verdict).count()
}

/// The JSON document.
#[must_use]
pub fn json(state: &RoundsState) -> String {
    let settings = state.settings();
    let verdicts =
        [RoundVerdict::Passed, RoundVerdict::Lost, RoundVerdict::Corrupt, RoundVerdict::Untested];
    let counts: Map<String, Value> =
        verdicts.iter().map(|one| (one.word().into(), count(state, *one).into())).collect();
    let document = json!({
        "target": settings.target.path.display().to_string(),
        "cut": settings.method,
        "seed": settings.seed(),
        "rounds_wanted": settings.rounds(),
        "rounds_done": state.rounds().len(),
        "verdicts": counts,
        "rounds": state.rounds().iter().map(RoundResult::json).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// Seconds with one decimal.
fn seconds(time: Nanos) -> String {
    format!("{:.1}", time.as_secs_f64())
}
