//! Length of the next I/O.

use fiord_plan::BlockSize;

use crate::rng::Rng;

/// Block sizes of one direction.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    kind: Kind,
    min: u32,
    max: u32,
}

#[derive(Debug, Clone)]
enum Kind {
    Fixed,
    /// Sizes `min + step * (0 .. steps)`, all equally likely.
    Range {
        step: u32,
        steps: u64,
    },
    /// Sizes with cumulative shares, of `total`.
    Split {
        upto: Box<[(u64, u32)]>,
        total: u64,
    },
    /// Sizes of sequential and of random I/Os.
    SeqRand(Box<[Sizes; 2]>),
}

impl Sizes {
    /// `unaligned`: sizes need not be multiples of the smallest one (`bs_unaligned`).
    pub(super) fn new(sizes: &BlockSize, unaligned: bool) -> Self {
        let min = sizes.min();
        let step = if unaligned { 1 } else { min.max(1) };
        let kind = match sizes {
            BlockSize::Range { min, max } if max > min => {
                Kind::Range { step, steps: u64::from((max - min) / step) + 1 }
            }
            BlockSize::Fixed(_) | BlockSize::Range { .. } => Kind::Fixed,
            BlockSize::SeqRand(both) => Kind::SeqRand(Box::new([
                Sizes::new(&both.sequential, unaligned),
                Sizes::new(&both.random, unaligned),
            ])),
            BlockSize::Split(shares) => {
                let mut total = 0;
                let mut upto = Vec::with_capacity(shares.len());
                for &(size, share) in shares.iter().filter(|s| s.1 > 0) {
                    total += u64::from(share);
                    upto.push((total, size - size % step));
                }
                match total {
                    0 => Kind::Fixed,
                    _ => Kind::Split { upto: upto.into(), total },
                }
            }
        };
        Sizes { kind, min, max: sizes.max() }
    }

    /// Smallest size in bytes.
    pub(super) fn min(&self) -> u32 {
        self.min
    }

    /// Largest size in bytes.
    pub(super) fn max(&self) -> u32 {
        self.max
    }

    /// Whether there is only one size.
    pub(super) fn fixed(&self) -> bool {
        matches!(self.kind, Kind::Fixed)
    }

    /// Sizes with cumulative shares, and the total of the shares. `None` if sizes are drawn from a
    /// range.
    pub(super) fn shares(&self) -> Option<(Vec<(u64, u32)>, u64)> {
        match &self.kind {
            Kind::Fixed => Some((vec![(1, self.min)], 1)),
            Kind::Range { .. } | Kind::SeqRand(_) => None,
            Kind::Split { upto, total } => Some((upto.to_vec(), *total)),
        }
    }

    /// Draws the size in bytes of a sequential I/O. `drawn`: what [`draw`](Self::draw) has returned for it.
    pub(super) fn draw_sequential(&self, drawn: u32, rng: &mut Rng) -> u32 {
        match &self.kind {
            Kind::SeqRand(both) => both[0].draw(rng),
            _ => drawn,
        }
    }

    /// Draws a size in bytes. If sequential I/Os have sizes of their own, it is that of a random one.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        match &self.kind {
            Kind::SeqRand(both) => both[1].draw(rng),
            Kind::Fixed => self.min,
            Kind::Range { step, steps } => self.min + rng.below(*steps) as u32 * step,
            Kind::Split { upto, total } => {
                let at = rng.below(*total);
                upto.iter().find(|x| at < x.0).map_or(self.min, |x| x.1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn many(sizes: &BlockSize, unaligned: bool) -> std::collections::BTreeMap<u32, u32> {
        let sizes = Sizes::new(sizes, unaligned);
        let mut rng = Rng::new(3, Purpose::Size, 0);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            *seen.entry(sizes.draw(&mut rng)).or_default() += 1;
        }
        seen
    }

    #[test]
    fn split_keeps_the_shares() {
        let seen = many(&BlockSize::Split(vec![(4096, 60), (16384, 30), (65536, 10)]), false);
        // Five standard deviations are below 800.
        assert!(seen[&4096].abs_diff(60_000) < 800, "{seen:?}");
        assert!(seen[&16384].abs_diff(30_000) < 800, "{seen:?}");
        assert!(seen[&65536].abs_diff(10_000) < 800, "{seen:?}");
    }

    #[test]
    fn split_rounds_down_to_the_smallest_unless_unaligned() {
        let split = BlockSize::Split(vec![(3072, 50), (10240, 50), (7, 0)]);
        let split = |unaligned| many(&split, unaligned).into_keys().collect::<Vec<_>>();
        assert_eq!(split(true), [3072, 10240]);
        let kept = BlockSize::Split(vec![(3072, 50), (10240, 50)]);
        assert_eq!(many(&kept, false).into_keys().collect::<Vec<_>>(), [3072, 9216]);
    }

    #[test]
    fn ranges_are_even_over_multiples_of_the_smallest() {
        let seen = many(&BlockSize::Range { min: 4096, max: 16384 }, false);
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [4096, 8192, 12288, 16384]);
        assert!(seen.values().all(|n| n.abs_diff(25_000) < 700), "{seen:?}");
        let seen = many(&BlockSize::Range { min: 500, max: 1500 }, true);
        assert_eq!((seen.keys().min(), seen.keys().max()), (Some(&500), Some(&1500)));
        assert_eq!(seen.len(), 1001);
    }
}
