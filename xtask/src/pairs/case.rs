//! A case: one value of each parameter.

/// A value of a parameter, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Choice {
    pub param: usize,
    pub value: usize,
}

/// A job: one value of each parameter. Position 0 is the value of a case that does not choose.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Case(Vec<usize>);

impl Case {
    /// A case that chooses nothing.
    pub(super) fn base(params: usize) -> Case {
        Case(vec![0; params])
    }

    /// The position of the value of each parameter.
    pub(super) fn values(&self) -> &[usize] {
        &self.0
    }

    /// Returns the case with `choice` in place of the value of its parameter.
    pub(super) fn with(&self, choice: Choice) -> Case {
        let mut case = self.clone();
        case.0[choice.param] = choice.value;
        case
    }

    /// Returns the case without a choice for `param`.
    pub(super) fn without(&self, param: usize) -> Case {
        self.with(Choice { param, value: 0 })
    }

    /// Whether the case chooses a value for `param`.
    pub(super) fn chooses(&self, param: usize) -> bool {
        self.0[param] != 0
    }

    /// Whether the case has the value.
    pub(super) fn has(&self, choice: Choice) -> bool {
        self.0[choice.param] == choice.value
    }

    /// The values that the case chooses.
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> + '_ {
        let all = self.0.iter().enumerate().map(|(param, value)| Choice { param, value: *value });
        all.filter(|choice| choice.value != 0)
    }
}
