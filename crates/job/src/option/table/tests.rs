//! Compares the option table with fio's description of its options, and checks its consistency.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::*;
use crate::option::def::{Category, Kind, Support, Unit};
use crate::option::parse;
use crate::option::value::Bases;

fn compat() -> Json {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../compat/options.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn all() -> impl Iterator<Item = &'static OptionDef> {
    options().iter().chain(engine_options()).copied()
}

fn text<'a>(fact: &'a Json, key: &str) -> Option<&'a str> {
    fact.get(key).and_then(Json::as_str)
}

/// The differences between a declaration and fio's description of the option.
fn differences(def: &OptionDef, fact: &Json) -> Vec<String> {
    let mut found = Vec::new();
    let mut differs = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            found.push(format!("{}: {what} is {ours}, fio's {theirs}", def.name));
        }
    };
    if let Some(alias) = text(fact, "alias") {
        let ours = if def.aliases.contains(&alias) { alias } else { "none" };
        differs("alias", ours.into(), alias.into());
    }
    // Where fio prints no default, fio's documentation decides.
    if let Some(default) = text(fact, "default") {
        differs("default", def.default.unwrap_or("none").into(), default.into());
    }
    // fio lists some options, such as `trim_percentage`, under another option. This is the parent.
    differs("parent", format!("{:?}", def.parent), format!("{:?}", text(fact, "parent")));
    if let Some(range) = text(fact, "range").filter(|_| !WIDER.contains(&def.name)) {
        differs("range", range_of(&def.kind, range), range.into());
    }
    let words: Vec<&str> = match fact.get("values") {
        Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).collect(),
        _ => vec![],
    };
    if let Kind::Words { words: ours, .. } | Kind::WordList { words: ours, .. } = def.kind {
        let missing: Vec<_> = words.iter().filter(|w| ours.iter().all(|o| o.name != **w)).collect();
        differs("words", format!("without {missing:?}"), "without []".into());
    } else {
        differs("words", "[]".into(), format!("{words:?}"));
    }
    let kind = text(fact, "type").unwrap();
    let fits = matches!(
        (kind, def.kind),
        ("string", Kind::Text | Kind::Custom { .. } | Kind::Words { .. } | Kind::WordList { .. })
            | ("string", Kind::Int { max: u64::MAX, .. })
            | ("string with possible k/m/g postfix", Kind::Words { .. } | Kind::WordList { .. })
            | ("(null)", Kind::Amount { .. })
            | ("integer value", Kind::Int { .. } | Kind::Ints { .. } | Kind::Time { .. })
            | ("boolean value", Kind::Bool)
            | ("empty or boolean value ([0|1])", Kind::Switch)
            | ("string with time postfix", Kind::Time { .. } | Kind::Custom { .. })
            | ("one to three ranges", Kind::Ranges { .. })
            | ("list of floating point values separated by ':'", Kind::Floats { .. })
    );
    differs("kind", if fits { kind.into() } else { format!("{:?}", def.kind) }, kind.into());
    found
}

/// Options with a wider range than in fio, for older job files: fio formerly used negative weights
/// of `flow`.
const WIDER: [&str; 1] = ["flow"];

/// The range in fio's format, where -1 means the maximum of the type. A time has no range.
fn range_of(kind: &Kind, theirs: &str) -> String {
    match *kind {
        Kind::Bool => "min=0, max=1".into(),
        Kind::Int { min, max, .. } | Kind::Ints { min, max, .. } => match max {
            max if max >= u64::from(u32::MAX) && !theirs.contains("max") => format!("min={min}"),
            max if max >= u64::from(u32::MAX) => format!("min={min}, max=-1"),
            max => format!("min={min}, max={max}"),
        },
        Kind::Floats { min, max, .. } => format!("min={min:.6}, max={max:.6}"),
        Kind::Ranges { min } => format!("min={min}"),
        Kind::Time { .. } | Kind::Custom { .. } => theirs.into(),
        _ => "none".into(),
    }
}

#[test]
fn every_option_of_fio_is_declared_as_fio_has_it() {
    let compat = compat();
    let mut found = Vec::new();
    let facts = compat["options"].as_array().unwrap();
    assert_eq!(facts.len(), 237);
    for fact in facts {
        let name = text(fact, "name").unwrap();
        match find(name) {
            Some(def) if def.name == name => found.extend(differences(def, fact)),
            _ => found.push(format!("{name} is not declared")),
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_engine_and_its_options_are_declared_as_fio_has_them() {
    let compat = compat();
    let mut found = Vec::new();
    for (engine, facts) in compat["engines"].as_object().unwrap() {
        if find_engine(engine).is_none_or(|e| e.name != engine) {
            found.push(format!("engine {engine} is not declared"));
        }
        for fact in facts.as_array().unwrap() {
            let name = text(fact, "name").unwrap();
            match find_for_engine(engine, name) {
                Some(def) if def.name == name && def.scope != Scope::Job => {
                    found.extend(differences(def, fact).iter().map(|d| format!("{engine}: {d}")));
                }
                _ => found.push(format!("{engine}: {name} is not declared")),
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Options that fio's list lacks are documented elsewhere or exist only in fiord.
#[test]
fn options_missing_from_the_list_of_fio_are_known() {
    let compat = compat();
    let listed: HashSet<&str> = compat["options"]
        .as_array()
        .unwrap()
        .iter()
        .chain(compat["engines"].as_object().unwrap().values().flat_map(|o| o.as_array().unwrap()))
        .map(|o| text(o, "name").unwrap())
        .collect();
    // Skips engines that are missing from the listed build of fio.
    let built = compat["engines"].as_object().unwrap();
    let is_built = |o: &&OptionDef| match o.scope {
        Scope::Job => true,
        Scope::Engine(engines) => engines.iter().any(|e| built.contains_key(*e)),
    };
    let extra: Vec<_> = all()
        .filter(is_built)
        .filter(|o| !listed.contains(o.name) && o.since != "fiord")
        .map(|o| o.name)
        .collect();
    assert_eq!(
        extra,
        [
            "softrandommap",
            "spr_num_regions",
            "spr_op",
            "spr_cs",
            "bs_is_seq_rand",
            "iomem_align",
            "hugepage-size",
            "flow_watermark",
            "verify_async_cpus",
            "verifysort",
            "verifysort_nr",
        ]
    );
}

#[test]
fn option_names_are_unique_for_each_engine() {
    for engine in engines() {
        let mut seen = HashSet::new();
        let own = engine_options().iter().filter(|o| o.fits(engine.name));
        for option in options().iter().chain(own) {
            for name in std::iter::once(&option.name).chain(option.aliases) {
                assert!(seen.insert(*name), "{}: {name} twice", engine.name);
            }
        }
    }
}

#[test]
fn no_engine_name_occurs_twice_and_every_scope_names_engines() {
    let mut seen = HashSet::new();
    for engine in engines() {
        for name in std::iter::once(&engine.name).chain(engine.aliases) {
            assert!(seen.insert(*name), "{name} twice");
        }
    }
    for option in engine_options() {
        let Scope::Engine(names) = option.scope else { panic!("{} fits any", option.name) };
        assert!(names.iter().all(|n| find_engine(n).is_some_and(|e| e.name == *n)));
    }
}

#[test]
fn every_default_example_and_word_is_valid() {
    let bases = Bases::default();
    for option in all() {
        if let Some(default) = option.default {
            let read = parse::value(option, Some(default), &bases);
            assert!(read.is_ok() || default.is_empty(), "{}={default}: {read:?}", option.name);
        }
        let (name, text) = match option.example.split_once('=') {
            Some((name, text)) => (name, Some(text)),
            None => (option.example, None),
        };
        assert_eq!(name, option.name, "the example is of another option");
        let read = parse::value(option, text, &bases);
        assert!(read.is_ok(), "{}: {read:?}", option.example);
        if let Kind::Words { words, .. } | Kind::WordList { words, .. } = option.kind {
            for word in words {
                let target = word.means.unwrap_or(word.name);
                let end = words.iter().find(|w| w.name == target);
                assert!(end.is_some_and(|w| w.means.is_none()), "{}: {target}", option.name);
                assert!(word.means.is_some() != (word.doc.len() > 1), "{}", word.name);
            }
            let names: HashSet<_> = words.iter().map(|w| w.name).collect();
            assert_eq!(names.len(), words.len(), "{}", option.name);
        }
    }
}

#[test]
fn every_option_is_explained_in_its_own_words() {
    let mut seen = HashSet::new();
    for option in all() {
        assert!(option.doc.len() > 15 && option.doc.ends_with('.'), "{}", option.name);
        assert!(!option.doc.contains("  "), "{}: {:?}", option.name, option.doc);
        assert!(seen.insert(option.doc), "{} has another option's text", option.name);
        if let Support::Accepted(why) = option.support {
            assert!(!why.is_empty() && !why.ends_with('.'), "{}", option.name);
        }
    }
    for engine in engines() {
        assert!(engine.doc.ends_with('.') && seen.insert(engine.doc), "{}", engine.name);
        assert!(!engine.needs.ends_with('.'), "{}: the end of a sentence", engine.name);
    }
}

#[test]
fn parents_exist_and_categories_come_in_order() {
    for option in all() {
        if let Some(parent) = option.parent {
            assert!(all().any(|other| other.name == parent), "{}", option.name);
        }
    }
    let order: Vec<Category> = options().iter().map(|o| o.category).collect();
    assert!(order.is_sorted());
    assert!(Category::ALL.is_sorted());
    assert!(Category::ALL.iter().all(|c| order.contains(c)));
    assert!(engine_options().iter().all(|o| o.category == Category::Engine));
}

#[test]
fn options_of_the_engine_take_precedence() {
    let of = |engine| find_for_engine(engine, "hipri").unwrap().scope;
    assert_eq!(of("pvsync2"), Scope::Engine(&["pvsync2"]));
    assert_eq!(of("io_uring"), Scope::Engine(&["io_uring", "io_uring_cmd"]));
    assert!(find_for_engine("psync", "hipri").is_none());
    assert_eq!(find_for_engine("psync", "blocksize").unwrap().name, "bs");
    assert_eq!(engines_with("proto"), ["net", "netsplice", "rdma"]);
    assert_eq!(find_engine("aio").unwrap().name, "libaio");
}

#[test]
fn times_have_the_documented_units() {
    let unit = |name| match find(name).or_else(|| find_for_engine("exec", name)).unwrap().kind {
        Kind::Time { unit } | Kind::Ints { unit, .. } => unit,
        other => panic!("{name} is {other:?}"),
    };
    for name in ["runtime", "ramp_time", "thinktime_iotime", "grace_time", "steadystate_duration"] {
        assert_eq!(unit(name), Unit::Seconds, "{name}");
    }
    for name in ["bwavgtime", "iopsavgtime", "rate_cycle", "log_avg_msec", "log_hist_msec"] {
        assert_eq!(unit(name), Unit::Millis, "{name}");
    }
    for name in ["thinktime", "thinktime_spin", "latency_target", "max_latency", "flow_sleep"] {
        assert_eq!(unit(name), Unit::Micros, "{name}");
    }
}
