//! The order of repeated runs.

/// The order in which `count` things are measured `repeat` times: the index of the thing, and the number of its run from 1.
/// Interleaved runs alternate as A B B A A B, so that a drift of the device or of the machine affects all of them alike.
#[must_use]
pub fn order(count: usize, repeat: u32, interleave: bool) -> Vec<(usize, u32)> {
    if !interleave {
        return (0..count).flat_map(|at| (1..=repeat).map(move |run| (at, run))).collect();
    }
    let round = |run: u32| {
        let forward = run % 2 == 1;
        (0..count).map(move |i| (if forward { i } else { count - 1 - i }, run))
    };
    (1..=repeat).flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_alternated() {
        let letters = |order: Vec<(usize, u32)>| -> String {
            order.iter().map(|(side, _)| ['A', 'B', 'C'][*side]).collect()
        };
        assert_eq!(letters(order(2, 4, true)), "ABBAABBA");
        assert_eq!(letters(order(3, 2, true)), "ABCCBA");
        assert_eq!(letters(order(2, 3, false)), "AAABBB");
        assert_eq!(order(2, 2, true)[2], (1, 2));
    }
}
