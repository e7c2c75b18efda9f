//! Formats rates and sizes in the number style of a job, in both bases.

use fiord_stat::report::NumberStyle;
use fiord_types::Bytes;

use crate::number::{NumberShape, NumberUnit, scaled};

/// Formats a count without a unit: `23.0k`.
#[must_use]
pub fn count(number: u64, style: NumberStyle) -> String {
    scaled(number, NumberShape { figures: style.figures, base: 1000, unit: NumberUnit::None })
}

/// Formats a size in the job's base: `8192KiB`.
#[must_use]
pub fn size(bytes: Bytes, style: NumberStyle) -> String {
    scaled(
        bytes.0,
        NumberShape { figures: style.figures, base: own_base(style), unit: NumberUnit::Bytes },
    )
}

/// Formats a size in the job's base and in the other base: `("8192KiB", "8389kB")`.
pub(crate) fn sizes(bytes: Bytes, style: NumberStyle) -> (String, String) {
    let other =
        NumberShape { figures: style.figures, base: other_base(style), unit: NumberUnit::Bytes };
    (size(bytes, style), scaled(bytes.0, other))
}

/// Formats a rate in the job's base: `89.9MiB/s`, or `719Mibit/s`.
#[must_use]
pub fn rate(bytes: Bytes, style: NumberStyle) -> String {
    rate_in(bytes, style, own_base(style))
}

/// Formats a rate in the job's base and in the other base.
pub(crate) fn rates(bytes: Bytes, style: NumberStyle) -> (String, String) {
    (rate(bytes, style), rate_in(bytes, style, other_base(style)))
}

/// Formats a rate in both bases without its unit. fio omits the unit in the row for all directions if each
/// direction also has a row.
pub(crate) fn bare_rates(bytes: Bytes, style: NumberStyle) -> (String, String) {
    let number = if style.bits { bytes.0.saturating_mul(8) } else { bytes.0 };
    let with =
        |base| scaled(number, NumberShape { figures: style.figures, base, unit: NumberUnit::None });
    (with(own_base(style)), with(other_base(style)))
}

fn rate_in(bytes: Bytes, style: NumberStyle, base: u32) -> String {
    let (number, unit) = match style.bits {
        true => (bytes.0.saturating_mul(8), NumberUnit::BitsPerSecond),
        false => (bytes.0, NumberUnit::BytesPerSecond),
    };
    scaled(number, NumberShape { figures: style.figures, base, unit })
}

fn own_base(style: NumberStyle) -> u32 {
    if style.kb_base == 1000 { 1000 } else { 1024 }
}

fn other_base(style: NumberStyle) -> u32 {
    if style.kb_base == 1000 { 1024 } else { 1000 }
}
