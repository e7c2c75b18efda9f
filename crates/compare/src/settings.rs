//! How sides are compared.

use crate::condition::FailCondition;
use crate::evidence::DEFAULT_VARIATION;
use crate::metric::{CompareMetric, DEFAULT_METRICS};

/// Confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// How sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// A difference up to this share does not matter: 0.02 for 2 %.
    pub noise: f64,
    /// Assumed standard deviation of single runs, as a share; `None` if the user has not stated it.
    pub run_variation: Option<f64>,
    pub metrics: Vec<CompareMetric>,
    /// Conditions to check.
    pub conditions: Vec<FailCondition>,
}

impl CompareSettings {
    /// The standard deviation that is assumed of single runs with time windows, as a share.
    #[must_use]
    pub fn assumed_variation(&self) -> f64 {
        self.run_variation.unwrap_or(DEFAULT_VARIATION)
    }
}

impl Default for CompareSettings {
    fn default() -> Self {
        CompareSettings {
            noise: 0.0,
            run_variation: None,
            metrics: DEFAULT_METRICS.to_vec(),
            conditions: Vec::new(),
        }
    }
}
