//! Turns the warnings of the reader and of the planner into findings.

use fiord_job::diagnostic::{Diagnostic, Level, Note};
use fiord_job::spec::Place;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::setting::leave_out;

/// Maximum length of the quoted option text in the evidence, in characters.
const QUOTED: usize = 80;

/// Reports a finding for every warning that has the id of this check.
pub(crate) fn report(check: &Check, known: &Lint<'_>, findings: &mut CollectedFindings) {
    let of_this_kind = |note: &&Diagnostic| kind(note).is_some_and(|kind| kind.id() == check.id);
    known.notes.iter().filter(of_this_kind).for_each(|note| findings.report(builder(check, note)));
}

fn kind(diagnostic: &Diagnostic) -> Option<Note> {
    match diagnostic.level {
        Level::Warning(note) => Some(note),
        Level::Error | Level::Found(_) => None,
    }
}

fn builder(check: &Check, note: &Diagnostic) -> FindingBuilder {
    // Text adds the start to every remedy: see `Finding::to_fix`.
    let help = note.help.iter().map(|help| help.strip_prefix("To fix: ").unwrap_or(help));
    let remedy = help.collect::<Vec<_>>().join("; ");
    let mut finding = check.for_run(&note.what).remedy(remedy);
    // A warning about a combination of options may have other remedies.
    if let Some(option) = note.subject.option.filter(|_| leaves_out(&finding.finding.remedy)) {
        finding = finding.settings([leave_out(option)]);
    }
    finding.finding.job.clone_from(&note.subject.job);
    finding.finding.evidence = note.place.as_ref().map(quoted).unwrap_or_default();
    finding.option = note.subject.option;
    finding.place.clone_from(&note.place);
    finding.noted = true;
    finding
}

/// Returns whether the first alternative of a remedy is to leave the option out.
fn leaves_out(remedy: &str) -> bool {
    let rest = remedy.strip_prefix("leave it out");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", or "))
}

/// Quotes a place in a job file: `a.fio, line 4: iodepth=32`.
fn quoted(place: &Place) -> String {
    let file = &place.source.name;
    let whole = place.shown_text();
    let mut text: String = whole.chars().take(QUOTED).collect();
    if text.len() < whole.len() {
        text.push('…');
    }
    match file.as_str() {
        "command line" => format!("{file}: {text}"),
        _ => format!("{file}, line {}: {text}", place.line_column().0),
    }
}

#[cfg(test)]
mod tests {
    use fiord_job::load::MachineLoader;
    use fiord_plan::machine::system::SystemFacts;
    use fiord_stat::finding::{Location, Severity};

    use crate::Typed;
    use crate::check::CollectedFindings;

    fn notes(line: &str) -> CollectedFindings {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let invocation = fiord_job::invocation(&args, &mut MachineLoader).unwrap();
        let resolved = fiord_plan::resolve_invocation(&invocation, &SystemFacts).unwrap();
        let typed = Typed { specs: &invocation.jobs, notes: &resolved.warnings };
        crate::notes(&resolved.plan, typed)
    }

    #[test]
    fn a_warning_becomes_a_finding_of_its_kind() {
        let base = "--name=a --rw=read --size=1m --ioengine=sim";
        for (option, id) in [
            ("--end_fsync=1", "no-effect"),
            ("--flow=-2", "value-adjusted"),
            ("--time_based=30", "value-adjusted"),
            ("--rw=randread --ba=512", "doubtful-job"),
        ] {
            let found = notes(&format!("{base} {option}"));
            let finding = found.findings().find(|f| f.id == id).unwrap();
            assert_eq!((finding.severity, finding.job.as_deref()), (Severity::Note, Some("a")));
            let typed = option.split(' ').next_back().unwrap();
            let name = typed.trim_start_matches('-').split('=').next();
            assert_eq!(finding.option.as_deref(), name);
            assert!(finding.evidence.starts_with("command line: "), "{finding:?}");
            assert!(finding.location.is_some(), "{finding:?}");
        }
    }

    #[test]
    fn a_note_has_a_place_and_a_remedy_and_can_be_ignored() {
        let base = "--name=a --rw=read --size=1m --ioengine=sim --end_fsync=1";
        let found = notes(base);
        let finding = found.findings().next().unwrap();
        assert_eq!(finding.evidence, "command line: end_fsync=1");
        let at = Location { file: "command line".into(), line: 1, column: 47 };
        assert_eq!(finding.location, Some(at));
        assert_eq!(finding.remedy, "leave it out, or use a workload that writes");
        assert!(notes(&format!("{base} --ignore_findings=no-effect")).is_empty());
    }
}
