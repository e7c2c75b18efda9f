//! The list of hosts or jobs.

use ratatui_core::style::{Modifier, Style};

use super::numbers;
use super::pen::Pen;
use crate::controls::LiveControls;
use crate::model::LiveModel;
use crate::page::LivePage;
use crate::rows::{ListRow, LiveSort, rows};

/// Formats one value of a row.
type Format = fn(&ListRow<'_>, &LiveModel) -> String;

/// A column after the name.
struct Column {
    title: &'static str,
    width: u16,
    sort: Option<LiveSort>,
    text: Format,
}

/// All columns, in the order in which a wider screen shows more of them.
const BY_PRIORITY: [usize; 8] = [0, 1, 2, 4, 6, 7, 3, 5];

const COLUMNS: [Column; 8] = [
    Column { title: "STATE", width: 9, sort: None, text: |row, _| row.state.to_owned() },
    Column {
        title: "BANDWIDTH",
        width: 11,
        sort: Some(LiveSort::Bandwidth),
        text: |row, model| {
            let rate = |tick: &crate::history::LiveTick| numbers::rate(tick.all_bw(), model.style);
            present(row).map_or_else(dash, rate)
        },
    },
    Column {
        title: "IOPS",
        width: 7,
        sort: Some(LiveSort::Iops),
        text: |row, model| {
            let count =
                |tick: &crate::history::LiveTick| numbers::count(tick.all_iops(), model.style);
            present(row).map_or_else(dash, count)
        },
    },
    Column { title: "P50", width: 7, sort: None, text: |row, _| latency(row, 0) },
    Column { title: "P99", width: 7, sort: Some(LiveSort::P99), text: |row, _| latency(row, 2) },
    Column { title: "MAX", width: 7, sort: Some(LiveSort::Max), text: |row, _| latency(row, 4) },
    Column {
        title: "DONE",
        width: 5,
        sort: Some(LiveSort::Done),
        text: |row, _| numbers::percent(row.done),
    },
    Column { title: "LEFT", width: 8, sort: None, text: |row, _| numbers::left(row.eta) },
];

fn dash() -> String {
    "-".to_owned()
}

/// The last interval, if it is the present.
fn present<'a>(row: &ListRow<'a>) -> Option<&'a crate::history::LiveTick> {
    row.history.latest().filter(|_| row.runs)
}

fn latency(row: &ListRow<'_>, index: usize) -> String {
    let all = row.history.all_percentiles().filter(|_| row.runs);
    all.map_or_else(dash, |all| numbers::latency(all[index]))
}

/// Draws the page of the list that has the selected row.
pub(super) fn list(pen: &mut Pen<'_>, model: &LiveModel, controls: &mut LiveControls) {
    let (sort, reverse) = controls.sort();
    let rows = rows(model, controls.page(), (sort, reverse));
    let fit = usize::from(pen.height().saturating_sub(2));
    controls.fits(fit, rows.len());
    if fit == 0 {
        return;
    }
    let of_hosts = controls.page() == LivePage::Overview && model.has_hosts();
    let first = controls.position() / fit * fit;
    let shown = &rows[first.min(rows.len())..(first + fit).min(rows.len())];
    let what = if of_hosts { "Hosts" } else { "Jobs" };
    let order = if reverse { ", reversed" } else { "" };
    let range = match rows.len() {
        all if all > fit => format!("{}-{} of {all}, ", first + 1, first + shown.len()),
        _ => String::new(),
    };
    pen.rule(0, &format!("{what} ({range}sorted by {}{order})", sort.words()));
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let layout = Layout::of(pen.width(), longest);
    layout.titles(pen, if of_hosts { "HOST" } else { "JOB" }, sort);
    for (index, (row, y)) in shown.iter().zip(2..).enumerate() {
        layout.row(pen, y, row, model);
        if first + index == controls.position() {
            pen.highlight(y);
        }
    }
}

/// Which columns are shown where.
struct Layout {
    name: u16,
    columns: Vec<(u16, &'static Column)>,
    /// Position and width of the curve.
    curve: (u16, u16),
}

impl Layout {
    fn of(width: u16, longest: usize) -> Layout {
        let wanted = u16::try_from(longest).unwrap_or(u16::MAX).clamp(8, 32);
        let mut shown = [false; COLUMNS.len()];
        // A name of 16 characters is worth more than another column.
        let mut left = width.saturating_sub(wanted.min(16));
        for index in BY_PRIORITY {
            let needs = COLUMNS[index].width + 1;
            if needs > left {
                break;
            }
            shown[index] = true;
            left -= needs;
        }
        let name = (wanted.min(16) + left).min(wanted).min(width);
        let mut x = name + 1;
        let mut columns = Vec::new();
        for (column, _) in COLUMNS.iter().zip(shown).filter(|(_, shown)| *shown) {
            columns.push((x, column));
            x += column.width + 1;
        }
        Layout { name, columns, curve: (x + 1, width.saturating_sub(x + 1)) }
    }

    fn titles(&self, pen: &mut Pen<'_>, name: &str, sort: LiveSort) {
        let style = |chosen: bool| match chosen {
            true => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => Style::new().add_modifier(Modifier::BOLD),
        };
        pen.text_in(0, 1, self.name, name, style(sort == LiveSort::Name));
        for (x, column) in &self.columns {
            let style = style(column.sort == Some(sort));
            match column.title {
                "STATE" => drop(pen.text_in(*x, 1, column.width, column.title, style)),
                title => pen.right(*x, 1, column.width, title, style),
            }
        }
        if self.curve.1 >= 6 {
            pen.text_in(self.curve.0, 1, self.curve.1, "IOPS over time", style(false));
        }
    }

    fn row(&self, pen: &mut Pen<'_>, y: u16, row: &ListRow<'_>, model: &LiveModel) {
        let alarm = if row.alarm { pen.look.alarm() } else { Style::new() };
        pen.text_in(0, y, self.name, row.name, alarm);
        for (x, column) in &self.columns {
            let text = (column.text)(row, model);
            match column.title {
                "STATE" => drop(pen.text_in(*x, y, column.width, &text, alarm)),
                _ => pen.right(*x, y, column.width, &text, Style::new()),
            }
        }
        let (x, width) = self.curve;
        if width >= 6 {
            let values: Vec<f32> =
                row.history.last(width.into()).map(|tick| tick.all_iops()).collect();
            pen.bars((x, y), (width, 1), &values);
        }
    }
}
