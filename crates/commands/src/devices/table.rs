//! Formats one line for each disk, with as many columns as fit the terminal.

use fiord_sys::survey::Disk;

use crate::amount::decimal;
use crate::columns::{Align, aligned};
use crate::devices::{Shown, words};

/// A column: header, rank (0 is the most important), and cells.
struct Column {
    head: &'static str,
    rank: u32,
    align: Align,
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
    let mut rows = vec![columns.iter().map(|column| column.head.to_owned()).collect()];
    for row in 0..shown.disks.len() {
        rows.push(columns.iter().map(|column| column.cells[row].clone()).collect());
    }
    aligned(&rows, |column| columns[column].align) + &words::missing_line(&shown.disks)
}

fn columns(shown: &Shown) -> Vec<Column> {
    let column = |head, rank, align, cell: &dyn Fn(&Disk) -> Option<String>| {
        let cells = shown.disks.iter().map(|disk| cell(disk).unwrap_or_default()).collect();
        Column { head, rank, align, cells }
    };
    let smart = |disk: &Disk| disk.health.smart;
    vec![
        column("DEVICE", 0, Align::Left, &|d| Some(d.name.clone())),
        column("MODEL", 1, Align::Left, &|d| d.identity.model.clone()),
        column("FIRMWARE", 11, Align::Left, &|d| d.identity.firmware.clone()),
        column("SERIAL", 12, Align::Left, &|d| d.identity.serial.clone()),
        column("SIZE", 0, Align::Right, &|d| Some(decimal(d.capacity.0.into()))),
        column("BLOCK", 4, Align::Right, &|d| Some(words::blocks(d))),
        column("SCHEDULER", 6, Align::Left, &|d| {
            d.queue.scheduler.as_ref().map(|(now, _)| now.clone())
        }),
        column("CACHE", 7, Align::Left, &|d| words::cache(d).map(str::to_owned)),
        column("DEPTH", 8, Align::Right, &words::depth),
        column("ZONES", 9, Align::Left, &|d| words::zones(d).map(str::to_owned)),
        column("NODE", 10, Align::Right, &|d| Some(d.numa_node?.to_string())),
        column("LINK", 3, Align::Left, &words::own_link),
        column("SHARED", 5, Align::Right, &|d| {
            words::narrowest(d, &shown.links).filter(|link| link.ratio() > 1.0).map(words::ratio)
        }),
        column("TEMP", 5, Align::Right, &|d| Some(format!("{:.0} °C", d.health.temperature?))),
        column("WEAR", 5, Align::Right, &|d| Some(format!("{} %", smart(d)?.percent_used))),
        column("WRITTEN", 8, Align::Right, &|d| Some(decimal(smart(d)?.bytes_written))),
        column("IN USE", 2, Align::Left, &words::used),
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
        let texts =
            columns.iter_mut().filter(|column| column.align == Align::Left && column.rank > 0);
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
