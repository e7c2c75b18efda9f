//! The space of all cases: parameters, their values, and the combinations that no case has.

use super::case::{Case, Choice};
use super::model::{Param, Rule, Value};
use super::pattern::Pattern;

/// Parameters and rules, with patterns that are parsed.
#[derive(Debug)]
pub(super) struct Space {
    params: &'static [Param],
    /// Combinations that no case has, and why.
    rules: Vec<(Pattern, &'static str)>,
}

impl Space {
    /// Parses the patterns of the rules.
    pub(super) fn new(params: &'static [Param], rules: &'static [Rule]) -> Self {
        let rules = rules.iter().map(|rule| (Pattern::new(rule.never, params), rule.why)).collect();
        Space { params, rules }
    }

    /// Parses a pattern for cases of this space.
    pub(super) fn pattern(&self, text: &str) -> Pattern {
        Pattern::new(text, self.params)
    }

    /// Returns the case that chooses nothing.
    pub(super) fn base(&self) -> Case {
        Case::base(self.params.len())
    }

    /// Every value that can be chosen.
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> + '_ {
        let of = |(param, def): (usize, &'static Param)| {
            (1..def.values.len()).map(move |value| Choice { param, value })
        };
        self.params.iter().enumerate().flat_map(of)
    }

    /// Returns a rule that forbids the case, and its reason.
    pub(super) fn broken(&self, case: &Case) -> Option<(&Pattern, &'static str)> {
        let broken = self.rules.iter().find(|(rule, _)| rule.matches(case))?;
        Some((&broken.0, broken.1))
    }

    /// Returns choices that may make `rule`, which forbids the case, permit it, and that replace no choice.
    pub(super) fn ways_out(&self, rule: &Pattern, case: &Case) -> Vec<Choice> {
        let ways = rule.ways_out(self.params).into_iter();
        ways.filter(|way| !case.chooses(way.param)).collect()
    }

    /// Name of a parameter.
    pub(super) fn name(&self, choice: Choice) -> &'static str {
        self.params[choice.param].name
    }

    /// The value that a choice stands for.
    pub(super) fn value(&self, choice: Choice) -> &'static Value {
        &self.params[choice.param].values[choice.value]
    }

    /// Every value of the case, also those that it does not choose.
    fn values<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'static Value> + 'a {
        let all = case.values().iter().enumerate();
        all.map(|(param, value)| &self.params[param].values[*value])
    }

    /// Every word of the case's command line.
    pub(super) fn words<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'static str> + 'a {
        self.values(case).flat_map(|value| value.words.split_whitespace())
    }

    /// Whether a value of the case has the tag.
    pub(super) fn has_tag(&self, case: &Case, tag: &str) -> bool {
        self.values(case).any(|value| value.tags.split_whitespace().any(|word| word == tag))
    }

    /// The values that the case chooses, as text. Cases of one space with equal texts are equal.
    pub(super) fn text(&self, case: &Case) -> String {
        let words: Vec<_> = case.choices().map(|choice| self.value(choice).words).collect();
        words.join(" ")
    }

    /// Reads the text of a case. `None` if a word is in no value.
    pub(super) fn parse(&self, text: &str) -> Option<Case> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut case = self.base();
        let mut known = Vec::new();
        for (param, def) in self.params.iter().enumerate() {
            let within = |value: &&Value| {
                let has = |word| words.contains(&word);
                !value.words.is_empty() && value.words.split_whitespace().all(has)
            };
            // A value may have all words of another one, and more.
            let longest = def.values.iter().filter(within).max_by_key(|value| value.words.len());
            if let Some(found) = longest {
                let value = def.values.iter().position(|value| std::ptr::eq(value, found))?;
                case = case.with(Choice { param, value });
                known.extend(found.words.split_whitespace());
            }
        }
        words.iter().all(|word| known.contains(word)).then_some(case)
    }

    /// The arguments of the command line.
    pub(super) fn args(&self, case: &Case) -> Vec<String> {
        let (second, first): (Vec<_>, Vec<_>) =
            self.words(case).partition(|word| word.starts_with("b:"));
        let mut args: Vec<String> = first.iter().map(|word| format!("--{word}")).collect();
        args.push("--name=a".to_owned());
        if !second.is_empty() {
            args.push("--name=b".to_owned());
            args.extend(second.iter().map(|word| format!("--{}", &word[2..])));
        }
        args
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{PARAMS, RULES};
    use super::*;

    #[test]
    fn the_text_of_a_case_is_read_back() {
        let space = Space::new(PARAMS, RULES);
        for choice in space.choices() {
            let case = space.base().with(choice);
            assert_eq!(space.parse(&space.text(&case)), Some(case), "{choice:?}");
        }
        assert_eq!(space.parse(""), Some(space.base()));
        assert_eq!(space.parse("rw=write bs=17k"), None);
    }

    #[test]
    fn options_of_the_second_job_follow_its_name() {
        let space = Space::new(PARAMS, RULES);
        let case = space.parse("rw=write b:rw=randwrite").unwrap();
        let args = space.args(&case);
        let end = args.iter().position(|arg| arg == "--name=a").unwrap();
        assert_eq!(args[end..], ["--name=a", "--name=b", "--rw=randwrite"]);
        assert!(args[..end].contains(&"--rw=write".to_owned()));
    }
}
