//! Modules that use each other can only be understood and changed together. This test counts them, and checks the order of
//! modules that a crate documents. `cargo test -p xtask --test circles -- --nocapture` prints every circle.
//!
//! A parent and its child are not counted: a parent puts its children together.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The largest number of modules in circles. If a change lowers the number, lower this limit.
const MAX_IN_CIRCLES: usize = 26;

/// The sentence with which the documentation of a crate says that its table of modules is in order.
const ORDERED: &str = "uses only those above it in this table";

/// The modules of a crate: the path of each below `crate::`, and the paths that it uses.
struct Crate {
    name: String,
    modules: BTreeMap<String, Vec<String>>,
}

/// A module, and a module that it uses. Both have the same parent, or are parents of the modules that `example` names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    from: String,
    to: String,
    example: (String, String),
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Whether a path is a source file, or a directory of them, and not a test.
fn is_source(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let test = stem.ends_with("tests") || stem.starts_with("fixture");
    !test && (path.is_dir() || path.extension().is_some_and(|extension| extension == "rs"))
}

fn crates() -> Vec<Crate> {
    let entries = fs::read_dir(root().join("crates")).expect("the crates");
    let mut directories: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a crate").path().join("src")).collect();
    directories.sort();
    directories.retain(|directory| directory.is_dir());
    directories.iter().map(|directory| read(directory)).collect()
}

/// Reads the modules of the crate with this source directory.
fn read(directory: &Path) -> Crate {
    let found = sources::below(directory, &is_source);
    let module = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let below = file.strip_prefix(directory).expect("a file of the crate").with_extension("");
        let mut path: Vec<String> =
            below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        path.retain(|part| !["mod", "lib", "main"].contains(&part.as_str()));
        (path.join("::"), paths_in(code, &path))
    };
    let name = directory.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    Crate { name: name.into_owned(), modules: found.into_iter().map(module).collect() }
}

/// The paths of the same crate that a module names, without `crate::`. `module`: where it is.
fn paths_in(code: &str, module: &[String]) -> Vec<String> {
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let starts = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if code[..at].ends_with(starts) {
                continue;
            }
            expand(&mut code[at..].chars().peekable(), String::new(), &mut found);
        }
    }
    found.iter().map(|path| absolute(path, module)).collect()
}

/// Reads a path, or a tree of paths in braces, and adds each path.
fn expand(
    code: &mut std::iter::Peekable<std::str::Chars>,
    mut path: String,
    found: &mut Vec<String>,
) {
    while let Some(c) = code.next_if(|c| c.is_alphanumeric() || "_:".contains(*c)) {
        path.push(c);
    }
    if !path.ends_with("::") || code.next_if_eq(&'{').is_none() {
        found.push(path);
        return;
    }
    loop {
        while code.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
        match code.peek() {
            Some(c) if c.is_alphanumeric() || *c == '_' => {
                expand(code, path.clone(), found);
                // `as NAME`.
                while code.next_if(|c| !",}".contains(*c)).is_some() {}
            }
            _ => break,
        }
    }
    code.next_if_eq(&'}');
}

/// A path from the root of the crate, without `crate::`.
fn absolute(path: &str, module: &[String]) -> String {
    let mut base: Vec<&str> = module.iter().map(String::as_str).collect();
    let mut parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
    match parts.first() {
        Some(&"crate") => base.clear(),
        Some(&"super") => {
            while parts.get(1) == Some(&"super") {
                base.pop();
                parts.remove(0);
            }
            base.pop();
        }
        _ => {}
    }
    base.extend(parts.into_iter().skip(1));
    base.join("::")
}

impl Crate {
    /// The module that a path leads to: the path of an item leads to its module.
    fn module_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        let modules = ends.map(|end| &path[..end]);
        modules.filter(|module| self.modules.contains_key(*module)).last()
    }

    /// The modules with a common parent, of which one uses the other or something below it.
    fn uses(&self) -> BTreeSet<Use> {
        let mut uses = BTreeSet::new();
        for (module, paths) in &self.modules {
            for used in paths.iter().filter_map(|path| self.module_of(path)) {
                let (a, b): (Vec<&str>, Vec<&str>) =
                    (module.split("::").collect(), used.split("::").collect());
                let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
                if module.is_empty() || common == a.len() || common == b.len() {
                    continue;
                }
                let upto = |path: &[&str]| path[..=common].join("::");
                let example = (module.clone(), used.to_owned());
                uses.insert(Use { from: upto(&a), to: upto(&b), example });
            }
        }
        uses
    }
}

/// The sets of modules that use each other, directly or through others.
fn circles(uses: &BTreeSet<Use>) -> BTreeSet<Vec<&str>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Use { from, to, .. } in uses {
        next.entry(from).or_default().insert(to);
    }
    let reached = |from: &str| {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut left: Vec<&str> = next.get(from).into_iter().flatten().copied().collect();
        while let Some(module) = left.pop() {
            if reached.insert(module) {
                left.extend(next.get(module).into_iter().flatten());
            }
        }
        reached
    };
    let circle_of = |module: &str| {
        let both = reached(module).into_iter().filter(|other| reached(other).contains(module));
        Some(both.collect::<Vec<_>>()).filter(|circle| !circle.is_empty())
    };
    next.keys().filter_map(|module| circle_of(module)).collect()
}

#[test]
fn modules_in_circles_do_not_grow() {
    let crates = crates();
    assert!(crates.len() > 15, "only {} crates were found", crates.len());
    let (mut count, mut listed) = (0, String::new());
    for of_crate in &crates {
        let uses = of_crate.uses();
        for circle in circles(&uses) {
            count += circle.len();
            listed += &format!("  {}: {}\n", of_crate.name, circle.join(", "));
            let mut seen = BTreeSet::new();
            for Use { from, to, example: (a, b) } in &uses {
                let within = [from, to].iter().all(|module| circle.contains(&module.as_str()));
                if within && seen.insert((from, to)) {
                    listed += &format!("    {from} uses {to}: {a} uses {b}\n");
                }
            }
        }
    }
    println!("{count} modules in circles (at most {MAX_IN_CIRCLES})\n{listed}");
    assert!(
        count <= MAX_IN_CIRCLES,
        "{count} modules are in circles, at most {MAX_IN_CIRCLES} may be: move what both use to a module of its \
         own\n{listed}"
    );
}

/// The modules in the last column of the table above the sentence [`ORDERED`], in their order.
fn documented_order(documentation: &str) -> Option<Vec<String>> {
    let table = &documentation[..documentation.find(ORDERED)?];
    let rows = table.lines().filter_map(|line| line.strip_prefix("//! | ")?.strip_suffix(" |"));
    let cell = rows.filter_map(|row| row.rsplit(" | ").next());
    let names = cell.map(|cell| cell.replace(['[', ']', '`', '/'], ""));
    Some(names.filter(|name| name != "directory").collect())
}

#[test]
fn modules_use_only_those_above_them_if_the_crate_says_so() {
    let mut ordered = 0;
    for of_crate in crates() {
        let directory = root().join("crates").join(&of_crate.name).join("src");
        let Ok(documentation) = fs::read_to_string(directory.join("lib.rs")) else { continue };
        let Some(order) = documented_order(&documentation) else { continue };
        ordered += 1;
        let place = |module: &str| order.iter().position(|name| name == module);
        let top = |module: &str| !module.is_empty() && !module.contains("::");
        let modules = of_crate.modules.keys().filter(|module| top(module) && *module != "tests");
        let missing: Vec<&String> = modules.filter(|module| place(module).is_none()).collect();
        assert!(missing.is_empty(), "the table of crates/{} lacks {missing:?}", of_crate.name);
        let wrong: Vec<Use> = of_crate
            .uses()
            .into_iter()
            .filter(|Use { from, to, .. }| place(from).is_some() && place(from) < place(to))
            .collect();
        assert!(wrong.is_empty(), "crates/{}: modules use later ones: {wrong:#?}", of_crate.name);
    }
    assert!(ordered > 0, "no crate documents the order of its modules");
}

#[test]
fn paths_are_read_from_trees_and_are_absolute() {
    let code = "use super::{a::B, c};\nuse crate::d::{self, e::{F, g as h}};\nfn f() { super::i::j() } // crate::k";
    let module: Vec<String> = ["room", "file"].map(String::from).to_vec();
    let mut paths = paths_in(code, &module);
    paths.sort();
    assert_eq!(paths, ["d::e::F", "d::e::g", "d::self", "room::a::B", "room::c", "room::i::j"]);
}

#[test]
fn circles_contain_every_module_on_the_way() {
    let arrow = |from: &str, to: &str| Use {
        from: from.into(),
        to: to.into(),
        example: (from.into(), to.into()),
    };
    let uses = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("f", "a")];
    let uses = uses.iter().map(|(from, to)| arrow(from, to)).collect();
    let found: Vec<Vec<&str>> = circles(&uses).into_iter().collect();
    assert_eq!(found, [vec!["a", "b", "c"], vec!["d", "e"]]);
}
