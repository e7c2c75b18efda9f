//! The registry against what fio says of its own options.
