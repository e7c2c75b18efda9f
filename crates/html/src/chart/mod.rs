//! Charts as SVG, from pure functions: the same data makes the same text.
//!
//! Colours come from classes (`c0` … `c7` for curves, `h1` … `h9` for heat), which the style sheet of the page defines for
//! light, dark and print. The attributes `data-…` tell the script of the page how to turn places back into values, so the
//! picture is also the data of the chart that can be zoomed.
//!
//! | question | module |
//! |---|---|
//! | where does a value lie on an axis, and which values have labels | `scale.rs` |
//! | how are axes, shaded times and legends drawn | `frame.rs` |
//! | values over time, and percentiles on an axis of nines | [`mod@line`] |
//! | latencies over time | [`heat`] |
//! | shares, and pairs of values | [`bars`] |
//! | places of bad extents in a file | [`extents`] |

pub mod bars;
pub mod extents;
mod frame;
pub mod heat;
pub mod line;
mod scale;

pub use frame::{CurveStyle, ShadedKind, ShadedSpan};
pub use scale::ScaleKind;
