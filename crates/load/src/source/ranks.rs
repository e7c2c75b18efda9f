//! Draws ranks of any distribution with integers only, from a table that is built once.
//!
//! The ranks are divided into cells: single ranks where the weights are large, runs of ranks
//! elsewhere. A cell is chosen by Walker's alias method with Vose's table (IEEE Transactions on
//! Software Engineering 17, 1991). Within a run a rank is drawn from a linear density: the smaller
//! or the larger of two uniform draws has a density that falls or rises linearly, and the
//! probability of a second draw sets the slope. A run is halved until the linear density meets the
//! closed form at its quarters within [`WITHIN`] of the total. That is how much the drawn
//! distribution may differ from the closed form anywhere.

use super::laws::Sums;
use crate::rng::Rng;

/// Largest difference between drawn and exact cumulative shares.
pub(crate) const WITHIN: f64 = 1e-9;

/// A table to draw ranks from.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    slots: Box<[Slot]>,
}

/// A cell, and the cell that a draw at or above the threshold goes to.
#[derive(Debug, Clone, Copy)]
struct Slot {
    threshold: u64,
    own: Cell,
    other: Cell,
}

/// Ranks `from .. from + width`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    from: u64,
    width: u64,
    /// Probability of a second draw, of 2^63. The lowest bit says that the larger of both draws
    /// counts.
    slope: u64,
}

impl Ranks {
    /// Builds the table of a distribution.
    pub(crate) fn new(sums: &Sums) -> Self {
        Ranks { slots: alias(&cells(sums)) }
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        let product = u128::from(rng.draw()) * self.slots.len() as u128;
        let slot = &self.slots[(product >> 64) as usize];
        let cell = if (product as u64) < slot.threshold { &slot.own } else { &slot.other };
        if cell.width == 1 {
            return cell.from;
        }
        let mut at = rng.below(cell.width);
        let coin = rng.draw();
        if coin >> 1 < cell.slope >> 1 {
            let second = rng.below(cell.width);
            at = if cell.slope & 1 == 0 { at.min(second) } else { at.max(second) };
        }
        cell.from + at
    }
}

/// The share of each cell of the table, and its number of ranks.
pub(crate) fn shares(sums: &Sums) -> Vec<(f64, u64)> {
    cells(sums).into_iter().map(|(share, cell)| (share, cell.width)).collect()
}

fn cells(sums: &Sums) -> Vec<(f64, Cell)> {
    let mut cells = Vec::new();
    for pair in sums.knots().windows(2) {
        cut(sums, pair[0], pair[1], &mut cells);
    }
    cells
}

/// Divides `from .. to` into cells with linear densities, and computes their shares.
fn cut(sums: &Sums, from: u64, to: u64, cells: &mut Vec<(f64, Cell)>) {
    let width = to - from;
    let base = sums.first(from);
    let share = sums.first(to) - base;
    if width == 1 {
        cells.push((share, Cell { from, width, slope: 0 }));
        return;
    }
    let half = width / 2;
    if let Some(slope) = line(sums, (from, width), base, share) {
        let scaled = (slope.abs() * (1u64 << 63) as f64) as u64;
        let slope = scaled << 1 | u64::from(slope < 0.0);
        cells.push((share, Cell { from, width, slope }));
        return;
    }
    cut(sums, from, from + half, cells);
    cut(sums, from + half, to, cells);
}

/// Probability of a second draw for a linear density that fits the cell; negative if the larger
/// draw counts. `None` if no linear density fits.
fn line(sums: &Sums, (from, width): (u64, u64), base: f64, share: f64) -> Option<f64> {
    let even = |count: u64| count as f64 / width as f64;
    let doubled = |count: u64| 1.0 - (1.0 - even(count)).powi(2);
    let got = |count: u64| sums.first(from + count) - base;
    let half = width / 2;
    let slope = match share {
        0.0 => 0.0,
        _ => (got(half) / share - even(half)) / (doubled(half) - even(half)),
    };
    // The probability of a second draw must stay below 2^63.
    if !(-0.999_999..=0.999_999).contains(&slope) {
        return None;
    }
    let fits = [width / 4, half, width - width / 4].into_iter().all(|count| {
        let drawn = share * (even(count) + slope * (doubled(count) - even(count)));
        (drawn - got(count)).abs() <= WITHIN / 4.0
    });
    fits.then_some(slope)
}

/// Vose's construction of the alias table.
fn alias(cells: &[(f64, Cell)]) -> Box<[Slot]> {
    let n = cells.len() as f64;
    let total: f64 = cells.iter().map(|c| c.0).sum();
    let mut left: Vec<f64> = cells.iter().map(|c| c.0.max(0.0) / total * n).collect();
    let mut slots: Vec<Slot> =
        cells.iter().map(|c| Slot { threshold: u64::MAX, own: c.1, other: c.1 }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..cells.len()).partition(|&i| left[i] < 1.0);
    while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
        slots[s].threshold = (left[s] * 2f64.powi(64)) as u64;
        slots[s].other = cells[l].1;
        left[l] -= 1.0 - left[s];
        if left[l] < 1.0 {
            large.pop();
            small.push(l);
        }
    }
    slots.into()
}
