//! Formats one line for each disk, with as many columns as fit the terminal.

use fiord_sys::survey::Disk;

use crate::devices::{Shown, words};

/// A column: header, rank (0 is the most important), and cells.
struct Column {
    head: &'static str,
    rank: u32,
    right: bool,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(self.head.len())
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }
}

/// Minimum width of a shortened text column.
const NARROW: usize = 8;

/// Formats the table, at most `width` characters wide.
pub(crate) fn text(shown: &Shown, width: usize) -> String {
    if shown.disks.is_empty() {
        return "no disk with a capacity; `fiord devices --all` lists all disks\n".into();
    }
    let mut columns = columns(shown);
    columns.retain(|column| !column.is_empty());
    fit(&mut columns, width);
    let mut text = line(columns.iter().map(|column| (column, column.head)));
    for row in 0..shown.disks.len() {
        text.push_str(&line(columns.iter().map(|column| (column, column.cells[row].as_str()))));
    }
    text.push_str(&words::missing_line(&shown.disks));
    text
}

fn columns(shown: &Shown) -> Vec<Column> {
    let column = |head, rank, right, cell: &dyn Fn(&Disk) -> Option<String>| {
        let cells = shown.disks.iter().map(|disk| cell(disk).unwrap_or_default()).collect();
        Column { head, rank, right, cells }
    };
    let smart = |disk: &Disk| disk.health.smart;
    vec![
        column("DEVICE", 0, false, &|d| Some(d.name.clone())),
        column("MODEL", 1, false, &|d| d.identity.model.clone()),
        column("FIRMWARE", 11, false, &|d| d.identity.firmware.clone()),
        column("SERIAL", 12, false, &|d| d.identity.serial.clone()),
        column("SIZE", 0, true, &|d| Some(words::decimal(d.capacity.into()))),
        column("BLOCK", 4, true, &|d| Some(words::blocks(d))),
        column("SCHEDULER", 6, false, &|d| d.queue.scheduler.as_ref().map(|(now, _)| now.clone())),
        column("CACHE", 7, false, &|d| words::cache(d).map(str::to_owned)),
        column("DEPTH", 8, true, &words::depth),
        column("ZONES", 9, false, &|d| words::zones(d).map(str::to_owned)),
        column("NODE", 10, true, &|d| Some(d.numa_node?.to_string())),
        column("LINK", 3, false, &words::own_link),
        column("SHARED", 5, true, &|d| {
            words::narrowest(d, &shown.links).filter(|link| link.ratio() > 1.0).map(words::ratio)
        }),
        column("TEMP", 5, true, &|d| Some(format!("{:.0} °C", d.health.temperature?))),
        column("WEAR", 5, true, &|d| Some(format!("{} %", smart(d)?.percent_used))),
        column("WRITTEN", 8, true, &|d| Some(words::decimal(smart(d)?.bytes_written))),
        column("IN USE", 2, false, &words::used),
    ]
}

/// Omits columns, the least important first, and then shortens the widest texts.
fn fit(columns: &mut Vec<Column>, width: usize) {
    let total = |columns: &[Column]| {
        columns.iter().map(Column::width).sum::<usize>() + 2 * columns.len().saturating_sub(1)
    };
    while total(columns) > width {
        let least = columns.iter().enumerate().max_by_key(|(_, column)| column.rank);
        // Shorten texts before omitting the most important columns.
        let Some((at, _)) = least.filter(|(_, column)| column.rank > 2) else { break };
        columns.remove(at);
    }
    while total(columns) > width {
        let over = total(columns) - width;
        let texts = columns.iter_mut().filter(|column| !column.right && column.rank > 0);
        let Some(widest) = texts.max_by_key(|column| column.width()) else { return };
        let to = widest.width().saturating_sub(over).max(NARROW);
        if to >= widest.width() {
            return;
        }
        widest.cells.iter_mut().for_each(|cell| *cell = cut(cell, to));
    }
}

/// Truncates the text to `width` characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

fn line<'a>(cells: impl Iterator<Item = (&'a Column, &'a str)>) -> String {
    let padded: Vec<String> = cells
        .map(|(column, cell)| {
            let width = column.width();
            if column.right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        })
        .collect();
    format!("{}\n", padded.join("  ").trim_end())
}
