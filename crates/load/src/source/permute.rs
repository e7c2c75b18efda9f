//! Random order of `0 .. n` that contains each number exactly once, in constant memory.
//!
//! A linear congruential generator modulo the next power of two visits all its states (full period
//! by the Hull-Dobell theorem: odd increment, multiplier 1 modulo 4). A keyed bijection of the same
//! width hides its regularity. Values of `n` or more are skipped; they are fewer than half, because
//! the modulus is less than `2 n`.

use crate::rng::{Purpose, Rng};

/// A keyed order of `0 .. n`. After `n` numbers the same order begins again.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    state: u64,
    step: u64,
    scramble: u64,
    n: u64,
    mask: u64,
    shift: u32,
    first: u64,
    /// The next number, computed one draw ahead so that the caller does not wait for the
    /// arithmetic.
    next: u64,
}

/// Multiplier with good spectral properties for every power-of-two modulus (Steele and Vigna,
/// arXiv:2001.05304). It is 1 modulo 4, as a full period demands.
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

impl Permutation {
    /// An order of `0 .. n`, drawn from `rng`. An `n` of 0 gives only zeros.
    pub(super) fn new(n: u64, rng: &mut Rng) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let first = rng.draw() & mask;
        let mut order = Permutation {
            state: first,
            step: rng.draw() | 1,
            scramble: rng.draw() & !6 | 5,
            n: n.max(1),
            mask,
            shift: bits.div_ceil(2),
            first,
            next: 0,
        };
        order.next = order.make();
        order
    }

    /// The order in which a pass over a file visits its blocks. All sources have the same one, so that an option such as
    /// `fsync`, which needs another source, does not change the offsets.
    pub(super) fn of_pass(blocks: u64, seed: u64, file: u64, pass: u64) -> Self {
        let which = file ^ pass << 32;
        Permutation::new(blocks, &mut Rng::new(seed, Purpose::Offset, which))
    }

    /// The next number of the order.
    #[inline(always)]
    pub(super) fn draw(&mut self) -> u64 {
        let next = self.make();
        std::mem::replace(&mut self.next, next)
    }

    #[inline(always)]
    fn make(&mut self) -> u64 {
        loop {
            self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.step) & self.mask;
            let mut x = self.state;
            x ^= x >> self.shift;
            x = x.wrapping_mul(self.scramble) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(MULTIPLIER) & self.mask;
            x ^= x >> self.shift;
            if x < self.n {
                return x;
            }
        }
    }

    /// Returns to the start of the order.
    pub(super) fn rewind(&mut self) {
        self.state = self.first;
        self.next = self.make();
    }
}

/// A keyed bijection of `0 .. n` that spreads ranks over a range, with one rank at a given place.
#[derive(Debug, Clone)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    keys: [u64; 3],
    /// Added to the result, modulo `n`.
    turn: u64,
}

impl Scatter {
    /// A bijection of `0 .. n` (`n` at least 1) that maps `rank` to `place`.
    pub(super) fn new(n: u64, (rank, place): (u64, u64), rng: &mut Rng) -> Self {
        let n = n.max(1);
        let bits = 64 - (n - 1).leading_zeros();
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let keys = [rng.draw() & mask, rng.draw() | 1, rng.draw() | 1];
        let mut scatter = Scatter { n, mask, shift: bits.div_ceil(2), keys, turn: 0 };
        let unturned = scatter.place(rank);
        scatter.turn = if place >= unturned { place - unturned } else { place + (n - unturned) };
        scatter
    }

    /// The place of a rank below `n`. Values of `n` or more are mixed again, in fewer than two
    /// rounds on average.
    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
        let mut x = rank;
        loop {
            x ^= self.keys[0];
            x ^= x >> self.shift;
            x = x.wrapping_mul(self.keys[1]) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(self.keys[2]) & self.mask;
            x ^= x >> self.shift;
            if x < self.n {
                break;
            }
        }
        let (sum, wrapped) = x.overflowing_add(self.turn);
        if wrapped || sum >= self.n { sum.wrapping_sub(self.n) } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Permutation, Scatter};
    use crate::rng::{Purpose, Rng};

    fn order(n: u64, seed: u64) -> Permutation {
        Permutation::new(n, &mut Rng::new(seed, Purpose::Offset, 0))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn each_number_occurs_exactly_once(n in 1u64..5000, seed: u64) {
            let mut order = order(n, seed);
            for _ in 0..2 {
                let mut seen = vec![false; n as usize];
                for _ in 0..n {
                    let x = order.draw() as usize;
                    prop_assert!(!std::mem::replace(&mut seen[x], true));
                }
            }
        }

        #[test]
        fn ranks_are_spread_over_all_places(n in 1u64..5000, rank: u64, place: u64, seed: u64) {
            let (hottest, place) = (rank % n, place % n);
            let scatter =
                Scatter::new(n, (hottest, place), &mut Rng::new(seed, Purpose::HotSpot, 0));
            prop_assert_eq!(scatter.place(hottest), place);
            let mut seen = vec![false; n as usize];
            for rank in 0..n {
                prop_assert!(!std::mem::replace(&mut seen[scatter.place(rank) as usize], true));
            }
        }

        #[test]
        fn large_orders_stay_in_bounds_and_rewind(n in 1u64 << 32..1 << 50, seed: u64) {
            let mut order = order(n, seed);
            let first: Vec<u64> = (0..100).map(|_| order.draw()).collect();
            prop_assert!(first.iter().all(|&x| x < n));
            order.rewind();
            prop_assert!(first.iter().all(|&x| order.draw() == x));
        }
    }

    /// Neighbours in the order are not neighbours on the device: of a million, about one in half a
    /// million is adjacent by chance.
    #[test]
    fn the_order_looks_random() {
        let n = 4_000_000_000_000u64 / 512;
        let mut order = order(n, 7);
        let (mut adjacent, mut low, mut rising, mut last) = (0, 0, 0, 0);
        for _ in 0..1_000_000 {
            let x = order.draw();
            adjacent += u32::from(x.abs_diff(last) <= 1000);
            low += u32::from(x < n / 2);
            rising += u32::from(x > last);
            last = x;
        }
        assert!(adjacent < 10, "{adjacent} near neighbours");
        assert!(u32::abs_diff(low, 500_000) < 3000, "{low} in the lower half");
        assert!(u32::abs_diff(rising, 500_000) < 3000, "{rising} rising steps");
    }
}
