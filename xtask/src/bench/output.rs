//! The table and the JSON document of the benchmark.

use serde_json::{Value, json};

use super::row::{Bound, Row, What};

/// The ratios of a row against one contender, one per round.
pub(super) struct Ratios {
    pub than: &'static str,
    pub bound: Bound,
    /// One per round; empty if it could not be measured.
    pub rounds: Vec<f64>,
    /// Why there is no ratio.
    pub missing: Option<String>,
}

/// The result of a row.
pub(super) struct Outcome {
    pub row: &'static Row,
    /// Figures of fiord, one per round.
    pub figures: Vec<f64>,
    /// Why there is no figure.
    pub missing: Option<String>,
    /// The comparison with each contender.
    pub ratios: Vec<Ratios>,
}

impl Outcome {
    /// Time per I/O of fiord in nanoseconds: of the whole run, or of its CPU time with `--per-cpu`.
    /// `None` if the row does not measure I/Os per second.
    fn ns_per_io(&self) -> Option<f64> {
        let rate = median(&self.figures);
        (self.row.what == What::Rate && rate > 0.0).then(|| 1e9 / rate)
    }
}

/// Returns the median; NaN if the list is empty.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn requirement(bound: Bound) -> String {
    match bound {
        Bound::AtLeast(least) => format!("at least {least:.2}"),
        Bound::AtMost(most) => format!("at most {most:.2}"),
        Bound::Any => String::new(),
    }
}

/// With fewer rounds, a requirement is not checked: a single busy moment would decide.
const ENOUGH_ROUNDS: usize = 3;

fn verdict(bound: Bound, ratio: f64, rounds: usize) -> &'static str {
    match bound.met(ratio) {
        Some(_) if rounds < ENOUGH_ROUNDS => "too few rounds to tell",
        Some(true) => "met",
        Some(false) => "NOT MET",
        None => "",
    }
}

/// Formats the heading of the table.
pub(super) fn head() -> String {
    format!(
        "{:<48} {:>9}  {:<14} {:>8}  {:<16} {:<14} {}\n",
        "row", "ns an I/O", "against", "median", "spread", "required", "result"
    )
}

/// Formats the lines of a row.
pub(super) fn lines(outcome: &Outcome) -> String {
    if let Some(why) = &outcome.missing {
        return format!("{:<48} {why}\n", outcome.row.name);
    }
    let mut text = String::new();
    for (i, ratios) in outcome.ratios.iter().enumerate() {
        let time = outcome.ns_per_io().map_or(String::new(), |ns| format!("{ns:.1}"));
        let (name, time) = if i == 0 { (outcome.row.name, time) } else { ("", String::new()) };
        text += &line(&format!("{name:<48} {time:>9} "), ratios);
    }
    text
}

fn line(begin: &str, ratios: &Ratios) -> String {
    if let Some(why) = &ratios.missing {
        return format!("{begin} {:<14} {why}\n", ratios.than);
    }
    let low = ratios.rounds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.rounds.iter().copied().fold(0.0, f64::max);
    let middle = median(&ratios.rounds);
    let text = format!(
        "{begin} {:<14} {middle:>8.2}  {:<16} {:<14} {}",
        ratios.than,
        format!("{low:.2} to {high:.2}"),
        requirement(ratios.bound),
        verdict(ratios.bound, middle, ratios.rounds.len())
    );
    format!("{}\n", text.trim_end())
}

/// Converts a row to JSON.
pub(super) fn value(outcome: &Outcome) -> Value {
    let against: Vec<Value> = outcome
        .ratios
        .iter()
        .map(|r| {
            let middle = median(&r.rounds);
            json!({
                "against": r.than,
                "ratios": r.rounds,
                "median": middle,
                "required": requirement(r.bound),
                "met": if r.rounds.is_empty() { None } else { r.bound.met(middle) },
                "missing": r.missing,
            })
        })
        .collect();
    json!({
        "row": outcome.row.name,
        "measured": outcome.row.what.unit(),
        "job": outcome.row.job.options().collect::<Vec<_>>(),
        "fiord": outcome.figures,
        "ns_per_io": outcome.ns_per_io(),
        "missing": outcome.missing,
        "comparisons": against,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_line_says_whether_the_requirement_is_met() {
        let mut ratios = Ratios {
            than: "fio",
            bound: Bound::AtLeast(1.2),
            rounds: vec![1.0, 1.5, 1.3],
            missing: None,
        };
        assert!(line("row", &ratios).ends_with("1.30  1.00 to 1.50     at least 1.20  met\n"));
        ratios.bound = Bound::AtMost(0.5);
        assert!(line("row", &ratios).ends_with("NOT MET\n"));
        ratios.bound = Bound::Any;
        assert!(line("row", &ratios).ends_with("1.50\n"));
    }
}
