//! `fiord log`: shows, converts and plots logs of fio and fiord.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | in which format is a file, and what is its log called | `source` |
//! | which values does a log have, in all and over time | `collect`, `timeline` |
//! | how are they shown as tables | `table` |
//! | … as CSV and JSON | `export` |
//! | … as pictures in the terminal and as SVG | `scale`, `picture`, `svg` |
//! | how is a log converted to another format | `convert` |
//! | what does `--inflate-log` print | [`inflate`](mod@inflate) |

pub mod args;
mod collect;
mod convert;
mod error;
mod export;
pub mod inflate;
mod picture;
mod scale;
mod source;
mod svg;
mod table;
mod timeline;

#[cfg(test)]
mod tests;

pub use args::LogArgs;
pub use error::ShowLogError;

use fiord_types::plain;

use self::args::{LogFormat, LogView};
use self::collect::Collector;
use self::source::ReadLog;
use crate::session::{CommandEnd, Session};

/// Shows or converts logs.
///
/// # Errors
/// A file cannot be read or is not a log, or the result cannot be written.
pub fn run(args: &LogArgs, session: &mut Session) -> Result<CommandEnd, ShowLogError> {
    if let Some(target) = args.convert {
        let read = convert::convert(args, target, session)?;
        notes(&read, session);
        return Ok(CommandEnd::Done);
    }
    let mut collector = Collector::new(args.window, &args.percentiles);
    let mut read = Vec::new();
    for path in &args.files {
        collector.begin(path);
        read.push(source::read(path, args, &mut collector)?);
    }
    let collected = collector.finish()?;
    let text = match args.format {
        LogFormat::Csv => export::csv(&collected),
        LogFormat::Json => export::json(&collected, &read),
        LogFormat::Svg => svg::document(&collected, args.show),
        LogFormat::Table => plain(&match args.show {
            LogView::Summary => table::summary(&collected),
            LogView::Time => table::over_time(&collected),
            LogView::Plot => picture::plots(&collected),
            LogView::Heatmap => picture::heat_maps(&collected)?,
        })
        .into_owned(),
    };
    match &args.output {
        Some(path) => convert::write_file(path, text.as_bytes())?,
        None => session.print_document(&text)?,
    }
    notes(&read, session);
    Ok(CommandEnd::Done)
}

/// Reports what is incomplete in the files. It does not fail: the rows that were read are valid.
fn notes(read: &[ReadLog], session: &mut Session) {
    for note in read.iter().flat_map(ReadLog::notes) {
        // A closed standard error does not change the result.
        session.report(note);
    }
}
