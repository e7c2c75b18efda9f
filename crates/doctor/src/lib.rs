//! Findings: what makes a result not worth believing.
