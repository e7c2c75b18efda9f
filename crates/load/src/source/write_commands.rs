//! Choice of the write command (`write_mode` with shares).

use fiord_plan::{Load, WriteCommand};
use fiord_types::common_divisor;

use crate::rng::{Purpose, Rng};

/// Deals write commands like cards from a deck: of every hundred writes (fewer if the shares have a
/// common divisor) each command gets exactly its share. Each round is shuffled anew.
#[derive(Debug, Clone)]
pub(super) struct WriteCommandMix {
    deck: Vec<WriteCommand>,
    /// Number of cards that were dealt in this round.
    dealt: usize,
    rng: Rng,
}

impl WriteCommandMix {
    /// The write commands of a load. `None` if all writes use the plain command.
    pub(super) fn new(load: &Load) -> Option<Self> {
        let shares = load.write_commands.iter().map(|(_, share)| *share);
        let unit = shares.fold(0, common_divisor);
        let deck: Vec<WriteCommand> = load
            .write_commands
            .iter()
            .flat_map(|(form, share)| {
                let cards = share.checked_div(unit).unwrap_or(0);
                std::iter::repeat_n(*form, cards.into())
            })
            .collect();
        let dealt = deck.len();
        let rng = Rng::new(load.seed, Purpose::Form, 0);
        (!deck.is_empty()).then_some(WriteCommandMix { deck, dealt, rng })
    }

    /// The next write command.
    #[inline]
    pub(super) fn draw(&mut self) -> WriteCommand {
        if self.dealt == self.deck.len() {
            self.dealt = 0;
        }
        // One step of a Fisher-Yates shuffle per card.
        let left = (self.deck.len() - self.dealt) as u64;
        let pick = self.dealt + self.rng.below(left) as usize;
        self.deck.swap(self.dealt, pick);
        self.dealt += 1;
        self.deck[self.dealt - 1]
    }
}

#[cfg(test)]
mod tests {
    use WriteCommand::*;
    use fiord_plan::{EnginePlan, JobPlan};

    use super::*;

    fn mix(shares: &[(WriteCommand, u8)], seed: u64) -> Option<WriteCommandMix> {
        let mut load = JobPlan::plain(EnginePlan::Null, 1 << 20).load;
        load.write_commands = shares.to_vec();
        load.seed = seed;
        WriteCommandMix::new(&load)
    }

    #[test]
    fn shares_are_exact() {
        let mut mix = mix(&[(Data, 60), (Zeroes, 30), (Uncorrectable, 10)], 1).unwrap();
        // The deck has ten cards, so after every ten writes the shares are exact.
        for writes in 1..=100u32 {
            let mut counts = [0; 3];
            for _ in 0..10 {
                let form = mix.draw();
                counts[[Data, Zeroes, Uncorrectable].iter().position(|f| *f == form).unwrap()] += 1;
            }
            assert_eq!(counts, [6, 3, 1], "round {writes}");
        }
    }

    #[test]
    fn the_order_is_random_and_repeats_with_its_seed() {
        let all = |seed| {
            let mut mix = mix(&[(Data, 37), (Verify, 63)], seed).unwrap();
            (0..500).map(|_| mix.draw()).collect::<Vec<_>>()
        };
        let first = all(7);
        assert_eq!(first, all(7));
        assert_ne!(first, all(8));
        assert_ne!(first[..100], first[100..200]);
    }

    #[test]
    fn a_single_command_is_always_drawn() {
        let mut one = mix(&[(Zeroes, 100)], 1).unwrap();
        assert!((0..300).all(|_| one.draw() == Zeroes));
        assert!(mix(&[], 1).is_none());
    }
}
