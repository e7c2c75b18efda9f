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
//!
//! Units: times on an axis are seconds since the run began, latencies are nanoseconds. A shaded time has the same unit as
//! the axis. The [`Quantity`](crate::quantity::Quantity) of an axis says how its values are written; a new one also needs
//! an entry in `format` of `assets/page.js`, with the name that `Quantity::word` returns.
//!
//! The class of the drawing decides what the script does with it:
//!
//! | class | what the script does | what the drawing needs |
//! |---|---|---|
//! | `lines` | replaces it by a chart that zooms, except if its points have dots | a `path.line` with `data-name` for each curve, and the three attributes of `ChartFrame::open` |
//! | `heat` | shows time and value under the pointer | the three attributes |
//! | another | nothing | nothing |
//!
//! The script redraws only lines and shaded times, so a filled area around a curve vanishes in a chart that zooms.
//!
//! A new kind of chart is a module with a function that returns HTML, or `None` if there is nothing to draw. Every text
//! that a user or another program chose is written with [`Escaped`](crate::svg::Escaped), and every coordinate with
//! `Coordinate`. A value that is not a number is a gap. Colours are variables of `assets/page.css`, each defined in four
//! blocks: light, dark by preference, dark by choice, and print.

pub mod bars;
pub mod extents;
mod frame;
pub mod heat;
pub mod line;
mod scale;

pub use frame::{CurveStyle, ShadedKind, ShadedSpan};
pub use scale::ScaleKind;
