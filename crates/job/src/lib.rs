//! fiord's job language: job files, the command line and the option registry.
//!
//! Text goes in, [`JobSpec`](spec::JobSpec)s come out: what was typed, validated value by value and
//! tied to the place it was typed at. Nothing here touches the system under test.
pub mod diagnostic;
pub mod expression;
pub mod number;
pub mod option;
pub mod rational;
pub mod spec;
