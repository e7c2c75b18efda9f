//! Options, values and engines that fiord parses but does not support yet: the check before a run,
//! and the list.

use std::fmt::Write;

use crate::command::help::words_of;
use crate::command::table::COMMANDS;
use crate::diagnostic::Diagnostic;
use crate::option::def::{OptionDef, Scope, Support, Word};
use crate::option::engine::EngineDef;
use crate::option::table;
use crate::option::value::Value;
use crate::spec::{JobSpec, Setting};

/// One error per unsupported option, value word and engine of the job. An option that is set to its
/// default, or to 0 if it has no default, has no effect and is permitted.
#[must_use]
pub fn unsupported(job: &JobSpec) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (i, setting) in job.settings.iter().enumerate() {
        let again = job.settings[i + 1..].iter().any(|s| s.def.name == setting.def.name);
        if again || is_default(setting) {
            continue;
        }
        if let Some((what, help)) = engine_of(setting).and_then(without_feature) {
            let what = format!("{what} ({})", whereabouts(job, setting));
            out.push(Diagnostic::error(what, Some(setting.place.clone())).help(help));
        }
        if let Some(what) = later(setting) {
            let what = format!("{what} is not supported yet ({})", whereabouts(job, setting));
            let error = Diagnostic::error(what, Some(setting.place.clone()));
            let error = match needs(setting) {
                "" => error,
                needs => error.help(format!("it needs {needs}, which fiord does not use yet")),
            };
            out.push(error.help(
                "To fix: leave it out, or run the job with fio; `fiord options --unsupported` \
                 lists everything that is not supported",
            ));
        }
    }
    out
}

fn is_default(setting: &Setting) -> bool {
    match setting.def.default_value() {
        Some(default) => default == setting.value,
        None => match &setting.value {
            Value::Flag(on) => !on,
            Value::Int(v) => *v == 0,
            Value::Ints(v) => v.values().all(|v| v.is_none_or(|v| v == 0)),
            Value::Time(v) => *v == 0,
            _ => false,
        },
    }
}

fn whereabouts(job: &JobSpec, setting: &Setting) -> String {
    let source = &setting.place.source.name;
    match source.as_str() {
        "command line" => format!("job {}, {source}", job.name),
        _ => format!("job {}, line {}", job.name, setting.place.line_column().0),
    }
}

/// What the engine that a setting selects needs besides Linux. Empty for all other settings.
fn needs(setting: &Setting) -> &'static str {
    engine_of(setting).map_or("", |engine| engine.needs)
}

/// The engine that a setting selects.
fn engine_of(setting: &Setting) -> Option<&'static EngineDef> {
    let Value::Word(word, _) = &setting.value else { return None };
    table::find_engine(word).filter(|_| setting.def == table::IOENGINE.def())
}

/// The error and the remedy of an engine that this build lacks.
fn without_feature(engine: &EngineDef) -> Option<(String, String)> {
    let EngineDef { name, feature, .. } = engine;
    (engine.support == Support::WithoutFeature).then(|| {
        (
            format!("this build of fiord lacks the cargo feature `{feature}`, and with it ioengine {name}"),
            format!(
                "To fix: install fiord from its sources with \
                 `cargo install --locked --path crates/fiord --features {feature}`"
            ),
        )
    })
}

fn later(setting: &Setting) -> Option<String> {
    let def = setting.def;
    if def.support == Support::Later {
        return Some(format!("option {}", def.name));
    }
    let words: Vec<&str> = match &setting.value {
        Value::Word(word, _) => vec![word],
        Value::Words(list) => list.iter().map(|(w, _)| *w).collect(),
        _ => return None,
    };
    if def == table::IOENGINE.def() {
        let engine = table::find_engine(words[0])?;
        return (engine.support == Support::Later).then(|| format!("ioengine {}", engine.name));
    }
    let is_later = |w: &&&str| words_of(&def.kind).iter().any(|d| d.name == **w && later_word(d));
    words.iter().find(is_later).map(|w| format!("option {}={w}", def.name))
}

fn later_word(word: &Word) -> bool {
    word.support == Support::Later
}

/// Lists everything that fiord parses but does not support yet.
#[must_use]
pub fn list() -> String {
    let mut out = String::new();
    let mut part = |title: &str, names: Vec<String>| {
        if !names.is_empty() {
            let _ = writeln!(out, "{title} not supported yet ({}):", names.len());
            names.iter().for_each(|n| {
                let _ = writeln!(out, "  {n}");
            });
        }
    };
    let is_later = |d: &&&'static OptionDef| d.support == Support::Later;
    let all = table::options().iter().chain(table::engine_options());
    part(
        "Job options",
        table::options().iter().filter(is_later).map(|d| d.name.to_string()).collect(),
    );
    part(
        "Values",
        all.filter(|d| d.support != Support::Later && d.name != "ioengine")
            .flat_map(|d| words_of(&d.kind).iter().filter(|w| later_word(w)).map(move |w| (d, w)))
            .map(|(d, w)| format!("{}={}", d.name, w.name))
            .collect(),
    );
    let engines = table::engines().iter();
    part(
        "Engines",
        engines.filter(|e| e.support == Support::Later).map(|e| e.name.to_string()).collect(),
    );
    part(
        "Engine options",
        table::engine_options()
            .iter()
            .filter(is_later)
            .map(|d| match d.scope {
                Scope::Engine(engines) => format!("{} ({})", d.name, engines.join(", ")),
                Scope::Job => d.name.to_string(),
            })
            .collect(),
    );
    let commands = COMMANDS.iter().filter(|c| c.support == Support::Later);
    part("General options", commands.map(|c| format!("--{}", c.name)).collect());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_a_build_lacks_says_how_to_get_it() {
        let engine = table::find_engine("libblkio").unwrap();
        assert_eq!(without_feature(engine).is_none(), cfg!(feature = "libblkio"));
        let lacking = EngineDef { support: Support::WithoutFeature, ..*engine };
        let (what, help) = without_feature(&lacking).unwrap();
        assert_eq!(
            what,
            "this build of fiord lacks the cargo feature `libblkio`, and with it ioengine libblkio"
        );
        assert!(help.ends_with("--path crates/fiord --features libblkio`"), "{help}");
    }
}
