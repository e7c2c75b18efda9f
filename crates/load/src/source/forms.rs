//! Of which command the next write is made (`write_mode` with shares).

use fiord_plan::{Load, WriteForm};

use crate::rng::{Purpose, Rng};

/// Deals forms like cards: of every hundred writes (or of fewer, where the shares divide) each form
/// gets exactly its share, in an order that is drawn anew each time.
#[derive(Debug, Clone)]
pub struct Forms {
    deck: Vec<WriteForm>,
    /// Cards that are dealt already.
    dealt: usize,
    rng: Rng,
}

impl Forms {
    /// Of a load; `None` where all writes are plain ones.
    pub fn new(load: &Load) -> Option<Self> {
        let unit = load.forms.iter().fold(0, |unit, (_, share)| divisor(unit, *share));
        let deck: Vec<WriteForm> = load
            .forms
            .iter()
            .flat_map(|(form, share)| {
                let cards = share.checked_div(unit).unwrap_or(0);
                std::iter::repeat_n(*form, cards.into())
            })
            .collect();
        let dealt = deck.len();
        let rng = Rng::new(load.seed, Purpose::Form, 0);
        (!deck.is_empty()).then_some(Forms { deck, dealt, rng })
    }

    /// The next one.
    #[inline]
    pub fn draw(&mut self) -> WriteForm {
        if self.dealt == self.deck.len() {
            self.dealt = 0;
        }
        // Fisher and Yates, a step for each card.
        let left = (self.deck.len() - self.dealt) as u64;
        let pick = self.dealt + self.rng.below(left) as usize;
        self.deck.swap(self.dealt, pick);
        self.dealt += 1;
        self.deck[self.dealt - 1]
    }
}

/// The greatest common divisor.
fn divisor(a: u8, b: u8) -> u8 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use WriteForm::*;
    use fiord_plan::{EnginePlan, JobPlan};

    use super::*;

    fn forms(shares: &[(WriteForm, u8)], seed: u64) -> Option<Forms> {
        let mut load = JobPlan::plain(EnginePlan::Null, 1 << 20).load;
        load.forms = shares.to_vec();
        load.seed = seed;
        Forms::new(&load)
    }

    #[test]
    fn shares_are_exact() {
        let mut forms = forms(&[(Data, 60), (Zeroes, 30), (Uncorrectable, 10)], 1).unwrap();
        // Ten cards: after every ten writes the shares are exact.
        for writes in 1..=100u32 {
            let mut counts = [0; 3];
            for _ in 0..10 {
                let form = forms.draw();
                counts[[Data, Zeroes, Uncorrectable].iter().position(|f| *f == form).unwrap()] += 1;
            }
            assert_eq!(counts, [6, 3, 1], "round {writes}");
        }
    }

    #[test]
    fn the_order_is_drawn_and_repeats_with_its_seed() {
        let all = |seed| {
            let mut forms = forms(&[(Data, 37), (Verify, 63)], seed).unwrap();
            (0..500).map(|_| forms.draw()).collect::<Vec<_>>()
        };
        let first = all(7);
        assert_eq!(first, all(7));
        assert_ne!(first, all(8));
        assert_ne!(first[..100], first[100..200]);
    }

    #[test]
    fn one_form_is_always_the_same_and_none_is_none() {
        let mut one = forms(&[(Zeroes, 100)], 1).unwrap();
        assert!((0..300).all(|_| one.draw() == Zeroes));
        assert!(forms(&[], 1).is_none());
    }
}
