//! File layout, workers, groups, the inner loop and the monitor.
