//! Options of the user that are added to every job of a suite.

use crate::suite::definition::Steps;
use crate::suite::error::SuiteError;

/// Options that a suite sets itself: they say what is measured.
const OWN: [&str; 5] = ["filename", "directory", "name", "rw", "readwrite"];

/// Adds options to the end of each job section of each step, where they take the place of earlier ones.
///
/// # Errors
/// An argument is not an option with a value, or the suite sets the option itself.
pub(crate) fn add(options: &[String], steps: &mut Steps) -> Result<(), SuiteError> {
    let lines = options.iter().map(|option| line(option)).collect::<Result<Vec<String>, _>>()?;
    if !lines.is_empty() {
        steps.steps.iter_mut().for_each(|step| step.job = extended(&step.job, &lines));
    }
    Ok(())
}

/// The line of a job file for an option of the command line.
fn line(option: &str) -> Result<String, SuiteError> {
    let text = option.strip_prefix("--").filter(|text| !text.contains('\n'));
    let wrong = || SuiteError::NoJobOption { option: option.to_owned() };
    let text = text.ok_or_else(wrong)?;
    let name = text.split('=').next().unwrap_or_default();
    match OWN.contains(&name) {
        true => Err(SuiteError::OwnOption { option: name.to_owned() }),
        false => Ok(text.to_owned()),
    }
}

/// The job file with the lines at the end of each section of a job.
fn extended(job: &str, lines: &[String]) -> String {
    let mut text = String::new();
    let mut in_job = false;
    let add = |text: &mut String, in_job: bool| {
        if in_job {
            lines.iter().for_each(|line| text.extend([line, "\n"]));
        }
    };
    for line in job.lines() {
        if line.starts_with('[') {
            add(&mut text, in_job);
            in_job = line != "[global]";
        }
        text.extend([line, "\n"]);
    }
    add(&mut text, in_job);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_each_section_of_a_job() {
        let lines = ["ioengine=libaio".to_owned(), "thread".to_owned()];
        assert_eq!(
            extended("[global]\nbs=4k\n[a]\nrw=read\n[b]\nrw=write\n", &lines),
            "[global]\nbs=4k\n[a]\nrw=read\nioengine=libaio\nthread\n[b]\nrw=write\nioengine=libaio\nthread\n"
        );
    }

    #[test]
    fn only_options_that_the_suite_leaves_open_are_accepted() {
        assert_eq!(line("--thread").unwrap(), "thread");
        assert_eq!(line("--bs=4k").unwrap(), "bs=4k");
        assert!(matches!(line("job.fio"), Err(SuiteError::NoJobOption { .. })));
        assert!(matches!(line("--filename=/dev/sda"), Err(SuiteError::OwnOption { .. })));
    }
}
