//! Compares the facts of two programs.
//!
//! Chance decides some facts (random sizes, the mix, the order of jobs side by side). So a case whose first runs
//! differ runs again with other seeds, and only what differs beyond the spread of the runs is a difference.

use std::collections::BTreeSet;

use super::facts::{Fact, Facts};

/// A fact that is not the same in both programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub aspect: String,
    pub ours: String,
    pub theirs: String,
}

impl Difference {
    /// The subject of the fact: `ios` of `ios.read`.
    pub(super) fn subject(&self) -> &str {
        self.aspect.split('.').next().unwrap_or_default()
    }
}

/// Which numbers of a case depend on the speed of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    /// None but times.
    Exact,
    /// The job runs for a time, so that its speed decides how much it does.
    Timed,
    /// Chance decides whether a job does anything: the job that ends first ends the others.
    Raced,
}

/// Allowed distance of two shares.
const SHARE: f64 = 0.15;

/// Allowed distance of two deciles, and how much is added for few samples.
const DECILE: f64 = 0.15;

/// Part of a count that chance may change beyond the runs that were seen.
const SPREAD: f64 = 0.1;

/// Times that differ by less, in milliseconds, or by a smaller factor are equal: the machine may be busy.
const TIME: f64 = 700.0;
const TIME_FACTOR: f64 = 3.0;

/// Facts of which fiord may have more: keys and lines that fio does not have.
const FIORD_HAS_MORE: [&str; 2] = ["keys", "text.heads"];

/// Facts that are not compared if the speed decides how far a job gets.
const UNTIMED: [&str; 7] = ["begin", "end", "covered", "contents", "files", "length", "sizes"];

/// Facts that are compared although the speed decides which jobs do anything.
const RACED: [&str; 5] = ["status", "jobs", "error", "keys", "columns"];

/// Facts that runs with few I/Os do not have. The number of I/Os is a fact of its own.
const OF_MANY: [&str; 3] = ["deciles", "hot", "sizes"];

/// I/Os of each job from which its speed says what it does: on a busy machine, a job may get no CPU while it should run.
const ENOUGH: f64 = 100.0;

/// Compares runs with the same seeds, at least one of each program.
pub(super) fn compare(ours: &[Facts], theirs: &[Facts], speed: Speed) -> Vec<Difference> {
    let names: BTreeSet<&String> =
        ours.iter().chain(theirs).flat_map(|facts| facts.keys()).collect();
    let mut found = Vec::new();
    let speed = match speed {
        Speed::Timed if ours.iter().chain(theirs).any(is_slow) => Speed::Raced,
        speed => speed,
    };
    for name in names {
        let subject = name.split('.').next().unwrap_or_default();
        if speed != Speed::Exact && UNTIMED.contains(&subject)
            || speed == Speed::Raced && !RACED.contains(&subject)
        {
            continue;
        }
        let of = |runs: &[Facts]| -> Vec<Option<Fact>> {
            runs.iter().map(|facts| facts.get(name).cloned()).collect()
        };
        let (ours, theirs) = (of(ours), of(theirs));
        if OF_MANY.contains(&subject) && (ours.contains(&None) || theirs.contains(&None)) {
            continue;
        }
        let more = FIORD_HAS_MORE.contains(&name.as_str()) && lacks_nothing(&ours, &theirs);
        if !more && differ(&ours, &theirs, speed) {
            found.push(Difference {
                aspect: name.clone(),
                ours: show(&ours, &theirs),
                theirs: show(&theirs, &ours),
            });
        }
    }
    // Without a result, nothing else can be equal.
    if let Some(status) = found.iter().find(|difference| difference.aspect == "status") {
        return vec![status.clone()];
    }
    found
}

/// Whether a job of the run did too little. A job that never did anything, with any seed, is not slow.
fn is_slow(run: &Facts) -> bool {
    let few = |fact| number(fact) > 0.0 && number(fact) < ENOUGH;
    run.iter().any(|(name, fact)| name.starts_with("job.") && few(fact))
}

fn differ(ours: &[Option<Fact>], theirs: &[Option<Fact>], speed: Speed) -> bool {
    let (Some(a), Some(b)) = (all(ours), all(theirs)) else {
        // Facts that only some runs have differ by chance.
        let never = |runs: &[Option<Fact>]| runs.iter().all(Option::is_none);
        return never(ours) && all(theirs).is_some() || never(theirs) && all(ours).is_some();
    };
    match (a[0], b[0]) {
        (Fact::Text(_), Fact::Text(_)) => a.iter().all(|a| !b.contains(a)),
        (Fact::Set(_), Fact::Set(_)) => !beyond(&a, &b).is_empty() || !beyond(&b, &a).is_empty(),
        (Fact::Shape(..), Fact::Shape(..)) => {
            a.iter().all(|a| b.iter().all(|b| distance(a, b) > DECILE))
        }
        (Fact::Share(_), Fact::Share(_)) => gap(&a, &b) > SHARE,
        (Fact::Time(_), Fact::Time(_)) => {
            let (a, b) = (range(&a), range(&b));
            let (low, high) = if a.0 > b.0 { (b.1, a.0) } else { (a.1, b.0) };
            high - low > TIME && high > low * TIME_FACTOR
        }
        (Fact::Count(_), Fact::Count(_)) => counts_differ(&a, &b, speed),
        _ => true,
    }
}

/// Whether our sets have all names of theirs.
fn lacks_nothing(ours: &[Option<Fact>], theirs: &[Option<Fact>]) -> bool {
    let (ours, theirs) = (all(ours), all(theirs));
    ours.zip(theirs).is_some_and(|(ours, theirs)| beyond(&theirs, &ours).is_empty())
}

/// Returns the facts if every run has one.
fn all(runs: &[Option<Fact>]) -> Option<Vec<&Fact>> {
    runs.iter().map(Option::as_ref).collect()
}

fn number(fact: &Fact) -> f64 {
    match fact {
        Fact::Count(value) | Fact::Share(value) | Fact::Time(value) => *value,
        _ => 0.0,
    }
}

fn range(facts: &[&Fact]) -> (f64, f64) {
    let numbers = || facts.iter().map(|fact| number(fact));
    (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max))
}

/// Distance between the ranges of two lists of numbers.
fn gap(a: &[&Fact], b: &[&Fact]) -> f64 {
    let (a, b) = (range(a), range(b));
    (a.0 - b.1).max(b.0 - a.1).max(0.0)
}

fn counts_differ(a: &[&Fact], b: &[&Fact], speed: Speed) -> bool {
    let (ours, theirs) = (range(a), range(b));
    if speed == Speed::Timed {
        return (ours.1 == 0.0) != (theirs.1 == 0.0);
    }
    if ours.0 == ours.1 && theirs.0 == theirs.1 {
        return ours.0 != theirs.0;
    }
    let spread = SPREAD * ours.1.abs().max(theirs.1.abs()) + 2.0;
    gap(a, b) > spread + (ours.1 - ours.0).max(theirs.1 - theirs.0)
}

fn distance(a: &Fact, b: &Fact) -> f64 {
    let (Fact::Shape(a, m), Fact::Shape(b, n)) = (a, b) else { return 1.0 };
    let few = 1.0 / (*m.min(n) as f64).sqrt();
    let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    (far - few).max(0.0)
}

/// Names that each run of `a` has and no run of `b`.
fn beyond(a: &[&Fact], b: &[&Fact]) -> BTreeSet<String> {
    let sets = |facts: &[&Fact]| -> Vec<BTreeSet<String>> {
        let set =
            |fact: &&Fact| if let Fact::Set(set) = fact { set.clone() } else { BTreeSet::new() };
        facts.iter().map(set).collect()
    };
    let (a, b) = (sets(a), sets(b));
    let always = |name: &&String| a.iter().all(|set| set.contains(*name));
    let never = |name: &&String| b.iter().all(|set| !set.contains(*name));
    a[0].iter().filter(always).filter(never).cloned().collect()
}

/// Names that are listed of a set.
const LISTED: usize = 6;

/// Shows the fact of each run; of sets only what the other program lacks.
fn show(runs: &[Option<Fact>], others: &[Option<Fact>]) -> String {
    if let (Some(a), Some(b)) = (all(runs), all(others))
        && let (Fact::Set(_), Fact::Set(_)) = (a[0], b[0])
    {
        let only = beyond(&a, &b);
        let listed: Vec<String> = only.iter().take(LISTED).cloned().collect();
        let more = only.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return format!("{}{more}", listed.join(" "));
    }
    let mut shown: Vec<String> = runs.iter().map(|fact| of(fact.as_ref())).collect();
    shown.dedup();
    shown.join(", ")
}

fn of(fact: Option<&Fact>) -> String {
    match fact {
        None => "nothing".to_owned(),
        Some(Fact::Text(text)) => text.clone(),
        Some(Fact::Count(value)) => format!("{value}"),
        Some(Fact::Time(value)) => format!("{value} ms"),
        Some(Fact::Share(value)) => format!("{value:.2}"),
        Some(Fact::Set(set)) => set.iter().take(LISTED).cloned().collect::<Vec<_>>().join(" "),
        Some(Fact::Shape(deciles, samples)) => {
            let deciles: Vec<_> = deciles.iter().map(|decile| format!("{decile:.2}")).collect();
            format!("{} ({samples})", deciles.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(counts: &[f64]) -> Vec<Facts> {
        let facts = |count: &f64| Facts::from([("ios.read".to_owned(), Fact::Count(*count))]);
        counts.iter().map(facts).collect()
    }

    #[test]
    fn exact_counts_are_compared_exactly_and_random_ones_by_their_spread() {
        let differ = |a: &[f64], b: &[f64]| !compare(&runs(a), &runs(b), Speed::Exact).is_empty();
        assert!(differ(&[252.0, 252.0], &[253.0, 253.0]));
        assert!(!differ(&[252.0, 252.0], &[252.0, 252.0]));
        assert!(!differ(&[120.0, 131.0], &[126.0, 126.0]));
        assert!(!differ(&[120.0, 131.0], &[137.0, 135.0]));
        assert!(differ(&[120.0, 131.0], &[250.0, 256.0]));
    }

    #[test]
    fn the_counts_of_a_timed_job_differ_if_one_is_zero() {
        assert!(compare(&runs(&[5.0]), &runs(&[900.0]), Speed::Timed).is_empty());
        assert_eq!(compare(&runs(&[0.0]), &runs(&[900.0]), Speed::Timed).len(), 1);
        assert!(compare(&runs(&[0.0]), &runs(&[900.0]), Speed::Raced).is_empty());
        let mut slow = runs(&[0.0]);
        slow[0].insert("job.0".into(), Fact::Count(7.0));
        assert!(compare(&slow, &runs(&[900.0]), Speed::Timed).is_empty());
        slow[0].insert("job.0".into(), Fact::Count(0.0));
        assert_eq!(compare(&slow, &runs(&[900.0]), Speed::Timed).len(), 2);
    }

    #[test]
    fn a_fact_that_one_program_never_has_is_a_difference() {
        let found = compare(&runs(&[1.0]), &[Facts::new()], Speed::Exact);
        assert_eq!((found[0].ours.as_str(), found[0].theirs.as_str()), ("1", "nothing"));
        assert_eq!(found[0].subject(), "ios");
    }

    #[test]
    fn a_status_hides_everything_else() {
        let with = |status: &str| {
            let mut facts = runs(&[1.0]).remove(0);
            facts.insert("status".into(), Fact::Text(status.into()));
            facts
        };
        let mut failed = with("fails");
        failed.remove("ios.read");
        let found = compare(&[with("runs")], &[failed], Speed::Exact);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].aspect, "status");
    }

    #[test]
    fn sets_are_shown_by_what_the_other_lacks() {
        let set = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            [Facts::from([("names".to_owned(), Fact::Set(names))])]
        };
        let found = compare(&set(&["a", "b"]), &set(&["a", "c"]), Speed::Exact);
        assert_eq!((found[0].ours.as_str(), found[0].theirs.as_str()), ("b", "c"));
        assert!(compare(&set(&["a"]), &set(&["a"]), Speed::Exact).is_empty());
    }
}
