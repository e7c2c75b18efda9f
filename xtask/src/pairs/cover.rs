//! The covering array: cases that together contain every pair of values, and a sample of triples.
//!
//! The generator is greedy, like AETG: a case begins with a pair that no case has yet, and takes the values
//! that add the most new pairs. A case chooses few values, because differences hide each other: all
//! other parameters keep their first value.

use std::collections::HashSet;

use super::case::{Case, Choice};
use super::random::Random;
use super::space::Space;

/// What the generator is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Decides the choice among equally good cases, and which triples are in the sample.
    pub seed: u64,
    /// Number of values that a case chooses, if the rules permit it.
    pub density: usize,
    /// Number of triples in the sample.
    pub triples: usize,
}

/// Cases, and what they cover.
#[derive(Debug)]
pub(super) struct Cover {
    pub cases: Vec<Case>,
    /// Number of pairs that the cases contain.
    pub pairs: usize,
    /// Pairs that no case may contain.
    pub impossible: Vec<Pair>,
    /// Number of triples of the sample that the cases contain.
    pub triples: usize,
}

/// Two values of different parameters, the smaller position first.
pub(super) type Pair = (Choice, Choice);

/// Number of values that compete for a place in a case.
const CANDIDATES: usize = 40;

/// Number of attempts to make a case from a pair.
const ATTEMPTS: usize = 60;

/// Makes the cases.
pub(super) fn cover(space: &Space, wanted: Wanted) -> Cover {
    let mut random = Random::new(wanted.seed);
    let choices: Vec<Choice> = space.choices().collect();
    let mut queue = pairs(&choices);
    random.shuffle(&mut queue);
    let mut open: HashSet<Pair> = queue.iter().copied().collect();
    let mut cover = Cover { cases: Vec::new(), pairs: 0, impossible: Vec::new(), triples: 0 };
    for pair in queue {
        if !open.contains(&pair) {
            continue;
        }
        let begun = begin(space, &[pair.0, pair.1], &mut random);
        let Some(case) = begun else {
            open.remove(&pair);
            cover.impossible.push(pair);
            continue;
        };
        let case = extend(space, case, &open, &choices, wanted.density, &mut random);
        pairs_of(&case).iter().for_each(|pair| {
            open.remove(pair);
        });
        cover.cases.push(case);
    }
    // An attempt may have failed by chance, and a later case may contain the pair.
    let covered: HashSet<Pair> = cover.cases.iter().flat_map(pairs_of).collect();
    cover.impossible.retain(|pair| !covered.contains(pair));
    cover.pairs = covered.len();
    triples(space, wanted.triples, &choices, &mut cover, &mut random);
    cover
}

fn pairs(choices: &[Choice]) -> Vec<Pair> {
    let of = |(i, a): (usize, &Choice)| {
        let (a, rest) = (*a, &choices[i + 1..]);
        rest.iter().filter(move |b| b.param != a.param).map(move |b| (a, *b))
    };
    choices.iter().enumerate().flat_map(of).collect()
}

/// The pairs that a case contains.
pub(super) fn pairs_of(case: &Case) -> Vec<Pair> {
    pairs(&case.choices().collect::<Vec<_>>())
}

/// Returns a case with these values that no rule forbids. Adds values where a rule demands it.
fn begin(space: &Space, values: &[Choice], random: &mut Random) -> Option<Case> {
    (0..ATTEMPTS).find_map(|_| {
        let case = values.iter().fold(space.base(), |case, value| case.with(*value));
        allowed(space, case, random)
    })
}

/// Adds values until no rule forbids the case. `None`: the values that it has exclude each other, or an
/// added value led nowhere.
fn allowed(space: &Space, mut case: Case, random: &mut Random) -> Option<Case> {
    while let Some((rule, _)) = space.broken(&case) {
        let mut ways = space.ways_out(rule, &case);
        if ways.is_empty() {
            return None;
        }
        let way = ways.swap_remove(random.below(ways.len()));
        case = case.with(way);
    }
    Some(case)
}

/// Adds the values that add the most pairs, until the case has `density` values.
fn extend(
    space: &Space,
    mut case: Case,
    open: &HashSet<Pair>,
    choices: &[Choice],
    density: usize,
    random: &mut Random,
) -> Case {
    while case.choices().count() < density {
        let mut best = (0, None);
        for _ in 0..CANDIDATES {
            let choice = choices[random.below(choices.len())];
            if case.chooses(choice.param) {
                continue;
            }
            let gain = |other: Choice| {
                let pair = if other < choice { (other, choice) } else { (choice, other) };
                usize::from(open.contains(&pair))
            };
            let gain: usize = case.choices().map(gain).sum();
            if gain <= best.0 {
                continue;
            }
            let with = case.with(choice);
            if let Some(with) = allowed(space, with, random)
                && with.choices().count() <= density
            {
                best = (gain, Some(with));
            }
        }
        match best.1 {
            Some(with) => case = with,
            None => break,
        }
    }
    case
}

/// Adds cases for a sample of triples that no case contains yet.
fn triples(
    space: &Space,
    wanted: usize,
    choices: &[Choice],
    cover: &mut Cover,
    random: &mut Random,
) {
    for _ in 0..wanted {
        let values: Vec<Choice> = (0..3).map(|_| choices[random.below(choices.len())]).collect();
        let same = |a: usize, b: usize| values[a].param == values[b].param;
        if same(0, 1) || same(0, 2) || same(1, 2) {
            continue;
        }
        let contains = |case: &Case| values.iter().all(|value| case.has(*value));
        if cover.cases.iter().any(contains) {
            cover.triples += 1;
        } else if let Some(case) = begin(space, &values, random) {
            cover.triples += 1;
            cover.cases.push(case);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{PARAMS, Param, RULES, Rule, Value};
    use super::*;

    const fn v(words: &'static str, tags: &'static str) -> Value {
        Value { words, tags }
    }

    const SMALL: &[Param] = &[
        Param {
            name: "rw",
            values: &[v("rw=read", ""), v("rw=write", "writes"), v("rw=rw", "writes")],
        },
        Param { name: "bs", values: &[v("bs=4k", ""), v("bs=8k", ""), v("bs=3k", "odd")] },
        Param { name: "direct", values: &[v("", ""), v("direct=1", "")] },
        Param { name: "verify", values: &[v("", ""), v("verify=md5", ""), v("verify=meta", "")] },
        Param { name: "depth", values: &[v("", ""), v("iodepth=4", ""), v("iodepth=16", "")] },
    ];

    const NEVER: &[Rule] =
        &[Rule { never: "verify=* !#writes", why: "" }, Rule { never: "#odd direct=1", why: "" }];

    fn check(space: &Space, wanted: Wanted) -> Cover {
        let cover = cover(space, wanted);
        let mut left: HashSet<Pair> =
            pairs(&space.choices().collect::<Vec<_>>()).into_iter().collect();
        let all = left.len();
        for case in &cover.cases {
            assert!(space.broken(case).is_none(), "{}", space.text(case));
            pairs_of(case).iter().for_each(|pair| {
                left.remove(pair);
            });
        }
        let mut impossible: Vec<Pair> = left.into_iter().collect();
        impossible.sort_unstable();
        let mut said = cover.impossible.clone();
        said.sort_unstable();
        let said: Vec<String> = said.iter().map(|pair| shown(space, *pair)).collect();
        let impossible: Vec<String> = impossible.iter().map(|pair| shown(space, *pair)).collect();
        assert_eq!(impossible, said);
        assert_eq!(cover.pairs + cover.impossible.len(), all);
        cover
    }

    fn shown(space: &Space, pair: Pair) -> String {
        format!("{} {}", space.value(pair.0).words, space.value(pair.1).words)
    }

    #[test]
    fn every_pair_that_the_rules_permit_is_covered() {
        let space = Space::new(SMALL, NEVER);
        for seed in 0..20 {
            for density in [2, 3, 5] {
                let cover = check(&space, Wanted { seed, density, triples: 5 });
                let [(a, b)] = cover.impossible[..] else { panic!("{:?}", cover.impossible) };
                assert_eq!((space.value(a).words, space.value(b).words), ("bs=3k", "direct=1"));
            }
        }
    }

    #[test]
    fn a_pair_whose_prerequisite_is_another_value_is_covered() {
        let space = Space::new(SMALL, NEVER);
        let cover = check(&space, Wanted { seed: 1, density: 2, triples: 0 });
        let both = space.pattern("verify=md5 iodepth=16");
        assert!(cover.cases.iter().any(|case| both.matches(case)));
    }

    #[test]
    fn the_real_model_is_covered() {
        let space = Space::new(PARAMS, RULES);
        let cover = check(&space, Wanted { seed: 1, density: 6, triples: 50 });
        assert!(cover.pairs > 15_000, "{}", cover.pairs);
        assert!(RULES.iter().all(|rule| !rule.why.is_empty()));
    }

    #[test]
    fn a_seed_decides_the_cases() {
        let space = Space::new(SMALL, NEVER);
        let of = |seed| cover(&space, Wanted { seed, density: 3, triples: 3 }).cases;
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }
}
