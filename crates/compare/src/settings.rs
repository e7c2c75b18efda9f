//! How sides are compared.

use crate::condition::FailCondition;
use crate::metric::{CompareMetric, DEFAULT_METRICS};

/// Confidence of intervals.
pub const CONFIDENCE: f64 = 0.95;

/// How sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// A difference up to this share does not matter: 0.02 for 2 %.
    pub noise: f64,
    /// Assumed standard deviation of single runs, as a share.
    pub run_variation: f64,
    /// The metrics to compare.
    pub metrics: Vec<CompareMetric>,
    /// Conditions to check.
    pub conditions: Vec<FailCondition>,
}

impl Default for CompareSettings {
    fn default() -> Self {
        CompareSettings {
            noise: 0.0,
            run_variation: 0.05,
            metrics: DEFAULT_METRICS.to_vec(),
            conditions: Vec::new(),
        }
    }
}
