//! Reads the charts of a page: their axes, the places of the points of each curve, and the cells of heat maps.

use crate::compared::{Comparisons, Rounding::Digits};

/// The places of points have two decimals.
const HALF_PLACE: f64 = 0.005_001;

/// An axis: how it maps values to places.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    kind: String,
    values: (f64, f64),
    places: (f64, f64),
}

impl Axis {
    /// `text`: kind, lowest and highest value and unit of the axis, with commas.
    fn of(text: &str, places: (f64, f64)) -> Option<Axis> {
        let fields: Vec<&str> = text.split(',').collect();
        let value = |at: usize| fields.get(at)?.parse().ok();
        Some(Axis { kind: fields[0].to_owned(), values: (value(1)?, value(2)?), places })
    }

    fn place(&self, value: f64) -> f64 {
        let flat = |value: f64| match self.kind.as_str() {
            "log" => value.max(self.values.0).log10(),
            "nines" => -(1.0 - value.min(99.999_999_999) / 100.0).log10(),
            _ => value,
        };
        let (from, to) = (flat(self.values.0), flat(self.values.1));
        let share = ((flat(value) - from) / (to - from)).clamp(0.0, 1.0);
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// The places of the least and the largest value.
    fn between(&self, (low, high): (f64, f64)) -> (f64, f64) {
        let (a, b) = (self.place(low), self.place(high));
        (a.min(b), a.max(b))
    }

    /// Whether a place stands for a value in a range.
    pub(crate) fn is_at(&self, place: f64, range: (f64, f64)) -> bool {
        let (from, to) = self.between(range);
        from - HALF_PLACE <= place && place <= to + HALF_PLACE
    }

    /// Compares a place with the values for which it may stand.
    pub(crate) fn compare(&self, c: &mut Comparisons, what: &str, place: f64, range: (f64, f64)) {
        let (from, to) = self.between(range);
        let what = format!("{what}, between {} and {}", range.0, range.1);
        c.close(&what, place, place.clamp(from, to), Digits(HALF_PLACE));
    }
}

/// Bands of latencies of a heat map.
pub(crate) const BANDS: usize = 44;

/// A line chart or a heat map.
pub(crate) struct Chart<'a> {
    pub label: &'a str,
    pub x: Axis,
    pub y: Axis,
    text: &'a str,
}

/// The value of an attribute.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

impl<'a> Chart<'a> {
    fn of(text: &'a str) -> Option<Chart<'a>> {
        let area = attribute(text, "data-area")?.split(',').map(|number| number.parse().ok());
        let area: Vec<f64> = area.collect::<Option<_>>()?;
        let [left, top, width, height] = area[..] else { return None };
        Some(Chart {
            label: attribute(text, "aria-label")?,
            x: Axis::of(attribute(text, "data-x")?, (left, left + width))?,
            y: Axis::of(attribute(text, "data-y")?, (top + height, top))?,
            text,
        })
    }

    /// The places of the points of a curve; none if there is no such curve.
    pub(crate) fn curve(&self, name: &str) -> Vec<(f64, f64)> {
        let mut paths = self.text.split("<path class=\"line ").skip(1);
        let Some(path) = paths.find(|path| attribute(path, "data-name") == Some(name)) else {
            return Vec::new();
        };
        // A point between two gaps has an `h0`.
        let points = attribute(path, "d").unwrap_or("").split(['M', 'L']).skip(1);
        let point = |text: &str| {
            let (x, y) = text.trim_end_matches("h0").split_once(' ')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        points.map(|text| point(text).unwrap_or((f64::NAN, f64::NAN))).collect()
    }
}

impl Axis {
    pub(crate) fn band(&self, value: f64) -> usize {
        let share = (self.place(value) - self.places.0) / (self.places.1 - self.places.0);
        ((share * BANDS as f64) as usize).min(BANDS - 1)
    }
}

impl Chart<'_> {
    /// The shades of a heat map, for each column those of its bands. `seconds`: the width of a column.
    pub(crate) fn cells(&self, columns: usize, seconds: f64) -> Vec<[usize; BANDS]> {
        let mut cells = vec![[0; BANDS]; columns];
        let width = self.x.place(seconds) - self.x.places.0;
        let height = (self.y.places.0 - self.y.places.1) / BANDS as f64;
        for path in self.text.split("<path class=\"h").skip(1) {
            let Some((shade, rest)) = path.split_once('"') else { continue };
            let rectangles = attribute(rest, "d").unwrap_or("").split('M').skip(1);
            for rectangle in rectangles {
                let numbers = rectangle.split([' ', 'h', 'v', 'z']).map(str::parse::<f64>);
                let numbers: Vec<f64> = numbers.map_while(Result::ok).collect();
                let [left, top, length, ..] = numbers[..] else { continue };
                let from = ((left - self.x.places.0) / width).round() as usize;
                let to = ((left + length - self.x.places.0) / width).round() as usize;
                let band = ((self.y.places.0 - top) / height).round() as usize - 1;
                let own = cells.iter_mut().take(to).skip(from);
                own.for_each(|cell| cell[band] = shade.parse().unwrap_or(0));
            }
        }
        cells
    }
}

pub(crate) fn charts(page: &str) -> Vec<Chart<'_>> {
    let starts = page.split("<svg class=\"chart ").skip(1);
    starts.filter_map(|rest| Chart::of(rest.split_once("</svg>")?.0)).collect()
}
