//! The map of bad extents: where in a file verification found wrong data.

use std::fmt::Write;

use crate::quantity::Quantity;
use crate::svg::{Coordinate, Escaped};

use super::frame::part_legend;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 4.0;
const ROW: f64 = 16.0;
const PITCH: f64 = 22.0;
/// Rows of a map; each is an equal part of the file.
const ROWS: usize = 8;
/// Space for the labels of offsets.
const LABEL: f64 = 84.0;

/// A bad extent of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct MappedExtent {
    /// First byte.
    pub from: f64,
    /// The byte after the last one.
    pub to: f64,
    /// Class of the extent, one of the names of the classes.
    pub class: String,
    /// What is wrong, for the pointer.
    pub what: String,
}

/// Draws where in a file of `size` bytes the extents lie, and the legend of their classes.
#[must_use]
pub fn extent_map(label: &str, size: f64, extents: &[MappedExtent], classes: &[&str]) -> String {
    let size = extents.iter().map(|extent| extent.to).fold(size, f64::max).max(1.0);
    let part = size / ROWS as f64;
    let height = ROWS as f64 * PITCH;
    let mut out = format!(
        "<svg class=\"chart extents\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        Escaped(label)
    );
    let width = WIDTH - LEFT - LABEL - 4.0;
    for row in 0..ROWS {
        let top = row as f64 * PITCH;
        let begin = row as f64 * part;
        let _ = writeln!(
            out,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text><rect class=\"empty\" x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{ROW}\"/>",
            LABEL - 6.0,
            top + 12.0,
            Quantity::Size.tick(begin),
            LEFT + LABEL
        );
        let inside = extents.iter().filter(|e| e.from < begin + part && e.to > begin);
        for extent in inside {
            let from = (extent.from.max(begin) - begin) / part * width;
            let to = (extent.to.min(begin + part) - begin) / part * width;
            // An extent of one block is visible, wherever it is.
            let class = classes.iter().position(|name| *name == extent.class).unwrap_or(0);
            let long = (to - from).max(3.0).min(width);
            let left = from.min(width - long);
            let _ = writeln!(
                out,
                "<rect class=\"part p{}\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{ROW}\"><title>{}</title></rect>",
                class % 8,
                Coordinate(LEFT + LABEL + left),
                Coordinate(long),
                Escaped(&extent.what)
            );
        }
    }
    out.push_str("</svg>\n");
    part_legend(classes, &mut out);
    out
}
