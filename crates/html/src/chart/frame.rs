//! Axes, labels, shaded times and legends.

use std::fmt::Write;

use crate::svg::{Coordinate, Escaped};

use super::scale::Scale;

/// Size of a chart, in units of SVG. The style sheet scales it to the page.
pub(super) const WIDTH: f64 = 760.0;
pub(super) const HEIGHT: f64 = 270.0;
const LEFT: f64 = 88.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;

/// What a shaded time was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShadedKind {
    /// The ramp, which is not measured.
    Ramp,
    /// The window in which the job was in steady state.
    Steady,
}

impl ShadedKind {
    fn class(self) -> &'static str {
        match self {
            ShadedKind::Ramp => "ramp",
            ShadedKind::Steady => "steady",
        }
    }
}

/// A shaded time.
#[derive(Debug, Clone, PartialEq)]
pub struct ShadedSpan {
    pub kind: ShadedKind,
    /// From here, on the horizontal axis.
    pub from: f64,
    pub to: f64,
    /// A word or two.
    pub label: String,
}

/// The area between the axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartFrame {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl ChartFrame {
    pub(super) const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
    pub(super) const PLOT_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;

    pub(super) fn left(&self, x: f64) -> f64 {
        LEFT + self.x.place(x) * Self::PLOT_WIDTH
    }

    pub(super) fn top(&self, y: f64) -> f64 {
        TOP + (1.0 - self.y.place(y)) * Self::PLOT_HEIGHT
    }

    /// Opens the drawing. `label` describes it for those who do not see it; `class` is added to its classes.
    pub(super) fn open(&self, class: &str, label: &str, out: &mut String) {
        let axis = |scale: &Scale| {
            let (kind, unit) = (scale.kind.word(), scale.quantity.word());
            format!("{kind},{},{},{unit}", scale.low, scale.high)
        };
        let _ = writeln!(
            out,
            "<svg class=\"chart {class}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" \
             data-x=\"{}\" data-y=\"{}\" data-area=\"{LEFT},{TOP},{},{}\">",
            Escaped(label),
            axis(&self.x),
            axis(&self.y),
            Self::PLOT_WIDTH,
            Self::PLOT_HEIGHT
        );
    }

    /// Draws shaded times, below everything else.
    pub(super) fn shade(&self, spans: &[ShadedSpan], out: &mut String) {
        for span in spans {
            let (from, to) = (self.left(span.from), self.left(span.to));
            let _ = writeln!(
                out,
                "<rect class=\"{}\" x=\"{}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" data-span=\"{},{}\"/>",
                span.kind.class(),
                Coordinate(from),
                Coordinate((to - from).max(0.0)),
                Self::PLOT_HEIGHT,
                span.from,
                span.to
            );
            if to - from > 7.0 * span.label.len() as f64 {
                let label = Escaped(&span.label);
                let (x, y) = (Coordinate(from + 4.0), TOP + 13.0);
                let _ = writeln!(out, "<text class=\"span\" x=\"{x}\" y=\"{y}\">{label}</text>");
            }
        }
    }

    /// The labels of the horizontal axis, if its values are numbers.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        self.x.ticks().into_iter().map(|tick| (tick, self.x.label(tick))).collect()
    }

    /// Draws the axes. `titles` name the horizontal and the vertical axis; `ticks` are the labels of the horizontal one, as
    /// HTML.
    pub(super) fn axes(
        &self,
        titles: (&str, &str),
        ticks: &[(f64, String)],
        grid: bool,
        out: &mut String,
    ) {
        let (bottom, right) = (TOP + Self::PLOT_HEIGHT, LEFT + Self::PLOT_WIDTH);
        for tick in self.y.ticks() {
            let y = self.top(tick);
            if grid {
                let y = Coordinate(y);
                let _ = writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {y}H{right}\"/>");
            }
            let label = self.y.label(tick);
            let (x, y) = (LEFT - 7.0, Coordinate(y + 4.0));
            let _ = writeln!(out, "<text class=\"end\" x=\"{x}\" y=\"{y}\">{label}</text>");
        }
        for (tick, label) in ticks {
            let x = Coordinate(self.left(*tick));
            // A label at the end of the axis would leave the picture.
            let class = if right - x.0 < 20.0 { "end" } else { "mid" };
            let _ = writeln!(
                out,
                "<path class=\"tick\" d=\"M{x} {bottom}v4\"/><text class=\"{class}\" x=\"{x}\" y=\"{}\">{label}</text>",
                bottom + 17.0
            );
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>");
        let (across, up) = titles;
        let _ = writeln!(
            out,
            "<text class=\"mid name\" x=\"{}\" y=\"{}\">{}</text>",
            Coordinate(LEFT + Self::PLOT_WIDTH / 2.0),
            HEIGHT - 6.0,
            Escaped(across)
        );
        let middle = TOP + Self::PLOT_HEIGHT / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"mid name\" x=\"11\" y=\"{middle}\" transform=\"rotate(-90 11 {middle})\">{}</text>",
            Escaped(up)
        );
    }
}

/// Writes the legend of curves as a list. The number of a curve chooses its colour and dashes.
pub(super) fn legend<'a>(
    names: impl Iterator<Item = (CurveStyle, &'a str)>,
    smooth: bool,
    out: &mut String,
) {
    let class = if smooth { "legend smooth" } else { "legend" };
    let _ = write!(out, "<ul class=\"{class}\">");
    for (style, name) in names {
        let _ = write!(
            out,
            "<li><svg class=\"key\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"line {}\" d=\"M1 5H25\"/></svg>{}</li>",
            style.class(),
            Escaped(name)
        );
    }
    out.push_str("</ul>\n");
}

/// Writes the legend of filled parts as a list. The position of a part chooses its colour.
pub(super) fn part_legend(names: &[&str], out: &mut String) {
    out.push_str("<ul class=\"legend\">");
    for (number, name) in names.iter().enumerate() {
        let _ = write!(
            out,
            "<li><svg class=\"key\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"part p{}\" d=\"M4 0h18v10H4z\"/></svg>{}</li>",
            number % 8,
            Escaped(name)
        );
    }
    out.push_str("</ul>\n");
}

/// The look of a curve: colours repeat after eight, and the dashes of neighbours differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurveStyle(usize);

impl CurveStyle {
    /// The style of the curve with this number in its chart, from 0.
    #[must_use]
    pub fn of(number: usize) -> Self {
        CurveStyle(number)
    }

    /// The number of its colour.
    pub(super) fn colour(self) -> usize {
        self.0 % 8
    }

    /// The CSS classes of the curve.
    pub(super) fn class(self) -> String {
        format!("c{} d{}", self.colour(), self.0 % 4)
    }
}
