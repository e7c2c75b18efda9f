//! `--help` and `fiord help`.

use fiord_job::command::help;
use fiord_job::suggest;

use fiord_types::program;

use crate::exit::Exit;
use crate::sink::{self, report};
use crate::subcommand::definition;

/// The text of `--help`.
pub(crate) fn page() -> String {
    help::page(program::name(), &definition::list())
}

/// What to do next, for those who call the program without arguments.
pub(crate) fn first_steps() -> String {
    format!(
        "{}\nfiord measures storage. It runs the job files and command lines of fio.\n\n\
         Measure random reads of a new file in this directory:\n\
         \x20 fiord --name=test --rw=randread --size=1g --direct=1 --iodepth=16 \\\n\
         \x20   --ioengine=io_uring --time_based --runtime=10 --html=test.html\n\
         Look for mistakes in a job file, and run it:\n\
         \x20 fiord check job.fio\n\
         \x20 fiord job.fio\n\
         Show the disks of this machine:\n\
         \x20 fiord devices\n\
         List all commands and options, and explain one of them:\n\
         \x20 fiord help\n\
         \x20 fiord help sweep\n\
         \x20 fiord help iodepth\n",
        fiord_job::version()
    )
}

/// Explains a subcommand, a job option or a finding; all of them together without a topic.
pub(crate) fn explain(topic: &[String]) -> Exit {
    let Some(first) = topic.first() else { return sink::print(&page()) };
    if let Some(text) = definition::explained(topic) {
        return sink::print(&text);
    }
    if let Some(text) = help::known_option(first) {
        return sink::print(&text);
    }
    if let ([only], Some(text)) = (topic, fiord_doctor::pages::explained(first)) {
        let page = format!("docs/findings/{only}.md");
        return sink::print(&format!("{text}\nThis is {page} of the documentation.\n"));
    }
    let finding = || suggest::nearest(first, fiord_doctor::pages::ids()).map(str::to_owned);
    let near = definition::nearest(first).or_else(finding);
    let near =
        near.map(|near| format!("  help: did you mean `fiord help {near}`?\n")).unwrap_or_default();
    report(format_args!(
        "there is no command, no job option and no finding `{}`\n{near}  To fix: `fiord --help` lists the \
         commands, `fiord options` the job options\n",
        topic.join(" ")
    ));
    Exit::Failure
}
