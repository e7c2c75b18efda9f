//! Which columns a text log has, inferred from its rows.

use fiord_types::{Bytes, Nanos};

use crate::log::error::shortened;
use crate::log::lines::{columns, number};
use crate::log::{LineProblem, LogColumns, LogRow, REAL_TIME, direction};

/// Maximum number of columns of a row.
const MAX_COLUMNS: usize = 8;
const WRONG: &str = "4 to 8";
const OTHER: &str = "as many as the lines before it";

/// The numbers of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    values: [u64; MAX_COLUMNS],
    count: usize,
    /// The column in hexadecimal digits: the full priority.
    full: Option<usize>,
}

impl Numbers {
    /// Reads the numbers of a line.
    pub(super) fn read(line: &[u8]) -> Result<Numbers, LineProblem> {
        let mut numbers = Numbers { values: [0; MAX_COLUMNS], count: 0, full: None };
        for text in columns(line) {
            let at = numbers.count;
            numbers.count += 1;
            let Some(value) = numbers.values.get_mut(at) else {
                return Err(LineProblem::Columns { found: columns(line).count(), expected: WRONG });
            };
            *value = match text.strip_prefix(b"0x") {
                Some(digits) if numbers.full.is_none() => {
                    numbers.full = Some(at);
                    hexadecimal(digits).ok_or_else(|| LineProblem::Priority(shortened(text)))?
                }
                _ => number(text, at + 1)?,
            };
        }
        match numbers.count {
            4..=MAX_COLUMNS => Ok(numbers),
            found => Err(LineProblem::Columns { found, expected: WRONG }),
        }
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let valid = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(text, 16).ok().filter(|_| valid).map(u64::from)
}

/// The meaning of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Form {
    pub(super) columns: LogColumns,
    /// Logs of old versions of fio have no priority.
    has_priority: bool,
}

impl Form {
    const fn new(both: bool, offset: bool, issue_time: bool, has_priority: bool) -> Form {
        Form { columns: LogColumns { both, offset, priority: false, issue_time }, has_priority }
    }

    /// The forms with this number of columns; if the rows leave a choice, the first one is taken.
    fn with_count(count: usize) -> &'static [Form] {
        match count {
            4 => &[const { Form::new(false, false, false, false) }],
            5 => &[
                const { Form::new(false, false, false, true) },
                const { Form::new(false, true, false, false) },
            ],
            6 => &[
                const { Form::new(false, true, false, true) },
                const { Form::new(true, false, false, true) },
            ],
            7 => &[
                const { Form::new(false, true, true, true) },
                const { Form::new(true, true, false, true) },
            ],
            8 => &[const { Form::new(true, true, true, true) }],
            _ => &[],
        }
    }

    fn count(self) -> usize {
        let LogColumns { both, offset, issue_time, .. } = self.columns;
        let optional = [both, offset, issue_time, self.has_priority];
        4 + optional.into_iter().filter(|has| *has).count()
    }

    /// Where the columns after the value are: maximum, direction, block size, offset, priority, issue time.
    fn positions(self) -> [Option<usize>; 6] {
        let LogColumns { both, offset, issue_time, .. } = self.columns;
        let mut next = 2;
        [both, true, true, offset, self.has_priority, issue_time].map(|has| {
            let at = next;
            next += usize::from(has);
            has.then_some(at)
        })
    }

    /// Whether a row of this form can have these numbers.
    fn fits(self, numbers: &Numbers) -> bool {
        let Ok(row) = self.row(numbers) else { return false };
        let window = row.block == Bytes(0);
        let offset = row.offset.is_none_or(|offset| !window || offset == Bytes(0));
        let issued = row.issue_time.is_none_or(|time| !window || time == Nanos::ZERO);
        let maximum = row.maximum.is_none_or(|most| match window {
            true => most >= row.value,
            false => most == 0,
        });
        // A column with 1 or 2 is rather a direction than a block size.
        offset && issued && maximum && !(1..=2).contains(&row.block.0)
    }

    /// The row with these numbers.
    ///
    /// # Errors
    /// The line has another number of columns, or an impossible direction or priority.
    pub(super) fn row(self, numbers: &Numbers) -> Result<LogRow, LineProblem> {
        if numbers.count != self.count() {
            return Err(LineProblem::Columns { found: numbers.count, expected: OTHER });
        }
        let [maximum, dir, block, offset, priority, issue_time] =
            self.positions().map(|at| at.map(|at| numbers.values[at]));
        let dir = dir.unwrap_or_default();
        let text = || priority.unwrap_or_default().to_string();
        let priority = match priority {
            _ if numbers.full.is_some() && numbers.full != self.positions()[4] => {
                return Err(LineProblem::Priority(text()));
            }
            Some(full) if numbers.full.is_some() => full as u16,
            None | Some(0) => 0,
            Some(1) => REAL_TIME,
            Some(_) => return Err(LineProblem::Priority(text())),
        };
        Ok(LogRow {
            time_ms: numbers.values[0],
            value: numbers.values[1],
            maximum,
            dir: direction(dir).ok_or(LineProblem::Direction(dir))?,
            block: Bytes(block.unwrap_or_default()),
            offset: offset.map(Bytes),
            priority,
            issue_time: issue_time.map(Nanos),
        })
    }
}

/// Rows that have to agree before the form is known: the first one may be damaged.
const ENOUGH: usize = 16;

/// Infers the form of a log from its rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Inference {
    /// For each number of columns: how many rows have it, and how many of them fit each form.
    counts: [(usize, Vec<(Form, usize)>); MAX_COLUMNS + 1],
    full: bool,
}

impl Inference {
    /// Considers a row; true when the form is known.
    pub(super) fn consider(&mut self, numbers: &Numbers) -> bool {
        self.full |= numbers.full.is_some();
        let (rows, forms) = &mut self.counts[numbers.count];
        if *rows == 0 {
            *forms = Form::with_count(numbers.count).iter().map(|form| (*form, 0)).collect();
        }
        *rows += 1;
        forms.iter_mut().for_each(|(form, fits)| *fits += usize::from(form.fits(numbers)));
        let most = forms.iter().map(|(_, fits)| *fits).max();
        *rows >= ENOUGH && forms.iter().filter(|(_, fits)| Some(*fits) == most).count() == 1
    }

    /// The form of most rows, the first one of several; `None` without rows.
    pub(super) fn form(&self) -> Option<Form> {
        let (_, forms) = self.counts.iter().max_by_key(|(rows, _)| *rows)?;
        let most = forms.iter().map(|(_, fits)| *fits).max()?;
        let (mut form, _) = *forms.iter().find(|(_, fits)| *fits == most)?;
        form.columns.priority = self.full;
        Some(form)
    }
}
