//! Developers' tasks.
fn main() {}
