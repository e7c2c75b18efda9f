//! Several results in one comparison: the more of them are tested, the likelier one of them looks different by chance.

/// Corrects probabilities for their number (Holm, "A simple sequentially rejective multiple test procedure", 1979). The
/// probability that any result with a corrected value of at most 5 % is wrong is at most 5 %. Results without a test
/// (`None`) are not counted.
#[must_use]
pub fn holm(probabilities: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        probabilities.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![None; probabilities.len()];
    let mut largest: f64 = 0.0;
    for (rank, (i, p)) in order.iter().enumerate() {
        largest = largest.max(p * (order.len() - rank) as f64).min(1.0);
        corrected[*i] = Some(largest);
    }
    corrected
}
