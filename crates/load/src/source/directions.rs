//! Direction of the next I/O.

use fiord_plan::Mix;
use fiord_types::Dir;

use crate::rng::Rng;

/// Directions of a job.
#[derive(Debug, Clone, Copy)]
pub(super) enum Directions {
    /// All I/Os go in this direction.
    One(Dir),
    /// A read if a draw is below this number, otherwise a write. Each I/O is drawn independently,
    /// so the share holds over the whole run and the order has no pattern.
    Mix(u64),
    /// Each block is trimmed, then written.
    TrimWrite,
}

impl Directions {
    /// Directions of a plan's mix.
    pub(super) fn new(mix: Mix) -> Self {
        match mix {
            // The source of a trace draws no directions.
            Mix::Read | Mix::Trace { .. } => Directions::One(Dir::Read),
            Mix::Write => Directions::One(Dir::Write),
            Mix::Trim => Directions::One(Dir::Trim),
            Mix::TrimWrite => Directions::TrimWrite,
            Mix::ReadWrite { read_percent: 100.. } => Directions::One(Dir::Read),
            Mix::ReadWrite { read_percent: 0 } => Directions::One(Dir::Write),
            Mix::ReadWrite { read_percent } => {
                Directions::Mix((u128::from(read_percent) * (1 << 64) / 100) as u64)
            }
        }
    }

    /// Direction of the next I/O to a file. `trimmed`: the file has a block that was trimmed and
    /// not yet written.
    #[inline]
    pub(super) fn draw(self, trimmed: bool, rng: &mut Rng) -> Dir {
        match self {
            Directions::One(dir) => dir,
            Directions::Mix(reads) if rng.draw() < reads => Dir::Read,
            Directions::TrimWrite if !trimmed => Dir::Trim,
            Directions::Mix(_) | Directions::TrimWrite => Dir::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn the_mix_keeps_its_share() {
        for percent in [1, 30, 50, 70, 99] {
            let directions = Directions::new(Mix::ReadWrite { read_percent: percent });
            let mut rng = Rng::new(u64::from(percent), Purpose::Direction, 0);
            let n = 100_000;
            let reads = (0..n).filter(|_| directions.draw(false, &mut rng) == Dir::Read).count();
            let share = f64::from(percent) / 100.0;
            let deviation = (f64::from(n) * share * (1.0 - share)).sqrt();
            let off = (reads as f64 - f64::from(n) * share).abs();
            assert!(off < 5.0 * deviation, "{percent} %: {reads} of {n}");
        }
    }
}
