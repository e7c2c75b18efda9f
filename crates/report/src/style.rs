//! A job's number style applied: rates and sizes in both bases.

use fiord_stat::report::NumberStyle;

use crate::number::{Shape, Unit, scaled};

/// A count without a unit: `23.0k`.
pub(crate) fn count(number: u64, style: NumberStyle) -> String {
    scaled(number, Shape { figures: style.figures, base: 1000, unit: Unit::None })
}

/// A size in the job's own base: `8192KiB`.
pub(crate) fn size(bytes: u64, style: NumberStyle) -> String {
    scaled(bytes, Shape { figures: style.figures, base: own_base(style), unit: Unit::Bytes })
}

/// A size in the job's base and in the other: `("8192KiB", "8389kB")`.
pub(crate) fn sizes(bytes: u64, style: NumberStyle) -> (String, String) {
    let other = Shape { figures: style.figures, base: other_base(style), unit: Unit::Bytes };
    (size(bytes, style), scaled(bytes, other))
}

/// A rate in the job's own base: `89.9MiB/s`, or `719Mibit/s`.
pub(crate) fn rate(bytes: u64, style: NumberStyle) -> String {
    rate_in(bytes, style, own_base(style))
}

/// A rate in the job's base and in the other.
pub(crate) fn rates(bytes: u64, style: NumberStyle) -> (String, String) {
    (rate(bytes, style), rate_in(bytes, style, other_base(style)))
}

/// A rate in both bases without naming what is counted: the reference leaves it out in the row of
/// all directions together when each has its own row as well.
pub(crate) fn bare_rates(bytes: u64, style: NumberStyle) -> (String, String) {
    let number = if style.bits { bytes.saturating_mul(8) } else { bytes };
    let with = |base| scaled(number, Shape { figures: style.figures, base, unit: Unit::None });
    (with(own_base(style)), with(other_base(style)))
}

fn rate_in(bytes: u64, style: NumberStyle, base: u32) -> String {
    let (number, unit) = match style.bits {
        true => (bytes.saturating_mul(8), Unit::BitsPerSecond),
        false => (bytes, Unit::BytesPerSecond),
    };
    scaled(number, Shape { figures: style.figures, base, unit })
}

fn own_base(style: NumberStyle) -> u32 {
    if style.kb_base == 1000 { 1000 } else { 1024 }
}

fn other_base(style: NumberStyle) -> u32 {
    if style.kb_base == 1000 { 1024 } else { 1000 }
}
