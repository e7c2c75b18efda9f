//! Tests of the documentation: every command of the README and of the book runs, with shorter times and smaller
//! files, or the page says why it does not. `book/page.rs` explains the marks in the pages.

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fiord::{Place, Ran, lacks_sys};
use page::{Page, Step};

/// Programs that commands of the book may start, besides fiord.
const PROGRAMS: [&str; 7] = ["fiord", "./bin/fio", "export", "kill", "ln", "mkdir", "cat"];

/// Maximum number of seconds that the commands of a page may take.
const LIMIT: u32 = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages that are written by hand.
fn pages() -> Vec<Page> {
    let root = root();
    let mut paths = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/recipes", "docs/dev"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        paths.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "md")));
    }
    paths.sort();
    let generated = ["reference.md", "compatibility.md", "engines.md", "SUMMARY.md"];
    paths.retain(|path| !generated.iter().any(|name| path.ends_with(name)));
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        Page::parse(&name, &fs::read_to_string(path).unwrap())
    };
    paths.iter().map(read).collect()
}

/// Why a command must not run here, whatever a page says.
fn unsafe_word(command: &str) -> Option<String> {
    let first = command.split_whitespace().next().unwrap_or_default();
    if !PROGRAMS.contains(&first) {
        return Some(format!("{first} is not one of {PROGRAMS:?}"));
    }
    let command = command.replace("$(command -v fiord)", "").replace("$(cat server.pid)", "");
    let outside = |word: &&str| word.starts_with(['/', '~']) || word.contains("..");
    let words = command.split([' ', '=', ':', '"', '\'']);
    let mut bad = words.filter(outside).map(str::to_owned);
    let shell = ['|', '>', '<', ';', '&', '`', '('];
    bad.next().or_else(|| command.contains(shell).then(|| "a word of the shell".to_owned()))
}

/// Returns a command or a job file with a fraction of its time and space. `fiord precondition` asks no question, because
/// no terminal can answer it.
fn shortened(text: &str) -> String {
    let mut short =
        text.replace("fiord precondition ", "fiord precondition --yes --state=state.json ");
    for (option, value) in [
        ("runtime", "300ms"),
        ("ramp_time", "50ms"),
        ("size", "8m"),
        ("io_size", "8m"),
        ("nrfiles", "20"),
    ] {
        let mut done = String::new();
        let mut rest = short.as_str();
        while let Some(at) = rest.find(&format!("{option}=")) {
            let is_whole = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let (before, from) = rest.split_at(at + option.len() + 1);
            done.push_str(before);
            let end = from.find(char::is_whitespace).unwrap_or(from.len());
            done.push_str(if is_whole { value } else { &from[..end] });
            rest = &from[end..];
        }
        done.push_str(rest);
        short = done;
    }
    short
}

/// Prepares a place with what the pages use: `fiord` in PATH, a file for `$DRIVE`, and the examples.
fn prepared() -> Place {
    let place = Place::confined(&[]).unwrap_or_else(Place::new);
    let data: Vec<u8> =
        (0..16_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    place.write("drive.img", data);
    fs::create_dir(place.path("examples")).unwrap();
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fio") {
            let name = format!("examples/{}", path.file_name().unwrap().to_string_lossy());
            place.write(&name, shortened(&fs::read_to_string(&path).unwrap()));
        }
    }
    place
}

/// Runs the steps of a page in one shell, so that variables live on.
fn run(page: &Page) {
    let place = prepared();
    let mut script = "trap '[ ! -e server.pid ] || kill \"$(cat server.pid)\"' EXIT\n".to_owned();
    for step in &page.steps {
        match step {
            Step::File { name, text } => {
                assert!(!name.contains(['/', '~']), "{}: {name}", page.name);
                place.write(name, shortened(text));
            }
            Step::Command { text, .. } if lacks_sys(text) => {}
            Step::Command { text, status } => {
                let unsafe_word = unsafe_word(text);
                assert_eq!(unsafe_word, None, "{}: {text}", page.name);
                script.push_str(&format!(
                    "{}\nstatus=$?\n[ $status = {status} ] || \
                     {{ echo \"status $status instead of {status}\"; exit 99; }}\n",
                    shortened(text)
                ));
                // The server ended with this command, and its process id may belong to another process now.
                if text.contains("kill ") {
                    script.push_str("rm -f server.pid\n");
                }
            }
            Step::NotRun { .. } => {}
        }
    }
    let mut command = place.program_in(&place.path(""), "timeout");
    let program = Path::new(env!("CARGO_BIN_EXE_fiord")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(["--kill-after=5", &LIMIT.to_string(), "bash", "-c", &script]);
    command.stdin(std::process::Stdio::null());
    command.env("PATH", format!("{}:{path}", program.display())).env("DRIVE", "drive.img");
    command.env("HOME", place.path("")).env_remove("XDG_STATE_HOME");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.status, Some(0), "{}: {script}\n{}\n{}", page.name, ran.out, ran.err);
}

#[test]
fn every_command_of_the_book_runs() {
    let mut commands = 0;
    for page in pages() {
        let here = page.steps.iter().filter(|step| matches!(step, Step::Command { .. })).count();
        if here > 0 {
            run(&page);
            println!("{}: {here} commands", page.name);
        }
        commands += here;
    }
    assert!(commands >= 20, "{commands}");
}

#[test]
fn every_other_command_has_a_reason_and_known_options() {
    let place = Place::new();
    let mut wrong = Vec::new();
    let (mut help, mut asked) = (BTreeSet::new(), BTreeSet::new());
    let mut known = |subcommand: &str| {
        if asked.insert(subcommand.to_owned()) {
            let text = place.run(&format!("{subcommand} --help"));
            help.extend(
                text.out
                    .split(|c: char| !c.is_alphanumeric() && !"-_".contains(c))
                    .map(str::to_owned),
            );
        }
        help.clone()
    };
    for page in pages() {
        let not_run = page.steps.iter().filter_map(|step| match step {
            Step::NotRun { text, reason } => Some((text, reason)),
            Step::File { .. } | Step::Command { .. } => None,
        });
        for (text, reason) in not_run {
            let reason = reason.as_deref().or(page.reason.as_deref());
            if reason.is_none() {
                wrong.push(format!("{}: nothing runs `{text}`", page.name));
            }
            for word in text.split_whitespace().skip_while(|word| *word != "fiord") {
                let Some(option) = word.trim_matches(['`', ')', '\'', '"', ']']).strip_prefix("--")
                else {
                    continue;
                };
                let name = option.split(['=', '[']).next().unwrap_or_default();
                let subcommand =
                    text.split("fiord ").nth(1).and_then(|rest| rest.split(' ').next());
                let subcommand =
                    subcommand.filter(|word| word.bytes().all(|c| c.is_ascii_lowercase()));
                let is_job_option = fiord_job::option::table::find(name).is_some()
                    || !fiord_job::option::table::engines_with(name).is_empty();
                let is_known = name.is_empty()
                    || is_job_option
                    || known("").contains(&format!("--{name}"))
                    || subcommand.is_some_and(|word| known(word).contains(&format!("--{name}")));
                if !is_known {
                    wrong.push(format!("{}: unknown option --{name} in `{text}`", page.name));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong:#?}\nTo fix: write commands in a block ```console with `$ `, or <!-- not run: REASON --> above it"
    );
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut wrong = Vec::new();
    for page in pages() {
        let path = root().join(&page.name);
        for link in &page.links {
            let file = link.split('#').next().unwrap_or_default();
            let is_here = file.is_empty() || path.parent().unwrap().join(file).exists();
            if !is_here && !link.contains("://") {
                wrong.push(format!("{}: {link}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn commands_that_could_do_harm_are_refused() {
    for harmless in
        ["fiord --filename=$DRIVE", "kill \"$(cat server.pid)\"", "fiord --directory=\"$PWD\""]
    {
        assert_eq!(unsafe_word(harmless), None, "{harmless}");
    }
    for harmful in [
        "rm -r x",
        "fiord --filename=/dev/sda",
        "fiord --filename=a:/dev/sda",
        "fiord --filename=../a",
        "fiord a.fio; rm b",
        "cat \"$(ls)\"",
        "cat ~/x",
    ] {
        assert!(unsafe_word(harmful).is_some(), "{harmful}");
    }
}

#[test]
fn times_and_sizes_become_small() {
    assert_eq!(
        shortened("--runtime=60 --size=4g --filesize=4k --ramp_time=10"),
        "--runtime=300ms --size=8m --filesize=4k --ramp_time=50ms"
    );
    assert_eq!(shortened("size=1g\nio_size=2g\nrw=read\n"), "size=8m\nio_size=8m\nrw=read\n");
}
