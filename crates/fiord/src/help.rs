//! `--help` and `fiord help`.

use fiord_job::command::help;

use fiord_types::program;

use crate::exit::Exit;
use crate::sink::{self, report};
use crate::subcommand::definition;

/// The text of `--help`.
pub(crate) fn page() -> String {
    help::page(program::name(), &definition::list())
}

/// Explains a subcommand or a job option; all of them together without a topic.
pub(crate) fn explain(topic: &[String]) -> Exit {
    let Some(first) = topic.first() else { return sink::print(&page()) };
    if let Some(text) = definition::explained(topic) {
        return sink::print(&text);
    }
    if let Some(text) = help::known_option(first) {
        return sink::print(&text);
    }
    let near = definition::nearest(first);
    let near =
        near.map(|near| format!("  help: did you mean `fiord help {near}`?\n")).unwrap_or_default();
    report(format_args!(
        "there is no command and no job option `{}`\n{near}  To fix: `fiord --help` lists the commands, \
         `fiord options` the job options\n",
        topic.join(" ")
    ));
    Exit::Failure
}
