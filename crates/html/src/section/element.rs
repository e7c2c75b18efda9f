//! Tables, figures and tiles.

use askama::Template;

use crate::svg::Escaped;

/// A part of the page.
#[derive(Debug)]
pub(crate) struct PageSection {
    /// The end of its anchor.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// One sentence that says what it shows; may be empty.
    pub(crate) about: String,
    /// HTML.
    pub(crate) body: String,
}

/// A table. The first cell of a row is its heading.
#[derive(Debug, Template)]
#[template(path = "table.html")]
pub(crate) struct HtmlTable {
    pub(crate) caption: String,
    pub(crate) head: Vec<HtmlCell>,
    pub(crate) rows: Vec<Vec<HtmlCell>>,
}

#[derive(Debug, Clone)]
pub(crate) struct HtmlCell {
    pub(crate) html: String,
    /// A number, which is aligned to the right.
    pub(crate) number: bool,
}

impl HtmlCell {
    pub(crate) fn text(text: &str) -> Self {
        HtmlCell { html: Escaped(text).to_string(), number: false }
    }

    pub(crate) fn number(text: &str) -> Self {
        HtmlCell { number: true, ..HtmlCell::text(text) }
    }

    /// A cell with HTML, such as a chart.
    pub(crate) fn html(html: String) -> Self {
        HtmlCell { html, number: false }
    }
}

/// The head of a table whose first `texts` columns contain text, and the others numbers.
pub(crate) fn head(names: &[&str], texts: usize) -> Vec<HtmlCell> {
    let cell = |(at, name): (usize, &&str)| match at < texts {
        true => HtmlCell::text(name),
        false => HtmlCell::number(name),
    };
    names.iter().enumerate().map(cell).collect()
}

/// Charts, each with a title.
#[derive(Debug, Default, Template)]
#[template(path = "figures.html")]
pub(crate) struct Figures {
    pub(crate) figures: Vec<HtmlFigure>,
    /// What is not shown, and why; empty if everything is.
    pub(crate) left_out: String,
}

/// A chart with its title.
#[derive(Debug)]
pub(crate) struct HtmlFigure {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) html: String,
    /// Takes the whole width of the page.
    pub(crate) wide: bool,
}

/// Numbers in large type.
#[derive(Debug, Template)]
#[template(path = "tiles.html")]
pub(crate) struct Tiles {
    pub(crate) tiles: Vec<Tile>,
}

/// A number in large type.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) value: String,
    pub(crate) term: String,
    /// `invalid`, `suspect` or nothing.
    pub(crate) class: &'static str,
}

pub(crate) fn html(template: &impl Template) -> String {
    // Rendering to memory cannot fail: the templates call nothing that can.
    template.render().unwrap_or_default()
}
