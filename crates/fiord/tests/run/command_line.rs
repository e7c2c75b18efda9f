//! Tests of the command line as a new user meets it: help, mistakes, and the name by which the program is called.

use crate::fiord::Place;

/// All subcommands, from the help.
fn subcommands(place: &Place) -> Vec<String> {
    let help = place.run("--help").ok().out;
    let (_, list) = help.split_once("\nCommands").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let named = list
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '));
    named.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_subcommand_is_explained_within_80_columns() {
    let place = Place::new();
    let all = subcommands(&place);
    assert!(all.len() >= 14 && all.contains(&"precondition".to_owned()), "{all:?}");
    for name in &all {
        let explained = place.run(&format!("help {name}")).ok().out;
        assert!(explained.contains(&format!("Usage: fiord {name}")), "{explained}");
        assert_eq!(place.run(&format!("{name} --help")).ok().out, explained);
        for line in explained.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
    assert_eq!(place.run("help").ok().out, place.run("--help").ok().out);
    assert!(
        place.run("help iodepth").ok().out.contains("alias")
            || place.run("help bs").ok().out.contains("alias")
    );
}

#[test]
fn a_mistyped_subcommand_has_a_suggestion() {
    let place = Place::new();
    let ran = place.run("help swep");
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("did you mean `fiord help sweep`?"), "{ran:?}");
    let ran = place.run("swep");
    assert_eq!(ran.status, Some(1));
    assert!(ran.err.contains("did you mean `fiord sweep`?"), "{ran:?}");
}

#[test]
fn a_check_mixes_its_options_with_those_of_jobs() {
    let place = Place::new();
    let job = "--ioengine=sim --rw=read --size=1m";
    for line in [
        format!("check --name=a {job} --format=json"),
        format!("check --name=a {job} --format json"),
        format!("check --format=json -- --name=a {job}"),
    ] {
        assert_eq!(place.run(&line).ok().json()["jobs"], 1, "{line}");
    }
}
