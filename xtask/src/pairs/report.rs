//! What is printed at the end.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use super::compare::Difference;
use super::cover::{Cover, pairs_of};
use super::session::Session;
use super::space::Space;
use super::store::Record;

/// Differences of a class that are printed.
const SHOWN: usize = 6;

/// The text of a report, and the number of unknown differences.
pub(super) fn report(session: &Session<'_>, cover: &Cover, records: &[Record]) -> (String, usize) {
    let space = &session.bench.space;
    let mut text = String::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut classes: BTreeMap<&str, (usize, &[Difference])> = BTreeMap::new();
    let (mut equal, mut refused, mut explained) = (0, 0, 0);
    let mut ran = HashSet::new();
    let (mut values_that_ran, mut refused_values) = (HashSet::new(), BTreeMap::new());
    for record in records {
        let Some(case) = space.parse(&record.case) else { continue };
        if record.refused {
            refused += 1;
            case.choices().for_each(|choice| *refused_values.entry(choice).or_insert(0) += 1);
        } else {
            ran.extend(pairs_of(&case));
            values_that_ran.extend(case.choices());
        }
        let anchor = |difference| Some(session.known.find(&case, difference)?.anchor);
        let anchors: HashSet<&str> = record.differences.iter().filter_map(anchor).collect();
        anchors.into_iter().for_each(|anchor| *known.entry(anchor).or_default() += 1);
        match &record.minimal {
            Some((smallest, differences))
                if !session.unknown(&case, &record.differences).is_empty() =>
            {
                classes.entry(smallest).or_insert((0, differences)).0 += 1;
            }
            _ if record.differences.is_empty() => equal += usize::from(!record.refused),
            _ => explained += 1,
        }
    }
    let different: usize = classes.values().map(|class| class.0).sum();
    let _ = writeln!(
        text,
        "{} of {} cases are finished: {equal} are equal, both programs refuse {refused}, {explained} have only known \
         differences, {different} have others.",
        records.len(),
        cover.cases.len()
    );
    let _ = writeln!(
        text,
        "{} pairs of values and {} triples are in the cases, {} pairs in finished ones that ran; rules exclude {} pairs.",
        cover.pairs,
        cover.triples,
        ran.len(),
        cover.impossible.len()
    );
    refused_values.retain(|choice, _| !values_that_ran.contains(choice));
    for (choice, cases) in refused_values {
        let words = space.value(choice).words;
        let _ = writeln!(text, "{cases:6} cases, all refused by both programs: {words}");
    }
    for (anchor, cases) in known {
        let _ = writeln!(text, "{cases:6} cases, documented as: {anchor}");
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(smallest, (cases, _))| (usize::MAX - cases, *smallest));
    for (smallest, (cases, differences)) in &classes {
        let _ = write!(text, "{}", class(session, space, smallest, *cases, differences));
    }
    (text, classes.len())
}

fn class(
    session: &Session<'_>,
    space: &Space,
    smallest: &str,
    cases: usize,
    differences: &[Difference],
) -> String {
    let Some(case) = space.parse(smallest) else { return String::new() };
    let mut text = format!("\n{cases} cases like: {}\n", space.args(&case).join(" "));
    let unknown = session.unknown(&case, differences);
    for difference in unknown.iter().take(SHOWN) {
        let _ = writeln!(text, "    {}", line(difference));
    }
    if unknown.len() > SHOWN {
        let _ = writeln!(text, "    and {} more", unknown.len() - SHOWN);
    }
    text
}

pub(super) fn line(difference: &Difference) -> String {
    let Difference { aspect, ours, theirs } = difference;
    format!("{aspect}: fiord {ours} | fio {theirs}")
}
